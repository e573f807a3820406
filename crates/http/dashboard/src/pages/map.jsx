// The map: who comes in, by which rule, to which agent, and what that reaches; and why.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, at, query } from "../lib/api.js";
import { differing } from "../lib/generations.js";
import { KINDS, bare, graph, isLike, related } from "../lib/graph.js";
import { isAdmin } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { ask, route, to } from "../lib/router.js";
import { many } from "../lib/words.js";
import { lastIn, lastUse, saidOf, toldBy, UNTOLD } from "../lib/last_used.js";
import { titleOf } from "../lib/transcript.js";
import { whereOf } from "../lib/where.js";
import { Ask, Explained, Route } from "../ui/explain.jsx";
import { Choice, Empty, Facts, Page, Problem, Search, Section, Shown, State, When, Ticked } from "../ui/parts.jsx";
import { List } from "../ui/table.jsx";
import "./map.css";

function Node({ it, chosen, onChoose }) {
  return (
    <button type="button" class="node" data-id={it.id} aria-pressed={chosen === it.id} onClick={() => onChoose(chosen === it.id ? null : it.id)} title={it.label}>
      <span>{it.label}</span>
      <span class="note quiet small">{it.note || it.group}</span>
      {it.state && (
        <span class="side">
          <State state={it.state} />
        </span>
      )}
    </button>
  );
}

function Column({ title, items, total, searched, chosen, onChoose }) {
  return (
    <div class="column">
      <h2>
        {title}
        <span class="quiet small">{items.length === total ? total : `${items.length} / ${total}`}</span>
      </h2>
      {items.length === 0 ? <Empty title={searched ? "Nothing is like that." : "Nothing here."} /> : <List label={title} items={items} itemKey={(it) => it.id} height={46} row={(it) => <Node it={it} chosen={chosen} onChoose={onChoose} />} />}
    </div>
  );
}

/** Lines between what is drawn, for one thing that is chosen. */
function Lines({ box, lines, deps }) {
  const [paths, setPaths] = useState([]);
  useLayoutEffect(() => {
    if (!box.current) return undefined;
    const draw = () => {
      const around = box.current.getBoundingClientRect();
      const places = new Map();
      for (const node of box.current.querySelectorAll(".node")) {
        const list = node.closest(".list").getBoundingClientRect();
        const own = node.getBoundingClientRect();
        const middle = own.top + own.height / 2;
        if (middle > list.top && middle < list.bottom) places.set(node.dataset.id, { left: list.left - around.left, right: list.right - around.left, y: middle - around.top });
      }
      setPaths(
        lines.flatMap(([a, b]) => {
          const [from, end] = [places.get(a), places.get(b)];
          if (!from || !end || end.left < from.right) return [];
          const bend = (end.left - from.right) / 2;
          return [`M${from.right},${from.y} C${from.right + bend},${from.y} ${end.left - bend},${end.y} ${end.left},${end.y}`];
        }),
      );
    };
    draw();
    const frame = requestAnimationFrame(draw);
    const lists = [...box.current.querySelectorAll(".list")];
    for (const list of lists) list.addEventListener("scroll", draw, { passive: true });
    addEventListener("resize", draw);
    return () => {
      cancelAnimationFrame(frame);
      for (const list of lists) list.removeEventListener("scroll", draw);
      removeEventListener("resize", draw);
    };
  }, deps);
  return (
    <svg aria-hidden="true">
      {paths.map((path) => (
        <path key={path} d={path} />
      ))}
    </svg>
  );
}

/** Why an agent may do something with a thing, and who did so last. */
function Why({ agent, kind, name }) {
  const { verb } = KINDS.find((it) => it.kind === kind);
  // A board's name alone might be that of a file.
  const what = kind === "board" ? `board ${bare(name)}` : bare(name);
  const why = useResource(
    ({ signal }) => (verb && isAdmin() ? api.post(at("agents", agent, "explain"), kind === "scope" ? { verb } : { verb, what }, { signal }) : Promise.resolve(null)),
    [agent, kind, name],
  );
  const records = toldBy(kind);
  const used = useResource(({ signal }) => Promise.all(records.map((it) => api.get(query(at("agents", agent, "audit"), { kind: it, limit: 500 }), { signal }))).then((all) => all.flat()), [agent, kind, name]);
  const last = used.data ? lastUse(kind, name, used.data) : null;
  return (
    <div class="stack">
      <Shown of={why}>{(it) => (it ? <Explained of={it} /> : <p class="quiet">{isAdmin() ? "It stands in the agent's settings below." : "The admin of this daemon can ask why."}</p>)}</Shown>
      <Problem error={used.error} retry={used.reload} />
      {UNTOLD[kind] && <p class="small quiet">{UNTOLD[kind]}</p>}
      {records.length > 0 && used.data && (
        <p class="small">
          {last ? (
            <>
              Last used <When at={last.at} /> by {last.actor}
              {last.session && `, ${whereOf(last.session)}`}: {saidOf(last)}.
            </>
          ) : (
            "Not used among the last uses that are on record."
          )}
        </p>
      )}
    </div>
  );
}

