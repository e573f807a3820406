// Who used a thing last, as far as records name it.
import { bare } from "./graph.js";

const MEMORY = new Set(["memory", "session_search"]);
/** A name with `*.` before it means all below it. */
const isHost = (rule, host) => (rule.startsWith("*.") ? String(host).endsWith(rule.slice(1)) : rule.split(":")[0] === host);

/** For each kind of thing: which records tell of it, and which of those are about `what`. */
const TOLD = {
  tool: { kind: "tool.call", is: (it, what) => it.tool === what },
  mcp: { kind: "tool.call", is: (it, what) => String(it.tool).startsWith(`mcp__${what}__`) },
  board: { kind: "tool.call", is: (it, what) => String(it.tool).startsWith("kanban_") && (it.about === what || String(it.about).startsWith(`${what}/`)) },
  scope: { kind: "tool.call", is: (it) => MEMORY.has(it.tool) },
  host: { kind: "egress", is: (it, what) => isHost(what, it.host) },
  link: { kind: "link.used", is: (it, what) => it.to === what },
};

/** The kind of record that tells of such a thing, or null where none does. */
export const toldBy = (kind) => TOLD[kind]?.kind ?? null;

/** Why no record tells of such a thing, and what does. */
export const UNTOLD = {
  file: "Records name the tool and not the file: a path can say what somebody asked. The transcript of a conversation has both.",
  secret: "It goes to the programs and servers whose settings name it, as they start; no record tells of one use.",
  model: "What was asked of it, by day, by whom and for how much, is under Costs.",
};

/** The newest record of its use, or null. */
export function lastUse(kind, name, records) {
  const what = bare(name);
  const own = records.filter((it) => it.content && TOLD[kind].is(it.content, what));
  return own.sort((a, b) => b.seq - a.seq)[0] ?? null;
}

/** What a rule of a binding names, `{chat, topic, …}`, from its words: `telegram chat=-100 topic=7`. */
export const named = (rule) => Object.fromEntries([...rule.matchAll(/\b([a-z]+)=("[^"]*"|\S+)/g)].map(([, key, value]) => [key, value.replace(/^"|"$/g, "")]));

/** The conversation that was last used by a way in: `{platform, account, rule}`. */
export function lastIn(way, sessions) {
  const { chat, topic } = named(way.rule ?? "");
  const own = sessions.filter((it) => {
    const [head, agent, platform, account, , place, ...rest] = it.key.split(":");
    const more = rest.join(":");
    return (
      head === "agent" &&
      (way.agent === undefined || agent === way.agent) &&
      platform === way.platform &&
      (!way.account || account === way.account) &&
      (chat === undefined || decodeURIComponent(place) === chat) &&
      (topic === undefined || `:${more}:`.includes(`:topic:${topic}:`))
    );
  });
  return own.sort((a, b) => (a.used < b.used ? 1 : -1))[0] ?? null;
}
