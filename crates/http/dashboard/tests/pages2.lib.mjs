// The pure parts of boards, schedules, costs, the tools matrix and channels.
import assert from "node:assert/strict";
import test from "node:test";
import { columns, matches, request, targets, warning } from "../src/lib/board.js";
import { dayKey, daysOf, happenings, lateness, ofKey, plusDays, stepped } from "../src/lib/calendar.js";
import { accountsOf, command, edits, freeName, isName, secretName, whyNot, yaml } from "../src/lib/channel.js";
import { asked, budgetBars, drawn, from, nearness, since, stacked } from "../src/lib/costs.js";
import { bandsOf, cellOf, columnsOf, rowsOf, span, stepped as walked } from "../src/lib/matrix.js";

const card = (more) => ({ id: 1, title: "t", status: "ready", assignee: "coder", needs_open: [], labels: [], priority: 0, changed_at: "2026-01-01", ...more });
const ALL = ["see", "add", "claim", "review", "administer"];

test("a card goes where the daemon would put it, and nowhere else", () => {
  assert.deepEqual(targets(card(), ["see", "add"]), []);
  assert.deepEqual(targets(card(), ["see", "claim"]), ["running"]);
  assert.deepEqual(targets(card(), ALL), ["running", "blocked", "done", "archived"]);
  assert.deepEqual(targets(card({ status: "blocked", assignee: null }), ALL), ["triage", "done", "archived"]);
  assert.deepEqual(targets(card({ status: "blocked", needs_open: [2] }), ALL), ["todo", "done", "archived"]);
  assert.deepEqual(targets(card({ status: "running" }), ALL), ["ready", "blocked", "review", "done"]);
  assert.deepEqual(targets(card({ status: "review" }), ["see", "review"]), ["ready"]);
  assert.deepEqual(targets(card({ status: "done" }), ALL), ["ready", "archived"]);
  assert.deepEqual(request("running"), { action: "claim" });
  assert.deepEqual(request("blocked", "why"), { action: "move", to: "blocked", why: "why" });
  assert.ok(warning(card({ worker: "agent:coder" }), "ready").includes("agent:coder"));
  assert.equal(warning(card(), "done"), null);
});

test("cards stand by urgency, where they are drawn meanwhile, and are found by words", () => {
  const all = columns([card({ id: 3 }), card({ id: 2, priority: 5 }), card({ id: 1 }), card({ id: 4, status: "done", done_at: "2026-02-01" }), card({ id: 5, status: "done", done_at: "2026-03-01" })], new Map([[3, "done"]]));
  assert.deepEqual(all.get("ready").map((it) => it.id), [2, 1]);
  assert.deepEqual(all.get("done").map((it) => it.id), [5, 4, 3]);
  assert.ok(matches(card({ title: "Buy a kettle", labels: ["Kitchen"] }), "kettle kitch"));
  assert.ok(!matches(card({ title: "Buy a kettle" }), "kettle sink"));
});

test("weeks and months have their days, also where clocks change", () => {
  const day = new Date(2026, 10, 18);
  assert.deepEqual(daysOf("week", day).map(dayKey), ["16", "17", "18", "19", "20", "21", "22"].map((it) => `2026-11-${it}`));
  for (let month = 0; month < 24; month += 1) {
    const days = daysOf("month", new Date(2026, month, 5));
    assert.equal(days.length % 7, 0);
    assert.equal(new Set(days.map(dayKey)).size, days.length);
    assert.equal(days[0].getDay(), 1);
    const keys = days.map(dayKey);
    const last = new Date(2026, month + 1, 0);
    assert.ok(keys.includes(dayKey(new Date(2026, month, 1))) && keys.includes(dayKey(last)));
  }
  assert.equal(dayKey(stepped("month", new Date(2026, 0, 31), 1)), "2026-02-01");
  assert.equal(dayKey(ofKey("2026-03-29")), "2026-03-29");
  assert.equal(dayKey(ofKey("nonsense", day)), "2026-11-18");
});

test("what happens on a day are its runs, then what comes; what comes too often is one line", () => {
  const days = daysOf("week", new Date(2026, 10, 18));
  const now = new Date(2026, 10, 18, 12).getTime();
  const at = (hour) => new Date(2026, 10, 18, hour).getTime();
  const job = { agent: "a", name: "report", recent: [{ scheduled_at: new Date(at(8)).toISOString(), outcome: "done" }], moments: [at(20)] };
  const often = { agent: "a", name: "beat", recent: [], moments: [at(13)], frequent: true };
  const all = happenings([job, often], days, now);
  assert.deepEqual(all.get("2026-11-18").map((it) => [it.job.name, Boolean(it.run), Boolean(it.often)]), [["beat", false, true], ["report", true, false], ["report", false, false]]);
  assert.deepEqual(all.get("2026-11-17"), []);
  assert.equal(all.get("2026-11-22").length, 1);
  assert.equal(all.get(dayKey(plusDays(days[6], 1))), undefined);
  assert.equal(lateness({ late_ms: 59_000 }), "");
  assert.equal(lateness({ late_ms: 300_000 }), "5 min late");
});

