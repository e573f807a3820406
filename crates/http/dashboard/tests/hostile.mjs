// GAUNTLET C13: words that a model, a person, a file's name, a tool, a skill or an MCP server can
// choose, and then every string of every answer and event, as hostile as can be, in a real browser.
// Nothing runs, no attribute is left, the page's policy has nothing to report.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { start } from "./daemon.mjs";

/** What breaks out of attributes, of text and of Markdown. `x-pwn` is an element that no page has. */
const evil = (name) => `${name}"'><x-pwn></x-pwn><img src=x onerror="window.pwned='${name}'"><svg onload=window.pwned=1>[a](javascript:window.pwned=1)![i](http://evil.example/i.png)`;
/** An address that runs. */
const RUNS = "javascript:window.pwned=1";
/** What decides how a page draws and is chosen by the daemon alone. */
const OURS = /^(agent|state|status|kind|origin|role|outcome|missed|overlap|verbs|rights|step|by|type|decision|isolation|as|match|mode|ro|tone|wants|widest|since|platform)$/;
/** What they are called here, without which no page finds them. */
const NAMES = new Set(["main", "coder", "broken", "work"]);
const IS_TIME = /^\d{4}-\d\d-\d\d(T|$)/;

/** Kept by every page from before its first script. */
function watch() {
  window.reported = [];
  addEventListener("securitypolicyviolation", (it) => window.reported.push(`${it.effectiveDirective} ${it.blockedURI} ${it.sample}`));
}

/** What of the page is not as it should be. */
function wrongs() {
  const wrong = [...window.reported];
  if (window.pwned !== undefined) wrong.push(`ran: ${window.pwned}`);
  const links = new Set(["href", "src", "action", "formaction", "xlink:href", "data", "srcdoc", "poster", "background", "ping"]);
  for (const it of document.querySelectorAll("*")) {
    const name = it.localName;
    if (["x-pwn", "script", "iframe", "object", "embed", "base", "style", "meta", "link"].includes(name) && !it.closest("head")) wrong.push(`an element ${name}`);
    for (const { name: key, value } of it.attributes) {
      if (key.startsWith("on")) wrong.push(`${name} has ${key}`);
      if (links.has(key) && !/^(#|\/|blob:|https?:\/\/|mailto:)/.test(value)) wrong.push(`${name} has ${key}=${value.slice(0, 60)}`);
      if (key === "src" && !/^(\/|blob:)/.test(value)) wrong.push(`${name} loads ${value.slice(0, 60)}`);
      if (key === "style" && /url\(|pwn|javascript/.test(value)) wrong.push(`${name} has style ${value.slice(0, 60)}`);
    }
  }
  return [...new Set(wrong)];
}

/** Everything behind a press that changes nothing. */
async function unfold(page) {
  await page.evaluate(() => document.querySelectorAll("details").forEach((it) => (it.open = true)));
  for (const what of ["tr.opens", '[role="gridcell"] button', ".chip", ".node", ".face", ".entry"]) {
    const first = page.locator(`main ${what}`).first();
    if (await first.isVisible().catch(() => false)) await first.click({ timeout: 2_000, position: { x: 4, y: 4 } }).catch(() => {});
  }
  await page.evaluate(() => document.querySelectorAll("details").forEach((it) => (it.open = true)));
}

const settled = (page) => page.waitForFunction(() => document.querySelector("h1") && ![...document.querySelectorAll('[role="status"]')].some((it) => it.textContent === "Reading…"));

/** A server of tools as hostile as it can be, which an agent's sandbox runs. */
const SERVER = `import json, sys
EVIL = json.loads(sys.argv[1])
TOOL = {"name": "look", "title": EVIL["title"], "description": EVIL["description"], "inputSchema": {"type": "object", "properties": {"at": {"type": "string", "description": EVIL["argument"]}}}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method = asked["method"]
    if method == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": EVIL["server"], "version": "1"}, "instructions": EVIL["server"]}
    elif method == "tools/list":
        result = {"tools": [TOOL, {**TOOL, "name": EVIL["tool"]}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": EVIL["result"]}], "isError": False}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
`;

/** Telegram, with one who asks to be let in and one who talks, as far as an account needs it. */
function telegram() {
  let told = false;
  const update = (id) => {
    const from = { id, is_bot: false, first_name: evil("person"), username: "mallory" };
    const chat = { id, type: "private", first_name: evil("person") };
    return { update_id: id, message: { message_id: id, date: Math.floor(Date.now() / 1000), from, chat, text: `hello ${evil("said")}` } };
  };
  const answers = {
    getMe: () => ({ id: 1, is_bot: true, first_name: evil("bot"), username: "evil_bot", can_join_groups: true, can_read_all_group_messages: false }),
    getUpdates: () => (told ? [] : ((told = true), [update(7), update(8)])),
    getWebhookInfo: () => ({ url: "", has_custom_certificate: false, pending_update_count: 0 }),
    sendMessage: () => ({ message_id: 20, date: 1, chat: { id: 8, type: "private" }, text: "" }),
  };
  const server = createServer((request, response) => {
    request.resume();
    const method = request.url.split("?")[0].split("/").at(-1);
    const result = answers[method]?.() ?? true;
    const answer = () => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ok: true, result }));
    // Nothing new is told of after a while, as by the real one.
    if (Array.isArray(result) && result.length === 0) setTimeout(answer, 500);
    else answer();
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done({ url: `http://127.0.0.1:${server.address().port}`, end: () => (server.close(), server.closeAllConnections()) })));
}

