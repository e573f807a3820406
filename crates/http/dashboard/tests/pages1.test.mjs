// The pure parts of the inbox, conversations, memory and audit: run by `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { summary, together } from "../src/lib/audit.js";
import { byScope, isOf } from "../src/lib/memory.js";
import { byTurns, callNames, calledWith, joined, laidOut, marked, requestSays, size } from "../src/lib/parts.js";
import { textsOf } from "../src/lib/transcript.js";
import { scopeOf, sourcesOf, whereOf } from "../src/lib/where.js";

test("keys of conversations are called as people call them", () => {
  for (const [key, where] of [
    ["agent:main:cli:local:dm:garden:user:local", "command line, garden"],
    ["agent:main:cli:local:dm:web-mwn2qqi8-d6e4d9:user:local", "dashboard d6e4d9"],
    ["agent:main:api:0123456789abcdef:dm:web-mwn2qqi8-d6e4d9", "dashboard d6e4d9, API 01234567"],
    ["agent:main:api:0123456789abcdef:dm:my%20talk:user:0123456789abcdef", "API 01234567, my talk"],
    ["agent:main:telegram:main:dm:5:user:5", "telegram, direct with 5"],
    ["agent:main:telegram:other:group:-100123:topic:7", "telegram other, group -100123, topic 7"],
    ["agent:main:discord:main:group:9:user:ann", "discord, group 9, ann alone"],
    ["agent:main:telegram:main:dm:%3Cb%3E:user:%3Cb%3E", "telegram, direct with <b>"],
    ["no key", "no key"],
    ["agent:main:x:y:dm:%E0%A4%A:user:5", "x y, direct with 5"],
  ]) {
    assert.equal(whereOf(key), where);
  }
  assert.deepEqual(sourcesOf({ many: false, sources: ["attachment:a%20%3Cb%3E.txt", "web:docs.rs"] }), ["attachment a <b>.txt", "web docs.rs"]);
  assert.deepEqual(sourcesOf({ many: true, sources: [] }), ["many places"]);
  assert.equal(scopeOf("global"), "global");
  assert.equal(scopeOf("custom:acme"), "custom acme");
  assert.equal(scopeOf("chat:cli:local:garden"), "chat garden · command line");
  assert.equal(scopeOf("topic:telegram:main:-100:7"), "topic -100 7 · telegram");
});

test("messages stand with their turn, and what is of none alone", () => {
  const message = (seq, turn) => ({ seq, turn, parts: [] });
  const groups = byTurns([message(1, 7), message(2, 7), message(3, null), message(4, null), message(5, 8)], [{ id: 7, status: "replied" }]);
  assert.deepEqual(
    groups.map((it) => [it.turn, it.summary?.status ?? null, it.messages.map((one) => one.seq)]),
    [
      ["7", "replied", [1, 2]],
      [null, null, [3]],
      [null, null, [4]],
      ["8", null, [5]],
    ],
  );
  assert.deepEqual([...callNames([{ parts: [{ kind: "call", call: "c1", tool: "terminal" }, { kind: "text", text: "x" }] }])], [["c1", "terminal"]]);
  assert.deepEqual(joined([message(1, null), message(2, null)], [message(2, 1), message(3, 1)]).map((it) => [it.seq, it.turn]), [[1, null], [2, 1], [3, 1]]);
});

test("words that were looked for are marked, whatever stands in them", () => {
  const told = (text, words) => marked(text, words).map((it) => (it.hit ? `<${it.text}>` : it.text)).join("");
  assert.equal(told("The Hedge is cut", "hedge cut"), "The <Hedge> is <cut>");
  assert.equal(told("a (b) [c]", "(b) [c"), "a <(b)> <[c>]");
  assert.equal(told("nothing", ""), "nothing");
  assert.equal(told("", "x"), "");
});

test("a request to a model is read message by message, of either form", () => {
  assert.equal(requestSays("no JSON"), null);
  assert.equal(requestSays('{"input": 1}'), null);
  const openai = requestSays(JSON.stringify({ messages: [{ role: "system", content: "be kind" }, { role: "assistant", content: null, tool_calls: [{ function: { name: "todo", arguments: "{}" } }] }], tools: [{ type: "function", function: { name: "todo", description: "lists", parameters: {} } }] }));
  assert.deepEqual(openai, [{ who: "system", text: "be kind" }, { who: "assistant", text: "todo {}" }, { who: "tool todo", text: "lists\n{}" }]);
  const anthropic = requestSays(JSON.stringify({ system: [{ type: "text", text: "be kind" }], messages: [{ role: "user", content: [{ type: "tool_result", content: [{ type: "text", text: "42" }] }] }] }));
  assert.deepEqual(anthropic, [{ who: "system", text: "be kind" }, { who: "user", text: "42" }]);
  assert.equal(laidOut('{"a":1}'), '{\n  "a": 1\n}');
  assert.equal(laidOut("{broken"), "{broken");
  assert.deepEqual(['{"command":"rm -rf x"}', '{"command":"ls","cwd":"a"}', '{"path":"a"}', "null", "{broken"].map(calledWith), ["rm -rf x", 'ls\n\n{\n  "cwd": "a"\n}', '{\n  "path": "a"\n}', "null", "{broken"]);
  assert.deepEqual([10, 2048, 3 * 1024 * 1024].map(size), ["10 B", "2.0 KB", "3.0 MB"]);
});

test("records say what stands out, and each is there once", () => {
  assert.equal(summary(null), "erased");
  assert.equal(summary({ tool: "terminal", rule: null, invocation: "0123456789abcdef0123", list: [], turn: 3 }), "tool terminal · turn 3");
  assert.deepEqual(together([{ seq: 1 }, { seq: 2 }], [{ seq: 2 }, { seq: 3 }]).map((it) => it.seq), [3, 2, 1]);
});

test("scopes are counted, the global one first", () => {
  const entry = (scope, blocked = false) => ({ scope, blocked });
  assert.deepEqual(byScope([entry("chat:b"), entry("global", true), entry("chat:a"), entry("chat:b")]), [
    { scope: "global", count: 1, blocked: 1 },
    { scope: "chat:a", count: 1, blocked: 0 },
    { scope: "chat:b", count: 2, blocked: 0 },
  ]);
});

test("entries are of the day they were taken in on", () => {
  const now = new Date(2026, 10, 18, 12).getTime();
  const at = (day, hour) => ({ provenance: { at: new Date(2026, 10, day, hour).toISOString() } });
  const of = (day) => [at(18, 0), at(17, 23), at(17, 0), at(16, 23), at(11, 23), { provenance: null }].map((it) => Number(isOf(day, it, now))).join("");
  assert.deepEqual(["", "today", "yesterday", "week"].map(of), ["111111", "100000", "011000", "111100"]);
});

test("texts that came along are files again", () => {
  const beside = '⟦sent along: a file named "a.txt", text/plain; it says:⟧\none\ntwo\n⟦sent along: a file named "b.bin", 3 bytes; it is in x⟧\n⟦sent along: a file named "c.md"; it says:⟧\nthree';
  assert.deepEqual(textsOf(beside), [{ name: "a.txt", text: "one\ntwo" }, { name: "c.md", text: "three" }]);
  assert.deepEqual(textsOf(null), []);
});
