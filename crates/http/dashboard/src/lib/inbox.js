// What waits for an answer of whoever signed in: one list for the bar and for the inbox.
import { effect, signal } from "@preact/signals";
import { api, signedOut } from "./api.js";
import { listen, resync } from "./events.js";
import { may, mayAny, me } from "./me.js";

/** What waits, the oldest first; null until it was read. */
export const waiting = signal(null);
/** Why it could not be read. */
export const trouble = signal(null);

/** How soon after one event the next reading may come, so that a flood of them is one. */
const PAUSE_MS = 150;
/** How often it is read for agents whose events one may not hear. */
const POLL_MS = 10_000;

let reading = 0;

/** Reads it again. */
export async function read() {
  if (!me.value || signedOut.value !== null || !mayAny("approve")) {
    waiting.value = null;
    return;
  }
  reading += 1;
  const mine = reading;
  try {
    const told = await api.get("/api/inbox");
    if (mine === reading) {
      waiting.value = told;
      trouble.value = null;
    }
  } catch (error) {
    if (mine === reading) trouble.value = error;
  }
}

/** Whether something may wait of which no event is heard. */
const isDeaf = () => me.value?.agents.some((it) => it.verbs.includes("approve") && !may(it.id, "read")) ?? false;

let timer = null;
function soon() {
  timer ??= setTimeout(() => ((timer = null), read()), PAUSE_MS);
}

listen(({ event }) => {
  if (event === "approval.asked" || event === "approval.done" || event === "turn.ended" || event === "changed") soon();
});
effect(() => {
  resync.value;
  me.value;
  soon();
});
setInterval(() => isDeaf() && read(), POLL_MS);

/** How much waits, for the bar. */
export const count = () => waiting.value?.length ?? 0;
