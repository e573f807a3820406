// What a page offers is what is done: whoever may not change something finds nothing to press for it.
// Every button of every page is pressed, and of every window that opens; none is refused.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { start } from "./daemon.mjs";

const PAGES = [
  "now", "chat/main/talk", "approvals", "approvals?tab=answered", "approvals?tab=grants", "approvals?tab=files&agent=coder", "boards/work", "boards/work/1", "schedules?view=week", "schedules?view=list", "schedules/main/look?view=list",
  "map?agent=coder", "agents", "agents/main", "agents/main?tab=change", "tools?agent=coder&tool=terminal", "channels", "sessions", "sessions/coder/SESSION", "memory/main", "costs", "audit/main", "add-agent", "config", "gauntlet",
];
/** What is pressed elsewhere, or ends what is tried. */
const LEFT_OUT = /^(Stop|Send|Try again|Add files|Save .*|Download.*|Copy)$/;
const PRESSES_MAX = 24;

const config = (provider) => `${provider}agents:
  main: {default: true, memory: true}
  coder: {tools: coding, memory: true, approvals: {mode: manual, timeout: 600s}}
boards:
  work: {agents: {coder: work}}
channels:
  telegram: {accounts: {main: {token: "\${secret:TELEGRAM_MAIN}", base_url: "http://127.0.0.1:9"}}}
bindings:
  - {agent: main, telegram: {account: main}}
`;

/** A family's agent that is changed and changed back, a board, and prices. */
const family = (provider, deny, memory = false) => `${provider}prices: {test/m: {input: 10000, output: 50000}}
agents:
  main: {default: true, memory: ${memory}${deny ? ", tools: {deny: [terminal]}" : ""}}
  coder: {tools: {profile: coding, also_allow: ["group:boards"]}}
boards:
  work: {agents: {coder: work}}
channels:
  telegram: {accounts: {main: {token: "\${secret:TELEGRAM_MAIN}", base_url: "http://127.0.0.1:9"}}}
`;

/** Presses every button of a page, and whatever opens by that; gives what was pressed and refused. */
async function pressAll(page, url) {
  const refused = [];
  let pressed = "";
  const hear = (answer) => {
    if (answer.request().method() !== "GET" && answer.status() === 403) refused.push(`${pressed}: ${answer.request().method()} ${new URL(answer.url()).pathname}`);
  };
  page.on("response", hear);
  const visit = async () => {
    await page.goto("about:blank");
    await page.goto(url);
    await page.locator("h1").first().waitFor();
    await page.waitForTimeout(120);
  };
  const buttons = (of) => of.getByRole("button").or(of.locator("tr.opens"));
  const names = async (of) => {
    const all = [];
    for (const it of await buttons(of).all()) {
      if (!(await it.isVisible()) || !(await it.isEnabled())) continue;
      all.push((await it.getAttribute("aria-label")) ?? (await it.innerText()).split("\n")[0].trim());
    }
    return all;
  };
  await visit();
  const seen = new Set();
  const first = await names(page.locator("main"));
  for (let at = 0; at < first.length && seen.size < PRESSES_MAX; at += 1) {
    const name = first[at];
    if (LEFT_OUT.test(name) || seen.has(name)) continue;
    seen.add(name);
    await visit();
    pressed = name;
    const one = buttons(page.locator("main")).filter({ visible: true }).nth(at);
    await one.click({ timeout: 2_000 }).catch(() => {});
    await page.waitForTimeout(80);
    const dialog = page.getByRole("dialog").last();
    if (!(await dialog.isVisible().catch(() => false))) continue;
    for (const inner of await names(dialog)) {
      if (LEFT_OUT.test(inner)) continue;
      pressed = `${name}, ${inner}`;
      await dialog.getByRole("button", { name: inner, exact: true }).first().click({ timeout: 1_000 }).catch(() => {});
      await page.waitForTimeout(60);
      if (!(await dialog.isVisible().catch(() => false))) break;
    }
  }
  page.off("response", hear);
  return { seen, refused };
}

