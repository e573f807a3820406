// What was said, turn by turn, as people read it.

/** Text that is marked for the model as foreign, without the marks: `{text, source}`. */
export function unmarked(text) {
  const found = /^<untrusted id="([0-9a-f]+)"(?: source="([^"]*)")?>\n?([\s\S]*?)\n?<\/untrusted id="\1">\s*$/.exec(text);
  return found ? { text: found[3], source: found[2] ?? "elsewhere" } : { text, source: null };
}

/** The words of a message, and what was told beside them to the model. */
export function apart(text) {
  // A file may have come without words.
  if (text.startsWith("⟦")) return { words: "", beside: text };
  const at = text.indexOf("\n⟦");
  return at < 0 ? { words: text, beside: null } : { words: text.slice(0, at), beside: text.slice(at + 1) };
}

/** The texts that came along as files, in what was told beside a message: `[{name, text}]`. */
export function textsOf(beside) {
  // No text that came along has such brackets: the daemon takes them out.
  const all = (beside ?? "").matchAll(/⟦sent along: a file named "([^"]*)"[^⟧]*; it says:⟧\n([^⟦]*)/g);
  return [...all].map(([, name, text]) => ({ name, text: text.replace(/\n$/, "") }));
}

/** How a conversation is called by its first words, which may be a note of a file alone. */
export function titleOf(words) {
  const file = /^⟦sent along: a file named "([^"⟧]*)/.exec(words ?? "");
  return file ? file[1] || "a file" : words;
}

/** What was told beside a message, without where files are that are shown as such. */
export function besideFiles(beside) {
  const left = (beside ?? "").replace(/⟦sent along: a file named "[^"]*"[^⟧]* bytes; [^⟧]*⟧\n?/g, "").trim();
  return left === "" ? null : left;
}

/** The answers that the last question of a turn offers: it numbers them behind its words. */
export function choicesOf({ steps, reply }) {
  const asked = steps.findLast((it) => it.kind === "call")?.name === "clarify";
  if (!asked || !reply) return [];
  const lines = reply.text.trimEnd().split("\n");
  const first = lines.lastIndexOf(lines.findLast((it) => it.startsWith("1. ")));
  const offered = first < 0 ? [] : lines.slice(first);
  return offered.every((it, index) => it.startsWith(`${index + 1}. `)) ? offered.map((it) => it.slice(it.indexOf(" ") + 1)) : [];
}

/** The message, the steps on the way and the reply of each turn. */
export function byTurn(messages) {
  const turns = [];
  let last = null;
  for (const it of messages) {
    if (it.role === "user") {
      last = { key: it.seq, turn: it.turn, said: it, steps: [], reply: null, made: [] };
      turns.push(last);
    } else if (last === null) {
      last = { key: it.seq, turn: it.turn, said: null, steps: [], reply: it.role === "assistant" ? it : null, made: [] };
      turns.push(last);
    } else if (it.role === "assistant" && it.call_lines.length > 0) {
      if (it.text) last.steps.push({ kind: "text", text: it.text });
      for (const { tool, about } of it.call_lines) last.steps.push({ kind: "call", name: tool, about, state: "done", result: null });
    } else if (it.role === "tool") {
      last.made.push(...(it.files ?? []).map((file) => ({ ...file, message: it.seq })));
      const open = last.steps.find((step) => step.kind === "call" && step.result === null);
      if (open) Object.assign(open, { result: unmarked(it.text), state: it.failed ? "failed" : "done" });
    } else if (it.role === "assistant") {
      if (last.reply) last.steps.push({ kind: "text", text: last.reply.text });
      last.reply = it;
    }
  }
  return turns;
}