const quoted = JSON.stringify;

const config = (provider, { url }) => `${provider}agents:
  main:
    default: true
    memory: true
    access: {allow: ["telegram:8"]}
    name: ${quoted(evil("name"))}
    description: ${quoted(evil("description"))}
    cron: {morning: {schedule: daily at 9am, prompt: ${quoted(evil("prompt"))}}}
  coder:
    tools: {profile: full}
    skills: []
    approvals: {mode: manual, timeout: 600s}
    mcp_servers:
      evil: {command: /usr/bin/python3, args: [server.py, ${quoted(quoted(Object.fromEntries(["server", "title", "tool", "description", "argument", "result"].map((it) => [it, evil(`mcp-${it}`)]))))}]}
  broken: {tools: ${quoted(evil("key"))}}
boards:
  work: {description: ${quoted(evil("board"))}, agents: {coder: work}}
channels:
  telegram: {accounts: {main: {token: "123456:abcdefghijklmnopqrstuvwxyzabcdefghi", base_url: "${url}"}}}
bindings:
  - {agent: main, telegram: {account: main}}
`;

const SKILL = `---
name: deploy
description: ${quoted(evil("skill-description"))}
author: ${quoted(evil("skill-author"))}
---
${evil("skill-body")}
`;

/** Has everybody say what they can. Gives what the pages are to show of it, by where it is shown. */
async function fill(daemon) {
  const token = readFileSync(join(daemon.home, "run", "admin.token"), "utf8").trim();
  const ask = async (method, path, body) => {
    const answer = await fetch(daemon.url + path, { method, headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: body instanceof Buffer ? body : body && quoted(body) });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text.slice(0, 300)}`);
    return text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text;
  };
  const say = (agent, session, text, along) =>
    ask("POST", `/api/agents/${agent}/messages`, { session, text, ...(along && { parts: [{ type: "file", file: { filename: along, file_data: "data:text/plain;base64,aGk=" } }] }) });
  const call = (session, tool, args) => say("coder", session, `call ${tool} ${quoted(args)}`);
  await say("main", evil("session"), `hostile ${evil("message")}`, "note.txt");
  await say("main", "files", "look at this", evil("file").replaceAll("/", "_"));
  await say("main", "memory", `call memory ${quoted({ action: "add", target: "memory", content: evil("memory") })}`);
  await call("work", "write_file", { path: "evil file-name <x-pwn>.md", content: evil("content") });
  await call("work", "read_file", { path: `missing ${evil("path").replaceAll("/", "_")}` });
  await call("work", "skill_view", { name: "deploy" });
  await call("work", `no_such_tool`, { about: evil("unknown") });
  daemon.json("mcp", "test", "coder");
  daemon.insula("mcp", "approve", "coder", "evil");
  const answered = async (turn, decision) => {
    for (const until = Date.now() + 20_000; ; ) {
      const [one] = await ask("GET", "/api/inbox");
      if (one) {
        await ask("POST", `/api/agents/${one.agent}/approvals/${one.id}`, decision);
        return turn;
      }
      assert.ok(Date.now() < until, "nothing waits");
      await new Promise((done) => setTimeout(done, 50));
    }
  };
  await answered(call("work", "mcp__evil__look", { at: evil("mcp-asked") }), { decision: "approve", scope: "always" });
  await answered(call("work", "terminal", { command: `rm -rf '${evil("denied").replaceAll("'", "")}'` }), { decision: "deny", reason: evil("reason") });
  await ask("POST", "/api/agents/main/jobs", { name: "canary", schedule: "every 2h", prompt: evil("job") });
  const { id } = await ask("POST", "/api/boards/work/cards", { title: evil("card-title"), body: evil("card-body"), labels: [evil("label").slice(0, 60)] });
  await ask("POST", `/api/boards/work/cards/${id}`, { action: "comment", text: evil("comment") });
  await ask("POST", `/api/boards/work/cards/${id}`, { action: "block", why: evil("why") });
  await ask("POST", `/api/boards/work/cards/${id}/files?name=${encodeURIComponent(evil("card-file").replaceAll("/", "_").slice(0, 200))}`, Buffer.from("hi"));
  await ask("POST", "/api/tokens", { agents: ["main"], verbs: ["chat"], note: evil("note").slice(0, 100) });
  for (const until = Date.now() + 20_000; ; ) {
    const [people, sessions] = await Promise.all([ask("GET", "/api/pairing"), ask("GET", "/api/sessions?agent=main")]);
    if (people.length > 0 && sessions.some((it) => it.key.includes(":telegram:"))) break;
    assert.ok(Date.now() < until, "nobody came by Telegram");
    await new Promise((done) => setTimeout(done, 100));
  }
  const session = (await ask("GET", "/api/sessions?agent=main")).find((it) => it.key.includes("session"));
  const work = (await ask("GET", "/api/sessions?agent=coder")).find((it) => it.key.includes("work"));
  const [turn] = await ask("GET", "/api/agents/coder/turns");
  return { ask, card: id, session: session.id, work: work.id, turn };
}