/** What is pressed does what its words say, and no more; and leaves nobody who works by keyboard nowhere. */
async function kept({ check, open, byLink, provider, quiet }) {
  const daemon = await start(family(provider, false));
  const token = readFileSync(`${daemon.home}/run/admin.token`, "utf8").trim();
  const ask = async (method, path, body) => {
    const answer = await fetch(daemon.url + path, { method, headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: body && JSON.stringify(body) });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${text}`);
    return text.startsWith("[") || text.startsWith("{") ? JSON.parse(text) : text;
  };
  const page = await open({ width: 2200 });
  await byLink(page, daemon);
  const visit = async (path) => {
    await page.goto(`${daemon.url}/#/${path}`);
    await page.locator("h1").first().waitFor();
  };
  const until = async (what, is) => {
    for (const last = Date.now() + 30_000; ; await new Promise((done) => setTimeout(done, 50))) {
      const found = await is();
      if (found) return found;
      assert.ok(Date.now() < last, what);
    }
  };

  await check("an account that exists is not written over, and a secret that is kept only where that is meant", async () => {
    const puts = [];
    page.on("request", (it) => it.method() === "PUT" && puts.push(new URL(it.url()).pathname));
    await ask("PUT", "/api/daemon/secrets/TELEGRAM_MAIN", { value: "123456:abcdefghijklmnopqrstuvwxyzabcdefghi" });
    await visit("channels");
    await page.getByRole("region", { name: "telegram main" }).waitFor();
    await page.getByRole("button", { name: "Connect a platform" }).click();
    const dialog = page.getByRole("dialog", { name: "Connect a platform" });
    const name = dialog.getByLabel("What it is called here");
    await name.waitFor();
    assert.equal(await name.inputValue(), "main-2");
    await dialog.getByLabel("The value of TELEGRAM_MAIN_2").waitFor();
    await name.fill("main");
    await dialog.getByText("there is an account main already; give another name").waitFor();
    for (const what of ["Keep it sealed", /^Write it/]) assert.equal(await dialog.getByRole("button", { name: what }).count(), 0, String(what));
    // Of a name that is free the secret may still be there.
    await ask("PUT", "/api/daemon/secrets/TELEGRAM_SECOND", { value: "1:first" });
    await name.fill("second");
    await dialog.getByLabel("The value of TELEGRAM_SECOND").fill("2:second");
    await dialog.getByRole("button", { name: "Keep it sealed" }).click();
    const sure = page.getByRole("dialog", { name: "TELEGRAM_SECOND is kept already: replace it?" });
    await sure.getByRole("button", { name: "Leave it as it is" }).click();
    await sure.waitFor({ state: "detached" });
    assert.deepEqual(puts, []);
    await dialog.getByRole("button", { name: "Keep it sealed" }).click();
    await sure.getByRole("button", { name: "Replace it" }).click();
    await dialog.getByText("It is kept sealed, as TELEGRAM_SECOND").waitFor();
    assert.deepEqual(puts, ["/api/daemon/secrets/TELEGRAM_SECOND"]);
    // One that is written and not applied yet is there as well.
    await dialog.getByRole("button", { name: /^Write it/ }).click();
    await page.getByRole("region", { name: "Settings of telegram second" }).waitFor();
    await page.getByRole("link", { name: "Channels" }).click();
    await page.getByRole("button", { name: "Connect a platform" }).click();
    await name.fill("second");
    await dialog.getByText("there is an account second already; give another name").waitFor();
    await page.keyboard.press("Escape");
    await page.reload();
    assert.deepEqual(quiet(page), []);
  });

  await check("between two generations the map tells what differs, and not what was changed back", async () => {
    for (const [deny, memory] of [[true], [false], [true], [true, true]]) {
      writeFileSync(`${daemon.home}/config.yaml`, family(provider, deny, memory));
      daemon.insula("reload");
    }
    await visit("map?agent=main");
    const [from, until] = [page.getByLabel(/^From:/), page.getByLabel(/^To:/)];
    await until.waitFor();
    const slide = async (first, last) => {
      await until.fill(String(last));
      await from.fill(String(first));
    };
    await slide(1, 3);
    await page.getByText("Every setting is the same in both.").waitFor();
    await slide(1, 2);
    await page.getByText("Changed: tools.deny", { exact: true }).waitFor();
    await slide(0, 3);
    await page.getByText("Changed: tools.deny", { exact: true }).waitFor();
    await slide(0, 2);
    await page.getByText("Every setting is the same in both.").waitFor();
    // Also where another setting has changed since.
    await slide(1, 4);
    await page.getByText(/^Changed: memory/).waitFor();
    assert.ok(!(await page.getByText(/^Changed: memory/).innerText()).includes("tools.deny"));
  });

  await check("a card that was claimed is the last use of its board, and costs by way in are parts of the whole", async () => {
    const { id } = await ask("POST", "/api/boards/work/cards", { title: "Buy a kettle", assignee: "coder" });
    await until("nobody claimed the card", async () => (await ask("GET", "/api/agents/coder/audit?kind=card.claimed")).length > 0);
    await visit(`map?at=${encodeURIComponent("board:work")}`);
    await page.getByText(`card ${id} was claimed`).waitFor();
    for (let n = 0; n < 4; n += 1) await ask("POST", "/api/agents/main/messages", { session: "costs", text: `line ${n} ${"of many words ".repeat(200)}` });
    const costs = await until("nothing is told of the card", async () => {
      const told = await ask("GET", "/api/costs?by=way&days=7");
      return told.parts.some((it) => it.name.includes(`work/${id}`) && it.usd > 0) && told;
    });
    const whole = costs.total.usd.reduce((all, it) => all + it, 0);
    const card = costs.parts.find((it) => it.name.includes(`work/${id}`));
    assert.ok(Math.abs(costs.unnamed.usd + costs.parts.reduce((all, it) => all + it.usd, 0) - whole) < 1e-6, JSON.stringify(costs));
    await visit("costs?by=way&range=7");
    const row = page.locator("tbody tr", { hasText: `work/${id}` });
    const others = page.locator("tbody tr", { hasText: "all others" });
    await row.waitFor();
    assert.ok((await row.innerText()).includes(`${Math.round((card.usd / whole) * 100)} %`), await row.innerText());
    assert.ok((await others.innerText()).includes(`${Math.round((costs.unnamed.usd / whole) * 100)} %`), await others.innerText());
    assert.ok(Math.round((costs.unnamed.usd / whole) * 100) > 20);
    assert.ok(!(await page.locator("main").innerText()).includes("`"), "marks are shown as they are");
    assert.deepEqual(quiet(page), []);
  });

  await check("who works by keyboard is at the same card, job or row when what was pressed is gone", async () => {
    const { id } = await ask("POST", "/api/boards/work/cards", { title: "Sweep" });
    await visit("boards/work");
    const menu = page.locator(`.face[data-card="${id}"]`).getByLabel(`Move #${id} to`);
    const column = (status) => page.locator(`.column[data-status="${status}"] .face[data-card="${id}"]`);
    const atMenu = () => page.waitForFunction((id) => document.activeElement?.getAttribute("aria-label") === `Move #${id} to`, id);
    await menu.focus();
    await menu.selectOption("done");
    await column("done").waitFor();
    await atMenu();
    await menu.selectOption("triage");
    await column("triage").waitFor();
    await atMenu();
    // Also by way of a window that asks.
    await menu.selectOption("blocked");
    await page.getByRole("dialog").getByRole("button", { name: "Move it to blocked" }).focus();
    await page.keyboard.press("Enter");
    await column("blocked").waitFor();
    await atMenu();
    await menu.selectOption("archived");
    await page.getByRole("dialog").getByRole("button", { name: "Leave it as it is" }).focus();
    await page.keyboard.press("Enter");
    await atMenu();
    // What is put away is out of sight: one is at the heading, or at what is next.
    await menu.selectOption("archived");
    await page.getByRole("dialog").getByRole("button", { name: "Move it to archived" }).focus();
    await page.keyboard.press("Enter");
    await column("blocked").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement !== document.body && document.activeElement?.closest("main"));
    await ask("POST", "/api/agents/main/jobs", { name: "look", schedule: "every 2h", prompt: "look" });
    await visit("schedules?view=list");
    for (const [pressed, then] of [["Pause", "Resume"], ["Resume", "Pause"]]) {
      await page.getByRole("button", { name: `${pressed} look of main` }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: `${then} look of main` }).waitFor();
      await page.waitForFunction((name) => document.activeElement?.getAttribute("aria-label") === name, `${then} look of main`);
    }
    await page.getByRole("button", { name: "Run now: look of main" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("It begins now.").waitFor();
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Run now: look of main");
    assert.deepEqual(quiet(page), []);
  });

  await page.context().close();
  await daemon.stop();
  daemon.remove();
}

