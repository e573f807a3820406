// Who signed in, and what they may do. Only hides what would be refused: the daemon decides.
import { computed, signal } from "@preact/signals";
import { api, pageKey, signedOut } from "./api.js";
import { oneByOne } from "./one.js";
import { hearDoor, tellDoor } from "./tabs.js";

/** What `/api/me` says; null until it is known. */
export const me = signal(null);

/** The agents that whoever signed in may do anything with, by id. */
export const agents = computed(() => new Map((me.value?.agents ?? []).map((it) => [it.id, it])));

/** Whether they may do `verb` (chat, read, approve, manage) with an agent. */
export function may(agent, verb) {
  return agents.value.get(agent)?.verbs.includes(verb) ?? false;
}

/** Whether they may do `verb` with any agent. */
export function mayAny(verb) {
  return (me.value?.agents ?? []).some((it) => it.verbs.includes(verb));
}

/** Whether they are the admin of the daemon. */
export function isAdmin() {
  return me.value?.admin ?? false;
}

/** Whether what an operator set up can be changed over HTTP at all (`api.changes`); what of it, rights say. */
export function changes() {
  return me.value?.changes ?? false;
}

/** Asks who signed in. False where nobody is. */
export async function whoAmI() {
  try {
    me.value = await api.get("/api/me", { quiet: true });
    signedOut.value = null;
    return true;
  } catch (error) {
    if (error.status !== 401) throw error;
    me.value = null;
    signedOut.value ??= "";
    return false;
  }
}

/** How soon after something changed it is asked again: where many agents begin at once, once for all. */
const PAUSE_MS = 250;
const again = oneByOne(() => whoAmI().catch(() => {}));
let timer = null;

/** Asks again soon: agents may stand otherwise by now, or be others. */
export function askAgain() {
  timer ??= setTimeout(() => ((timer = null), again()), PAUSE_MS);
}

/** Signs in by a token, or by the code of a link that `insula open` made. */
export async function signIn({ token, link }) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const made = await api.post("/api/sign-in", link ? { link } : {}, { headers, quiet: true });
  pageKey.set(made.key);
  await whoAmI();
  tellDoor(true);
}

/** Nobody is here any more: nothing of theirs stays on the page. */
function leave() {
  signedOut.value = "You signed out.";
  me.value = null;
}

/** Signs out, here and for whoever copied the cookie. */
export async function signOut() {
  await api.del("/api/sign-in", { quiet: true }).catch(() => {});
  pageKey.set(null);
  leave();
  tellDoor(false);
}

/** Goes with the other tabs of this browser, in and out. */
export function followTabs() {
  hearDoor((isIn) => (isIn ? askAgain() : leave()));
}
