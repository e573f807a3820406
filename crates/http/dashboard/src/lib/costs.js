// What was used, as its page tells it: stacked series, figures and words.

/** What can be shown over time. */
export const MEASURES = [
  ["usd", "Dollars"],
  ["tokens", "Tokens"],
  ["turns", "Turns"],
];

export const RANGES = [
  ["48h", "Since yesterday, by the hour"],
  ["7", "A week"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "A year"],
];

export const BY = [
  ["agent", "By agent"],
  ["model", "By model"],
  ["person", "By person"],
  ["scope", "By memory scope"],
  ["key", "By key"],
  ["way", "By way in"],
];

/** What is asked of the daemon. By the hour it tells of agents alone. */
export function asked({ range, by, agent }) {
  return range === "48h" ? { step: "hour", days: 2, by: "agent", agent } : { step: "day", days: range, by, agent };
}

export const sum = (list) => list.reduce((all, it) => all + it, 0);

/** The series that are drawn, what all others used at the end; those of nothing are left out. */
export function drawn(costs, measure) {
  const all = costs.rest ? [...costs.series, costs.rest] : costs.series;
  return all.filter((it) => sum(it[measure]) > 0);
}

/** Each series on top of those before it: what is drawn reaches from one line down to the next. */
export function stacked(series, measure) {
  const at = [];
  return series.map((it) => it[measure].map((value, index) => (at[index] = (at[index] ?? 0) + value)));
}

const firstAt = (costs) => costs.total.tokens.findIndex((it, index) => it > 0 || costs.total.turns[index] > 0 || costs.total.usd[index] > 0);

/** When there is something for the first time. */
export const firstUse = (costs) => costs.times[Math.max(0, firstAt(costs))];

/** The first time there is something at, less one, so that what is drawn does not begin long before. */
export function since(costs) {
  const first = firstAt(costs);
  return first < 0 ? 0 : Math.max(0, Math.min(first - 1, costs.times.length - 7));
}

/** The same from a point on. */
export function from(costs, first) {
  if (first === 0) return costs;
  const cut = (it) => it && { ...it, usd: it.usd.slice(first), tokens: it.tokens.slice(first), turns: it.turns.slice(first) };
  return { ...costs, times: costs.times.slice(first), total: cut(costs.total), series: costs.series.map(cut), rest: cut(costs.rest) };
}

/** What a budget leaves, as parts of a whole. */
export function budgetBars(budget, used) {
  const bars = [];
  if (budget.usd_per_day !== null && budget.usd_per_day !== undefined) bars.push({ what: "usd", limit: budget.usd_per_day, used: Math.max(0, budget.usd_per_day - budget.usd_left), over: used?.usd });
  if (budget.tokens_per_day !== null && budget.tokens_per_day !== undefined) bars.push({ what: "tokens", limit: budget.tokens_per_day, used: Math.max(0, budget.tokens_per_day - budget.tokens_left) });
  return bars.map((it) => ({ ...it, part: it.limit > 0 ? Math.min(1, it.used / it.limit) : 1 }));
}

/** How near its end a budget is. */
export const nearness = (part) => (part >= 1 ? "bad" : part >= 0.8 ? "warn" : "good");
