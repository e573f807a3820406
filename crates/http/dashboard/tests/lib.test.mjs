// The pure parts of the page: run by `node --test`.
import "./pages2.lib.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { address, blocks, inline } from "../src/lib/markdown.js";
import { reader } from "../src/lib/sse.js";
import { AROUND, inSight } from "../src/lib/window.js";
import { ago, count, cutOff, sentence, took, usd } from "../src/lib/words.js";
import { lastIn, lastUse, saidOf, toldBy } from "../src/lib/last_used.js";
import { recalled } from "../src/lib/memory.js";
import { apart, besideFiles, byTurn, choicesOf, titleOf, unmarked } from "../src/lib/transcript.js";
import { at, heard, placeOf } from "../src/lib/talk_state.js";
import { graph, isLike, related } from "../src/lib/graph.js";
import { nextOf } from "../src/lib/api.js";
import { oneByOne } from "../src/lib/one.js";
import { parse, to } from "../src/lib/router.js";
import { linesOf } from "../src/lib/matrix.js";

test("events are read whole however the stream is cut", () => {
  const text = ': listening\n\nevent: a\ndata: {"x":1}\n\nevent: b\ndata: {"y":\ndata: "ä"}\n\nevent: c\ndata: no json\n\n';
  for (let size = 1; size < text.length; size += 1) {
    const heard = [];
    const take = reader((it) => heard.push(it));
    for (let at = 0; at < text.length; at += size) take(text.slice(at, at + size));
    assert.deepEqual(heard, [{ event: "a", data: { x: 1 } }, { event: "b", data: { y: "ä" } }]);
  }
});

test("a window holds what is in sight and never leaves the list", () => {
  assert.deepEqual(inSight({ count: 1000, height: 40, top: 0, view: 400 }), { first: 0, last: 10 + AROUND });
  assert.deepEqual(inSight({ count: 1000, height: 40, top: 20_000, view: 400 }), { first: 500 - AROUND, last: 510 + AROUND });
  assert.deepEqual(inSight({ count: 1000, height: 40, top: 1e9, view: 400 }), { first: 1000 - AROUND, last: 1000 });
  for (let n = 0; n < 2000; n += 1) {
    const asked = { count: n % 97, height: 1 + (n % 50), top: (n * 7919) % 5000, view: (n * 31) % 900 };
    const { first, last } = inSight(asked);
    assert.ok(0 <= first && first <= last && last <= asked.count, JSON.stringify(asked));
  }
});

test("links lead out over http and mail, and nowhere else", () => {
  for (const bad of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "/api/agents", "//evil", "java\tscript:alert(1)", " javascript:x"]) {
    assert.equal(address(bad), null, bad);
    const tree = JSON.stringify(inline(`[press](${bad})`));
    assert.ok(!tree.includes('"link"'), tree);
  }
  assert.equal(address("https://docs.rs/x"), "https://docs.rs/x");
  assert.deepEqual(inline("see [a *b*](https://x.example/) and https://y.example/z."), [
    "see ",
    { kind: "link", to: "https://x.example/", children: ["a ", { kind: "em", children: ["b"] }] },
    " and ",
    { kind: "link", to: "https://y.example/z", children: ["https://y.example/z"] },
    ".",
  ]);
});

test("what looks like html stays text", () => {
  const text = '<img src=x onerror=alert(1)> <script>alert(1)</script> <a href="javascript:x">y</a>';
  assert.deepEqual(blocks(text), [{ kind: "text", children: [text] }]);
});

test("blocks are what they are elsewhere", () => {
  const tree = blocks("# Title\n\nOne **two** `three`\nfour\n\n- a\n- b\n  - c\n\n1. x\n2. y\n\n> q\n\n```rust\nfn x() {}\n\n# no\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n");
  assert.deepEqual(
    tree.map((it) => it.kind),
    ["heading", "text", "list", "list", "quote", "pre", "table", "rule"],
  );
  assert.equal(tree[2].items.length, 2);
  assert.equal(tree[2].items[1][1].kind, "list");
  assert.equal(tree[5].text, "fn x() {}\n\n# no");
  assert.deepEqual(tree[6].rows, [[["1"], ["2"]]]);
});

