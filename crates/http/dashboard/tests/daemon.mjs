// A daemon in a home of its own, for tests of the page.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync, mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The program: as it was built, or as `INSULA` names it. */
export const program = process.env.INSULA;

/** Starts a daemon with this configuration. */
export async function start(config, { home = mkdtempSync(join(tmpdir(), "insula-dashboard-")), listen = "127.0.0.1:0", souls = {} } = {}) {
  mkdirSync(home, { recursive: true });
  if (config !== null) writeFileSync(join(home, "config.yaml"), config);
  for (const [id, text] of Object.entries(souls)) {
    mkdirSync(join(home, "agents", id), { recursive: true });
    writeFileSync(join(home, "agents", id, "SOUL.md"), text);
  }
  const child = spawn(program, ["--home", home, "up", "--listen", listen], { stdio: ["ignore", "pipe", "pipe"], env: { PATH: process.env.PATH, HOME: home } });
  let said = "";
  child.stdout.on("data", (piece) => (said += piece));
  child.stderr.on("data", (piece) => (said += piece));
  let over = false;
  child.on("exit", () => (over = true));
  const until = Date.now() + 60_000;
  let address = null;
  while (address === null) {
    if (over || Date.now() > until) throw new Error(`the daemon did not start:\n${said}`);
    try {
      const found = JSON.parse(readFileSync(join(home, "run", "daemon.json"), "utf8"));
      if ((await fetch(`http://${found.listen}/readyz`)).ok) address = found.listen;
    } catch {
      await new Promise((done) => setTimeout(done, 50));
    }
  }
  const insula = (...args) => {
    const ran = spawnSync(program, ["--home", home, ...args], { encoding: "utf8", env: { PATH: process.env.PATH, HOME: home } });
    if (ran.status !== 0) throw new Error(`insula ${args.join(" ")}: ${ran.stdout}${ran.stderr}`);
    return ran.stdout;
  };
  return {
    home,
    address,
    url: `http://${address}`,
    pid: child.pid,
    insula,
    json: (...args) => JSON.parse(insula(...args, "--json")),
    said: () => said,
    stop: () =>
      new Promise((done) => {
        if (over) return done();
        child.on("exit", done);
        child.kill("SIGTERM");
      }),
    kill: () =>
      new Promise((done) => {
        child.on("exit", done);
        child.kill("SIGKILL");
      }),
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}

/** Agents `a000` and on, in a configuration. */
export function many(count, model) {
  const agents = Array.from({ length: count }, (_, n) => `  a${String(n).padStart(3, "0")}: {tools: ${n % 3 === 0 ? "coding" : n % 3 === 1 ? "messaging" : "minimal"}, memory: ${n % 2 === 0}}`);
  const bindings = Array.from({ length: count }, (_, n) => `  - {agent: a${String(n).padStart(3, "0")}, telegram: "-100${n}"${n % 5 === 0 ? ", topic: 7" : ""}}`);
  return `${model}agents:\n${agents.join("\n")}\nbindings:\n${bindings.join("\n")}\n`;
}
