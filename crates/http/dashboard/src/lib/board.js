// A board as its page sees it: columns, who may move what where, and what is drawn meanwhile.

/** Every status, in the order of the columns. */
export const STATUSES = ["triage", "todo", "scheduled", "ready", "running", "blocked", "review", "done", "archived"];

/** What a status means, in a few words. */
export const MEANS = {
  triage: "nobody is to do it yet",
  todo: "waits for other cards",
  scheduled: "waits for its time",
  ready: "may be taken",
  running: "somebody works on it",
  blocked: "can't go on",
  review: "to be looked at",
  done: "it is over",
  archived: "put away",
};

/** The kinds of what blocks a card. */
export const BLOCKS = [
  ["needs_input", "a person has to say something"],
  ["dependency", "others have to be done first"],
  ["capability", "whoever it is for can't do it"],
  ["transient", "it may go well another time"],
];

const isOver = (status) => status === "done" || status === "archived";

/** Where somebody with these rights may put a card. The daemon decides; this only leaves out what it refuses. */
export function targets(card, rights) {
  const has = (right) => rights.includes(right);
  return STATUSES.filter((to) => {
    if (to === card.status) return false;
    if (to === "running") return card.status === "ready" && has("claim");
    if (card.status === "review" && !isOver(to) && has("review")) return restsIn(card, to);
    if (!has("administer")) return false;
    if (to === "review") return card.status === "running";
    if (to === "done") return !isOver(card.status);
    if (to === "blocked") return !isOver(card.status);
    if (to === "archived") return card.status !== "running";
    return restsIn(card, to);
  });
}

/** Whether what is known of a card lets it rest in a column: who is to do it, and what it waits for. */
function restsIn(card, to) {
  const early = card.start && new Date(card.start) > new Date();
  const rest = !card.assignee ? "triage" : (card.needs_open?.length ?? 0) > 0 ? "todo" : early ? "scheduled" : "ready";
  return to === rest;
}

/** What is asked of the daemon to put a card there. */
export function request(to, why) {
  return to === "running" ? { action: "claim" } : { action: "move", to, ...(why ? { why } : {}) };
}

/** Whether somebody loses something by it, so that it is asked first. Nothing where nobody does. */
export function warning(card, to) {
  if (card.worker && to !== "running") return `${card.worker} works on it and loses it: what they still write is refused.`;
  if (to === "archived") return "It is put away, and shown no more unless archived cards are.";
  return null;
}

/** Cards by column: the most urgent first, done ones by when they were. `moved` says where some are drawn meanwhile. */
export function columns(cards, moved, wanted) {
  const all = new Map(STATUSES.map((status) => [status, []]));
  for (const card of cards) {
    if (wanted && !wanted(card)) continue;
    all.get(moved.get(card.id) ?? card.status)?.push(card);
  }
  const late = (card) => card.done_at ?? card.changed_at;
  for (const [status, list] of all) {
    list.sort((a, b) => (isOver(status) ? late(b).localeCompare(late(a)) : b.priority - a.priority || a.id - b.id));
  }
  return all;
}

/** Whether a card has one of these words: in its number, title, labels or who has to do with it. */
export function matches(card, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const said = [`#${card.id}`, card.title, ...card.labels, card.assignee, card.worker, card.author].filter(Boolean).join(" ").toLowerCase();
  return words.every((word) => said.includes(word));
}

/** Whether a card is late: its day has come and it is open. */
export function isLate(card, now = Date.now()) {
  return Boolean(card.due) && !isOver(card.status) && new Date(card.due).getTime() < now;
}
