// Agents and tools: who has which, and by which rule. Only what is in sight is drawn, both ways.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, at } from "../lib/api.js";
import { bandsOf, cellOf, columnsOf, groupName, groups, linesOf, rowsOf, span, stepped } from "../lib/matrix.js";
import { isAdmin } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { ask, route, to } from "../lib/router.js";
import { many } from "../lib/words.js";
import { Explained } from "../ui/explain.jsx";
import { Choice, Empty, Facts, Page, Search, Shown, State, Ticked } from "../ui/parts.jsx";
import "./tools.css";

/** Sizes where text is as large as usual. */
const CELL = 30;
const HEAD = 172;
/** The part of the head that has the names of groups. */
const BAND = 22;
const SIDE = 168;
const USUAL = 15.6;
/** What stands beside a name: its count, and the space around. */
const BESIDE = 56;
/** A line of a name, and the most of them. */
const LINE = 18;
const LINES_MAX = 4;
/** How much of the table names may take, where there is much room and where there is little. */
const NAMES_MAX = 0.3;
const NAMES_NARROW_MAX = 0.52;

/** How wide a text is, as a name is drawn in bold. */
function ruler(scale) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `600 ${0.92 * USUAL * scale}px ${getComputedStyle(document.body).fontFamily}`;
  return (text) => pen.measureText(text).width;
}

const SIGN = { in: "●", out: "–", none: "" };
const WORD = { in: "has it", out: "does not have it", none: "can't have it" };

function useSize(box, deps) {
  const [seen, setSeen] = useState({ top: 0, left: 0, width: 900, height: 600, fresh: true });
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const look = () => setSeen({ top: element.scrollTop, left: element.scrollLeft, width: element.clientWidth, height: element.clientHeight });
    look();
    element.addEventListener("scroll", look, { passive: true });
    const sized = new ResizeObserver(look);
    sized.observe(element);
    return () => (element.removeEventListener("scroll", look), sized.disconnect());
  }, deps);
  return seen;
}

