// Boards, schedules, costs, the tools matrix and channels in a real browser: what can be done there,
// who sees what, what is hostile, and how it holds with 300 agents.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { start } from "./daemon.mjs";

/** What a page must show as text and never run. */
const CANARY = '<img src=x onerror="window.pwned=1"><b>bold</b>[a](javascript:window.pwned=1)';
/** Every page of this file, as an address. */
const PAGES = ["boards/work", "schedules", "schedules?view=month", "schedules?view=list", "costs", "costs?by=person&measure=tokens", "tools", "channels"];

/** A model that says what it took; what it is told to do slowly, it does until it is stopped. */
function model() {
  const chunk = (delta, more = {}) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`;
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", async () => {
      const asked = JSON.parse(body || "{}");
      if (request.method !== "POST") return response.writeHead(200, { "content-type": "application/json" }).end('{"object":"list","data":[{"id":"m","object":"model"}]}');
      response.writeHead(200, { "content-type": "text/event-stream" });
      const slow = JSON.stringify(asked.messages ?? []).includes("take your time");
      for (let n = 0; slow && n < 600 && !response.destroyed; n += 1) {
        response.write(chunk({ content: `word${n} ` }));
        await new Promise((done) => setTimeout(done, 100));
      }
      if (response.destroyed) return;
      response.write(chunk({ content: "It is done." }));
      response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: { prompt_tokens: 20_000, completion_tokens: 4_000, total_tokens: 24_000 } })}\n\n`);
      response.end("data: [DONE]\n\n");
    });
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done({ url: `http://127.0.0.1:${server.address().port}/v1`, end: () => (server.close(), server.closeAllConnections()) })));
}

const config = (url) => `version: 1
providers:
  test: {kind: openai, base_url: "${url}"}
model: test/m
prices: {test/m: {input: 10, output: 50}}
agents:
  main:
    default: true
    memory: true
    budget: {usd_per_day: 5}
    cron:
      morning: {schedule: every weekday at 8:30, prompt: ${JSON.stringify(`Say what happened. ${CANARY}`)}}
    heartbeat: {every: 30m}
  coder: {tools: {profile: coding, also_allow: ["group:boards"]}}
  secretive: {cron: {hidden-errand: {schedule: daily at 9am, prompt: nothing to see}}}
boards:
  work:
    description: ${JSON.stringify(`what we do ${CANARY}`)}
    agents: {coder: work}
  closed: {agents: {secretive: work}}
channels:
  telegram:
    accounts:
      main: {token: "\${secret:TELEGRAM_MAIN}", base_url: "http://127.0.0.1:9"}
bindings:
  - {agent: secretive, telegram: {account: main}}
`;

/** 300 agents, each with something to do by the clock. */
const large = (url) => `version: 1
providers:
  test: {kind: openai, base_url: "${url}"}
model: test/m
agents:
${Array.from({ length: 300 }, (_, n) => `  a${String(n).padStart(3, "0")}: {tools: ${["coding", "messaging", "minimal"][n % 3]}, cron: {report: {schedule: daily at ${n % 24}:30, prompt: report}}, heartbeat: {every: 30m}}`).join("\n")}
boards:
  work: {agents: {a000: work}}
`;

