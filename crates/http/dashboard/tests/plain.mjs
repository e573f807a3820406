// What pages say plainly: nothing of somebody who left, nothing that is hidden called nothing, names
// that can be told apart, and sentences of the daemon as they are meant. `browser.mjs` calls it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { start } from "./daemon.mjs";

/** Names that differ at their ends. */
const long = (n) => `agent-with-a-rather-long-name-for-department-${String(n).padStart(3, "0")}`;
const LONG = Array.from({ length: 70 }, (_, n) => long(n));

const config = (provider) => `${provider}agents:
  main: {default: true, memory: true, tools: {profile: coding, also_allow: ["group:boards"]}}
  other: {tools: [todo], access: {allow: ["telegram:5"]}}
boards:
  work: {agents: {main: work}}
bindings:
  - {agent: other, telegram: "-100123"}
`;

export async function plain({ check, open, byLink, signIn, quiet, provider, shots }) {
  const daemon = await start(config(provider));
  const token = readFileSync(join(daemon.home, "run", "admin.token"), "utf8").trim();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const post = async (path, body) => (await fetch(daemon.url + path, { method: "POST", headers, body: JSON.stringify(body) })).json();
  const picture = async (page, name) => shots && page.screenshot({ path: join(shots, `plain-${name}.png`) });

  await check("who signs out in one tab has signed out in all, at once", async () => {
    const page = await open();
    await byLink(page, daemon);
    const others = [];
    for (const path of ["now", "memory/main", "chat/main"]) {
      const other = await page.context().newPage();
      await other.goto(`${daemon.url}/#/${path}`);
      await other.locator("h1").first().waitFor();
      others.push(other);
    }
    // A browser that only copied the sign-in hears nothing of the tabs, and of the daemon's end.
    const copied = await open();
    const key = await page.evaluate(() => localStorage.getItem("insula.page"));
    await copied.context().addCookies(await page.context().cookies(`${daemon.url}/api/me`));
    await copied.addInitScript((key) => localStorage.setItem("insula.page", key), key);
    await copied.goto(`${daemon.url}/#/agents`);
    await copied.getByRole("heading", { name: "Agents" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    const begun = Date.now();
    for (const one of [page, ...others, copied]) {
      await one.getByLabel("Token").waitFor();
      assert.equal(await one.getByRole("navigation").count(), 0);
    }
    assert.ok(Date.now() - begun < 1_500, `${Date.now() - begun} ms`);
    // Who signs in again in one does so in all.
    await byLink(page, daemon);
    await others[0].getByRole("button", { name: "Sign out" }).waitFor();
    assert.deepEqual(quiet(page), []);
    await copied.context().close();
    await page.context().close();
  });

  await check("what the daemon says in backticks is code, and begins as a sentence does", async () => {
    const page = await open();
    const { url } = daemon.json("open");
    await page.goto(url);
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    const second = await open();
    await second.goto(url);
    await second.locator(".door code", { hasText: /^insula open$/ }).first().waitFor();
    await second.getByText("used before").waitFor();
    assert.equal((await second.locator(".door").innerText()).includes("`"), false);
    await second.context().close();
    await page.goto(`${daemon.url}/#/map`);
    await page.getByLabel("Chat", { exact: true }).fill("-100123");
    await page.getByLabel("User", { exact: true }).fill("7");
    await page.getByRole("button", { name: "Ask" }).first().click();
    await page.locator(".answer").first().waitFor();
    for (const path of ["gauntlet", "channels"]) {
      assert.equal((await page.locator("#main").innerText()).includes("`"), false, await page.locator("#main").innerText());
      await page.goto(`${daemon.url}/#/${path}`);
      await page.locator("h1").first().waitFor();
      await page.waitForFunction(() => !document.body.innerText.includes("Reading…"));
    }
    await page.getByRole("button", { name: /^Connect/ }).first().click();
    await page.getByRole("dialog").getByText("In the configuration").waitFor();
    assert.equal((await page.getByRole("dialog").innerText()).includes("`"), false);
    await page.context().close();
    const { id, token: revoked } = daemon.json("token", "create", "--agent", "main", "--verb", "read");
    const member = await open();
    await signIn(member, daemon, revoked);
    daemon.insula("token", "revoke", id);
    await member.getByText("The token was revoked").waitFor();
    await member.context().close();
  });

  await check("a reply that was cut off says so in the chat, in how it went and in the transcript", async () => {
    const page = await open();
    await byLink(page, daemon);
    await page.goto(`${daemon.url}/#/chat/main/round`);
    await page.getByLabel(/^Message to/).fill("go in circles");
    await page.keyboard.press("Enter");
    const said = page.getByText("it said the same again and again");
    await said.waitFor();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await page.reload();
    await said.waitFor();
    await picture(page, "cut");
    await page.getByRole("button", { name: "How it went" }).click();
    await page.getByRole("dialog").getByText("Cut off: it said the same again and again").waitFor();
    await page.goto(`${daemon.url}/#/sessions/main`);
    await page.getByRole("link", { name: "go in circles" }).click();
    await page.locator(".turn-of", { hasText: "it said the same again and again" }).waitFor();
    await page.context().close();
  });

  await check("what is sent while a turn runs stays, and is told to wait", async () => {
    const page = await open();
    await byLink(page, daemon);
    await page.goto(`${daemon.url}/#/chat/main/early`);
    const field = page.getByLabel(/^Message to/);
    await field.fill("go slow");
    await page.keyboard.press("Enter");
    await page.getByText("word3 ").waitFor();
    await field.fill("and then?");
    await page.keyboard.press("Enter");
    await page.getByText("wait, or stop it").waitFor();
    assert.equal(await field.inputValue(), "and then?");
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("wait, or stop it").waitFor({ state: "detached" });
    await page.context().close();
  });

  await check("a search on the map hides nothing of what is chosen, and finds a rule by its agent", async () => {
    const page = await open();
    await byLink(page, daemon);
    await page.goto(`${daemon.url}/#/map`);
    const column = (n) => page.locator(".map .column").nth(n);
    await page.getByLabel("Search the map").fill("other");
    await column(0).locator(".node", { hasText: "-100123" }).waitFor();
    assert.equal(await column(1).locator(".node").count(), 1);
    await column(1).locator(".node", { hasText: "other" }).click();
    await column(2).locator(".node", { hasText: "todo" }).waitFor();
    await column(0).locator(".node", { hasText: "-100123" }).waitFor();
    assert.equal(await page.locator(".map").getByText("Nothing here.").count(), 0);
    // Who searches on looks for something else.
    await page.getByLabel("Search the map").fill("terminal");
    await column(2).locator(".node", { hasText: "terminal" }).waitFor();
    assert.equal(await page.getByRole("heading", { name: "Between two generations" }).count(), 0);
    assert.equal(await page.getByLabel("Search the map").inputValue(), "terminal");
    await page.context().close();
  });

  await check("a card says whose it is, however long its reason is, and a board that it goes on", async () => {
    const { id } = await post("/api/boards/work/cards", { title: "Order glasses", assignee: "main" });
    await post(`/api/boards/work/cards/${id}`, { action: "block", why: "nobody has said by now which of the two kinds of glasses we are to order, and from whom" });
    for (const n of [1, 2, 3]) await post("/api/boards/work/cards", { title: `Card ${n}` });
    const page = await open();
    await byLink(page, daemon);
    await page.goto(`${daemon.url}/#/boards/work`);
    const whose = page.locator(`.face[data-card="${id}"] .whose`);
    await whose.waitFor();
    assert.equal(await whose.innerText(), "main");
    assert.ok(await whose.evaluate((it) => it.scrollWidth <= it.clientWidth), "its name is cut");
    await page.locator(".board.goes-on").waitFor();
    await picture(page, "board");
    await page.getByRole("button", { name: "More to the right" }).click();
    await page.locator(".board:not(.goes-on)").waitFor();
    await page.context().close();
  });

  const large = await start(`${provider}agents:\n${LONG.map((it, n) => `  ${it}: {tools: ${n % 2 ? "coding" : "minimal"}, description: "Does ${n} things"}`).join("\n")}\n`);
  await check("long names of agents are told apart at every width, and nothing runs off the edge", async () => {
    for (const [width, height] of [[380, 800], [1280, 900], [3840, 2160]]) {
      const page = await open({ width, height });
      await byLink(page, large);
      for (const path of ["tools", "agents"]) {
        await page.goto(`${large.url}/#/${path}`);
        const name = path === "tools" ? page.locator(".matrix .name span:first-child") : page.locator(".table td:first-child a");
        await name.filter({ hasText: long(2) }).waitFor();
        await picture(page, `${path}-${width}`);
        const cut = await name.evaluateAll((all) => all.filter((it) => it.scrollHeight > it.clientHeight + 2 || it.scrollWidth > it.clientWidth + 1).map((it) => it.textContent));
        assert.deepEqual(cut, [], `${path} at ${width}`);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} at ${width} runs off`);
      }
      const table = page.locator(".table");
      assert.ok(await table.evaluate((it) => it.scrollWidth <= it.clientWidth + 1), `the table at ${width} runs off`);
      assert.ok(width < 3000 || (await table.evaluate((it) => it.clientWidth > innerWidth * 0.8)), "the list leaves the room empty");
      // A card is as high as the others, and all of it is read.
      const rows = await page.locator(".table tr.opens").evaluateAll((all) => all.filter((it) => it.scrollHeight > it.clientHeight + 2).length);
      assert.equal(rows, 0, `cards at ${width} are cut`);
      await page.locator(".table").evaluate((it) => it.scrollTo(0, it.scrollHeight));
      await page.getByRole("link", { name: long(69) }).waitFor();
      await page.context().close();
    }
  });
  await large.stop();
  large.remove();
  await daemon.stop();
  daemon.remove();
}
