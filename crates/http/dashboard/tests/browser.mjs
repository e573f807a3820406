// The page in a real browser: signing in, rights, talking, what is hostile, breaks, looks.
// `node browser.mjs [--smoke] [--only PART] [--shots FOLDER]`; `INSULA` names the program,
// `CHROMIUM` the browser.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { crc32, deflateSync } from "node:zlib";
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { many, start } from "./daemon.mjs";
import { HOSTILE, serve } from "./model.mjs";
import { clicks } from "./clicks.mjs";
import { controls } from "./controls.mjs";
import { hostile } from "./hostile.mjs";
import { pages1 } from "./pages1.mjs";
import { pages2 } from "./pages2.mjs";
import { pages3 } from "./pages3.mjs";
import { plain } from "./plain.mjs";
import { talks } from "./talks.mjs";
import { weight } from "./weight.mjs";

const smoke = process.argv.includes("--smoke");
/** One part alone, by the name of its file; `browser` is this one. */
const only = process.argv.includes("--only") ? process.argv[process.argv.indexOf("--only") + 1] : null;
const wants = (part) => !smoke && (only === null || only === part);
const shots = process.argv.includes("--shots") ? process.argv[process.argv.indexOf("--shots") + 1] : null;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const model = await serve();
const provider = `version: 1\nproviders:\n  test: {kind: openai, base_url: "${model.url}"}\nmodel: test/m\n`;

let passed = 0;
const failed = [];
async function check(name, run) {
  const begun = Date.now();
  try {
    await run();
    passed += 1;
    console.log(`ok    ${name} (${Date.now() - begun} ms)`);
  } catch (error) {
    failed.push(name);
    console.log(`FAIL  ${name}\n${error.stack ?? error}`);
  }
}

/** A new window; whatever it logs as an error, or runs that is not ours, is kept. */
async function open({ width = 1280, height = 900, theme = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme });
  const page = await context.newPage();
  page.wrong = [];
  page.on("pageerror", (error) => page.wrong.push(String(error)));
  page.on("console", (it) => it.type() === "error" && page.wrong.push(it.text()));
  page.setDefaultTimeout(15_000);
  // With DIST set, the page's files are those of dist/: they change without building the program.
  if (process.env.DIST) {
    for (const [name, contentType] of [["app.js", "text/javascript"], ["app.css", "text/css"]]) {
      const body = readFileSync(new URL(`../dist/${name}`, import.meta.url));
      await context.route(`**/assets/${name}*`, (route) => route.fulfill({ body, contentType }));
    }
  }
  return page;
}

const signIn = async (page, daemon, token, path = "/") => {
  await page.goto(daemon.url + path);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
};

const byLink = async (page, daemon) => {
  await page.goto(daemon.json("open").url);
  await page.getByRole("button", { name: "Sign out" }).waitFor();
};

const say = async (page, text) => {
  await page.getByLabel(/^Message to/).fill(text);
  await page.keyboard.press("Enter");
};

/** No error but those that a refusal on purpose logs. */
const quiet = (page) => page.wrong.filter((it) => !/40[13]|Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|network error/i.test(it));

/** A sound of a tenth of a second. */
function tone() {
  const samples = 800;
  const wav = Buffer.alloc(44 + samples);
  wav.write("RIFF", 0);
  wav.writeUInt32LE(36 + samples, 4);
  wav.write("WAVEfmt ", 8);
  wav.writeUInt32LE(16, 16);
  for (const [at, value] of [[20, 1], [22, 1], [32, 1], [34, 8]]) wav.writeUInt16LE(value, at);
  wav.writeUInt32LE(8_000, 24);
  wav.writeUInt32LE(8_000, 28);
  wav.write("data", 36);
  wav.writeUInt32LE(samples, 40);
  for (let at = 0; at < samples; at += 1) wav[44 + at] = 128 + (at % 16 < 8 ? 40 : -40);
  return wav;
}