test("no text is too much, and none is lost", () => {
  const parts = ["*", "**", "`", "```\n", "[", "](", ")", "\n", "- ", "> ", "1. ", "|", "---", "a", " ", "_", "#", "~~", "\\", "https://x.y/"];
  let seed = 7;
  const random = (n) => ((seed = (seed * 1103515245 + 12345) % 2147483648), seed % n);
  for (let n = 0; n < 3000; n += 1) {
    const text = Array.from({ length: random(40) }, () => parts[random(parts.length)]).join("");
    assert.ok(Array.isArray(blocks(text)), text);
  }
  const long = `${"*a ".repeat(5000)}${"> ".repeat(5000)}${"[".repeat(5000)}`;
  const begun = Date.now();
  blocks(long);
  assert.ok(Date.now() - begun < 2000, `${Date.now() - begun} ms`);
});

test("addresses of pages come back as they went", () => {
  for (const rest of [["a"], ["a/b", "ä ?#%"], []]) {
    assert.deepEqual(parse(to("chat", rest, { x: "1&2", y: null })), { page: "chat", rest, query: { x: "1&2" } });
  }
  assert.deepEqual(parse("#/%zz"), { page: "%zz", rest: [], query: {} });
});

test("times and amounts read as people say them", () => {
  const now = Date.parse("2026-11-18T12:00:00Z");
  assert.equal(ago("2026-11-18T11:57:00Z", now), "3 min ago");
  assert.equal(ago("2026-11-18T14:00:00Z", now), "in 2 h");
  assert.equal(ago(null, now), "never");
  assert.equal(took(950), "950 ms");
  assert.equal(took(65_000), "1 min 5 s");
  assert.equal(usd(1_500_000), "$1.50");
  assert.equal(count(1_234_567), "1.2 M");
});

test("what was said is told turn by turn, with what tools said and whose words those are", () => {
  const marked = '<untrusted id="0a1b" source="web x.example">\nhello\n</untrusted id="0a1b">';
  const turns = byTurn([
    { seq: 1, turn: "t", role: "user", text: "hi\n⟦sent along: a file⟧\nkiwi", call_lines: [] },
    { seq: 2, turn: "t", role: "assistant", text: "I look", call_lines: [{ tool: "web_extract", about: "x.example" }] },
    { seq: 3, turn: "t", role: "tool", text: marked, call_lines: [], failed: true },
    { seq: 4, turn: "t", role: "assistant", text: "done", call_lines: [] },
    { seq: 5, turn: "u", role: "user", text: "more", call_lines: [] },
  ]);
  assert.equal(turns.length, 2);
  assert.deepEqual(turns[0].steps, [
    { kind: "text", text: "I look" },
    { kind: "call", name: "web_extract", about: "x.example", state: "failed", result: { text: "hello", source: "web x.example" } },
  ]);
  assert.equal(turns[0].reply.text, "done");
  assert.deepEqual(apart(turns[0].said.text), { words: "hi", beside: "⟦sent along: a file⟧\nkiwi" });
  // Where a file is kept is told to the model; people see the file.
  const kept = '⟦sent along: a file named "a.pdf", application/pdf, 10 bytes; it is in /home/x.pdf⟧';
  const words = '⟦sent along: a file named "b.txt", text/plain; it says:⟧\nkiwi';
  assert.equal(besideFiles(kept), null);
  assert.equal(besideFiles(`${words}\n${kept}`), words);
  assert.equal(titleOf(kept.slice(0, 60)), "a.pdf");
  assert.equal(titleOf("hello"), "hello");
  assert.deepEqual(apart(kept), { words: "", beside: kept });
  // Marks that another wrote are text.
  assert.equal(unmarked('<untrusted id="0a">x</untrusted id="0b">').source, null);
});

test("a turn is what its events made of it", () => {
  const start = { said: "x", along: [], text: "", reasoning: "", steps: [], approvals: [], state: "sending", error: null, turn: null };
  const all = [
    ["turn.accepted", { turn: 7 }],
    ["text.delta", { text: "I " }],
    ["tool.call", { name: "terminal", about: "ls" }],
    ["approval.asked", { id: "a", tool: "terminal", what: "ls", rule: "r" }],
    ["approval.done", { id: "a", outcome: "approved" }],
    ["tool.done", { name: "terminal", is_error: false }],
    ["text.delta", { text: "wrong" }],
    ["text.reset", {}],
    ["text.delta", { text: "done" }],
    ["turn.ended", { status: "replied", text: "done" }],
  ].reduce((now, [event, data]) => heard(now, { event, data }), start);
  assert.equal(all.turn, 7);
  assert.equal(all.text, "done");
  assert.equal(all.state, "replied");
  assert.deepEqual(all.steps, [
    { kind: "text", text: "I " },
    { kind: "call", name: "terminal", about: "ls", state: "done" },
  ]);
  assert.equal(all.approvals[0].outcome, "approved");
});

