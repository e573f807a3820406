// What waits for an answer of whoever signed in: one list for the bar and for the inbox.
import { effect, signal } from "@preact/signals";
import { api, signedOut } from "./api.js";
import { listen, resync } from "./events.js";
import { may, mayAny, me } from "./me.js";
import { oneByOne } from "./one.js";

/** What waits, the oldest first; null until it was read. */
export const waiting = signal(null);
/** Why it could not be read. */
export const trouble = signal(null);

/** How soon after one event the next reading may come, so that a flood of them is one. */
const PAUSE_MS = 150;
/** How often it is read for agents whose events one may not hear. */
const POLL_MS = 10_000;

/** Reads it again. */
export const read = oneByOne(async () => {
  const who = me.value?.who;
  if (!who || signedOut.value !== null || !mayAny("approve")) {
    waiting.value = null;
    return;
  }
  const told = await api.get("/api/inbox").then(
    (list) => ({ list, error: null }),
    (error) => ({ list: waiting.value, error }),
  );
  // What somebody else was told, who was signed in before, is not for whoever is now.
  if (me.value?.who !== who) return;
  waiting.value = told.list;
  trouble.value = told.error;
});

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
