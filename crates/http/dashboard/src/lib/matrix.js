// The table of agents and tools: which rows and columns are shown, and where one goes by keyboard.
import { AROUND } from "./window.js";

/** What a group is called, as people read it. */
export const groupName = (group) => group.replace(/^group:/, "");

/** Groups of tools, in the order of the columns. */
export function groups(matrix) {
  return [...new Set(matrix.tools.map((it) => it.group))].sort();
}

/** Columns: tools by group and name, with how many agents have each. */
export function columnsOf(matrix, { text = "", group = "all", some = "all" } = {}) {
  const wanted = text.toLowerCase();
  const have = new Array(matrix.tools.length).fill(0);
  const could = new Array(matrix.tools.length).fill(0);
  for (const agent of matrix.agents) {
    agent.cells.forEach((cell, at) => {
      if (cell === null) return;
      could[at] += 1;
      if (matrix.rules[cell].exposed) have[at] += 1;
    });
  }
  return matrix.tools
    .map((it, at) => ({ ...it, at, have: have[at], could: could[at] }))
    .filter((it) => (group === "all" || it.group === group) && it.name.toLowerCase().includes(wanted))
    .filter((it) => some === "all" || (some === "some" ? it.have > 0 : some === "none" ? it.have === 0 : it.have > 0 && it.have < matrix.agents.length))
    .sort((a, b) => a.group.localeCompare(b.group) || a.name.localeCompare(b.name));
}

/** Which columns belong together, by their group. */
export function bandsOf(columns) {
  const bands = [];
  columns.forEach(({ group }, at) => {
    if (bands.at(-1)?.group === group) bands.at(-1).count += 1;
    else bands.push({ group, first: at, count: 1 });
  });
  return bands;
}

/** Rows: agents, with how many of the shown tools each has. */
export function rowsOf(matrix, columns, { text = "", tool = null } = {}) {
  const wanted = text.toLowerCase();
  return matrix.agents
    .filter((it) => it.id.includes(wanted))
    .filter((it) => tool === null || (it.cells[tool] !== null && matrix.rules[it.cells[tool]].exposed))
    .map((it) => ({ ...it, have: columns.filter((column) => it.cells[column.at] !== null && matrix.rules[it.cells[column.at]].exposed).length }));
}

/** What holds in a cell: `in`, `out`, or nothing where the agent can't have such a tool. */
export function cellOf(matrix, agent, tool) {
  const rule = agent.cells[tool];
  return rule === null || rule === undefined ? { kind: "none", rule: "the agent has no server that offers it" } : { kind: matrix.rules[rule].exposed ? "in" : "out", rule: matrix.rules[rule].rule };
}

/** Where a key leads from a cell; the same one where it leads nowhere. */
export function stepped(key, [row, column], [rows, columns], page) {
  const to = {
    ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
    Home: [row, 0], End: [row, columns - 1], PageUp: [row - page, column], PageDown: [row + page, column],
  }[key];
  if (!to) return null;
  return [Math.max(0, Math.min(rows - 1, to[0])), Math.max(0, Math.min(columns - 1, to[1]))];
}

/** Which of so many things of one size are drawn, with those around. */
export function span(count, size, begin, view) {
  const first = Math.max(0, Math.floor(begin / size) - AROUND);
  return [Math.min(first, count), Math.min(count, Math.ceil((begin + view) / size) + AROUND)];
}

/** How many lines a name takes: one breaks behind a hyphen, and anywhere where it has none. */
export function linesOf(name, width, measure) {
  let lines = 1;
  let line = "";
  for (const piece of name.split(/(?<=-)/)) {
    if (measure(line + piece) <= width) {
      line += piece;
      continue;
    }
    if (line !== "") lines += 1;
    const more = Math.ceil(measure(piece) / width) - 1;
    lines += Math.max(0, more);
    line = more > 0 ? piece.slice(-Math.ceil(piece.length / (more + 1))) : piece;
  }
  return lines;
}