export async function controls({ check, open, byLink, signIn, provider, quiet }) {
  await kept({ check, open, byLink, provider, quiet });
  const daemon = await start(config(provider));
  const token = readFileSync(`${daemon.home}/run/admin.token`, "utf8").trim();
  const ask = async (method, path, body) => {
    const answer = await fetch(daemon.url + path, { method, headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: body && JSON.stringify(body) });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${text}`);
    return text.startsWith("[") || text.startsWith("{") ? JSON.parse(text) : text;
  };
  const say = (agent, session, text) => ask("POST", `/api/agents/${agent}/messages`, { session, text });
  await say("main", "talk", 'call memory {"action":"add","target":"memory","content":"The hedge is cut in March"}');
  await ask("POST", "/api/agents/main/jobs", { name: "look", schedule: "every 2h", prompt: "look" });
  await ask("POST", "/api/boards/work/cards", { title: "Buy a kettle" });
  const waits = say("coder", "talk", 'call terminal {"command":"rm -rf build"}');
  for (const until = Date.now() + 20_000; ; ) {
    const [one] = await ask("GET", "/api/inbox");
    if (one) {
      await ask("POST", `/api/agents/coder/approvals/${one.id}`, { decision: "approve", scope: "always" });
      break;
    }
    assert.ok(Date.now() < until, "nothing waits");
    await new Promise((done) => setTimeout(done, 50));
  }
  await waits;
  const pressEach = async (page, session) => {
    const all = new Set();
    const refused = [];
    for (const where of PAGES) {
      const found = await pressAll(page, `${daemon.url}/#/${where.replace("SESSION", session)}`);
      found.seen.forEach((it) => all.add(it));
      refused.push(...found.refused.map((it) => `${where}: ${it}`));
    }
    return { all, refused };
  };

  await check("a token that reads finds nothing to press that is refused", async () => {
    const { token: reads } = daemon.json("token", "create", "--agent", "main", "--agent", "coder", "--verb", "read");
    const page = await open();
    await signIn(page, daemon, reads);
    const [session] = JSON.parse(await (await fetch(`${daemon.url}/api/agents/coder/sessions`, { headers: { authorization: `Bearer ${reads}` } })).text());
    const { all, refused } = await pressEach(page, session.id);
    assert.deepEqual(refused, []);
    assert.ok(all.size > 15, [...all].join(", "));
    await page.context().close();
  });

  await check("where nothing is changed over HTTP there is nothing to press that is refused", async () => {
    const page = await open();
    await byLink(page, daemon);
    writeFileSync(`${daemon.home}/config.yaml`, `${config(provider)}api: {changes: false}\n`);
    daemon.insula("reload");
    const { all, refused } = await pressEach(page, "1");
    assert.deepEqual(refused, []);
    assert.ok(all.size > 25, [...all].join(", "));
    for (const name of all) assert.ok(!/^(Pause|Resume|Reload|Restart|Archive|Delete|Run now|Add a job|Keep it sealed|Take back|Forget|Connect a platform)/.test(name), name);
    await page.context().close();
  });

  await daemon.stop();
  daemon.remove();
}
