// Audit records as people look at them.

/** Kinds that are proposed; others can be written. */
export const KINDS = ["turn.*", "tool.call", "approval.*", "memory.*", "session.*", "agent.*", "model.*", "delivery.*", "egress.*", "hook.*", "message.*", "token.*", "budget.*", "job.*"];

/** What says nothing to people: hashes and names that nobody guesses. */
const HASH = /^[0-9a-f]{12,}$/;

/** What stands out in a record's details, in one line. */
export function summary(content) {
  if (content === null || content === undefined) return "erased";
  if (typeof content !== "object") return String(content);
  return Object.entries(content)
    .filter(([name, value]) => value !== null && value !== "" && !(Array.isArray(value) && value.length === 0) && !HASH.test(value) && name !== "session")
    .map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(" · ")
    .slice(0, 300);
}

/** Older records before newer ones, each once, the newest first. */
export function together(...pages) {
  const all = new Map();
  for (const it of pages.flat()) all.set(it.seq, it);
  return [...all.values()].sort((a, b) => b.seq - a.seq);
}

/** What is filtered by, of all that stands in an address. */
export function filters({ kind, scope, user, session, since, until }) {
  return { kind, scope, user, session, since, until };
}
