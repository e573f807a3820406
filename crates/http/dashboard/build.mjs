// Builds the bundle that the daemon embeds: src/ to dist/. The same sources give the same bytes.
// With --check nothing is written: it fails where dist/ is not what the sources give.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, "dist");
/** What all of it may take up in the binary, compressed. */
const LEN_MAX = 600 * 1024;

function files(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((it) => (it.isDirectory() ? files(join(folder, it.name)) : [join(folder, it.name)]))
    .sort();
}

/** What the sources are: the same as `sources()` of crates/http/src/dashboard_tests.rs. */
function sourcesHash() {
  const named = [...files(join(root, "src")), join(root, "package-lock.json"), join(root, "build.mjs")]
    .map((path) => [relative(root, path).replaceAll("\\", "/"), readFileSync(path)])
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  // One hash a file, so that the test needs no more than a list of them.
  return named
    .map(([name, bytes]) => `${createHash("sha256").update(bytes).digest("hex")}  ${name}\n`)
    .join("");
}

const made = await build({
  entryPoints: { app: join(root, "src/main.jsx") },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  outdir: dist,
  write: false,
  absWorkingDir: root,
  logLevel: "error",
});

const out = new Map();
for (const file of made.outputFiles) {
  out.set(relative(dist, file.path), Buffer.from(file.contents));
}
const version = createHash("sha256");
for (const name of [...out.keys()].sort()) version.update(out.get(name));
const page = readFileSync(join(root, "src/index.html"), "utf8");
out.set("index.html", Buffer.from(page.replaceAll("VERSION", version.digest("hex").slice(0, 12))));
out.set("icon.svg", readFileSync(join(root, "src/icon.svg")));
out.set("sources.sha256", Buffer.from(sourcesHash()));

if (process.argv.includes("--check")) {
  const differs = [...out].filter(([name, bytes]) => {
    try {
      const is = readFileSync(join(dist, name));
      const packed = name === "app.js" || name === "app.css";
      return !is.equals(bytes) || (packed && !gunzipSync(readFileSync(join(dist, `${name}.gz`))).equals(bytes));
    } catch {
      return true;
    }
  });
  if (differs.length > 0) {
    console.error(`error: not what the sources give: ${differs.map(([name]) => `dist/${name}`).join(", ")}`);
    console.error("  = run scripts/dashboard-build and commit what it changes");
    process.exit(1);
  }
  console.log("dist/ is what the sources give");
} else {
  mkdirSync(dist, { recursive: true });
  let packed = 0;
  for (const [name, bytes] of out) {
    writeFileSync(join(dist, name), bytes);
    if (name === "app.js" || name === "app.css") {
      const gz = gzipSync(bytes, { level: 9 });
      packed += gz.length;
      writeFileSync(join(dist, `${name}.gz`), gz);
    }
  }
  console.log(`dist/ written: ${Math.ceil(packed / 1024)} KB compressed`);
  if (packed > LEN_MAX) {
    console.error(`error: the bundle is over ${LEN_MAX} bytes compressed`);
    process.exit(1);
  }
}
