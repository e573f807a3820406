// A conversation in all its parts, put together by turns.

/** Messages by the turn they are of, in order; what is of no turn stands alone. */
export function byTurns(messages, turns) {
  const known = new Map(turns.map((it) => [String(it.id), it]));
  const groups = [];
  for (const message of messages) {
    const turn = message.turn === null ? null : String(message.turn);
    const last = groups.at(-1);
    if (last && last.turn === turn && turn !== null) last.messages.push(message);
    else groups.push({ key: message.seq, turn, summary: known.get(turn) ?? null, messages: [message] });
  }
  return groups;
}

/** What each call is named, by its id: results say only that. */
export function callNames(messages) {
  const names = new Map();
  for (const it of messages) for (const part of it.parts) if (part.kind === "call") names.set(part.call, part.tool);
  return names;
}

/** What a tool was called with, for people: a command as it is, the rest laid out. */
export function calledWith(text) {
  try {
    const { command, ...rest } = JSON.parse(text);
    if (typeof command !== "string") return laidOut(text);
    return Object.keys(rest).length === 0 ? command : `${command}\n\n${JSON.stringify(rest, null, 2)}`;
  } catch {
    return text;
  }
}

/** JSON laid out line by line; any other text as it is. */
export function laidOut(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Older messages before those that are known, each once. */
export function joined(older, newer) {
  const known = new Set(newer.map((it) => it.seq));
  return [...older.filter((it) => !known.has(it.seq)), ...newer];
}

/** A text cut at the words that were looked for: `[{text, hit}]`. */
export function marked(text, words) {
  const wanted = words
    .split(/\s+/)
    .filter((it) => it.length > 1)
    .map((it) => it.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (wanted.length === 0) return [{ text, hit: false }];
  // What is between parentheses stands at every other place.
  return text
    .split(new RegExp(`(${wanted.join("|")})`, "iu"))
    .map((it, index) => ({ text: it, hit: index % 2 === 1 }))
    .filter((it) => it.text !== "");
}

/** A length in bytes as people read it. */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

/** What a request to a model says, message by message: `[{who, text}]`; null where it is of no known form. */
export function requestSays(body) {
  let asked;
  try {
    asked = JSON.parse(body);
  } catch {
    return null;
  }
  const text = (content) => {
    if (typeof content === "string") return content;
    if (!Array.isArray(content)) return content === undefined || content === null ? "" : JSON.stringify(content, null, 2);
    return content.map((it) => it.text ?? it.thinking ?? (it.type === "tool_result" ? text(it.content) : JSON.stringify(it, null, 2))).join("\n");
  };
  if (!Array.isArray(asked?.messages)) return null;
  const says = [];
  if (asked.system !== undefined) says.push({ who: "system", text: text(asked.system) });
  for (const it of asked.messages) {
    const calls = (it.tool_calls ?? []).map((call) => `${call.function?.name ?? "call"} ${call.function?.arguments ?? ""}`);
    says.push({ who: it.role ?? "?", text: [text(it.content), ...calls].filter(Boolean).join("\n") });
  }
  for (const it of asked.tools ?? []) {
    const tool = it.function ?? it;
    says.push({ who: `tool ${tool.name ?? ""}`, text: `${tool.description ?? ""}\n${JSON.stringify(tool.parameters ?? tool.input_schema ?? {}, null, 2)}` });
  }
  return says;
}

/** How a conversation began, as its list calls it; null where its beginning is not there. */
export function beginningOf(messages) {
  const first = messages[0];
  if (first?.seq !== 1 || first.role !== "user") return null;
  const line = (first.parts.find((it) => it.kind === "text")?.text ?? first.parts.find((it) => it.kind === "attachment")?.name ?? "").trim().split("\n", 1)[0];
  const chars = [...line];
  if (chars.length === 0) return null;
  return chars.length > 60 ? `${chars.slice(0, 59).join("")}…` : line;
}
