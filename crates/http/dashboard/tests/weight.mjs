// What the page costs: what the daemon takes up while it is open on 300 agents, and what is loaded
// before 1,000 agents are first painted. Times are printed and judge nothing.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { many, start } from "./daemon.mjs";

/** Every page, and each of its views that reads something else. */
const PAGES = [
  "now", "chat", "chat/a001", "approvals", "approvals?tab=answered", "approvals?tab=grants", "approvals?tab=files", "boards", "schedules", "schedules?view=month", "schedules?view=list", "map", "map?agent=a002",
  "agents", "agents/a003", "agents/a003?tab=change", "tools", "channels", "sessions", "memory", "memory/a004", "costs", "costs?by=person", "costs?by=model", "audit", "audit/a005", "add-agent", "config", "gauntlet",
];
/** What the daemon may take up more with the page open, in KB. */
const MORE_MAX_KB = 10 * 1024;
/** What may be loaded before the first paint, and before the list of agents stands, in KB. */
const PAINT_MAX_KB = 160;
const LIST_MAX_KB = 640;

/** What a process takes up: memory of its own, and what it has read of its program so far. */
function resident(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const of = (what) => Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)[1]);
  return { all: of("VmRSS"), own: of("RssAnon") };
}

const settled = (page) => page.waitForFunction(() => document.querySelector("h1") && ![...document.querySelectorAll('[role="status"]')].some((it) => it.textContent === "Reading…"));

/** A home whose agents all have a database, served by a daemon that has opened none of them. */
async function lived(provider) {
  const config = many(300, provider);
  const first = await start(config);
  const token = readFileSync(`${first.home}/run/admin.token`, "utf8").trim();
  for (let n = 0; n < 300; n += 1) {
    const id = `a${String(n).padStart(3, "0")}`;
    const body = JSON.stringify({ name: "look", schedule: "daily at 3am", prompt: "look around" });
    const answer = await fetch(`${first.url}/api/agents/${id}/jobs`, { method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body });
    assert.equal(answer.status, 201, await answer.text());
  }
  await first.stop();
  return start(null, { home: first.home });
}

export async function weight({ check, open, byLink, provider }) {
  await check("with every page open on 300 agents the daemon takes up at most 10 MB more", async () => {
    const daemon = await lived(provider);
    try {
      const page = await open();
      const before = resident(daemon.pid);
      await byLink(page, daemon);
      const each = [];
      let last = before;
      for (const path of PAGES) {
        const begun = Date.now();
        await page.goto(`${daemon.url}/#/${path}`);
        await settled(page);
        const now = resident(daemon.pid);
        each.push([now.own - last.own, path, Date.now() - begun]);
        last = now;
      }
      each.sort(([a], [b]) => b - a);
      const most = each.slice(0, 4).map(([kb, path, ms]) => `${path} ${kb} KB in ${ms} ms`).join(", ");
      console.log(`      ${before.all} KB before, of which ${before.own} KB are its own; ${last.all} and ${last.own} KB after ${PAGES.length} pages; most by ${most}`);
      // A program that was not optimised is many times as long: what of it was read is no measure.
      assert.ok(last.own - before.own <= MORE_MAX_KB, `${last.own - before.own} KB more`);
      await page.context().close();
    } finally {
      await daemon.stop();
      daemon.remove();
    }
  });

  await check("little is loaded before 1,000 agents are first painted", async () => {
    const daemon = await start(many(1000, provider));
    try {
      const page = await open();
      await byLink(page, daemon);
      const times = [];
      let loaded = null;
      for (let n = 0; n < 7; n += 1) {
        // Nothing is kept from before: as in a browser that was never here.
        const cdp = await page.context().newCDPSession(page);
        await cdp.send("Network.enable");
        await cdp.send("Network.setCacheDisabled", { cacheDisabled: true });
        await page.goto(`${daemon.url}/?n=${n}#/agents`);
        await page.getByText("a000").first().waitFor();
        const now = await page.evaluate(() => {
          const paint = performance.getEntriesByName("first-contentful-paint")[0].startTime;
          const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
          const bytes = (list) => list.reduce((sum, it) => sum + it.transferSize, 0);
          const early = all.filter((it) => it.responseEnd > 0 && it.responseEnd <= paint);
          const name = (it) => new URL(it.name).pathname;
          return { paint, listed: performance.now(), early: early.map(name), earlyBytes: bytes(early), all: all.map(name), allBytes: bytes(all), rows: document.querySelectorAll("tbody tr").length };
        });
        times.push([now.paint, now.listed]);
        loaded = now;
        await cdp.detach();
      }
      const middle = (at) => Math.round(times.map((it) => it[at]).sort((a, b) => a - b)[3]);
      console.log(`      first paint after ${middle(0)} ms, listed after ${middle(1)} ms; ${loaded.early.length} requests and ${loaded.earlyBytes} bytes before the first paint, ${loaded.all.length} and ${loaded.allBytes} in all: ${loaded.all.join(" ")}`);
      const needed = ["/", "/assets/app.css", "/assets/app.js"];
      assert.deepEqual(loaded.early.filter((it) => !needed.includes(it)), [], "the first paint waits for nothing that agents make longer");
      // The files of dist/ put in their place are not compressed.
      if (!process.env.DIST) assert.ok(loaded.earlyBytes <= PAINT_MAX_KB * 1024, `${loaded.earlyBytes} bytes before the first paint`);
      assert.ok(loaded.allBytes <= LIST_MAX_KB * 1024, `${loaded.allBytes} bytes before the list stands`);
      assert.ok(loaded.all.length <= 8, loaded.all.join(" "));
      assert.ok(loaded.rows < 100, `${loaded.rows} rows are drawn`);
      await page.context().close();
    } finally {
      await daemon.stop();
      daemon.remove();
    }
  });
}