/** A picture that no packing makes small. */
function noise(side) {
  const chunk = (kind, data) => {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(data.length);
    const body = Buffer.concat([Buffer.from(kind), data]);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([head, body, sum]);
  };
  const size = Buffer.alloc(13);
  size.writeUInt32BE(side, 0);
  size.writeUInt32BE(side, 4);
  size.set([8, 2, 0, 0, 0], 8);
  const rows = randomBytes(side * (side * 3 + 1));
  for (let row = 0; row < side; row += 1) rows[row * (side * 3 + 1)] = 0;
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", size), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

const agents = `${provider}agents:
  main: {default: true, memory: true, description: "Helps with everything"}
  coder: {tools: coding, approvals: {mode: manual, timeout: 30s}}
  secretive: {personality: "quiet"}
bindings:
  - {agent: coder, telegram: "-100123", topic: 7}
  - {agent: main, telegram: "-100123"}
`;
let daemon = await start(agents);

await check("a link signs in once, leaves the address, and opens nothing again", async () => {
  const { url } = daemon.json("open");
  const page = await open();
  await page.goto(url);
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  assert.ok(!page.url().includes("open="), page.url());
  const cookies = await page.context().cookies(`${daemon.url}/api/me`);
  assert.equal(cookies.length, 1);
  assert.ok(cookies[0].httpOnly && cookies[0].sameSite === "Strict", JSON.stringify(cookies));
  assert.equal(await page.evaluate(() => document.cookie), "");
  const second = await open();
  await second.goto(url);
  await second.getByText("used before").waitFor();
  assert.deepEqual(quiet(page), []);
  await page.context().close();
  await second.context().close();
});

await check("a page answers under a policy without inline script and frames", async () => {
  const answer = await fetch(daemon.url);
  const policy = answer.headers.get("content-security-policy");
  for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "base-uri 'none'"]) assert.ok(policy.includes(part), policy);
  assert.equal(answer.headers.get("x-frame-options"), "DENY");
});

