// Who used a thing last, as far as records name it.
import { bare } from "./graph.js";

const MEMORY = new Set(["memory", "session_search"]);
/** A name with `*.` before it means all below it. */
const isHost = (rule, host) => (rule.startsWith("*.") ? String(host).endsWith(rule.slice(1)) : rule.split(":")[0] === host);

/** For each kind of thing: which kinds of records tell of it, and which of those are about `what`. */
const TOLD = {
  tool: { "tool.call": (it, what) => it.tool === what },
  mcp: { "tool.call": (it, what) => String(it.tool).startsWith(`mcp__${what}__`) },
  board: {
    "tool.call": (it, what) => String(it.tool).startsWith("kanban_") && (it.about === what || String(it.about).startsWith(`${what}/`)),
    // A card that it is given to work on is its use too, also where it calls no tool for it.
    "card.claimed": (it, what) => it.board === what,
  },
  scope: { "tool.call": (it) => MEMORY.has(it.tool) },
  host: { egress: (it, what) => isHost(what, it.host) },
  link: { "link.used": (it, what) => it.to === what },
};

/** The kinds of records that tell of such a thing; none where nothing does. */
export const toldBy = (kind) => Object.keys(TOLD[kind] ?? {});

/** What became of a use, in a few words. */
export const saidOf = ({ kind, content }) => (kind === "card.claimed" ? `card ${content.card} was claimed` : (content.verdict ?? "sent"));

/** Why no record tells of such a thing, and what does. */
export const UNTOLD = {
  file: "Records name the tool and not the file: a path can say what somebody asked. The transcript of a conversation has both.",
  secret: "It goes to the programs and servers whose settings name it, as they start; no record tells of one use.",
  model: "What was asked of it, by day, by whom and for how much, is under Costs.",
};

/** The newest record of its use, or null. */
export function lastUse(kind, name, records) {
  const what = bare(name);
  const own = records.filter((it) => it.content && TOLD[kind]?.[it.kind]?.(it.content, what));
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
