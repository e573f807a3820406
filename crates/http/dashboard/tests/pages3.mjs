// Changing things, and the gauntlet's page: in a real browser, as a person would.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { start } from "./daemon.mjs";

/** Pages of this part, for whoever takes pictures or looks for what is serious. */
export const PAGES = ["agents/coder", "agents/coder?tab=settings", "agents/coder?tab=change", "agents/coder?tab=change&view=agent", "agents/coder?tab=change&view=soul", "add-agent", "config", "gauntlet"];

const AGENTS = `agents:
  main: {default: true, memory: true, description: "Helps with everything"}   # the first one
  coder: {tools: coding, approvals: {mode: manual}}
  secretive: {personality: "quiet"}
bindings:
  - {agent: coder, telegram: "-100123", topic: 7}
  - {agent: main, telegram: "-100123"}
`;

export async function pages3({ check, open, byLink, signIn, quiet, axeOf, provider }) {
  const daemon = await start(provider + AGENTS);
  const path = (file) => join(daemon.home, file);
  const onDisk = (file) => (existsSync(path(file)) ? readFileSync(path(file), "utf8") : null);
  const admin = async (call) => {
    const token = readFileSync(path("run/admin.token"), "utf8").trim();
    return (await fetch(daemon.url + call, { headers: { authorization: `Bearer ${token}` } })).json();
  };
  const read = (of) => of.getByText("Reading…").waitFor({ state: "detached" });
  const state = (id) => daemon.json("agents", "list").find((it) => it.id === id)?.state;
  const page = await open();
  await byLink(page, daemon);
  const to = async (where) => {
    await page.goto(`${daemon.url}/#/${where}`);
    await page.locator("h1").first().waitFor();
  };
  const text = (file) => page.getByLabel(`Text of ${file}`);
  const bar = page.getByRole("region", { name: "Not applied yet" });
  const review = async () => {
    await bar.getByRole("button", { name: "Review and apply…" }).click();
    return page.getByRole("dialog", { name: "What this would do" });
  };
  const own = "agents/smith/agent.yaml";

  await check("an agent is added from a template once its files were looked at", async () => {
    await to("agents");
    await page.getByRole("link", { name: "Add an agent" }).click();
    await page.getByRole("radio", { name: /coder/ }).check();
    await page.getByRole("textbox", { name: /^Id/ }).fill("smith");
    await page.getByRole("button", { name: "Look at it" }).click();
    await bar.getByText("it would load").waitFor();
    assert.match(await text(own).inputValue(), /tools: coding/);
    assert.equal(onDisk(own), null, "nothing is written before it was shown");
    const dialog = await review();
    await dialog.getByText("agent smith is added").waitFor();
    await dialog.getByRole("button", { name: "Apply" }).click();
    await page.getByRole("heading", { name: "smith", exact: true }).waitFor();
    await page.locator(".title .state", { hasText: "ready" }).waitFor();
    assert.match(onDisk(own), /tools: coding/);
    assert.ok(onDisk("agents/smith/SOUL.md").length > 100);
    assert.deepEqual(quiet(page), []);
  });

  await check("what is invalid is told with its place, and nothing is written", async () => {
    const before = onDisk(own);
    await to("agents/smith?tab=change&view=agent");
    await text(own).fill("# mine\nmemory: true\ntools: codign\n");
    const finding = page.getByRole("button", { name: /3:8 error/ });
    await finding.waitFor();
    await finding.click();
    assert.equal(await text(own).evaluate((it) => it.selectionStart), "# mine\nmemory: true\ntools: ".length);
    const dialog = await review();
    await dialog.getByText("It would not load").waitFor();
    assert.ok(await dialog.getByRole("button", { name: "Apply" }).isDisabled());
    await dialog.getByRole("button", { name: "Go on writing" }).click();
    assert.equal(onDisk(own), before);
    assert.equal(state("smith"), "ready");
    assert.equal((await fetch(`${daemon.url}/readyz`)).status, 200);
  });

  await check("what is valid is applied once its rights were shown, and is somebody's", async () => {
    await text(own).fill("# mine\nmemory: true\ntools: messaging\n");
    await bar.getByText("it would load").waitFor();
    const dialog = await review();
    await dialog.getByText("smith loses tool terminal").waitFor();
    await dialog.locator(".text-diff tr.in", { hasText: "tools: messaging" }).waitFor();
    await dialog.getByRole("button", { name: "Apply" }).click();
    await page.getByText("Applied: changed smith").waitFor();
    assert.equal(onDisk(own), "# mine\nmemory: true\ntools: messaging\n");
    const record = (await admin("/api/audit")).filter((it) => it.kind === "config.changed").at(-1);
    assert.equal(record.actor, "cli:local");
    const content = typeof record.content === "string" ? JSON.parse(record.content) : record.content;
    assert.equal(content.files[0].file, own);
    assert.ok(content.sign_in && content.takes > 0, JSON.stringify(content));
  });

  await check("keys and values are offered where they can stand, and taken by keyboard", async () => {
    await text(own).focus();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("appr");
    const offers = page.getByRole("listbox", { name: "What could stand here" });
    await offers.getByRole("option", { name: /^approvals/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.type("{mode: ");
    await page.keyboard.press("Control+Space");
    await offers.getByRole("option", { name: "smart" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.type("manual}\n");
    assert.equal(await text(own).inputValue(), "# mine\nmemory: true\ntools: messaging\napprovals: {mode: manual}\n");
    await bar.getByRole("button", { name: "Discard…" }).click();
    await page.getByRole("button", { name: "Leave it" }).click();
    await bar.waitFor({ state: "detached" });
    assert.equal(await text(own).inputValue(), onDisk(own));
  });

  await check("the form changes its key alone, where it stands", async () => {
    await to("agents/main?tab=change");
    await page.getByLabel("Approvals", { exact: true }).selectOption("smart");
    await page.getByLabel("Dollars a day").fill("2.5");
    // What would not load is not called good while it is typed, and nothing of what is typed is lost.
    await bar.getByText("it would load").waitFor();
    const model = page.getByRole("textbox", { name: /^Model/ });
    await model.fill("no");
    assert.equal(await bar.getByText("it would load").count(), 0);
    await bar.getByText("1 error").waitFor();
    await model.pressSequentially("pe", { delay: 300 });
    await bar.getByText("1 error").waitFor();
    assert.equal(await model.inputValue(), "nope");
    await model.fill("");
    await bar.getByText("it would load").waitFor();
    await page.getByLabel("Dollars a day").fill("-5");
    await bar.getByText("1 error").waitFor();
    await page.getByLabel("Dollars a day").fill("2.5");
    await page.getByLabel("Chat, or nothing for all of the platform").fill("-100777");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText("telegram: -100777").waitFor();
    await bar.getByText("it would load").waitFor();
    const dialog = await review();
    await dialog.getByText(/main now answers .*-100777/).waitFor();
    await dialog.getByRole("button", { name: "Apply" }).click();
    await page.getByText("Applied: changed main").waitFor();
    const config = onDisk("config.yaml");
    assert.ok(config.includes('description: "Helps with everything", approvals: {mode: smart}, budget: {usd_per_day: 2.5}}   # the first one'), config);
    assert.ok(config.includes('  - {agent: main, telegram: "-100777"}\n'), config);
    assert.ok(config.includes("  secretive: {personality: \"quiet\"}\n"), config);
  });

  await check("hooks are added and taken out by a form, and nothing else of the text changes", async () => {
    await to("agents/coder?tab=change");
    const hooks = page.locator("fieldset.hooks");
    await hooks.getByLabel("When", { exact: true }).last().selectOption("pre_tool_call");
    await hooks.getByLabel("Who is asked").last().selectOption("expr");
    await hooks.getByLabel(/^Which/).fill("tool_name != 'terminal' || admin");
    await hooks.getByRole("button", { name: "Add the hook" }).click();
    await hooks.locator("li", { hasText: "expr tool_name != 'terminal' || admin" }).waitFor();
    await hooks.getByLabel("Who is asked").last().selectOption("http");
    await hooks.getByLabel(/^Which/).fill("http://127.0.0.1:9/hook");
    await hooks.getByLabel(/^Tools/).last().fill("write_*");
    await hooks.getByLabel(/^How long/).fill("2s");
    await hooks.getByRole("button", { name: "Add the hook" }).click();
    await hooks.locator("li", { hasText: "http http://127.0.0.1:9/hook, matcher write_*, timeout 2s" }).waitFor();
    await hooks.getByRole("button", { name: "Take out hook 1 of pre_tool_call" }).click();
    await hooks.locator("li", { hasText: "expr" }).waitFor({ state: "detached" });
    await bar.getByText("it would load").waitFor();
    const dialog = await review();
    await dialog.getByRole("button", { name: "Apply" }).click();
    await page.getByText("Applied: changed coder").waitFor();
    const config = onDisk("config.yaml");
    assert.match(config, /coder: \{tools: coding, approvals: \{mode: manual\}, hooks: .*http:\/\/127.0.0.1:9\/hook/);
    assert.ok(!config.includes("expr") && config.includes("# the first one"), config);
    // The last one takes its event along.
    await to("agents/coder?tab=change");
    await hooks.getByRole("button", { name: "Take out hook 1 of pre_tool_call" }).click();
    await bar.getByText("it would load").waitFor();
    await (await review()).getByRole("button", { name: "Apply" }).click();
    await page.getByText("Applied: changed coder").waitFor();
    assert.ok(!onDisk("config.yaml").includes("pre_tool_call"));
  });

  await check("an account is connected and changed by a form", async () => {
    await to("channels");
    await page.getByRole("button", { name: "Connect a platform" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("What it is called here").fill("second");
    await dialog.getByLabel("Who answers there").fill("coder");
    await dialog.getByRole("button", { name: "Write it, and look at what it does" }).click();
    const account = page.getByRole("region", { name: "Settings of telegram second" });
    await account.getByLabel("base_url").fill("http://127.0.0.1:9");
    await account.getByLabel("base_url").press("Enter");
    await bar.getByText("it would load").waitFor();
    await (await review()).getByRole("button", { name: "Apply" }).click();
    await page.getByText(/^Applied/).waitFor();
    const config = onDisk("config.yaml");
    assert.match(config, /second:[^\n]*/);
    for (const part of ["${secret:TELEGRAM_SECOND}", "http://127.0.0.1:9", "account: second"]) assert.ok(config.includes(part), `${part}: ${config}`);
    await to("config?file=form");
    await account.getByRole("button", { name: "Take out telegram second" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Take it out of the text" }).click();
    await account.waitFor({ state: "detached" });
    await bar.getByText("it would load").waitFor();
    await (await review()).getByRole("button", { name: "Apply" }).click();
    await page.getByText(/^Applied/).waitFor();
    assert.ok(!onDisk("config.yaml").includes("TELEGRAM_SECOND"));
    assert.deepEqual(quiet(page), []);
  });

  await check("what changed meanwhile is shown, and nothing of either is lost", async () => {
    const soul = "agents/smith/SOUL.md";
    await to("agents/smith?tab=change&view=soul");
    await text(soul).fill("Mine.\n");
    await bar.getByText("it would load").waitFor();
    writeFileSync(path(soul), "Theirs.\n");
    const dialog = await review();
    await dialog.getByText("Somebody wrote").waitFor();
    assert.equal(onDisk(soul), "Theirs.\n");
    await dialog.locator(".text-diff tr.out", { hasText: "Theirs." }).waitFor();
    await dialog.getByRole("button", { name: "Go on with mine over theirs" }).click();
    await dialog.getByText("Rights", { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Apply" }).click();
    await page.getByText(/^Applied:/).waitFor();
    assert.equal(onDisk(soul), "Mine.\n");
  });

  await check("an agent is paused, resumed, archived and deleted, and what can't be undone asks", async () => {
    await to("agents/smith");
    const standing = (word) => page.locator(".title .state", { hasText: word }).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await standing("paused");
    assert.equal(state("smith"), "paused");
    await page.getByRole("button", { name: "Resume" }).click();
    await standing("ready");
    await page.getByRole("button", { name: "Restart…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restart" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Archive…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Archive" }).click();
    await standing("archived");
    await page.getByRole("button", { name: "Unarchive" }).click();
    await standing("ready");
    await page.getByRole("button", { name: "Delete…" }).click();
    const dialog = page.getByRole("dialog");
    const last = dialog.getByRole("button", { name: "Delete for good" });
    assert.ok(await last.isDisabled());
    await dialog.getByLabel("Write smith to go on").fill("smit");
    assert.ok(await last.isDisabled());
    await dialog.getByLabel("Write smith to go on").fill("smith");
    await last.click();
    await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
    assert.equal(state("smith"), undefined);
    assert.equal(onDisk(own), null);
    assert.deepEqual(quiet(page), []);
  });

  await check("the gauntlet's page shows what was recorded, and a run can be begun and ended or says why not", async () => {
    await to("gauntlet");
    await page.getByRole("heading", { name: "The last scoreboard of this build" }).waitFor();
    await page.getByText(/Recorded .* at commit/).waitFor();
    const { missing } = await admin("/api/gauntlet");
    if (missing !== null) {
      await page.getByText("No run can be started here.").waitFor();
      return;
    }
    for (const id of ["A", "B", "C", "D", "H", "I"]) await page.getByRole("checkbox", { name: new RegExp(`^${id}( |$)`) }).uncheck();
    await page.getByRole("button", { name: "Run 1 section" }).click();
    await page.locator(".state", { hasText: "M running" }).waitFor();
    await page.getByRole("button", { name: "Stop it" }).click();
    await page.locator(".state", { hasText: "stopped" }).first().waitFor();
  });

  await check("a token that reads sees all of its agent and no control, and nothing of others", async () => {
    const { token } = daemon.json("token", "create", "--agent", "coder", "--verb", "read");
    const other = await open();
    const heard = [];
    other.on("response", async (it) => it.url().includes("/api/") && !it.url().endsWith("/events") && heard.push(await it.text().catch(() => "")));
    await signIn(other, daemon, token);
    for (const where of ["agents", "agents/coder", "agents/coder?tab=settings", "agents/coder?tab=change", "agents/main", "agents/nobody", "add-agent", "config", "gauntlet"]) {
      await other.goto(`${daemon.url}/#/${where}`);
      await other.locator("h1").first().waitFor();
      await read(other);
      const shown = await other.content();
      for (const name of ["secretive", "Helps with everything", "-100777"]) assert.ok(!shown.includes(name), `${where} shows ${name}`);
      for (const name of [/^Pause$/, /^Reload$/, /^Restart/, /^Archive/, /^Delete/, /^Review/, /^Run /]) assert.equal(await other.getByRole("button", { name }).count(), 0, `${where} ${name}`);
      assert.equal(await other.getByRole("link", { name: "Add an agent" }).count(), 0);
      assert.equal(await other.getByRole("tab", { name: "Change" }).count(), 0);
      if (!/^agents(\/coder|$)/.test(where)) await other.getByRole("heading", { name: "Not here" }).waitFor();
    }
    await other.goto(`${daemon.url}/#/agents/coder?tab=settings`);
    await other.getByText("approvals.mode").waitFor();
    const all = heard.join("\n");
    assert.ok(all.includes("coder") && !all.includes("secretive") && !all.includes("Helps with"), "the wire names others");
    await other.context().close();
  });

  await check("a token of one agent that manages pauses it, and changes no file of it", async () => {
    const { token } = daemon.json("token", "create", "--agent", "coder", "--verb", "read", "--verb", "manage");
    const other = await open();
    await signIn(other, daemon, token);
    await other.goto(`${daemon.url}/#/agents/coder`);
    await other.getByRole("button", { name: "Pause" }).click();
    await other.getByRole("button", { name: "Resume" }).click();
    await other.getByRole("button", { name: "Pause" }).waitFor();
    assert.equal(await other.getByRole("button", { name: /^(Archive|Delete)/ }).count(), 0);
    assert.equal(await other.getByRole("tab", { name: "Change" }).count(), 0);
    await other.context().close();
  });

  await check("where nothing is changed over HTTP there is no control, and the files are shown", async () => {
    const config = onDisk("config.yaml");
    writeFileSync(path("config.yaml"), `${config}api: {changes: false}\n`);
    daemon.insula("reload");
    await page.reload();
    await to("config");
    await page.getByText("api.changes is false").first().waitFor();
    assert.ok(await text("config.yaml").evaluate((it) => it.readOnly));
    await to("agents/coder");
    assert.equal(await page.getByRole("button", { name: "Pause" }).count(), 0);
    writeFileSync(path("config.yaml"), config);
    daemon.insula("reload");
    await page.reload();
    await page.getByRole("button", { name: "Pause" }).waitFor();
  });

  await check("axe finds nothing serious where things are changed, and no page is wider than its window", async () => {
    const found = [];
    for (const [theme, width] of [["light", 1280], ["dark", 380]]) {
      const other = await open({ theme, width });
      await byLink(other, daemon);
      for (const where of PAGES) {
        await other.goto(`${daemon.url}/#/${where}`);
        await other.locator("h1").first().waitFor();
        await read(other);
        found.push(...(await axeOf(other, `${theme} ${where}`)));
        const wider = await other.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wider > 0) found.push(`${width} ${where} is ${wider} wider than its window`);
      }
      await other.goto(`${daemon.url}/#/agents/coder?tab=change&view=agent`);
      await other.getByLabel("Text of agents/coder/agent.yaml").fill("memory: true\ntols: x\n");
      await other.locator(".findings li").first().waitFor();
      found.push(...(await axeOf(other, `${theme} findings`)));
      await other.getByRole("button", { name: "Review and apply…" }).click();
      await other.getByText("It would not load").waitFor();
      found.push(...(await axeOf(other, `${theme} review`)));
      await other.context().close();
    }
    assert.deepEqual(found, []);
  });

  await page.context().close();
  await daemon.stop();
  daemon.remove();
}