/** Where everything is shown. */
const places = ({ card, session, work }) => [
  "now", "chat/main", "chat/coder", `chat/main/${session}`, "approvals", "approvals?tab=answered", "approvals?tab=grants", "approvals?tab=files&agent=coder",
  "boards/work", `boards/work/${card}`, "schedules", "schedules?view=month", "schedules?view=list", "schedules/main/canary?view=list", "schedules/main/morning?view=list",
  "map", "map?agent=coder", "map?agent=main", "agents", "agents/main", "agents/coder", "agents/broken", "agents/main?tab=settings", "agents/main?tab=change", "agents/main?tab=change&view=config",
  "tools", "tools?agent=coder&tool=terminal", "channels", "sessions", `sessions/main/${session}`, `sessions/coder/${work}`, "sessions?q=hello", "memory/main", "costs", "costs?by=person", "costs?by=scope", "audit/main", "audit/coder", "audit/(daemon)", "add-agent", "config", "gauntlet",
];

/** The answer with each of its strings made hostile; `seen` notes which fields there are. */
function poisoned(value, path, { all, seen }) {
  if (typeof value === "string") {
    const key = path.split(".").at(-1).replace("[]", "");
    if (!all && (OURS.test(key) || NAMES.has(value) || IS_TIME.test(value))) return value;
    seen.add(path);
    return all ? RUNS : `${value}${evil(` field${[...seen].indexOf(path)} `)}`;
  }
  if (Array.isArray(value)) return value.map((it) => poisoned(it, `${path}[]`, { all, seen }));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, poisoned(it, `${path}.${key}`, { all, seen })]));
  return value;
}

/** What happens, in words of somebody who means harm. */
const EVENTS = [
  ["turn.accepted", { session: "agent:main:cli:local:dm:x", principal: evil("e-principal") }],
  ["tool.call", { name: evil("e-tool"), about: evil("e-about") }],
  ["approval.asked", { id: "1", tool: evil("e-asked"), what: evil("e-what") }],
  ["child.started", { child: evil("e-child"), goal: evil("e-goal") }],
  ["job.begun", { job: evil("e-job") }],
  ["card.claimed", { board: "work", card: 1, worker: evil("e-worker") }],
  ["turn.ended", { status: "failed", error: evil("e-error"), session: evil("e-session") }],
].map(([event, data]) => `event: ${event}\ndata: ${quoted({ agent: "main", turn: 1, ...data })}\n\n`);