function Grid({ matrix, rows, columns, chosen, onChoose }) {
  const box = useRef(null);
  const seen = useSize(box, []);
  const scale = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / USUAL;
  const narrow = seen.width < 560;
  const size = Math.round(CELL * scale);
  const head = Math.round(HEAD * scale);
  const band = Math.round(BAND * scale);
  const bands = useMemo(() => bandsOf(columns), [columns]);
  // As wide as the names, as far as there is room; longer ones take more lines.
  const names = rows.map((it) => it.id);
  const named = names.join(" ");
  const measure = useMemo(() => ruler(scale), [scale]);
  const wide = useMemo(() => names.reduce((most, name) => Math.max(most, measure(name)), 0), [named, measure]);
  const beside = BESIDE * scale;
  const most = Math.max((narrow ? 104 : SIDE) * scale, seen.width * (narrow ? NAMES_NARROW_MAX : NAMES_MAX));
  const side = Math.round(Math.min(Math.max((narrow ? 104 : SIDE) * scale, wide + beside), most));
  const lines = useMemo(() => (wide + beside <= side ? 1 : Math.min(LINES_MAX, Math.max(...names.map((name) => linesOf(name, side - beside, measure))))), [named, measure, side]);
  const tall = lines === 1 ? size : Math.max(size, Math.round((lines * LINE + 8) * scale));
  const [focus, setFocus] = useState(() => {
    const at = chosen ? [rows.findIndex((it) => it.id === chosen[0]), columns.findIndex((it) => it.name === chosen[1])] : [0, 0];
    return at.map((it) => Math.max(0, it));
  });
  // What the address names is in sight, and nothing is taken from where the keyboard is.
  const follow = useRef(chosen ? "look" : null);
  const [r, c] = [Math.min(focus[0], rows.length - 1), Math.min(focus[1], columns.length - 1)];
  const page = Math.max(1, Math.floor((seen.height - head) / tall) - 1);
  const [firstRow, lastRow] = span(rows.length, tall, seen.top, seen.height - head);
  const [firstColumn, lastColumn] = span(columns.length, size, seen.left, seen.width - side);

  /** Brings a cell into sight, and the keyboard to it. */
  useLayoutEffect(() => {
    if (!follow.current || seen.fresh) return;
    const element = box.current;
    const [x, y] = [c * size, r * tall];
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + tall > element.scrollTop + element.clientHeight - head) element.scrollTop = y + tall - element.clientHeight + head;
    if (x < element.scrollLeft) element.scrollLeft = x;
    else if (x + size > element.scrollLeft + element.clientWidth - side) element.scrollLeft = x + size - element.clientWidth + side;
    const cell = element.querySelector(`[data-cell="${r}:${c}"]`);
    if (cell) {
      if (follow.current === "go") cell.focus({ preventScroll: true });
      follow.current = null;
    }
  });
  function key(event) {
    const next = stepped(event.key, [r, c], [rows.length, columns.length], page);
    if (!next) return;
    event.preventDefault();
    follow.current = "go";
    setFocus(next);
  }
  const drawnRows = rows.slice(firstRow, lastRow).map((agent, index) => ({ agent, row: firstRow + index }));
  // What has the keyboard is drawn, wherever it is.
  if (rows[r] && (r < firstRow || r >= lastRow)) drawnRows.push({ agent: rows[r], row: r });
  const drawnColumns = columns.slice(firstColumn, lastColumn).map((tool, index) => ({ tool, column: firstColumn + index }));
  if (columns[c] && (c < firstColumn || c >= lastColumn)) drawnColumns.push({ tool: columns[c], column: c });
  return (
    <div ref={box} class="matrix" role="grid" aria-label="Agents and tools" aria-rowcount={rows.length + 1} aria-colcount={columns.length + 1} onKeyDown={key}>
      <div class="sheet" role="presentation" style={{ width: `${side + columns.length * size}px`, height: `${head + rows.length * tall}px` }}>
        <div class="heads" role="row" aria-rowindex={1} style={{ height: `${head}px`, width: `${side + columns.length * size}px` }}>
          <div class="corner small quiet" role="columnheader" aria-colindex={1} style={{ width: `${side}px`, height: `${head}px` }}>
            {many(rows.length, "agent")}, {many(columns.length, "tool")}
          </div>
          {bands.map((it) => (
            <span key={it.group} class="band small quiet" aria-hidden="true" style={{ left: `${side + it.first * size}px`, width: `${it.count * size}px`, height: `${head}px` }}>
              {it.count > 1 && groupName(it.group)}
            </span>
          ))}
          {drawnColumns.map(({ tool, column }) => (
            <div key={tool.name} class={column === c ? "head here" : "head"} role="columnheader" aria-colindex={column + 2} style={{ left: `${side + column * size}px`, width: `${size}px`, height: `${head - band}px`, top: `${band}px` }} title={`${tool.name} (${groupName(tool.group)}): ${tool.have} of ${tool.could}`}>
              <span>{tool.name}</span>
            </div>
          ))}
        </div>
        {drawnRows.map(({ agent, row }) => (
          <div key={agent.id} class={row === r ? "line here" : "line"} role="row" aria-rowindex={row + 2} style={{ top: `${head + row * tall}px`, height: `${tall}px`, width: `${side + columns.length * size}px` }}>
            <div class="name" role="rowheader" aria-colindex={1} style={{ width: `${side}px` }} title={`${agent.id}: ${agent.have} of ${columns.length}`}>
              <span class={agent.state === "ready" ? "" : "quiet"}>{agent.id}</span>
              <span class="quiet small">{agent.have}</span>
            </div>
            {drawnColumns.map(({ tool, column }) => {
              const cell = cellOf(matrix, agent, tool.at);
              const isChosen = chosen && chosen[0] === agent.id && chosen[1] === tool.name;
              return (
                <div key={tool.name} role="gridcell" aria-colindex={column + 2} aria-selected={isChosen ? "true" : "false"} class="spot" style={{ left: `${side + column * size}px`, width: `${size}px`, height: `${tall}px` }}>
                  <button
                    type="button"
                    class={`cell ${cell.kind}${isChosen ? " chosen" : ""}`}
                    data-cell={`${row}:${column}`}
                    tabIndex={row === r && column === c ? 0 : -1}
                    aria-label={`${agent.id} ${WORD[cell.kind]}: ${tool.name}`}
                    onFocus={() => setFocus([row, column])}
                    onClick={() => onChoose([agent.id, tool.name])}
                  >
                    {SIGN[cell.kind]}
                  </button>
                </div>
              );
            })}
          </div>
        ))}
      </div>
    </div>
  );
}

