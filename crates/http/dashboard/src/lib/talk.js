// Turns that this page began: what is said, what is heard of it, and going on after a break.
import { signal } from "@preact/signals";
import { api, at } from "./api.js";
import { tellTabs } from "./tabs.js";
import { heard, isOver, unheard } from "./talk_state.js";

/** Turns under way by `agent/session`, each a signal. */
const talks = new Map();
/** Counts turns that ended, for who shows transcripts. */
export const ended = signal(0);

const KEPT = "insula.talks";
const WAIT_MS = 700;

const name = (agent, session) => `${agent}/${session}`;

/** What is under way in a conversation, as a signal; its value is null while nothing is. */
export function talk(agent, session) {
  const key = name(agent, session);
  if (!talks.has(key)) talks.set(key, signal(null));
  return talks.get(key);
}

const begun = (said, along, turn = null) => ({ ...unheard, said, along, turn });

function keep(key, value) {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
  if (value) kept[key] = value;
  else delete kept[key];
  sessionStorage.setItem(KEPT, JSON.stringify(kept));
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Says something, and hears the turn to its end, also over a daemon that starts anew. */
export async function say(agent, session, text, { parts = [], along = [], id = crypto.randomUUID(), turn = null } = {}) {
  const now = talk(agent, session);
  // What was refused is said again with all that came along.
  now.value = { ...begun(text, along, turn), again: () => say(agent, session, text, { parts, along }) };
  // What came along is too much to keep; without it nothing is said again after a reload.
  const kept = parts.length === 0 ? { text, id } : null;
  if (kept) keep(name(agent, session), { ...kept, turn });
  const body = parts.length > 0 ? { session, text, parts } : { session, text };
  await hear(agent, session, "messages", body, { "idempotency-key": id }, kept);
}

/** Says the last message again. */
export async function retry(agent, session, said) {
  talk(agent, session).value = { ...begun(said, []), again: () => retry(agent, session, said) };
  await hear(agent, session, "retry", { session }, {}, null);
}

async function hear(agent, session, route, body, headers, kept) {
  const now = talk(agent, session);
  const { said, again: anew } = now.value;
  let over = false;
  for (let again = 0; !over; again += 1) {
    try {
      // The same request is the same turn, told from its beginning.
      if (again > 0) now.value = { ...begun(said, now.value.along, now.value.turn), again: anew, state: "reconnecting" };
      await api.stream(
        "POST",
        at("agents", agent, route),
        body,
        (told) => {
          const was = now.value.turn;
          now.value = heard(now.value, told);
          if (now.value.turn !== was) {
            // After a reload it is known which of the transcript's turns it is.
            if (kept) keep(name(agent, session), { ...kept, turn: now.value.turn });
            tellTabs(agent, session);
          }
          if (told.event === "turn.ended" || told.event === "error") over = true;
        },
        { headers },
      );
      if (route === "retry") over = true;
    } catch (error) {
      const canWait = error.status === undefined || error.status === 0 || error.status === 503;
      if (!canWait || route === "retry") {
        now.value = { ...now.value, state: "failed", error: error.message };
        over = true;
      }
    }
    if (!over) {
      now.value = { ...now.value, state: "reconnecting" };
      await pause(WAIT_MS);
    }
  }
  keep(name(agent, session), null);
  ended.value += 1;
  tellTabs(agent, session);
}

/** Turns that were begun elsewhere and are followed here, or were. */
const followed = new Set();

/** Hears a turn of a conversation that was begun elsewhere, from its beginning to its end. */
export async function follow(agent, session, turn) {
  const now = talk(agent, session);
  const mark = name(agent, turn);
  if (now.value !== null || followed.has(mark)) return;
  followed.add(mark);
  const first = { ...begun(null, [], turn), elsewhere: true, state: "waiting" };
  now.value = first;
  while (String(now.value?.turn) === String(turn) && !isOver(now.value)) {
    try {
      await api.stream("GET", at("agents", agent, "turns", String(turn), "events"), undefined, (told) => (now.value = heard(now.value, told)));
    } catch (error) {
      if (error.status !== undefined && error.status !== 0 && error.status !== 503) {
        now.value = null;
        break;
      }
    }
    if (now.value !== null && !isOver(now.value)) {
      await pause(WAIT_MS);
      // It is told from its beginning again.
      now.value = first;
    }
  }
  ended.value += 1;
}

/** A turn that was followed and is over stands in the transcript by now. */
export function leave(agent, session) {
  const now = talk(agent, session);
  if (now.value?.elsewhere && isOver(now.value)) now.value = null;
}

/** Goes on hearing what this page was told to say before it was loaded anew. */
export function goOn() {
  for (const [key, { text, id, turn }] of Object.entries(JSON.parse(sessionStorage.getItem(KEPT) ?? "{}"))) {
    const cut = key.indexOf("/");
    say(key.slice(0, cut), key.slice(cut + 1), text, { id, turn });
  }
}
