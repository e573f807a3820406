// What was written and not sent yet, by conversation: it stays while other pages are looked at. Words
// stay over a reload of the tab too; files can't, and leaving the page asks first. And where one was
// in this tab: the conversation that one comes back to.
import { effect } from "@preact/signals";
import { signedOut } from "./api.js";
import { unsaved } from "./unsaved.js";

const WORDS = "insula.unsent";
const PLACES = "insula.places";

const files = new Map();

const kept = (key) => JSON.parse(sessionStorage.getItem(key) ?? "{}");
function keep(key, name, value) {
  const all = kept(key);
  if (value) all[name] = value;
  else delete all[name];
  sessionStorage.setItem(key, JSON.stringify(all));
}

const named = (agent, session) => `${agent}/${session}`;

/** What was written in a conversation and not sent: `{text, files}`. */
export function unsent(agent, session) {
  return { text: kept(WORDS)[named(agent, session)] ?? "", files: files.get(named(agent, session)) ?? [] };
}

export function keepText(agent, session, text) {
  keep(WORDS, named(agent, session), text);
}

export function keepFiles(agent, session, list) {
  if (list.length > 0) files.set(named(agent, session), list);
  else files.delete(named(agent, session));
  unsaved("files to send", files.size > 0);
}

/** The conversation with an agent that one was in; none where there was none in this tab. */
export const placeWith = (agent) => kept(PLACES).with?.[agent] ?? null;
/** The agent that was talked to last in this tab. */
export const placeLast = () => kept(PLACES).last ?? null;

export function keepPlace(agent, session) {
  keep(PLACES, "with", { ...kept(PLACES).with, [agent]: session });
  keep(PLACES, "last", agent);
}

// Whoever signs in next in this tab is somebody else.
effect(() => {
  if (!signedOut.value) return;
  files.clear();
  unsaved("files to send", false);
  sessionStorage.removeItem(WORDS);
  sessionStorage.removeItem(PLACES);
});
