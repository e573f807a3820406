// The pure parts of the pages that change things: run by `node --test`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { about, complete, placeAt } from "../src/lib/complete.js";
import { differing } from "../src/lib/generations.js";
import { hookOf, hooksOf } from "../src/lib/hooks.js";
import { folded, lines } from "../src/lib/line_diff.js";

const schema = JSON.parse(readFileSync(new URL("../../../../docs/config.schema.json", import.meta.url), "utf8"));

/** The cursor is at the `|`. */
const at = (text) => [text.replace("¦", ""), text.indexOf("¦")];
const place = (text) => {
  const found = placeAt(...at(text));
  return found && [found.path.join("."), found.kind, found.word];
};
const offered = (of, text, names) => complete(schema, of, ...at(text), names)?.items.map((it) => it.text) ?? [];

test("a place is known by the lines above and the brackets around it", () => {
  for (const [text, expected] of [
    ["¦", ["", "key", ""]],
    ["mod¦", ["", "key", "mod"]],
    ["model: a¦", ["model", "value", "a"]],
    ["agents:\n  coder:\n    to¦", ["agents.coder", "key", "to"]],
    ["agents:\n  coder:\n    tools: coding\n\n  # words: here\n  other:\n    memory: ¦", ["agents.other.memory", "value", ""]],
    ["agents:\n  coder: {tools: coding, me¦", ["agents.coder", "key", "me"]],
    ["agents:\n  coder: {tools: {deny: [term¦", ["agents.coder.tools.deny.[]", "value", "term"]],
    ["agents:\n  coder: {tools: {profile: ¦", ["agents.coder.tools.profile", "value", ""]],
    ["bindings:\n  - {agent: a}\n  - age¦", ["bindings.[]", "either", "age"]],
    ["bindings:\n- agent: a\n  tele¦", ["bindings.[]", "key", "tele"]],
    ["bindings:\n  - agent: ¦", ["bindings.[].agent", "value", ""]],
    ["hooks:\n  pre_tool_call:\n    - matcher: x\n      time¦", ["hooks.pre_tool_call.[]", "key", "time"]],
    ["tools:\n  deny:\n    - term¦", ["tools.deny.[]", "either", "term"]],
  ]) {
    assert.deepEqual(place(text), expected, text);
  }
  assert.equal(place("model: a # a word¦"), null);
});

test("what is offered is what the schema knows there", () => {
  assert.ok(offered("agent", "mem¦").includes("memory"));
  assert.deepEqual(offered("agent", "tools:\n  profile: ¦").slice(0, 4).sort(), ["coding", "full", "messaging", "minimal"]);
  assert.ok(offered("agent", "memory: {sc¦").includes("scope"));
  assert.ok(offered("agent", "tools: [term¦").includes("terminal"));
  assert.deepEqual(offered("agent", "approvals: {mode: ¦").sort(), ["manual", "off", "smart"].sort());
  assert.ok(offered("top", "ag¦").includes("agents"));
  assert.ok(offered("top", "agents:\n  a:\n    mem¦").includes("memory"));
  assert.ok(offered("top", "channels:\n  tele¦").includes("telegram"));
  assert.deepEqual(offered("top", "bindings:\n  - {agent: ¦", { agents: ["one", "two"] }), ["one", "two"]);
  assert.deepEqual(offered("top", "nothing:\n  known: ¦"), []);
  // Other spellings are understood and not offered.
  assert.ok(!offered("agent", "toolse¦").includes("toolsets"));
  assert.match(about(schema, "agent", ...at("memory: tr¦ue")).text, /\w+/);
});

test("no place of any text is too much", () => {
  const parts = ["agents:", "\n", "  ", "- ", "{", "}", "[", "]", ", ", ": ", "a", "'", '"', "#", "memory", "bindings", "|", "é", "\t"];
  let seed = 11;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  for (let n = 0; n < 5000; n += 1) {
    const text = Array.from({ length: random(24) }, () => parts[random(parts.length)]).join("");
    const cursor = random(text.length + 1);
    const found = complete(schema, n % 2 ? "agent" : "top", text, cursor, { agents: ["x"] });
    if (found) assert.ok(found.from >= 0 && found.from <= cursor && found.items.length <= 12, JSON.stringify(text));
    about(schema, "top", text, cursor);
  }
});

test("a difference takes one text to the other, and is no longer than it has to be", () => {
  assert.deepEqual(lines("a\nb\nc\n", "a\nx\nc\n").map((it) => it.kind), ["same", "out", "in", "same"]);
  assert.deepEqual(lines("", "a\n").map((it) => [it.kind, it.text, it.after]), [["in", "a", 1]]);
  assert.deepEqual(lines("a\n", "a\n").map((it) => it.kind), ["same"]);
  let seed = 5;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  for (let n = 0; n < 800; n += 1) {
    const text = () => Array.from({ length: random(12) }, () => "abc"[random(3)]).join("\n");
    const [before, after] = [text(), text()];
    const all = lines(before, after);
    const side = (kind) => all.filter((it) => it.kind === "same" || it.kind === kind).map((it) => it.text).join("\n");
    assert.equal(side("out"), before);
    assert.equal(side("in"), after);
    all.filter((it) => it.before).forEach((it, at, own) => at > 0 && assert.equal(it.before, own[at - 1].before + 1));
  }
  const long = Array.from({ length: 50 }, (_, n) => `line ${n}`);
  const fold = folded(long.join("\n"), long.with(25, "other").join("\n"));
  assert.deepEqual(fold.map((it) => it.kind), ["gap", "same", "same", "same", "out", "in", "same", "same", "same", "gap"]);
});

test("hooks are told in order, and written without what was not said", () => {
  const value = { pre_tool_call: [{ matcher: "terminal", command: "./guard.sh" }, { expr: "admin" }], post_llm_call: null, odd: ["x"] };
  assert.deepEqual(hooksOf(value), [
    { event: "pre_tool_call", at: 0, text: "command ./guard.sh, matcher terminal" },
    { event: "pre_tool_call", at: 1, text: "expr admin" },
    { event: "odd", at: 0, text: "x" },
  ]);
  assert.deepEqual([null, undefined, 3, []].map(hooksOf), [[], [], [], []]);
  assert.deepEqual(hookOf({ event: "e", kind: "http", text: " http://x ", matcher: " ", timeout: "5s", on_failure: "" }), { timeout: "5s", http: "http://x" });
});

test("between two generations what was changed back is as it was", () => {
  const step = (digest, marks, more = {}) => ({ content: { digest, settings: Object.keys(marks), marks, ...more } });
  const paused = { content: {} };
  const all = [{ content: { digest: "1" } }, step("2", { "tools.deny": [null, "t"] }), paused, step("3", { "tools.deny": ["t", null], model: ["m", "n"] }), step("4", { "tools.deny": [null, "t"] }), step("5", { model: ["n", "m"] })];
  assert.deepEqual(differing(all, 0, 1), ["tools.deny"]);
  assert.deepEqual(differing(all, 1, 3), ["tools.deny", "model"]);
  assert.deepEqual(differing(all, 1, 4), ["model"]);
  assert.deepEqual(differing(all, 1, 5), []);
  assert.deepEqual(differing(all, 1, 2), []);
  // Records of before have no marks: a change is all they tell, unless all of it is as it was.
  const old = (digest, settings) => ({ content: { digest, settings, soul_changed: true } });
  assert.deepEqual(differing([old("1", []), old("2", ["a"]), old("3", ["a"])], 0, 2), ["a", "SOUL.md"]);
  assert.deepEqual(differing([old("1", []), old("2", ["a"]), old("1", ["a"])], 0, 2), []);
});
