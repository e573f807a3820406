// What each turn under way is doing, as far as its events tell.

/** Turns that ended and are still told of. */
const RECENT_MAX = 200;

/** What is known before anything was heard. */
export const nothing = { doing: new Map(), recent: [] };

export const turnKey = (agent, turn) => `${agent}/${turn}`;

const DOING = {
  "tool.call": (data) => ({ what: data.name, about: data.about, kind: "tool" }),
  "tool.done": () => ({ what: "model", about: "" }),
  "approval.asked": (data) => ({ what: `asks for approval of ${data.tool}`, about: data.what, kind: "approval" }),
  "approval.done": (data) => ({ what: data.tool, about: "", kind: "tool" }),
  "child.started": (data) => ({ what: `child ${data.child}`, about: data.goal, kind: "tool" }),
  "child.tool.call": (data) => ({ what: `child ${data.child}: ${data.name}`, about: data.about, kind: "tool" }),
};

/** The same after one more event. `at` is when it was heard. */
export function heard({ doing, recent }, { event, agent, data }, at) {
  if (data?.turn === undefined) return { doing, recent };
  const key = turnKey(agent, data.turn);
  if (event === "turn.ended") {
    const left = new Map(doing);
    left.delete(key);
    const one = { key, agent, turn: data.turn, session: data.session, status: data.status, error: data.error ?? null, cut: data.cut ?? null, usage: data.usage ?? null, at };
    return { doing: left, recent: [one, ...recent.filter((it) => it.key !== key)].slice(0, RECENT_MAX) };
  }
  const now = DOING[event]?.(data);
  if (!now) return { doing, recent };
  return { doing: new Map(doing).set(key, { ...now, since: at }), recent };
}

/** A turn that ended before anything was heard, as one that was heard to end. */
export function endedTurn(agent, it, sessions) {
  const session = sessions.find((one) => one.agent === agent && String(one.id) === String(it.session));
  return { key: turnKey(agent, it.id), agent, turn: it.id, session: session?.key ?? null, status: it.status, error: it.error ?? null, cut: it.cut ?? null, usage: null, at: new Date(it.ended ?? it.accepted).getTime() };
}

/** Those that were heard to end and those that had before, each once, the last first. */
export function allEnded(heard, before) {
  const known = new Set(heard.map((it) => it.key));
  return [...heard, ...before.filter((it) => !known.has(it.key))].sort((a, b) => b.at - a.at).slice(0, RECENT_MAX);
}
