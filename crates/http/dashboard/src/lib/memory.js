// What an agent remembers, by scope, as people look at it.
import { dayOf, plusDays } from "./calendar.js";

/** Scopes with how much each has, the global one first: `[{scope, count, blocked}]`. */
export function byScope(entries) {
  const all = new Map();
  for (const it of entries) {
    const one = all.get(it.scope) ?? { scope: it.scope, count: 0, blocked: 0 };
    one.count += 1;
    if (it.blocked) one.blocked += 1;
    all.set(it.scope, one);
  }
  return [...all.values()].sort((a, b) => (b.scope === "global") - (a.scope === "global") || a.scope.localeCompare(b.scope));
}

/** Days that entries are asked for by. */
export const DAYS = [["", "Always"], ["today", "Today"], ["yesterday", "Yesterday"], ["week", "A week"]];

/** Whether an entry was taken in on such a day, in this place's time. */
export function isOf(day, entry, now = Date.now()) {
  const at = entry.provenance?.at && new Date(entry.provenance.at).getTime();
  const today = dayOf(now);
  switch (day) {
    case "today":
      return at >= today.getTime();
    case "yesterday":
      return at >= plusDays(today, -1).getTime() && at < today.getTime();
    case "week":
      return at >= plusDays(today, -6).getTime();
    default:
      return true;
  }
}

const SOURCES = {
  said: "said",
  tool: "noted by the agent",
  "external edit": "written into its file",
  shared: "shared from elsewhere",
  import: "imported",
};

/** How something came to be remembered. */
export function sourceName(source) {
  return SOURCES[source] ?? String(source).replaceAll("_", " ");
}

/** The entries whose words stand in a request, as JSON has them. */
export function recalled(entries, body) {
  return entries.filter((it) => it.text.trim() !== "" && body.includes(JSON.stringify(it.text.trim()).slice(1, -1)));
}