test("what a turn is at is its question, its call, or its model", () => {
  let now = { text: "", reasoning: "", steps: [], approvals: [], turn: null };
  const hear = (event, data) => (now = heard(now, { event, data }, 1_000));
  assert.deepEqual(at(now), { kind: "model" });
  hear("tool.call", { name: "terminal", about: "ls" });
  assert.deepEqual(at(now), { kind: "call", name: "terminal" });
  hear("approval.asked", { id: "a", tool: "terminal", what: "ls", rule: "r", wait_s: 60 });
  assert.deepEqual(at(now), { kind: "question", name: "terminal" });
  assert.equal(now.approvals[0].expires_at, new Date(61_000).toISOString());
  hear("approval.done", { id: "a", outcome: "denied" });
  hear("tool.done", { name: "terminal", is_error: true });
  assert.deepEqual(at(now), { kind: "model" });
});

test("a turn that is told live is found in the transcript by its number, whatever was said", () => {
  const turns = [{ turn: 1 }, { turn: null }, { turn: 2 }];
  assert.equal(placeOf(turns, { turn: "1", said: "same" }), 0);
  assert.equal(placeOf(turns, { turn: 2, said: "same" }), 2);
  assert.equal(placeOf(turns, { turn: null, said: "same" }), -1);
  assert.equal(placeOf(turns, null), -1);
});

test("a question's answers are those that it numbers", () => {
  const of = (text, name = "clarify") => choicesOf({ steps: [{ kind: "call", name }], reply: { text } });
  assert.deepEqual(of("Red or blue?\n\n1. dark red\n2. blue"), ["dark red", "blue"]);
  assert.deepEqual(of("It says:\n1. a\n2. b\nWhich?\n1. x\n2. y\n"), ["x", "y"]);
  assert.deepEqual(of("How many?"), []);
  assert.deepEqual(of("1. a\nand more"), []);
  assert.deepEqual(of("Red?\n1. red", "terminal"), []);
});

test("the map shows what leads to a thing and what it leads to, and nothing of others", () => {
  const agent = (id, tools) => ({ id, state: "ready", tools, files: [], hosts: [], secrets: [], mcp: [], links: [], boards: [], models: ["m"], scope: null, isolation: "context" });
  const all = graph({
    accounts: [{ platform: "telegram", account: "main", state: "connected" }],
    bindings: [
      { rule: "chat=1", platform: "telegram", account: null, agent: "a", tier: "chat" },
      { rule: "chat=2", platform: "telegram", account: null, agent: "b", tier: "chat" },
    ],
    agents: [agent("a", ["todo", "terminal"]), agent("b", ["todo"])],
  });
  const near = related(all, "agent:a");
  assert.ok(near.has("account:telegram:main") && near.has("binding:0") && near.has("tool:terminal") && near.has("tool:todo"));
  assert.ok(!near.has("agent:b") && !near.has("binding:1"));
  assert.deepEqual([...related(all, "tool:terminal")].filter((it) => it.startsWith("agent:")), ["agent:a"]);
  assert.equal(all.reached.find((it) => it.id === "tool:todo").count, 2);
  // A search finds a rule by the agent that it leads to.
  const of = (text) => all.ways.filter((it) => isLike(it, text)).map((it) => it.id);
  assert.deepEqual(of("b"), ["binding:1"]);
  assert.deepEqual(of("chat=1"), ["binding:0"]);
});

test("what is asked for again and again comes to its end each time, and once more for all who asked meanwhile", async () => {
  const ends = [];
  const again = oneByOne(() => new Promise((done) => ends.push(done)));
  const first = again();
  const later = [again(), again(), again()];
  assert.equal(ends.length, 1, "one at a time");
  ends[0]("one");
  assert.equal(await first, "one");
  await new Promise((done) => setImmediate(done));
  assert.equal(ends.length, 2);
  ends[1]("two");
  assert.deepEqual(await Promise.all(later), ["two", "two", "two"]);
  again();
  assert.equal(ends.length, 3);
});