/** Why an agent has a tool or not. */
function Why({ matrix, agent, tool, onClose }) {
  const row = matrix.agents.find((it) => it.id === agent);
  const place = matrix.tools.findIndex((it) => it.name === tool);
  const why = useResource(({ signal }) => (isAdmin() && row?.state !== "failed" ? api.post(at("agents", agent, "explain"), { verb: "call", what: tool }, { signal }) : Promise.resolve(null)), [agent, tool]);
  const box = useRef(null);
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), [agent, tool]);
  if (!row || place < 0) return <Empty title="There is no such agent or tool any more." />;
  const cell = cellOf(matrix, row, place);
  return (
    <aside class="card why stack" ref={box} aria-label={`${tool} of ${agent}`}>
      <div class="title small">
        <h2>
          {agent} · {tool}
        </h2>
        <button type="button" class="button small" onClick={onClose}>
          Close
        </button>
      </div>
      <div class="row">
        <State state={cell.kind === "in" ? "in" : "out"} tone={cell.kind === "in" ? "good" : cell.kind === "out" ? "warn" : "calm"} />
        <Ticked text={cell.rule} />
      </div>
      <Shown of={why}>{(it) => (it ? <Explained of={it} /> : <p class="quiet small">{isAdmin() ? "" : "The admin of this daemon sees in which file and line the rule stands."}</p>)}</Shown>
      <Facts rows={[["Group", groupName(matrix.tools[place].group)], ["Agent", <State state={row.state} />]]} />
      <p>
        <a href={to("map", [], { agent })}>What else {agent} reaches</a>
      </p>
    </aside>
  );
}

export function Tools() {
  const of = useResource(({ signal }) => api.get("/api/tools", { signal }), [], ({ event }) => event === "changed" || event === "health");
  const [agentText, setAgentText] = useState("");
  const [toolText, setToolText] = useState("");
  const [group, setGroup] = useState("all");
  const [some, setSome] = useState("all");
  const { agent, tool } = route.value.query;
  const matrix = of.data;
  const columns = useMemo(() => (matrix ? columnsOf(matrix, { text: toolText, group, some }) : []), [matrix, toolText, group, some]);
  const [holders, setHolders] = useState(false);
  const of_tool = holders && matrix && tool ? matrix.tools.findIndex((it) => it.name === tool) : -1;
  const rows = useMemo(() => (matrix ? rowsOf(matrix, columns, { text: agentText, tool: of_tool >= 0 ? of_tool : null }) : []), [matrix, columns, agentText, of_tool]);
  return (
    <Page
      title="Tools"
      lead="Which agent has which tool, and why."
      wide
      actions={
        <>
          <Choice label="Which tools" value={some} options={[["all", "All tools"], ["some", "Those that somebody has"], ["differs", "Where agents differ"], ["none", "Those that nobody has"]]} onChange={setSome} />
          {matrix && <Choice label="Group of tools" value={group} options={[["all", "Every group"], ...groups(matrix).map((it) => [it, groupName(it)])]} onChange={setGroup} />}
          <Search label="Search tools" value={toolText} onInput={setToolText} />
          <Search label="Search agents" value={agentText} onInput={setAgentText} />
        </>
      }
    >
      <Shown of={of}>
        {() =>
          matrix.agents.length === 0 ? (
            <Empty title="There are no agents yet." />
          ) : (
            <>
              <p class="small key">
                <span class="cell in">●</span> has it <span class="cell out">–</span> does not have it <span class="quiet">Press a cell to see the rule. Arrows move.</span>
                {tool && (
                  <label class="row push">
                    <input type="checkbox" checked={holders} onChange={(event) => setHolders(event.currentTarget.checked)} /> only agents that have {tool}
                  </label>
                )}
              </p>
              <div class={agent && tool ? "tools with-why" : "tools"}>
                {rows.length === 0 || columns.length === 0 ? <Empty title={rows.length === 0 ? "No agent is called like that." : "No tool is like that."} /> : <Grid matrix={matrix} rows={rows} columns={columns} chosen={agent && tool ? [agent, tool] : null} onChoose={([a, t]) => ask({ agent: a, tool: t })} />}
                {agent && tool && <Why key={`${agent} ${tool}`} matrix={matrix} agent={agent} tool={tool} onClose={() => (setHolders(false), ask({ agent: null, tool: null }))} />}
              </div>
            </>
          )
        }
      </Shown>
    </Page>
  );
}