export async function hostile({ check, open, byLink, provider, quiet }) {
  const platform = await telegram();
  const home = mkdtempSync(join(tmpdir(), "insula-dashboard-"));
  for (const [path, text] of [["agents/coder/skills/deploy/SKILL.md", SKILL], ["agents/coder/workspace/server.py", SERVER], ["agents/main/SOUL.md", evil("soul")]]) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  const daemon = await start(config(provider, platform), { home });
  const there = await fill(daemon);
  const visited = async (page, where) => {
    await page.goto(`${daemon.url}/#/${where}`);
    await settled(page);
    await page.waitForTimeout(150);
    await unfold(page);
    await page.waitForTimeout(100);
  };

  await check("whatever would be wrong is found", async () => {
    const page = await open();
    await page.addInitScript(watch);
    await byLink(page, daemon);
    assert.deepEqual(await page.evaluate(wrongs), []);
    const found = await page.evaluate(async (runs) => {
      const make = (name, key, value) => {
        const it = document.createElement(name);
        if (key) it.setAttribute(key, value);
        document.body.append(it);
      };
      make("x-pwn");
      make("a", "href", runs);
      make("img", "src", "http://evil.example/i.png");
      try {
        make("b", "onclick", "window.pwned=1");
      } catch {
        // Refused by trusted types, and reported.
      }
      try {
        document.body.insertAdjacentHTML("beforeend", "<i>as HTML</i>");
      } catch {
        // As above.
      }
      await new Promise((done) => setTimeout(done, 100));
      return window.reported.length;
    }, RUNS);
    assert.ok(found >= 3, "the policy reports a picture from elsewhere, a handler and text as HTML");
    const wrong = (await page.evaluate(wrongs)).join("\n");
    for (const part of ["an element x-pwn", "a has href=javascript", "img loads http://evil", "require-trusted-types-for", "img-src"]) assert.ok(wrong.includes(part), `${part}: ${wrong}`);
    await page.context().close();
  });

  await check("what anybody can choose is text wherever it is shown, and shown", async () => {
    const page = await open();
    await page.addInitScript(watch);
    await byLink(page, daemon);
    let all = "";
    for (const where of places(there)) {
      await visited(page, where);
      assert.deepEqual(await page.evaluate(wrongs), [], where);
      all += await page.evaluate(() => `${document.body.innerText}\n${[...document.querySelectorAll("textarea, input")].map((it) => it.value).join("\n")}`);
    }
    // What its model was shown has the tools and skills in the words of whoever made them.
    await page.goto(`${daemon.url}/#/sessions/coder/${there.work}`);
    await settled(page);
    await page.getByRole("button", { name: /shown/i }).last().click();
    await page.waitForFunction(() => document.body.innerText.includes("mcp-description"));
    await unfold(page);
    assert.deepEqual(await page.evaluate(wrongs), [], "what a model was shown");
    all += await page.evaluate(() => document.body.innerText);
    const names = ["name", "description", "prompt", "soul", "board", "said", "session", "message", "file", "memory", "content", "path", "unknown", "skill-body", "skill-description", "mcp-description", "mcp-argument", "mcp-asked", "mcp-result", "denied", "reason", "job", "card-title", "card-body", "label", "comment", "why", "card-file", "person", "key"];
    const missing = names.filter((it) => !all.includes(`${it}"'>`) && !all.includes(`${it}\\"'>`) && !all.includes(`${it}">`));
    assert.deepEqual(missing, [], "these are shown nowhere");
    assert.deepEqual(quiet(page), []);
    await page.context().close();
  });

  for (const [name, all] of [["with markup in", false], ["replaced by an address that runs", true]]) {
    await check(`every string of every answer and event, ${name}, is text`, async () => {
      const page = await open();
      await page.addInitScript(watch);
      await byLink(page, daemon);
      const seen = new Set();
      await page.route(/\/api\//, async (route) => {
        const path = new URL(route.request().url()).pathname;
        if (path === "/api/events") return route.fulfill({ contentType: "text/event-stream", body: EVENTS.join("") });
        const answer = await route.fetch().catch(() => null);
        if (answer === null) return route.abort();
        const kind = answer.headers()["content-type"] ?? "";
        if (!kind.includes("json") || (all && path === "/api/me")) return route.fulfill({ response: answer });
        const own = path.replace(/\/agents\/[^/]+/, "/agents/{id}").replace(/\/\d+/g, "/{n}");
        return route.fulfill({ response: answer, json: poisoned(await answer.json(), own, { all, seen }) });
      });
      await page.reload();
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      const shown = new Set();
      for (const where of places(there)) {
        await page.goto(`${daemon.url}/#/${where}`);
        await page.waitForTimeout(400);
        await unfold(page);
        await page.waitForTimeout(100);
        assert.deepEqual(await page.evaluate(wrongs), [], where);
        const text = await page.evaluate(() => `${document.body.innerText}\n${[...document.querySelectorAll("textarea, input")].map((it) => it.value).join("\n")}`);
        for (const [, number] of text.matchAll(/ field(\d+) "/g)) shown.add(Number(number));
      }
      console.log(`      ${seen.size} fields were hostile, ${all ? "" : `${shown.size} of them in sight`}`);
      assert.ok(seen.size > 200, `${seen.size} fields`);
      await page.unrouteAll({ behavior: "ignoreErrors" });
      await page.context().close();
    });
  }

  await daemon.stop();
  daemon.remove();
  platform.end();
}
