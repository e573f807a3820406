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

export async function controls({ check, open, byLink, signIn, provider }) {
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