test("a list says where its rest is", () => {
  assert.equal(nextOf('</api/calendar?after=a099>; rel="next"'), "/api/calendar?after=a099");
  assert.equal(nextOf(null), null);
  assert.equal(nextOf('</x>; rel="prev"'), null);
});

test("who used a thing last is told by the records of its kind, and who came in by the conversations", () => {
  const at = (seq, content, kind = "tool.call") => ({ seq, kind, content });
  const calls = [at(3, { tool: "mcp__github__list" }), at(9, null), at(7, { tool: "terminal" }), at(5, { tool: "terminal" }), at(8, { tool: "kanban_show", about: "work/7" })];
  assert.equal(lastUse("tool", "terminal", calls).seq, 7);
  assert.equal(lastUse("mcp", "github", calls).seq, 3);
  assert.equal(lastUse("mcp", "git", calls), null);
  assert.equal(lastUse("board", "work", calls).seq, 8);
  // A card that was claimed is a use of its board, and of no other.
  const claimed = [...calls, at(10, { board: "work", card: 3, as: "work" }, "card.claimed"), at(11, { board: "other", card: 1 }, "card.claimed")];
  assert.equal(lastUse("board", "work", claimed).seq, 10);
  assert.equal(saidOf(lastUse("board", "work", claimed)), "card 3 was claimed");
  assert.equal(lastUse("link", "main (ask)", [at(1, { to: "main", as: "ask" }, "link.used"), at(2, { to: "other" }, "link.used")]).seq, 1);
  const hosts = [at(1, { host: "docs.rs" }, "egress"), at(2, { host: "api.github.com" }, "egress"), at(3, { host: "evilgithub.com" }, "egress")];
  assert.equal(lastUse("host", "*.github.com", hosts).seq, 2);
  assert.equal(lastUse("host", "docs.rs:443", hosts).seq, 1);
  assert.deepEqual(toldBy("secret"), []);
  const sessions = [
    { key: "agent:coder:telegram:main:group:-100:topic:7", used: "2026-01-02" },
    { key: "agent:coder:telegram:main:group:-100:topic:70", used: "2026-01-03" },
    { key: "agent:main:telegram:main:group:-100", used: "2026-01-04" },
    { key: "agent:coder:api:x:dm:s", used: "2026-01-05" },
  ];
  assert.equal(lastIn({ agent: "coder", platform: "telegram", rule: "telegram chat=-100 topic=7" }, sessions), sessions[0]);
  assert.equal(lastIn({ platform: "telegram", account: "main" }, sessions), sessions[2]);
  assert.equal(lastIn({ platform: "matrix" }, sessions), null);
});

test("what of a memory was in an answer is what stands in its request", () => {
  const entries = ["cut\n\"the hedge\"", "the roses", " "].map((text, id) => ({ id, text }));
  const body = JSON.stringify({ messages: [{ role: "system", content: 'memory:\n- cut\n"the hedge"' }] });
  assert.deepEqual(recalled(entries, body).map((it) => it.id), [0]);
});

test("a reply that is not whole says why, and what the daemon said begins as a sentence does", () => {
  assert.equal(cutOff("repeating"), "cut off: it said the same again and again");
  assert.equal(cutOff("something_new"), "cut off: something_new");
  assert.equal(cutOff(null), null);
  const told = heard({ text: "", steps: [] }, { event: "turn.ended", data: { turn: 1, status: "replied", text: "x", cut: "length" } });
  assert.equal(told.cut, "length");
  assert.equal(sentence("the token was revoked"), "The token was revoked");
  assert.equal(usd(1), "< $0.0001");
});

test("a name takes as many lines as its pieces need", () => {
  const measure = (text) => text.length * 10;
  const of = (name, width) => linesOf(name, width, measure);
  assert.equal(of("short", 100), 1);
  assert.equal(of("agent-with-a-long-name", 120), 2);
  assert.equal(of("agent-with-a-long-name", 60), 5);
  assert.equal(of("x".repeat(25), 100), 3);
  assert.equal(of(`a-${"x".repeat(25)}`, 100), 4);
});
