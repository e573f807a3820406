// Hooks as the configuration has them: lists by the event they are for.

const KINDS = ["command", "http", "expr"];

/** All of them, in order, each with its place: `[{event, at, text}]`. */
export function hooksOf(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([event, all]) => (Array.isArray(all) ? all : []).map((it, at) => ({ event, at, text: told(it) })));
}

function told(hook) {
  if (hook === null || typeof hook !== "object") return String(hook);
  const kind = KINDS.find((it) => it in hook);
  const rest = Object.entries(hook).filter(([key]) => key !== kind);
  return [kind ? `${kind} ${hook[kind]}` : "", ...rest.map(([key, value]) => `${key} ${value}`)].filter(Boolean).join(", ");
}

/** What was typed, as it is written: what was not said is left out. */
export function hookOf({ kind, text, ...more }) {
  const said = ["matcher", "timeout", "on_failure"].map((key) => [key, more[key]?.trim()]).filter(([, value]) => value);
  return { ...Object.fromEntries(said), [kind]: text.trim() };
}