await check("talking streams, shows Markdown as elements, and stays after a reload", async () => {
  const page = await open();
  await byLink(page, daemon);
  await page.getByRole("link", { name: "Chat" }).click();
  await page.getByLabel("Agent", { exact: true }).selectOption("main");
  await say(page, "hello there");
  await page.getByRole("heading", { name: "Heard" }).waitFor();
  await page.locator(".said .markdown strong", { hasText: "hello there" }).waitFor();
  await page.locator(".said pre", { hasText: "fn main() {}" }).waitFor();
  await page.getByRole("button", { name: "Try again" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Heard" }).waitFor();
  assert.deepEqual(quiet(page), []);
  await page.context().close();
});

if (wants("browser")) {
  await check("what a model says runs nowhere", async () => {
    const page = await open();
    await byLink(page, daemon);
    await page.goto(`${daemon.url}/#/chat/main`);
    await say(page, "hostile");
    await page.locator(".theirs strong", { hasText: "bold" }).waitFor();
    const text = await page.locator(".theirs").first().innerText();
    assert.ok(text.includes('<img src=x onerror="window.pwned=1">'), text);
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.equal(await page.locator('.theirs img, .theirs script, .theirs a[href^="javascript"]').count(), 0);
    assert.ok(HOSTILE.includes("pwned"));
    await page.context().close();
  });

  await check("a turn is followed live and stopped", async () => {
    const page = await open();
    await byLink(page, daemon);
    await page.goto(`${daemon.url}/#/chat/main`);
    await say(page, "go slow");
    await page.getByText("word3").waitFor();
    const second = await page.context().newPage();
    await second.goto(`${daemon.url}/#/now`);
    await second.locator(".lane .turn").first().click();
    await second.locator(".live-text", { hasText: "word" }).waitFor();
    await second.getByRole("button", { name: "Stop this turn" }).click();
    await page.locator(".state", { hasText: "stopped" }).waitFor();
    await second.getByRole("heading", { name: "Just ended" }).waitFor();
    await page.context().close();
  });

  await check("an approval is asked and answered in place", async () => {
    const page = await open();
    await byLink(page, daemon);
    await page.goto(`${daemon.url}/#/chat/coder`);
    await say(page, 'call terminal {"command": "rm -rf build"}');
    await page.getByRole("button", { name: "Deny" }).click();
    await page.locator(".asked .state", { hasText: "denied" }).waitFor();
    await page.getByText("The tool said").waitFor();
    // Also where the turn is followed by somebody who was not here when it was asked.
    await say(page, 'call terminal {"command": "rm -rf dist"}');
    await page.getByRole("button", { name: "Deny" }).waitFor();
    const second = await page.context().newPage();
    await second.goto(`${daemon.url}/#/now`);
    await second.locator(".lane .turn", { hasText: "asks for approval of terminal" }).click();
    await second.getByRole("dialog").locator("pre", { hasText: "rm -rf dist" }).waitFor();
    await second.getByRole("dialog").getByRole("button", { name: "Deny" }).click();
    await page.getByText("The tool said").nth(1).waitFor();
    await page.context().close();
  });

  await check("a file and a picture come along, and the model is told of them", async () => {
    const page = await open();
    await byLink(page, daemon);
    await page.goto(`${daemon.url}/#/chat/main`);
    const dot = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
    await page.locator("input[type=file]").setInputFiles([
      { name: "<b>note</b>.txt", mimeType: "text/plain", buffer: Buffer.from("the word is kiwi") },
      { name: "dot.png", mimeType: "image/png", buffer: dot },
    ]);
    await page.locator(".composer img").waitFor();
    await say(page, "look at these");
    await page.locator(".theirs strong", { hasText: "the word is kiwi" }).waitFor();
    assert.equal(await page.locator(".said b").count(), 0);
    // Both are had back, by whoever sent them and by who reads the agent.
    const saved = async (from, name) => {
      const [download] = await Promise.all([page.waitForEvent("download"), from.getByRole("button", { name: `Save ${name}`, exact: true }).click()]);
      return readFileSync(await download.path());
    };
    await page.reload();
    const picture = page.locator(".kept-file", { has: page.locator("img") });
    await picture.waitFor();
    const name = await picture.locator(".name").innerText();
    assert.deepEqual(await saved(picture, name), dot);
    assert.equal(String(await saved(page.locator(".said"), "<b>note</b>.txt")), "the word is kiwi");
    await page.goto(`${daemon.url}/#/sessions/main`);
    await page.getByRole("link", { name: "look at these" }).click();
    await page.locator(".kept-file img").waitFor();
    assert.equal(String(await saved(page.locator(".transcript"), "<b>note</b>.txt")), "the word is kiwi");
    assert.deepEqual(quiet(page), []);
    await page.context().close();
  });

  await check("an answer says what of the memory was in it, and what was called, also after a reload", async () => {
    const page = await open();
    await byLink(page, daemon);
    await page.goto(`${daemon.url}/#/chat/main`);
    await say(page, 'call memory {"action":"add","target":"memory","content":"The hedge is cut in March"}');
    await page.getByText("The tool said").waitFor();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await say(page, "and the roses?");
    await page.locator(".markdown strong", { hasText: "and the roses?" }).waitFor();
    await page.reload();
    await page.locator(".step .about", { hasText: "add" }).waitFor();
    await page.getByRole("button", { name: "What it remembered" }).last().click();
    const entry = page.getByRole("dialog").locator("li", { hasText: "The hedge is cut in March" });
    await entry.getByText("noted by the agent by cli:local").waitFor();
    await entry.getByRole("link", { name: "this conversation" }).click();
    await page.getByRole("heading", { name: "call memory" }).waitFor();
    assert.deepEqual(quiet(page), []);
    await page.context().close();
  });

  await check("files of every kind come along, without words too, and a large picture is made smaller", async () => {
    const page = await open();
    await byLink(page, daemon);
    await page.goto(`${daemon.url}/#/chat/secretive`);
    const files = [
      { name: "paper.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.7\n\0\xff", "latin1") },
      { name: "tone.wav", mimeType: "audio/wav", buffer: tone() },
      { name: "all.zip", mimeType: "application/zip", buffer: Buffer.from("PK\x03\x04\xff", "latin1") },
      { name: "<b>odd</b>", mimeType: "", buffer: Buffer.from([0, 1, 255]) },
    ];
    await page.locator("input[type=file]").setInputFiles([...files, { name: "large.png", mimeType: "image/png", buffer: noise(900) }]);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await page.reload();
    await page.locator(".kept-file img").waitFor();
    const saved = async (from) => {
      const [download] = await Promise.all([page.waitForEvent("download"), from.getByRole("button", { name: /^Save/ }).click()]);
      return readFileSync(await download.path());
    };
    const picture = page.locator(".kept-file", { has: page.locator("img") });
    const wide = await picture.locator("img").evaluate((it) => it.naturalWidth);
    const { length } = await saved(picture);
    assert.ok(wide > 300 && length < 600 * 1024, `${wide} px, ${length} bytes`);
    for (const { name, buffer } of files) {
      const file = page.locator(".kept-file", { has: page.getByRole("button", { name: `Save ${name}`, exact: true }) });
      assert.deepEqual(await saved(file), buffer, name);
    }
    await page.getByRole("button", { name: "Hear tone.wav" }).click();
    await page.waitForFunction(() => document.querySelector(".kept-file audio")?.readyState > 0);
    assert.deepEqual(quiet(page), []);
    // What is too large is said before anything is sent, and nothing is lost of what was written.
    await page.getByLabel(/^Message to/).fill("with it");
    const huge = join(daemon.home, "huge.bin");
    writeFileSync(huge, "");
    truncateSync(huge, 11 * 1024 * 1024);
    await page.locator("input[type=file]").setInputFiles(huge);
    await page.getByText("more than 10 MB together").waitFor();
    assert.equal(await page.getByLabel(/^Message to/).inputValue(), "with it");
    await page.context().close();
  });

  await check("a reply that a restart cut off is told again, without saying anything twice", async () => {
    const page = await open();
    await byLink(page, daemon);
    await page.goto(`${daemon.url}/#/chat/main`);
    await say(page, "slow once more");
    await page.getByText("word3 ").waitFor();
    const { home, address } = daemon;
    await daemon.kill();
    await page.locator(".state", { hasText: "reconnecting" }).waitFor();
    daemon = await start(null, { home, listen: address });
    await page.getByText("word5 ").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator(".state", { hasText: "stopped" }).waitFor();
    assert.equal(await page.locator(".own", { hasText: "slow once more" }).count(), 1);
    await page.context().close();
  });

  await check("a token of one agent sees one agent, in the page and on the wire", async () => {
    const { token } = daemon.json("token", "create", "--agent", "main", "--verb", "chat", "--verb", "read");
    const page = await open();
    const heard = [];
    page.on("response", async (it) => it.url().includes("/api/") && !it.url().endsWith("/events") && heard.push(await it.text().catch(() => "")));
    await signIn(page, daemon, token);
    for (const path of ["now", "chat", "map", "agents"]) {
      await page.goto(`${daemon.url}/#/${path}`);
      await page.locator("h1").first().waitFor();
      await page.waitForLoadState("load");
      const shown = await page.content();
      for (const other of ["coder", "secretive", "-100123,"]) assert.ok(!shown.includes(other), `${path} shows ${other}`);
    }
    const all = heard.join("\n");
    assert.ok(all.includes("main") && !all.includes("coder") && !all.includes("secretive"), "the wire names others");
    await page.context().close();
  });

  await check("a member with a chat token talks, and sees nothing else", async () => {
    const { id, token } = daemon.json("token", "create", "--agent", "main", "--verb", "chat");
    const page = await open();
    await signIn(page, daemon, token, "/chat");
    assert.equal(await page.getByRole("navigation").count(), 0);
    await say(page, "from a member");
    await page.locator(".markdown strong", { hasText: "from a member" }).waitFor();
    await page.reload();
    await page.locator(".markdown strong", { hasText: "from a member" }).waitFor();
    daemon.insula("token", "revoke", id);
    const begun = Date.now();
    await page.getByText("revoked", { exact: false }).waitFor();
    assert.ok(Date.now() - begun < 1_000, `${Date.now() - begun} ms`);
    await page.context().close();
  });

  await check("a member has a conversation open twice, and what is said in one tab stands in the other", async () => {
    const { token } = daemon.json("token", "create", "--agent", "main", "--verb", "chat");
    const page = await open();
    await signIn(page, daemon, token, "/chat");
    await page.goto(`${daemon.url}/chat#/chat/main/twice`);
    await page.getByText("Say something to main.").waitFor();
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByText("Say something to main.").waitFor();
    for (const [from, to, text] of [[page, other, "said first"], [other, page, "said second"]]) {
      await say(from, text);
      for (const one of [from, to]) {
        await one.locator(".theirs .markdown strong", { hasText: text }).waitFor();
        assert.equal(await one.locator(".own", { hasText: text }).count(), 1);
      }
    }
    assert.deepEqual(quiet(page), []);
    await page.context().close();
  });

  await check("a cookie alone, from another site, or a wrong key opens nothing", async () => {
    const page = await open();
    await byLink(page, daemon);
    const [cookie] = await page.context().cookies(`${daemon.url}/api/me`);
    const key = await page.evaluate(() => localStorage.getItem("insula.page"));
    const header = `${cookie.name}=${cookie.value}`;
    const status = async (headers) => (await fetch(`${daemon.url}/api/me`, { headers })).status;
    assert.equal(await status({ cookie: header, "x-insula-page": key }), 200);
    assert.equal(await status({ cookie: header }), 401);
    assert.equal(await status({ cookie: header, "x-insula-page": `${key}x` }), 401);
    assert.equal(await status({ cookie: header, "x-insula-page": key, "sec-fetch-site": "same-site" }), 401);
    assert.equal(await status({ cookie: header, "x-insula-page": key, "sec-fetch-site": "cross-site" }), 401);
    assert.equal(await status({ cookie: header, "x-insula-page": key, origin: "http://evil.example" }), 403);
    assert.equal(await status({ "x-insula-page": key }), 401);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You signed out").waitFor();
    assert.equal(await status({ cookie: header, "x-insula-page": key }), 401);
    await page.context().close();
  });

  await check("the map says which agent answers in topic 7, and why it may not", async () => {
    const page = await open();
    await byLink(page, daemon);
    await page.getByRole("link", { name: "Map" }).click();
    await page.getByLabel("Chat").fill("-100123");
    await page.getByLabel("Topic").fill("7");
    await page.getByRole("button", { name: "Ask" }).first().click();
    await page.locator(".answer .state", { hasText: "coder" }).first().waitFor();
    const can = page.locator(".card", { hasText: "Can it?" });
    await can.getByLabel("Agent").fill("main");
    await can.getByLabel("What it would do").selectOption("call");
    await can.getByLabel("What", { exact: true }).fill("send_message");
    await can.getByRole("button", { name: "Ask" }).click();
    await can.locator(".answer.no").waitFor();
    await page.locator(".node", { hasText: "coder" }).first().click();
    await page.getByRole("heading", { name: "Between two generations" }).waitFor();
    assert.deepEqual(quiet(page), []);
    await page.context().close();
  });

  await check("a daemon that starts anew is found again, and what was under way is told", async () => {
    const page = await open();
    await byLink(page, daemon);
    await page.goto(`${daemon.url}/#/now`);
    await page.getByRole("heading", { name: "Now", exact: true }).waitFor();
    const { home, address } = daemon;
    await daemon.stop();
    const away = page.locator(".offline", { hasText: "The daemon does not answer" });
    await away.waitFor();
    daemon = await start(null, { home, listen: address });
    await away.waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Agents" }).click();
    await page.getByText("secretive").waitFor();
    await page.context().close();
  });

  await check("axe finds nothing serious on any page, in both themes", async () => {
    const found = [];
    for (const theme of ["light", "dark"]) {
      const page = await open({ theme });
      await page.goto(daemon.url);
      await page.getByLabel("Token").waitFor();
      found.push(...(await axeOf(page, `${theme} sign-in`)));
      await byLink(page, daemon);
      for (const path of ["now", "chat/main", "map?agent=coder", "agents"]) {
        await page.goto(`${daemon.url}/#/${path}`);
        await page.locator("h1").first().waitFor();
        await page.waitForTimeout(400);
        found.push(...(await axeOf(page, `${theme} ${path}`)));
      }
      await page.context().close();
    }
    assert.deepEqual(found, []);
  });
}


/** axe in a window of its own world: the page's policy lets in no script of ours. */
async function axeOf(page, where) {
  const session = await page.context().newCDPSession(page);
  await session.send("Page.enable");
  const { frameTree } = await session.send("Page.getFrameTree");
  const { executionContextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id });
  await session.send("Runtime.evaluate", { expression: `${axe};0`, contextId: executionContextId });
  const ran = await session.send("Runtime.evaluate", {
    expression: `axe.run(document, {resultTypes: ["violations"]}).then((it) => JSON.stringify(it.violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html).join(" | "))))`,
    contextId: executionContextId,
    awaitPromise: true,
    returnByValue: true,
  });
  return JSON.parse(ran.result.value ?? "[]").map((it) => `${where}: ${it}`);
}

