// Choosing one of the agents that are the caller's.
import { me } from "../lib/me.js";
import { Choice } from "./parts.jsx";

/** One of the agents with which `verb` may be done. `all` is what is chosen for every one of them. */
export function AgentChoice({ verb, value, onChange, all, more = [] }) {
  const own = me.value.agents.filter((it) => it.verbs.includes(verb));
  const options = own.map((it) => [it.id, it.state === "ready" ? it.id : `${it.id} (${it.state})`]);
  return <Choice label="Agent" value={value ?? ""} onChange={onChange} options={[...(all ? [["", all]] : []), ...more, ...options]} />;
}
