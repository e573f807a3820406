// What one tab was told, for the others of the same browser: who may only talk hears no events of
// the daemon, and has the conversation open twice all the same. And who signs out does so in all.
const others = new BroadcastChannel("insula.talks");

const door = new BroadcastChannel("insula.door");

/** Tells the other tabs that somebody signed in, or that whoever was is gone. */
export const tellDoor = (isIn) => door.postMessage({ isIn });

/** Hears from the other tabs that somebody signed in or out there: they share one sign-in. */
export const hearDoor = (hear) => door.addEventListener("message", ({ data }) => hear(data.isIn));

/** Tells the other tabs that something was said in a conversation, or answered. */
export const tellTabs = (agent, session) => others.postMessage({ agent, session });

/** Hears of conversations that went on in another tab, until what it gives is called. */
export function hearTabs(hear) {
  const listener = ({ data }) => hear(data);
  others.addEventListener("message", listener);
  return () => others.removeEventListener("message", listener);
}
