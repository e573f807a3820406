// What the page costs: its first paint with 1,000 agents, and what the daemon takes up while it is
// open on 300. Prints figures; `INSULA` names the program.
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";
import { many, start } from "./daemon.mjs";

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const resident = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);

for (const count of [300, 1000]) {
  const daemon = await start(many(count, "version: 1\nmodel: rehearsal/rehearsal\n"));
  const before = resident(daemon.pid);
  const page = await (await browser.newContext()).newPage();
  await page.goto(daemon.json("open").url);
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  for (const path of ["map", "agents", "sessions", "approvals", "memory", "audit", "now"]) {
    await page.goto(`${daemon.url}/#/${path}`);
    await page.locator("h1").first().waitFor();
  }
  const paints = [];
  for (let n = 0; n < 5; n += 1) {
    await page.goto(`${daemon.url}/?n=${n}#/agents`);
    await page.getByText("a000").first().waitFor();
    paints.push(
      await page.evaluate(() => ({
        first: Math.round(performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1),
        rows: document.querySelectorAll("tbody tr").length,
        listed: Math.round(performance.now()),
      })),
    );
  }
  console.log(`${count} agents: first paint ${paints.map((it) => it.first).join(", ")} ms; listed after ${paints.map((it) => it.listed).join(", ")} ms; ${paints[0].rows} rows drawn; daemon ${before} KB before, ${resident(daemon.pid)} KB with the page open`);
  await page.context().close();
  await daemon.stop();
  daemon.remove();
}
await browser.close();