/** What changed from one generation of an agent to another. */
function History({ agent }) {
  const of = useResource(({ signal }) => api.get(query(at("agents", agent, "audit"), { kind: "agent.*", limit: 500 }), { signal }), [agent], (told) => told.event === "health" && told.agent === agent);
  const [from, setFrom] = useState(null);
  const [until, setUntil] = useState(null);
  const all = (of.data ?? []).filter((it) => it.content).sort((a, b) => a.seq - b.seq);
  const last = all.length - 1;
  const range = [Math.min(from ?? 0, until ?? last), Math.max(from ?? 0, until ?? last)];
  const between = all.slice(range[0], range[1] + 1);
  const settings = differing(all, ...range);
  const told = (it) => `${new Date(it.at).toLocaleString()} · ${it.kind.replace("agent.", "")} · generation ${it.generation}`;
  return (
    <Shown of={of} empty={<p class="quiet">Nothing is on record of its generations.</p>}>
      {() =>
        all.length === 0 ? (
          <p class="quiet">Nothing is on record of its generations.</p>
        ) : all.length === 1 ? (
          <p class="quiet">
            {told(all[0])}, by {all[0].actor}. Nothing changed since.
          </p>
        ) : (
          <div class="stack">
            <label class="field">
              <span class="label">From: {told(all[range[0]])}</span>
              <input type="range" min={0} max={last} value={range[0]} onInput={(event) => setFrom(Number(event.currentTarget.value))} />
            </label>
            <label class="field">
              <span class="label">To: {told(all[range[1]])}</span>
              <input type="range" min={0} max={last} value={range[1]} onInput={(event) => setUntil(Number(event.currentTarget.value))} />
            </label>
            <p>
              {settings.length === 0 ? (
                <span class="quiet">Every setting is the same in both.</span>
              ) : (
                <>
                  Changed: <span class="mono">{settings.join(", ")}</span>
                </>
              )}
            </p>
            <ul class="small">
              {between.map((it) => (
                <li key={it.seq}>
                  <When at={it.at} /> {it.kind.replace("agent.", "")} by {it.actor}
                  {it.content.settings?.length > 0 && `: ${it.content.settings.join(", ")}`}
                </li>
              ))}
            </ul>
          </div>
        )
      }
    </Shown>
  );
}

function AgentDetail({ of }) {
  const [kind, setKind] = useState("tool");
  const reached = KINDS.map((it) => ({ ...it, names: it.of(of) })).filter((it) => it.names.length > 0);
  const current = reached.find((it) => it.kind === kind) ?? reached[0];
  const [name, setName] = useState(null);
  const chosen = current?.names.includes(name) ? name : (current?.names[0] ?? null);
  const context = useResource(({ signal }) => api.get(at("agents", of.id, "context"), { signal }), [of.id, of.generation]);
  return (
    <div class="stack">
      <div class="row">
        <State state={of.state} />
        <span class="quiet">generation {of.generation}</span>
        <a href={to("chat", [of.id])}>Talk to it</a>
      </div>
      {current && (
        <div class="row">
          <Choice label="What it reaches" value={current.kind} options={reached.map((it) => [it.kind, `${it.title} (${it.names.length})`])} onChange={(it) => (setKind(it), setName(null))} />
          <Choice label="Which" value={chosen} options={current.names} onChange={setName} />
        </div>
      )}
      {chosen && <Why key={`${current.kind}:${chosen}`} agent={of.id} kind={current.kind} name={chosen} />}
      <h3>Between two generations</h3>
      <History agent={of.id} />
      <details>
        <summary>Its settings, and where each stands</summary>
        <Shown of={context}>{(it) => <Facts rows={it.settings.map((set) => [set.setting, <><span class="mono">{typeof set.value === "string" ? set.value : JSON.stringify(set.value)}</span> <span class="quiet small">{set.origin}</span></>])} />}</Shown>
      </details>
    </div>
  );
}

/** The conversation that came by a way in last. */
function LastIn({ way }) {
  const of = useResource(({ signal }) => api.get(query("/api/sessions", { agent: way.agent, limit: 200 }), { signal }), [way.agent], ({ event }) => event === "turn.ended");
  return (
    <Shown of={of}>
      {(all) => {
        const last = lastIn(way, all);
        if (last === null) return <p class="small">Nobody came by it in the last conversations.</p>;
        return (
          <p class="small">
            Last used <When at={last.used} /> by <a href={to("sessions", [last.agent, String(last.id)])}>{last.title ?? titleOf(last.begins) ?? "a conversation"}</a>, {whereOf(last.key)}.
          </p>
        );
      }}
    </Shown>
  );
}

