// What would be lost if the page went now: while there is some, leaving it asks first.
const held = new Set();
const warn = (event) => event.preventDefault();

/** Notes whether something under this name is not saved. */
export function unsaved(name, is) {
  if (is) held.add(name);
  else held.delete(name);
  if (held.size > 0) globalThis.addEventListener?.("beforeunload", warn);
  else globalThis.removeEventListener?.("beforeunload", warn);
}
