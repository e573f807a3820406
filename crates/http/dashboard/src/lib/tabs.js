// What one tab was told, for the others of the same browser: who may only talk hears no events of
// the daemon, and has the conversation open twice all the same.
const others = new BroadcastChannel("insula.talks");

/** Tells the other tabs that something was said in a conversation, or answered. */
export const tellTabs = (agent, session) => others.postMessage({ agent, session });

/** Hears of conversations that went on in another tab, until what it gives is called. */
export function hearTabs(hear) {
  const listener = ({ data }) => hear(data);
  others.addEventListener("message", listener);
  return () => others.removeEventListener("message", listener);
}