function Detail({ it, all }) {
  if (it.kind === "agent") return <AgentDetail key={it.id} of={it.of} />;
  if (it.kind === "binding") {
    return (
      <div class="stack">
        <Facts
          rows={[
            ["Rule", <span class="mono">{it.of.rule}</span>],
            ["Leads to", it.of.agent],
            ["Decides by", it.of.tier],
            ["Stands in", it.of.place && <span class="mono">{it.of.place}</span>],
            ["Refuses", it.of.refusal && <Ticked text={it.of.refusal} />],
          ]}
        />
        <LastIn key={it.id} way={it.of} />
      </div>
    );
  }
  if (it.kind === "account") {
    const [, platform, account] = it.id.split(":");
    return (
      <div class="stack">
        <Facts rows={[["Account", it.label], ["State", it.state && <State state={it.state} />], ["Why", it.note && <Ticked text={it.note} />]]} />
        <LastIn key={it.id} way={{ platform, account }} />
      </div>
    );
  }
  const agents = all.lines.filter(([, end]) => end === it.id).map(([from]) => from.slice("agent:".length));
  return <Reached key={it.id} it={it} agents={agents} />;
}

function Reached({ it, agents }) {
  const [agent, setAgent] = useState(agents[0]);
  return (
    <div class="stack">
      <p>
        {many(agents.length, "agent")} {agents.length === 1 ? "reaches" : "reach"} it. <Choice label="Agent" value={agent} options={agents} onChange={setAgent} />
      </p>
      <Why key={agent} agent={agent} kind={it.kind} name={it.label} />
    </div>
  );
}

export function MapPage() {
  const of = useResource(({ signal }) => api.get("/api/map", { signal }), [], ({ event }) => event === "changed" || event === "health");
  const [text, setText] = useState("");
  const [kind, setKind] = useState("all");
  const box = useRef(null);
  const all = useMemo(() => (of.data ? graph(of.data) : null), [of.data]);
  const { agent, at: asked } = route.value.query;
  const chosen = asked ?? (agent ? `agent:${agent}` : null);
  const near = useMemo(() => (all && chosen ? related(all, chosen) : null), [all, chosen]);
  const choose = (id) => (setText(""), ask({ at: id, agent: null }));
  const search = (words) => {
    if (chosen) choose(null);
    setText(words);
  };
  useEffect(() => setKind("all"), [chosen]);
  if (!all) {
    return (
      <Page title="Map" wide>
        <Shown of={of}>{() => null}</Shown>
      </Page>
    );
  }
  const wanted = text.toLowerCase();
  // A search goes through all; with something chosen the columns are what that has to do with, and
  // no search hides any of it.
  const seen = (items) => items.filter((it) => (near ? near.has(it.id) : isLike(it, wanted)));
  const reached = seen(all.reached).filter((it) => kind === "all" || it.kind === kind);
  const found = chosen && [...all.ways, ...all.agents, ...all.reached].find((it) => it.id === chosen);
  const drawn = near ? all.lines.filter(([a, b]) => near.has(a) && near.has(b)) : [];
  const kinds = [["all", "Everything"], ...KINDS.filter((it) => all.reached.some((thing) => thing.kind === it.kind)).map((it) => [it.kind, it.title])];
  return (
    <Page
      title="Map"
      lead="Who comes in, by which rule, to which agent, and what that reaches."
      wide
      actions={
        <>
          <Choice label="What is reached" value={kind} options={kinds} onChange={setKind} />
          <Search label="Search the map" value={text} onInput={search} />
          {chosen && (
            <button type="button" class="button" onClick={() => choose(null)}>
              Show all
            </button>
          )}
        </>
      }
    >
      <Problem error={of.error} retry={of.reload} />
      {isAdmin() && (
        <div class="questions">
          <Route platforms={[...new Set(of.data.accounts.map((it) => it.platform))]} />
          <Ask key={agent ?? chosen} agents={of.data.agents.map((it) => it.id)} agent={found?.kind === "agent" ? found.label : undefined} />
        </div>
      )}
      <div class={found ? "mapped with-why" : "mapped"}>
      <div class="map" ref={box}>
        <Column title="Ways in" items={seen(all.ways)} total={all.ways.length} searched={wanted !== ""} chosen={chosen} onChoose={choose} />
        <Column title="Agents" items={seen(all.agents)} total={all.agents.length} searched={wanted !== ""} chosen={chosen} onChoose={choose} />
        <Column title="What they reach" items={reached} total={all.reached.length} searched={wanted !== ""} chosen={chosen} onChoose={choose} />
        <Lines box={box} lines={drawn} deps={[chosen, text, kind, all]} />
      </div>
      {found && (
        <div class="why card">
          <Section title={`${found.group && found.kind !== "agent" ? `${found.group}: ` : ""}${found.label}`}>
            <Detail it={found} all={all} />
          </Section>
        </div>
      )}
      </div>
    </Page>
  );
}