if (shots) mkdirSync(shots, { recursive: true });
const parts = { talks, plain, pages3, pages2, pages1, hostile, clicks, controls, weight };
for (const [name, part] of Object.entries(parts)) {
  if (wants(name)) await part({ check, open, byLink, signIn, quiet, axeOf, provider, shots });
}

if (shots && wants("browser")) {
  const small = daemon;
  const large = await start(many(300, provider));
  for (const [size, one] of [["3", small], ["300", large]]) {
    for (const theme of ["light", "dark"]) {
      for (const [width, height] of [[380, 800], [1280, 900], [3840, 2160]]) {
        const page = await open({ width, height, theme });
        await byLink(page, one);
        const agent = size === "3" ? "main" : "a000";
        for (const path of ["now", `chat/${agent}`, "map", `map?agent=${size === "3" ? "coder" : "a000"}`, "agents"]) {
          await page.goto(`${one.url}/#/${path}`);
          await page.locator("h1").first().waitFor();
          await page.waitForTimeout(400);
          await page.screenshot({ path: join(shots, `${size}-${theme}-${width}-${path.replace(/[/?=]/g, "_")}.png`) });
        }
        await page.context().close();
      }
    }
  }
  await large.stop();
  large.remove();
}

await browser.close();
await daemon.stop();
daemon.remove();
model.end();
console.log(`${passed} passed, ${failed.length} failed`);
process.exit(failed.length > 0 ? 1 : 0);
