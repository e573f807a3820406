// Talking as people do it: turns that end otherwise than well, questions in a long conversation, looking at
// another page meanwhile, following what runs. `browser.mjs` calls it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { start } from "./daemon.mjs";

/** Two agents, one that asks, and one whose model can't be reached. */
const config = (provider) => `${provider.replace("model:", '  down: {kind: openai, base_url: "http://127.0.0.1:9/v1"}\nmodel:')}agents:
  main: {default: true, memory: true}
  coder: {tools: coding, integrity: {profile: strict}, approvals: {mode: manual, timeout: 60s}}
  lost: {model: down/m}
`;

export async function talks({ check, open, byLink, quiet, axeOf, provider, shots }) {
  const daemon = await start(config(provider));
  const token = readFileSync(join(daemon.home, "run", "admin.token"), "utf8").trim();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  /** Says something as the same person does elsewhere; gives what comes, piece by piece. */
  const begin = async (agent, session, text) => (await fetch(`${daemon.url}/api/agents/${agent}/messages`, { method: "POST", headers, body: JSON.stringify({ session, text }) })).body.pipeThrough(new TextDecoderStream()).getReader();
  /** Hears it until some words came, or to its end. */
  const until = async (heard, words) => {
    for (let all = ""; words === undefined || !all.includes(words); ) {
      const { done, value } = await heard.read();
      if (done) return all;
      all += value;
    }
    return undefined;
  };
  const visit = async (page, path) => {
    await page.goto(`${daemon.url}/#/${path}`);
    await page.locator("h1").first().waitFor();
  };
  const signedIn = async (options) => {
    const page = await open(options);
    await byLink(page, daemon);
    return page;
  };
  const write = (page, text) => page.getByLabel(/^Message to/).fill(text);
  const say = async (page, text) => {
    await write(page, text);
    await page.keyboard.press("Enter");
  };
  const picture = async (page, name) => shots && page.screenshot({ path: join(shots, `talks-${name}.png`) });
  const button = (of, name) => of.getByRole("button", { name, exact: true });

  await check("a turn that was stopped or failed says so and why, and can be tried again, also after a reload", async () => {
    const page = await signedIn();
    await visit(page, "chat/main/stopped");
    await say(page, "slow and stopped");
    await page.getByText("word3 ").waitFor();
    await button(page, "Stop").click();
    const there = async (state) => {
      await page.locator(".theirs .state", { hasText: state }).waitFor();
      for (const name of ["Try again", "How it went"]) await button(page.locator(".theirs"), name).waitFor();
    };
    await there("stopped");
    await button(page.locator(".theirs"), "Copy").waitFor();
    await page.reload();
    await there("stopped");
    await picture(page, "stopped");
    await visit(page, "chat/lost/failed");
    await say(page, "are you there?");
    const why = page.locator(".theirs .problem", { hasText: "can't be reached" });
    await why.waitFor();
    await there("failed");
    await page.reload();
    await why.waitFor();
    await there("failed");
    await picture(page, "failed");
    await button(page, "Try again").click();
    await page.locator(".own").nth(1).waitFor();
    await why.nth(1).waitFor();
    assert.deepEqual(quiet(page), []);
    await page.context().close();
  });

  await check("the same words said twice are two exchanges, while the second runs too, and so are those tried again", async () => {
    const page = await signedIn();
    await visit(page, "chat/main/twice");
    for (const count of [1, 2]) {
      await say(page, "slow twice");
      await page.locator(".theirs .state", { hasText: "running" }).waitFor();
      assert.equal(await page.locator(".own", { hasText: "slow twice" }).count(), count);
      await button(page, "Stop").click();
      await page.locator(".theirs .state", { hasText: "stopped" }).nth(count - 1).waitFor();
    }
    await button(page, "Try again").click();
    await page.locator(".theirs .state", { hasText: "running" }).waitFor();
    assert.equal(await page.locator(".own", { hasText: "slow twice" }).count(), 3);
    // A page that is loaded anew meanwhile shows each once.
    await button(page, "Stop").click();
    await page.locator(".theirs .state", { hasText: "stopped" }).nth(2).waitFor();
    await say(page, "slow and loaded anew");
    await page.locator(".theirs[aria-busy=true]", { hasText: "word3 " }).waitFor();
    await page.reload();
    await page.locator(".theirs .state", { hasText: "running" }).waitFor();
    assert.equal(await page.locator(".own", { hasText: "slow and loaded anew" }).count(), 1);
    await button(page, "Stop").click();
    await page.locator(".theirs .state", { hasText: "running" }).waitFor({ state: "detached" });
    assert.deepEqual(quiet(page), []);
    await page.context().close();
  });

  await check("a question comes into sight in a long conversation, says how long there is, and offers what it takes", async () => {
    for (let n = 0; n < 6; n += 1) await until(await begin("coder", "long", `line ${n}`));
    const page = await signedIn({ height: 700 });
    await visit(page, "chat/coder/long");
    await page.locator(".own", { hasText: "line 5" }).waitFor();
    await say(page, 'call terminal {"command": "rm -rf build"}');
    const asked = page.locator(".asked");
    await button(asked, "Always").waitFor();
    await asked.getByText(/\d s left, then it is a no/).waitFor();
    const inSight = async () => {
      const [deny, over] = [await button(asked, "Deny").boundingBox(), await page.locator(".composer").boundingBox()];
      return deny.y > 0 && deny.y + deny.height <= over.y;
    };
    for (const last = Date.now() + 5_000; !(await inSight()); ) assert.ok(Date.now() < last, "it is out of sight");
    await picture(page, "asked");
    const serious = await axeOf(page, "a question in a chat");
    assert.deepEqual(serious, []);
    await button(asked, "Deny").click();
    await page.locator(".asked .state", { hasText: "denied" }).or(page.getByText("The tool said").last()).first().waitFor();
    // What words of others brought about is allowed once and no more, wherever it is answered.
    await visit(page, "chat/coder/foreign");
    await page.locator("input[type=file]").setInputFiles([{ name: "letter.txt", mimeType: "text/plain", buffer: Buffer.from("hi") }]);
    await say(page, 'call terminal {"command": "make all"}');
    await asked.getByText("Words of others may have brought this about").waitFor();
    const second = await page.context().newPage();
    await second.goto(`${daemon.url}/#/now`);
    await second.locator(".lane .turn", { hasText: "asks for approval of terminal" }).click();
    const dialog = second.getByRole("dialog");
    await dialog.getByText("Words of others may have brought this about").waitFor();
    for (const where of [asked, dialog]) {
      await button(where, "Allow once").waitFor();
      assert.equal(await button(where, "Always").count(), 0);
    }
    await button(dialog, "Deny").click();
    await dialog.locator(".asked .state", { hasText: "denied" }).waitFor();
    assert.deepEqual(quiet(page), []);
    await page.context().close();
  });

  await check("a question with answers offers them to press", async () => {
    const page = await signedIn();
    await visit(page, "chat/main/colours");
    await say(page, 'call clarify {"question":"Red or blue?","choices":["dark red","blue"]}');
    await button(page.getByRole("group", { name: "Answers" }), "dark red").click();
    await page.locator(".own", { hasText: /^dark red$/ }).waitFor();
    await page.getByRole("heading", { name: "Heard" }).waitFor();
    assert.equal(await page.getByRole("group", { name: "Answers" }).count(), 0);
    assert.deepEqual(quiet(page), []);
    await page.context().close();
  });

  await check("who looks at another page comes back to their conversation, and to what they wrote", async () => {
    const page = await signedIn();
    await visit(page, "chat/main/kept");
    await say(page, "hello");
    await button(page, "Try again").waitFor();
    await write(page, "not sent yet");
    for (const way of ["Approvals", "Now"]) {
      await page.getByRole("link", { name: way, exact: true }).click();
      await page.getByRole("heading", { name: way, exact: true }).waitFor();
      await page.getByRole("link", { name: "Chat", exact: true }).click();
      await page.waitForURL(/chat\/main\/kept$/);
      await page.locator(".own", { hasText: "hello" }).waitFor();
      assert.equal(await page.getByLabel(/^Message to/).inputValue(), "not sent yet");
    }
    await page.reload();
    assert.equal(await page.getByLabel(/^Message to/).inputValue(), "not sent yet");
    await button(page, "New conversation").click();
    await page.getByText("Say something to main.").waitFor();
    assert.equal(await page.getByLabel(/^Message to/).inputValue(), "");
    // Another tab begins with a conversation of its own.
    const second = await page.context().newPage();
    await second.goto(`${daemon.url}/#/chat`);
    await second.getByText("Say something to main.").waitFor();
    assert.deepEqual(quiet(page), []);
    await page.context().close();
  });

  await check("what the same person says elsewhere is heard in every tab, from its beginning to its reply", async () => {
    // One has nothing in it yet, one has been talked in, and one is opened while its turn runs.
    await until(await begin("main", "old", "the first"));
    const pages = [];
    for (const session of ["new", "old"]) {
      const page = await signedIn();
      await visit(page, `chat/main/${session}`);
      if (session === "old") await page.locator(".own", { hasText: "the first" }).waitFor();
      else await page.getByText("Say something to main.").waitFor();
      pages.push(page);
    }
    for (const [at, session] of ["new", "old"].entries()) {
      const page = pages[at];
      const heard = await begin("main", session, `slow in ${session}`);
      await page.locator(".own", { hasText: `slow in ${session}` }).waitFor();
      await page.locator(".theirs[aria-busy=true]", { hasText: "word0 word1 " }).waitFor();
      await page.locator(".theirs .state", { hasText: "running" }).waitFor();
      const late = await page.context().newPage();
      await late.goto(`${daemon.url}/#/chat/main/${session}`);
      await late.locator(".theirs[aria-busy=true]", { hasText: "word0 word1 " }).waitFor();
      // It is this person's turn, so it is stopped here too.
      await button(page, "Stop").click();
      for (const one of [page, late]) {
        await one.locator(".theirs .state", { hasText: "stopped" }).waitFor();
        assert.equal(await one.locator(".own", { hasText: "slow in" }).count(), 1);
      }
      await until(heard);
      await until(await begin("main", session, "and a short one"));
      for (const one of [page, late]) {
        await one.locator(".theirs .markdown strong", { hasText: "and a short one" }).waitFor();
        assert.equal(await one.locator(".own", { hasText: "and a short one" }).count(), 1);
        await button(one, "Try again").waitFor();
      }
      assert.deepEqual(quiet(page), []);
    }
    for (const page of pages) await page.context().close();
  });

  await check("the end stays in sight when a picture comes along, unless somebody reads further up", async () => {
    for (let n = 0; n < 4; n += 1) await until(await begin("main", "pictured", `line ${n}`));
    const page = await signedIn({ height: 700 });
    // Pictures are read later than what stands below them.
    await page.route("**/files/**", async (route) => (await new Promise((done) => setTimeout(done, 700)), route.continue()));
    await visit(page, "chat/main/pictured");
    await page.locator(".own", { hasText: "line 3" }).waitFor();
    const made = await page.evaluate(async () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [1500, 1200];
      canvas.getContext("2d").fillRect(0, 0, 1500, 600);
      return canvas.toDataURL("image/png").split(",")[1];
    });
    const file = { name: "wide.png", mimeType: "image/png", buffer: Buffer.from(made, "base64") };
    const left = () => page.evaluate(() => document.documentElement.scrollHeight - innerHeight - scrollY);
    const kept = page.locator(".kept-file img");
    for (const count of [1, 2]) {
      await page.locator("input[type=file]").setInputFiles([file]);
      await say(page, "look at this");
      await kept.nth(count - 1).waitFor();
      await page.waitForFunction(() => [...document.querySelectorAll(".kept-file img")].every((it) => it.naturalWidth === 1500));
      for (const last = Date.now() + 5_000; (await left()) > 2; ) assert.ok(Date.now() < last, `${await left()} px of it are below`);
    }
    // Who went up stays there, whatever comes.
    await page.mouse.wheel(0, -600);
    await page.waitForFunction(() => document.documentElement.scrollHeight - innerHeight - scrollY > 400);
    await until(await begin("main", "pictured", "one more line"));
    await page.locator(".own", { hasText: "one more line" }).waitFor({ state: "attached" });
    assert.ok((await left()) > 400, `${await left()} px`);
    await page.context().close();
  });

  await check("who works by keyboard is at the message again when what was pressed is gone", async () => {
    const page = await signedIn();
    const atMessage = () => page.waitForFunction(() => document.activeElement?.tagName === "TEXTAREA");
    const press = async (what) => {
      await what.focus();
      await page.keyboard.press("Enter");
    };
    await visit(page, "chat/coder/keys");
    await say(page, 'call terminal {"command": "rm -rf build"}');
    await press(button(page, "Allow once"));
    await page.locator(".asked .state", { hasText: "approved" }).or(page.getByText("The tool said").last()).first().waitFor();
    await atMessage();
    await button(page, "Try again").waitFor();
    await atMessage();
    await press(button(page, "Try again"));
    await button(page, "Deny").waitFor();
    await atMessage();
    await press(button(page, "Deny"));
    await button(page, "Try again").waitFor();
    await atMessage();
    await visit(page, "chat/main/keys");
    await say(page, "slow and stopped");
    await page.getByText("word3 ").waitFor();
    await press(button(page, "Stop"));
    await page.locator(".theirs .state", { hasText: "stopped" }).waitFor();
    await atMessage();
    // A window that is closed leads back to what opened it.
    await press(button(page, "How it went"));
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement?.textContent === "How it went");
    assert.deepEqual(quiet(page), []);
    await page.context().close();
  });

  await check("a draft of a file is not lost by a reload without a question", async () => {
    const page = await signedIn();
    await visit(page, "agents/main?tab=change&view=soul");
    await page.getByLabel(/^Text of .*SOUL.md/).fill("Be kind.");
    const asked = new Promise((done) => page.once("dialog", (dialog) => dialog.dismiss().then(() => done(dialog.type()))));
    await page.evaluate(() => void setTimeout(() => location.reload()));
    assert.equal(await asked, "beforeunload");
    assert.equal(await page.getByLabel(/^Text of .*SOUL.md/).inputValue(), "Be kind.");
    await page.context().close();
  });

  await check("a turn that is followed is told from its beginning, and what it does now is in its course", async () => {
    const heard = await begin("main", "followed", "slow and followed");
    await until(heard, "word12 ");
    const page = await signedIn();
    await visit(page, "now");
    await page.locator(".lane .turn", { hasText: "followed" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.locator(".live-text", { hasText: /^word0 word1 / }).waitFor();
    await dialog.locator(".live-text", { hasText: "word20 " }).waitFor();
    await dialog.locator(".course .is-now", { hasText: /model call under way, .* so far/ }).waitFor();
    await picture(page, "followed");
    await button(dialog, "Stop this turn").click();
    await dialog.locator(".state", { hasText: "stopped" }).first().waitFor();
    await until(heard);
    // What ended is told of after a reload too.
    await page.reload();
    await page.locator("tbody tr", { hasText: "followed" }).locator(".state", { hasText: "stopped" }).waitFor();
    assert.deepEqual(quiet(page), []);
    await page.context().close();
  });

  await check("on a telephone rows of tables are cards, and a table of a reply scrolls in its own box", async () => {
    const page = await signedIn({ width: 380, height: 800 });
    await visit(page, "now");
    const where = page.locator("tbody tr", { hasText: "followed" }).locator("td", { hasText: "followed" });
    await where.waitFor();
    assert.ok((await where.boundingBox()).width > 250, JSON.stringify(await where.boundingBox()));
    await picture(page, "telephone-now");
    await visit(page, "chat/main/wide");
    await say(page, "a wide table");
    const table = page.locator(".markdown .table");
    await table.waitFor();
    await button(page, "Try again").waitFor();
    // Also once the transcript has it.
    await page.waitForFunction(() => {
      const it = document.querySelector(".markdown .table");
      return it && it.scrollWidth > it.clientWidth && it.clientWidth <= 380 && it.querySelector("th").clientHeight < 60;
    });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
    await picture(page, "telephone-table");
    await page.context().close();
  });

  await check("that the daemon is away is said over the whole page, and pushes nothing out of sight", async () => {
    const page = await signedIn();
    await visit(page, "chat/main/kept");
    await daemon.stop();
    const away = page.locator(".offline");
    await away.waitFor();
    const box = await away.boundingBox();
    assert.ok(box.x === 0 && box.width > 1200 && box.height < 60, JSON.stringify(box));
    const out = page.getByRole("button", { name: "Sign out" });
    const { y, height } = await out.boundingBox();
    assert.ok(y + height <= 900, String(y));
    await picture(page, "away");
    await page.context().close();
  });

  await daemon.stop();
  daemon.remove();
}
