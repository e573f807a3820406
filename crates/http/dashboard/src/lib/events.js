// What happens to all agents that one may read, as it happens. One stream for the whole page.
import { effect, signal } from "@preact/signals";
import { api, signedOut } from "./api.js";
import { askAgain, me } from "./me.js";

/** `connecting`, `live` or `offline`. */
export const connection = signal("connecting");

/** Counts how often the stream began, or missed something: what was read before may be old. */
export const resync = signal(0);

const WAIT_FIRST_MS = 300;
const WAIT_MAX_MS = 5_000;

const listeners = new Set();

/** Hears every event as `{event, agent, data}`, until what it gives is called. */
export function listen(hear) {
  listeners.add(hear);
  return () => listeners.delete(hear);
}

function tell(told) {
  for (const hear of [...listeners]) {
    try {
      hear(told);
    } catch (error) {
      console.error(error);
    }
  }
}

const sleep = (ms, stop) =>
  new Promise((done) => {
    const timer = setTimeout(done, ms);
    stop.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });

async function follow(stop) {
  let wait = WAIT_FIRST_MS;
  while (!stop.aborted) {
    try {
      await api.stream("GET", "/api/events", undefined, hear, {
        signal: stop,
        onOpen() {
          wait = WAIT_FIRST_MS;
          const wasOffline = connection.value === "offline";
          connection.value = "live";
          resync.value += 1;
          // A daemon that started anew may have other agents.
          if (wasOffline) askAgain();
        },
      });
    } catch (error) {
      if (stop.aborted || error.status === 401) return;
    }
    if (stop.aborted || signedOut.value !== null) return;
    connection.value = "offline";
    await sleep(wait, stop);
    wait = Math.min(wait * 2, WAIT_MAX_MS);
  }
}

function hear({ event, data }) {
  if (event === "error") {
    signedOut.value = data.error?.message ?? "You are signed out.";
    me.value = null;
    return;
  }
  if (event === "missed") {
    resync.value += 1;
    return;
  }
  if (event === "changed") askAgain();
  tell({ event, agent: data.agent, data });
}

/** Follows for as long as somebody is signed in. */
export function start() {
  let stop = null;
  let who = null;
  effect(() => {
    const now = signedOut.value === null && me.value ? me.value.who : null;
    if (now === who) return;
    who = now;
    stop?.abort();
    stop = null;
    if (now !== null) {
      connection.value = "connecting";
      stop = new AbortController();
      follow(stop.signal);
    }
  });
}