test("series stand on one another, and what nobody used is left out", () => {
  const series = (name, usd) => ({ name, usd, tokens: usd.map(() => 0), turns: usd.map(() => 0) });
  const costs = { times: [1, 2, 3], total: series("all", [0, 3, 4]), series: [series("a", [0, 1, 2]), series("b", [0, 0, 0])], rest: series("others", [0, 2, 2]) };
  const shown = drawn(costs, "usd");
  assert.deepEqual(shown.map((it) => it.name), ["a", "others"]);
  assert.deepEqual(stacked(shown, "usd"), [[0, 1, 2], [0, 3, 4]]);
  assert.equal(since({ ...costs, times: Array(30).fill(0), total: series("all", Array.from({ length: 30 }, (_, n) => (n > 20 ? 1 : 0))) }), 20);
  assert.deepEqual(from(costs, 1).series[0].usd, [1, 2]);
  assert.deepEqual(asked({ range: "48h", by: "model" }), { step: "hour", days: 2, by: "agent", agent: undefined });
  const [bar] = budgetBars({ usd_per_day: 5, usd_left: 1, tokens_per_day: null });
  assert.deepEqual([bar.part, nearness(bar.part), nearness(1), nearness(0.2)], [0.8, "warn", "bad", "good"]);
});

test("the matrix is filtered, windowed and walked", () => {
  const matrix = {
    tools: [{ name: "terminal", group: "exec" }, { name: "memory", group: "memory" }, { name: "mcp__x", group: "mcp" }],
    rules: [{ exposed: true, rule: "in" }, { exposed: false, rule: "out" }],
    agents: [{ id: "a", cells: [0, 1, null] }, { id: "b", cells: [0, 0, 1] }],
  };
  const all = columnsOf(matrix);
  assert.deepEqual(all.map((it) => [it.name, it.have, it.could]), [["terminal", 2, 2], ["mcp__x", 0, 1], ["memory", 1, 2]]);
  assert.deepEqual(bandsOf(all).map((it) => [it.group, it.first, it.count]), [["exec", 0, 1], ["mcp", 1, 1], ["memory", 2, 1]]);
  assert.deepEqual(columnsOf(matrix, { some: "differs" }).map((it) => it.name), ["memory"]);
  assert.deepEqual(columnsOf(matrix, { some: "none" }).map((it) => it.name), ["mcp__x"]);
  assert.deepEqual(rowsOf(matrix, all, { tool: 1 }).map((it) => [it.id, it.have]), [["b", 2]]);
  assert.equal(cellOf(matrix, matrix.agents[0], 2).kind, "none");
  assert.deepEqual(walked("ArrowLeft", [0, 0], [3, 4], 2), [0, 0]);
  assert.deepEqual(walked("PageDown", [0, 1], [3, 4], 9), [2, 1]);
  assert.equal(walked("x", [0, 0], [3, 4], 2), null);
  assert.deepEqual(span(300, 30, 3000, 600), [92, 128]);
});

test("what an account needs is written so that it is read back", () => {
  const telegram = { platform: "telegram", required: ["token"], optional: ["base_url"], secrets: ["token"] };
  assert.equal(secretName(telegram, "my-bot", "token"), "TELEGRAM_MY_BOT");
  const whatsapp = { platform: "whatsapp", required: ["token", "secret"], optional: [], secrets: ["token", "secret"] };
  assert.equal(secretName(whatsapp, "shop", "secret"), "WHATSAPP_SHOP_SECRET");
  assert.equal(yaml(telegram, "main", { base_url: 'https://x/"' }, "coder"), 'channels:\n  telegram:\n    accounts:\n      main: {base_url: "https://x/\\"", token: "${secret:TELEGRAM_MAIN}"}\nbindings:\n  - {agent: coder, telegram: {account: main}}');
  assert.equal(command(telegram, "main", { base_url: "https://x/y z'" }, ""), "insula channels add telegram --account main --set 'base_url=https://x/y z'\\'''");
  assert.deepEqual(edits(telegram, "main", { base_url: "https://x" }, "coder", { bindings: [{}] }), [
    { path: ["channels", "telegram", "accounts", "main"], value: { base_url: "https://x", token: "${secret:TELEGRAM_MAIN}" } },
    { path: ["bindings", 1], value: { agent: "coder", telegram: { account: "main" } } },
  ]);
  assert.deepEqual(accountsOf({ channels: { telegram: { accounts: { main: { mode: "polling" }, odd: null } }, matrix: null } }), [
    { platform: "telegram", account: "main", settings: { mode: "polling" } },
    { platform: "telegram", account: "odd", settings: {} },
  ]);
  assert.deepEqual([null, [], { channels: 3 }].map(accountsOf), [[], [], []]);
  assert.deepEqual([[], ["main"], ["main-2", "main"], ["other"]].map(freeName), ["main", "main-2", "main-3", "main"]);
  assert.equal(whyNot("main", ["main"]), "there is an account `main` already; give another name");
  assert.deepEqual([whyNot("main", []), whyNot("Main", [])], [null, "small letters, digits, - and _"]);
  assert.ok(isName("main") && !isName("Main") && !isName("") && !isName("a b"));
});
