// What a new operator wants to know, by pressing only, from the first page: how many presses it takes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { start } from "./daemon.mjs";

/** More than these is too many. Choosing from a list is two: opening it, and the choice. */
const PRESSES_MAX = 4;

const DAY_MS = 86_400_000;

const config = (provider) => `${provider}prices: {test/m: {input: 10, output: 50}}
agents:
  main: {default: true, memory: true, tools: {deny: [terminal]}}
  coder: {tools: coding}
  gardener: {memory: true, tools: [memory]}
bindings:
  - {agent: main, telegram: "-100123"}
  - {agent: coder, telegram: "-100123", topic: 7}
`;

export async function clicks({ check, open, byLink, quiet, provider }) {
  const daemon = await start(config(provider));
  const token = readFileSync(`${daemon.home}/run/admin.token`, "utf8").trim();
  const say = async (agent, session, text) => {
    const answer = await fetch(`${daemon.url}/api/agents/${agent}/messages`, { method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: JSON.stringify({ session, text }) });
    return answer.text();
  };
  await say("gardener", "garden", 'call memory {"action":"add","target":"memory","content":"The hedge is cut in March"}');
  await say("gardener", "garden", 'call memory {"action":"add","target":"memory","content":"Tomatoes stand in the south bed"}');

  /** One question, asked from the first page on. `press` and `choose` count. */
  async function question(name, answer) {
    await check(name, async () => {
      const page = await open();
      await byLink(page, daemon);
      await page.getByRole("heading", { name: "Now", exact: true }).waitFor();
      const presses = [];
      await answer({
        page,
        async press(what) {
          presses.push("press");
          await what.click();
        },
        async choose(what, option) {
          presses.push("open", "choose");
          await what.selectOption(option);
        },
        open: (title) => (presses.push("page"), page.getByRole("navigation").getByRole("link", { name: title }).click()),
      });
      console.log(`      ${presses.length} presses`);
      assert.ok(presses.length <= PRESSES_MAX, `${presses.length} presses: ${presses.join(", ")}`);
      assert.deepEqual(quiet(page), []);
      await page.context().close();
    });
  }

  await question("by pressing: which agent answers in topic 7", async ({ page, open: go, press }) => {
    await go("Map");
    await press(page.locator(".node", { hasText: "topic=7" }));
    // The agent alone is left beside the rule, and the rule says so with its line.
    await page.locator(".why", { hasText: "coder" }).filter({ hasText: "config.yaml" }).waitFor();
    assert.deepEqual(await page.locator(".map .column").nth(1).locator(".node .label, .node strong, .node").evaluateAll((all) => [...new Set(all.map((it) => it.innerText.split("\n")[0]))]), ["coder"]);
  });

  await question("by pressing: why an agent may not use the terminal", async ({ page, open: go, choose, press }) => {
    await go("Tools");
    await choose(page.getByLabel("Group of tools"), "group:shell");
    await press(page.getByRole("gridcell").getByRole("button", { name: /^main does not have it: terminal/ }));
    await page.getByRole("complementary").getByText(/config\.yaml:\d+/).first().waitFor();
    await page.getByRole("complementary").getByText(/deny/).first().waitFor();
  });

  await question("by pressing: what an agent remembered yesterday, and from whom", async ({ page, open: go, choose, press }) => {
    // One of them is of yesterday.
    await page.route("**/api/agents/gardener/memory", async (route) => {
      const answer = await route.fetch();
      const json = await answer.json();
      const one = json.find((it) => it.text.includes("hedge"));
      one.provenance.at = new Date(new Date(one.provenance.at).getTime() - DAY_MS).toISOString();
      await route.fulfill({ response: answer, json });
    });
    await go("Memory");
    await choose(page.getByLabel("Agent", { exact: true }), "gardener");
    await press(page.getByRole("tab", { name: "Yesterday" }));
    const entry = page.locator(".entry");
    await entry.filter({ hasText: "The hedge is cut in March" }).filter({ hasText: "cli:local" }).waitFor();
    assert.equal(await entry.count(), 1);
  });

  await question("by pressing: what an agent cost this week", async ({ page, open: go, choose }) => {
    await go("Costs");
    await choose(page.getByLabel("Since when"), "7");
    await page.locator("tr", { hasText: "gardener" }).filter({ hasText: /\$\d/ }).first().waitFor();
  });

  await question("by pressing: stopping a turn that runs", async ({ page, press }) => {
    const turn = say("main", "talk", "go slow");
    await press(page.locator(".lane .turn", { hasText: "running" }));
    await press(page.getByRole("button", { name: "Stop this turn" }));
    assert.match(await turn, /stopped/);
  });

  await daemon.stop();
  daemon.remove();
}