export async function pages2({ check, open, byLink, signIn, axeOf, quiet, shots }) {
  const upstream = await model();
  const daemon = await start(config(upstream.url));
  // Wide enough that every column of a board and every tool is in sight.
  const page = await open({ width: 2200 });
  await byLink(page, daemon);
  const key = await page.evaluate(() => localStorage.getItem("insula.page"));
  /** The API as the page asks it. */
  const api = (method, path, body) =>
    page.evaluate(
      async ([method, path, body, key]) => {
        const answer = await fetch(path, { method, headers: { "x-insula-page": key, "content-type": "application/json" }, body: body && JSON.stringify(body) });
        const text = await answer.text();
        if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
        return text === "" ? null : JSON.parse(text);
      },
      [method, path, body ?? null, key],
    );
  const goTo = async (where, on = page) => {
    await on.goto(`${daemon.url}/#/${where}`);
    await on.locator("h1").first().waitFor();
  };
  const column = (status) => page.locator(`.column[data-status="${status}"]`);
  const face = (id) => page.locator(`.face[data-card="${id}"]`);
  const add = async (title, more = {}) => (await api("POST", "/api/boards/work/cards", { title, ...more })).id;

  await check("a card is added, dragged, and moved by keyboard", async () => {
    await goTo("boards/work");
    await page.getByRole("button", { name: "Add a card" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("What is to be done").fill("Buy a kettle");
    await dialog.getByLabel("Labels").fill("kitchen, small");
    await dialog.getByLabel("Priority").fill("3");
    await dialog.getByRole("button", { name: "Add it" }).click();
    const card = column("triage").locator(".face", { hasText: "Buy a kettle" });
    await card.waitFor();
    assert.ok((await card.innerText()).includes("kitchen"));
    const id = await card.getAttribute("data-card");
    await card.dragTo(column("done"));
    await column("done").locator(`.face[data-card="${id}"]`).waitFor();
    assert.equal((await api("GET", `/api/boards/work/cards/${id}`)).status, "done");
    // Back again without a mouse: the card's own menu.
    const menu = face(id).getByLabel(`Move #${id} to`);
    await menu.focus();
    await menu.selectOption("triage");
    await column("triage").locator(`.face[data-card="${id}"]`).waitFor();
    assert.equal((await api("GET", `/api/boards/work/cards/${id}`)).status, "triage");
    // Where it can't be put it goes back, and the daemon's reason is said.
    await face(id).dragTo(column("todo"));
    await page.getByRole("alert").filter({ hasText: `#${id} stays where it was` }).waitFor();
    assert.equal((await api("GET", `/api/boards/work/cards/${id}`)).status, "triage");
    // What is put away is asked about first.
    await face(id).getByLabel(`Move #${id} to`).selectOption("archived");
    await page.getByRole("dialog").getByRole("button", { name: "Leave it" }).click();
    assert.equal((await api("GET", `/api/boards/work/cards/${id}`)).status, "triage");
  });

  await check("a card that somebody changed meanwhile goes back to where it was, and that is said", async () => {
    const id = await add("Two want it");
    const late = await open({ width: 2200 });
    // This window hears of nothing that happens on the board.
    await late.route("**/api/boards/work/events*", () => {});
    await byLink(late, daemon);
    await goTo("boards/work", late);
    await late.locator(`.face[data-card="${id}"]`).waitFor();
    await api("POST", `/api/boards/work/cards/${id}`, { action: "block", why: "which one?" });
    await late.locator(`.face[data-card="${id}"]`).dragTo(late.locator('.column[data-status="done"]'));
    await late.getByRole("alert").filter({ hasText: `#${id} stays where it was` }).filter({ hasText: "blocked by now" }).waitFor();
    await late.locator(`.column[data-status="blocked"] .face[data-card="${id}"]`).waitFor();
    assert.equal(await late.locator(`.column[data-status="done"] .face[data-card="${id}"]`).count(), 0);
    await late.context().close();
  });

  await check("a card in full: comment, file, block, unblock, a result, what it waits for, its history", async () => {
    const first = await add("Ask for prices");
    const id = await add("Choose a vendor", { body: "Look at **price**." });
    await goTo(`boards/work/${id}`);
    const dialog = page.getByRole("dialog");
    await dialog.locator("strong", { hasText: "price" }).waitFor();
    await dialog.getByLabel("A comment").fill(`from a person ${CANARY}`);
    await dialog.getByRole("button", { name: "Comment", exact: true }).click();
    await dialog.locator(".said-list", { hasText: "from a person" }).waitFor();
    await dialog.locator("input[type=file]").setInputFiles({ name: '<b onclick="window.pwned=1">prices.csv', mimeType: "text/csv", buffer: Buffer.from("a,b\n1,2\n") });
    await dialog.locator(".file-list", { hasText: "prices.csv" }).waitFor();
    await dialog.getByLabel(/is to wait for/).fill(String(first));
    await dialog.getByRole("button", { name: "Wait for it" }).click();
    await dialog.getByRole("link", { name: new RegExp(`#${first}`) }).waitFor();
    await dialog.getByRole("button", { name: "Block…" }).click();
    await dialog.getByLabel("Why it can't go on").fill("nobody knows the budget");
    await dialog.getByRole("button", { name: "Block it" }).click();
    await dialog.locator(".why-blocked", { hasText: "nobody knows the budget" }).waitFor();
    await dialog.getByRole("button", { name: "Unblock" }).click();
    await dialog.locator(".why-blocked").waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "It is done…" }).click();
    await dialog.getByLabel("What came of it").fill("the one from Porto");
    await dialog.getByRole("button", { name: "It is done", exact: true }).click();
    await dialog.locator(".result", { hasText: "the one from Porto" }).waitFor();
    await dialog.getByText(/^History/).click();
    for (const kind of ["added", "commented", "attached", "linked", "blocked", "unblocked", "completed"]) await dialog.locator(".history li", { hasText: kind }).first().waitFor();
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  await check("an agent's work on a card is seen while it works, and taking the card from it is asked", async () => {
    await goTo("boards/work");
    const id = await add("take your time with this one", { assignee: "coder" });
    await column("running").locator(`.face[data-card="${id}"] .live`, { hasText: "coder" }).waitFor();
    await face(id).getByLabel(`Move #${id} to`).selectOption("blocked");
    const sure = page.getByRole("dialog");
    await sure.getByText("loses it").waitFor();
    await sure.getByLabel("Why it can't go on").fill("not now");
    await sure.getByRole("button", { name: "Move it to blocked" }).click();
    await column("blocked").locator(`.face[data-card="${id}"]`, { hasText: "not now" }).waitFor();
  });

  await check("a job is added, run, paused, had go on and removed; one of the configuration can't be removed", async () => {
    await goTo("schedules?view=list");
    await page.getByRole("button", { name: "Add a job" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Agent", { exact: true }).fill("coder");
    await dialog.getByLabel("Name").fill("inbox");
    await dialog.getByLabel("When").fill("no time at all");
    await dialog.getByLabel("What it is told").fill("look at the inbox");
    await dialog.getByRole("button", { name: "Add it" }).click();
    await dialog.getByRole("alert").waitFor();
    await dialog.getByLabel("When").fill("every 2h");
    await dialog.getByRole("button", { name: "Add it" }).click();
    await dialog.waitFor({ state: "detached" });
    const row = page.locator("tr", { hasText: "inbox" });
    await row.getByRole("button", { name: "Run now: inbox of coder" }).click();
    await row.locator(".state", { hasText: "done" }).waitFor();
    await row.getByRole("button", { name: "Pause inbox of coder" }).click();
    await row.locator(".state", { hasText: "paused" }).waitFor();
    await row.getByRole("link", { name: "inbox" }).click();
    const job = page.getByRole("dialog");
    await job.getByRole("button", { name: "Resume inbox of coder" }).click();
    await job.locator(".state", { hasText: "active" }).first().waitFor();
    await job.getByText("look at the inbox").waitFor();
    await job.locator("tr", { hasText: "on time" }).first().waitFor();
    await job.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("button", { name: "Remove it" }).click();
    await page.locator("tr", { hasText: "inbox" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "morning" }).click();
    await page.getByRole("dialog").getByText("It stands in the configuration").waitFor();
    assert.equal(await page.getByRole("dialog").getByRole("button", { name: "Remove" }).count(), 0);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    for (const view of ["week", "month"]) {
      await goTo(`schedules?view=${view}`);
      await page.locator(".chip", { hasText: "morning" }).or(page.locator(".more")).first().waitFor();
      await page.locator(".chip", { hasText: "heartbeat" }).first().waitFor();
    }
  });

  await check("what happens again and again keeps no page from being read", async () => {
    const other = await open();
    await byLink(other, daemon);
    // Reading takes longer than it takes until the next thing happens.
    let [reads, now, most] = [0, 0, 0];
    await other.route("**/api/calendar*", async (route) => {
      [reads, now] = [reads + 1, now + 1];
      most = Math.max(most, now);
      await new Promise((done) => setTimeout(done, 2_500));
      now -= 1;
      await route.continue();
    });
    let over = false;
    const runs = (async () => {
      while (!over) {
        await api("POST", "/api/agents/secretive/jobs/hidden-errand/run").catch(() => {});
        await new Promise((done) => setTimeout(done, 300));
      }
    })();
    try {
      await other.goto(`${daemon.url}/#/schedules?view=list`);
      await other.getByRole("link", { name: "hidden-errand" }).waitFor();
      // And what happened meanwhile is read after that, one reading at a time.
      await other.waitForResponse("**/api/calendar*");
      assert.ok(reads >= 2 && most === 1, `${reads} readings, ${most} at a time`);
    } finally {
      over = true;
      await runs;
    }
    await other.context().close();
  });

  await check("what turns cost is told by agent, model and person, with a budget", async () => {
    const { id, token } = daemon.json("token", "create", "--agent", "main", "--verb", "chat");
    const said = await fetch(`${daemon.url}/v1/chat/completions`, { method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: JSON.stringify({ model: "main", messages: [{ role: "user", content: "hello" }] }) });
    assert.equal(said.status, 200, await said.text());
    await goTo("costs");
    // 20,000 tokens at 10 dollars a million and 4,000 at 50 are 40 cents.
    await page.locator("tr", { hasText: "main" }).filter({ hasText: "$0.40" }).first().waitFor();
    await page.locator(".plot canvas").waitFor();
    await page.locator(".budget-bar", { hasText: "of $5.00" }).waitFor();
    for (const [by, name] of [["model", "test/m"], ["person", id], ["scope", ""], ["key", ""]]) {
      await page.getByLabel("What it is told by").selectOption(by);
      if (name) await page.locator("td", { hasText: name }).first().waitFor();
    }
    await page.getByLabel("Since when").selectOption("48h");
    await page.locator("tr", { hasText: "main" }).filter({ hasText: "$0.40" }).first().waitFor();
    await page.locator(".plot canvas").waitFor();
    const costs = await api("GET", "/api/costs?by=model&days=7");
    assert.equal(costs.times.length, 7);
    assert.equal(costs.total.usd.at(-1), costs.parts.reduce((all, it) => all + it.usd, 0), "all of it is some model's");
    assert.deepEqual(quiet(page), []);
  });

  await check("the tools matrix says why, with file and line, and is walked by keyboard", async () => {
    await goTo("tools");
    const cell = page.getByRole("gridcell").getByRole("button", { name: /^coder has it: terminal/ });
    await cell.click();
    const why = page.getByRole("complementary");
    await why.getByText(/config\.yaml:\d+/).first().waitFor();
    const before = await page.evaluate(() => document.activeElement.dataset.cell);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    const [row, columnAt] = before.split(":").map(Number);
    assert.equal(await page.evaluate(() => document.activeElement.dataset.cell), `${row + 1}:${columnAt + 1}`);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("agent=") && !location.hash.includes("agent=coder&tool=terminal"));
    await page.getByLabel("Search tools").fill("kanban_");
    await page.waitForFunction(() => [...document.querySelectorAll(".matrix .head")].every((it) => it.textContent.startsWith("kanban_")));
  });

  await check("an account says why it does not work, is tested, and another is prepared", async () => {
    await goTo("channels");
    const account = page.getByRole("region", { name: "telegram main" });
    await account.getByText("Its secret TELEGRAM_MAIN is").waitFor();
    await account.getByLabel("The value of TELEGRAM_MAIN").fill("123456:abcdefghijklmnopqrstuvwxyzabcdefghi");
    await account.getByRole("button", { name: "Keep it sealed" }).click();
    await account.getByLabel("The value of TELEGRAM_MAIN").waitFor({ state: "detached" });
    await account.getByRole("button", { name: /^Test it/ }).click();
    await account.locator(".found", { hasText: "does not work" }).waitFor();
    assert.ok(!(await page.content()).includes("abcdefghijklmnop"), "a secret is shown again");
    await page.getByRole("button", { name: "Connect a platform" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("@BotFather").first().waitFor();
    await dialog.getByLabel("What it is called here").fill("second");
    await dialog.getByLabel("Who answers there").fill("coder");
    await dialog.locator("pre", { hasText: "second: {token: \"${secret:TELEGRAM_SECOND}\"}" }).waitFor();
    await dialog.locator("pre", { hasText: "insula channels add telegram --account second --agent coder" }).waitFor();
    await page.keyboard.press("Escape");
  });

  await check("who asks to be let in is let in and left out", async () => {
    const people = [
      { agent: "main", state: "waiting", who: "telegram:7", account: "main", name: CANARY, at: new Date().toISOString(), expires_at: new Date(Date.now() + 1e6).toISOString(), by: null },
      { agent: "main", state: "paired", who: "telegram:8", account: "main", name: "Jonas", at: new Date().toISOString(), expires_at: null, by: "cli:local" },
    ];
    const asked = [];
    // Nobody writes by Telegram here: what the daemon would tell is put in, and what is asked of it is kept.
    await page.route("**/api/pairing", (route) => route.fulfill({ contentType: "application/json", body: JSON.stringify(people) }));
    await page.route("**/api/agents/main/pairing**", (route) => (asked.push(`${route.request().method()} ${new URL(route.request().url()).pathname} ${route.request().postData() ?? ""}`), route.fulfill({ contentType: "application/json", body: "{}" })));
    await goTo("channels");
    await page.locator("tr", { hasText: "telegram:7" }).getByRole("button", { name: /^Let in/ }).click();
    await page.getByText("may talk to main now").waitFor();
    await page.getByRole("button", { name: "Revoke Jonas at main" }).click();
    assert.equal(asked.length, 1);
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("Jonas may not talk to main now").waitFor();
    assert.deepEqual(asked, ['POST /api/agents/main/pairing {"code":"telegram:7","platform":"telegram"}', "DELETE /api/agents/main/pairing/telegram%3A8 "]);
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    await page.unroute("**/api/pairing");
    await page.unroute("**/api/agents/main/pairing**");
  });

  await check("hostile words are text on every page", async () => {
    const id = await add(CANARY, { body: CANARY, labels: [CANARY] });
    await api("POST", `/api/boards/work/cards/${id}`, { action: "comment", text: CANARY });
    await api("POST", `/api/boards/work/cards/${id}`, { action: "block", why: CANARY });
    await api("POST", "/api/agents/main/jobs", { name: "canary", schedule: "every 2h", prompt: CANARY });
    for (const where of [...PAGES, `boards/work/${id}`, "schedules/main/canary?view=list", "schedules/main/morning?view=list"]) {
      await goTo(where);
      await settled(page);
      const found = await page.evaluate(() => ({ pwned: window.pwned, wrong: document.querySelectorAll('main img[src="x"], dialog img, a[href^="javascript"], main b:not(.figures b), dialog b').length }));
      assert.deepEqual(found, { pwned: undefined, wrong: 0 }, where);
    }
    assert.ok((await page.content()).includes("&lt;img src=x"), "it is shown as text");
    assert.deepEqual(quiet(page), []);
  });

  await check("a token of one agent sees that one on these pages, and no control that it may not use", async () => {
    const { token } = daemon.json("token", "create", "--agent", "main", "--verb", "chat", "--verb", "read");
    const other = await open();
    const heard = [];
    other.on("response", async (it) => it.url().includes("/api/") && !it.url().endsWith("/events") && heard.push(await it.text().catch(() => "")));
    await signIn(other, daemon, token);
    for (const where of PAGES) {
      await goTo(where, other);
      await settled(other);
      const shown = await other.content();
      for (const name of ["coder", "secretive", "hidden-errand", "what we do", "TELEGRAM"]) assert.ok(!shown.includes(name), `${where} shows ${name}`);
    }
    for (const link of ["Boards", "Channels"]) assert.equal(await other.getByRole("navigation").getByRole("link", { name: link }).count(), 0, link);
    await goTo("schedules?view=list", other);
    await other.getByRole("link", { name: "morning" }).waitFor();
    for (const name of ["Add a job", "Run now: morning of main", "Pause morning of main"]) assert.equal(await other.getByRole("button", { name }).count(), 0, name);
    await goTo("costs", other);
    await other.locator("tr", { hasText: "$0.40" }).first().waitFor();
    const all = heard.join("\n");
    for (const name of ["coder", "secretive", "hidden-errand", "closed"]) assert.ok(!all.includes(name), `the wire names ${name}`);
    await other.context().close();
  });

  await check("axe finds nothing serious on these pages, in both themes", async () => {
    const found = [];
    for (const theme of ["light", "dark"]) {
      const one = await open({ theme });
      await byLink(one, daemon);
      for (const where of [...PAGES, "boards/work/1", "schedules/main/morning?view=list", "tools?agent=coder&tool=terminal"]) {
        await goTo(where, one);
        await settled(one);
        found.push(...(await axeOf(one, `${theme} ${where}`)));
      }
      await goTo("channels", one);
      await one.getByRole("button", { name: "Connect a platform" }).click();
      await one.getByText("@BotFather").first().waitFor();
      found.push(...(await axeOf(one, `${theme} a new account`)));
      await one.context().close();
    }
    assert.deepEqual(found, []);
  });
  if (shots) await pictures(open, byLink, daemon, shots, "3");
  await page.context().close();

  await check("with 300 agents each page draws what is in sight", async () => {
    const many = await start(large(upstream.url));
    const one = await open();
    // Every agent's database is made when it is first looked into.
    one.setDefaultTimeout(90_000);
    await byLink(one, many);
    const go = async (where) => {
      await one.goto(`${many.url}/#/${where}`);
      await one.locator("h1").first().waitFor();
    };
    await go("tools");
    await one.locator(".matrix .cell").first().waitFor();
    assert.ok((await one.locator(".matrix .cell").count()) < 2_500);
    await one.getByLabel("Search agents").fill("a299");
    await one.getByRole("rowheader", { name: /a299/ }).waitFor();
    assert.equal(await one.getByRole("rowheader").count(), 1);
    await one.getByLabel("Search agents").fill("");
    // By keyboard to the very last row, which is then drawn.
    await one.locator('.cell[data-cell="0:0"]').focus();
    for (let n = 0; n < 60; n += 1) await one.keyboard.press("PageDown");
    await one.getByRole("rowheader", { name: /a299/ }).waitFor();
    for (const view of ["week", "month"]) {
      await go(`schedules?view=${view}`);
      await one.getByRole("button", { name: /more$/ }).first().waitFor();
      assert.ok((await one.locator(".chip").count()) < 200, view);
    }
    await one.getByRole("button", { name: /more$/ }).last().click();
    await one.getByRole("dialog").locator(".chip").first().waitFor();
    assert.ok((await one.getByRole("dialog").locator(".chip").count()) < 120);
    await one.keyboard.press("Escape");
    await go("schedules?view=list");
    await one.locator("tbody tr").first().waitFor();
    assert.ok((await one.locator("tbody tr").count()) < 120);
    await go("costs");
    await one.locator(".figures").waitFor();
    await go("boards/work");
    await one.locator(".column").first().waitFor();
    await go("channels");
    await one.getByText("No platform is connected yet.").waitFor();
    if (shots) await pictures(open, byLink, many, shots, "300");
    await one.context().close();
    await many.stop();
    many.remove();
  });

  await daemon.stop();
  daemon.remove();
  upstream.end();
}

/** Waits until a page has read what it shows. */
const settled = (page) => page.waitForFunction(() => document.querySelector("h1") && ![...document.querySelectorAll('[role="status"]')].some((it) => it.textContent === "Reading…"));

/** Pictures at three widths, in both themes. */
async function pictures(open, byLink, daemon, folder, size) {
  mkdirSync(folder, { recursive: true });
  for (const theme of ["light", "dark"]) {
    for (const [width, height] of [[380, 800], [1280, 900], [3840, 2160]]) {
      const page = await open({ width, height, theme });
      await byLink(page, daemon);
      for (const where of PAGES) {
        await page.goto(`${daemon.url}/#/${where}`);
        await page.locator("h1").first().waitFor();
        await settled(page);
        await page.waitForTimeout(500);
        await page.screenshot({ path: join(folder, `${size}-${theme}-${width}-${where.replace(/[/?=&]/g, "_")}.png`) });
      }
      await page.context().close();
    }
  }
}
