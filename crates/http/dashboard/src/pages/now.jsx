// What is under way: each agent's turns, what waits, what failed, and how accounts stand.
import { useEffect, useRef, useState } from "preact/hooks";
import { effect, signal } from "@preact/signals";
import { api, at, query, signedOut } from "../lib/api.js";
import { useClock } from "../lib/clock.js";
import { listen } from "../lib/events.js";
import { waiting } from "../lib/inbox.js";
import { isAdmin, may, me } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { to } from "../lib/router.js";
import { at as doingOf, isOver, heard as talked, unheard } from "../lib/talk_state.js";
import { allEnded, endedTurn, heard, nothing, turnKey } from "../lib/under_way.js";
import { whereOf } from "../lib/where.js";
import { ago, cutOff, many, took } from "../lib/words.js";
import { Heard } from "../ui/exchange.jsx";
import { Button, Dialog, Empty, Page, Problem, Search, Section, Shown, State, Ticked } from "../ui/parts.jsx";
import { Table } from "../ui/table.jsx";
import { Turn } from "../ui/turn.jsx";
import "../ui/narrow.css";
import "./now.css";

/** What was heard since the page was loaded, also while another one was open. */
const known = signal(nothing);
listen((told) => (known.value = heard(known.value, told, Date.now())));
// Whoever signs in next in this tab is somebody else.
effect(() => signedOut.value && (known.value = nothing));

/** What a turn asks and waits for, also where nobody was here when it began to. */
const asksOf = (agent, turn) => (waiting.value ?? []).filter((it) => it.agent === agent && String(it.turn) === String(turn));

const PAUSE_MS = 700;

/** What is heard of one turn, from its beginning on, also over a daemon that starts anew. */
function useTold(agent, turn) {
  const [now, setNow] = useState(unheard);
  const [error, setError] = useState(null);
  useEffect(() => {
    const stop = new AbortController();
    const path = at("agents", agent, "turns", String(turn), "events");
    (async () => {
      for (let is = unheard; !isOver(is) && !stop.signal.aborted; await new Promise((done) => setTimeout(done, PAUSE_MS))) {
        is = unheard;
        const hear = (told) => setNow((is = talked(is, told)));
        await api.stream("GET", path, undefined, hear, { signal: stop.signal }).catch((fault) => {
          if (stop.signal.aborted || fault.status === 0 || fault.status === undefined || fault.status === 503) return;
          setError(fault);
          stop.abort();
        });
      }
    })();
    return () => stop.abort();
  }, [agent, turn]);
  return { now, error, setError };
}

/** One turn, from its beginning and word by word while it runs. `underWay` is how it stands, while it does. */
function Follow({ agent, turn, underWay, began, onClose }) {
  const { now, error, setError } = useTold(agent, turn);
  const over = isOver(now);
  const heardOf = new Set(now.approvals.map((it) => it.id));
  const approvals = [...asksOf(agent, turn).filter((it) => !heardOf.has(it.id)), ...now.approvals];
  const doing = over ? undefined : underWay?.state === "waiting" ? { kind: "waiting" } : { ...doingOf({ ...now, approvals }), since: began };
  return (
    <Dialog title={`Turn of ${agent}`} onClose={onClose}>
      <div class="stack">
        {!over && may(agent, "manage") && (
          <div class="row">
            <Button kind="danger" onClick={() => api.post(at("agents", agent, "turns", String(turn), "stop")).catch(setError)}>
              Stop this turn
            </Button>
          </div>
        )}
        <Problem error={error} />
        <Turn agent={agent} turn={turn} doing={doing} />
        {(now.text || now.reasoning || now.steps.length > 0 || approvals.length > 0) && (
          <div class="live-text stack" tabIndex={0} role="region" aria-label="What it says">
            <Heard agent={agent} of={now} approvals={approvals} />
          </div>
        )}
      </div>
    </Dialog>
  );
}

/** When turns began that were seen to wait. */
function useBegan(turns) {
  const known = useRef(new Map());
  for (const it of turns) {
    const key = turnKey(it.agent, it.turn);
    if (it.state === "waiting") known.current.set(key, null);
    else if (known.current.get(key) === null) known.current.set(key, Date.now());
  }
  return (agent, turn) => known.current.get(turnKey(agent, turn)) ?? undefined;
}

/** Agents whose last turns are told of when the page is opened, and how many of each. */
const LATEST_AGENTS = 5;
const LATEST_TURNS = 8;

/** The turns that ended last, before anything was heard. */
async function latest(signal) {
  const sessions = await api.get(query("/api/sessions", { limit: 50 }), { signal });
  const agents = [...new Set(sessions.map((it) => it.agent))].slice(0, LATEST_AGENTS);
  const turnsOf = (agent) => api.get(query(at("agents", agent, "turns"), { limit: LATEST_TURNS }), { signal }).catch(() => []);
  const all = await Promise.all(agents.map(async (agent) => (await turnsOf(agent)).map((it) => endedTurn(agent, it, sessions))));
  return all.flat().filter((it) => it.status !== "running");
}

function Lane({ agent, turns, now, onOpen }) {
  const waiting = turns.filter((it) => it.state === "waiting").length;
  return (
    <section class="lane" aria-label={agent}>
      <h3>
        {agent}
        <span class="quiet small">
          {many(turns.length - waiting, "turn")} running{waiting > 0 && `, ${waiting} waiting`}
        </span>
      </h3>
      {turns.map((it) => {
        const [asks] = asksOf(agent, it.turn);
        const doing = asks ? { what: `asks for approval of ${asks.tool}`, about: asks.what, kind: "approval" } : known.value.doing.get(turnKey(agent, it.turn));
        const kind = doing?.kind === "approval" ? "waiting" : it.state;
        return (
          <button key={it.turn} type="button" class="turn" onClick={() => onOpen(it)}>
            <State state={kind} />
            <span class="what">{it.state === "waiting" ? "waits for its place" : (doing?.what ?? "model")}</span>
            <span class="num quiet">{it.accepted && took(now - new Date(it.accepted).getTime())}</span>
            <span class="under quiet small">{doing?.about || `${it.principal} · ${whereOf(it.session)}`}</span>
          </button>
        );
      })}
    </section>
  );
}

function Accounts() {
  const status = useResource(({ signal }) => api.get("/api/status", { signal }), [], ({ event }) => event === "changed");
  return (
    <Section title="Accounts">
      <Shown of={status}>
        {({ accounts, config_refused: refused }) => (
          <>
            {refused && <Problem error={{ message: `The files as they are now are not applied: ${refused}` }} />}
            {accounts.length === 0 ? (
              <Empty title="No platform is connected.">
                <a href={to("channels")}>Channels</a> connects one.
              </Empty>
            ) : (
              <Table
                label="Accounts"
                rows={accounts}
                rowKey={(it) => `${it.platform}:${it.account}`}
                columns={[
                  { key: "name", title: "Account", cell: (it) => `${it.platform} ${it.account}` },
                  { key: "state", title: "State", cell: (it) => <State state={it.state} /> },
                  { key: "why", title: "Why", cell: (it) => it.reason && <Ticked text={it.reason} /> },
                  { key: "since", title: "Since", cell: (it) => ago(it.since) },
                  { key: "events", title: "Events", num: true, cell: (it) => it.events },
                  { key: "errors", title: "Errors", num: true, cell: (it) => it.errors },
                ]}
              />
            )}
          </>
        )}
      </Shown>
    </Section>
  );
}

const isTurn = ({ event }) => event === "turn.accepted" || event === "turn.ended" || event === "tool.call";

export function Now() {
  const of = useResource(({ signal }) => api.get("/api/now", { signal }), [], isTurn);
  const now = useClock();
  const [text, setText] = useState("");
  const [open, setOpen] = useState(null);
  const wanted = text.toLowerCase();
  const broken = me.value.agents.filter((it) => it.state === "failed");
  const turns = (of.data ?? []).filter((it) => it.agent.includes(wanted) || it.principal.toLowerCase().includes(wanted));
  const lanes = Map.groupBy ? Map.groupBy(turns, (it) => it.agent) : turns.reduce((all, it) => all.set(it.agent, [...(all.get(it.agent) ?? []), it]), new Map());
  const before = useResource(({ signal }) => latest(signal), []);
  const heardOf = known.value.recent;
  const recent = allEnded(heardOf, before.data ?? []);
  const began = useBegan(of.data ?? []);
  const failures = heardOf.filter((it) => it.status === "failed");
  return (
    <Page title="Now" lead="What your agents are doing at this moment." actions={<Search label="Search turns" value={text} onInput={setText} />} wide>
      <div class="figures">
        <div>
          <b>{(of.data ?? []).filter((it) => it.state === "running").length}</b>
          <span class="quiet">running</span>
        </div>
        <div>
          <b>{(of.data ?? []).filter((it) => it.state === "waiting").length}</b>
          <span class="quiet">waiting</span>
        </div>
        <div>
          <b>{heardOf.length}</b>
          <span class="quiet">ended since you looked</span>
        </div>
        <div>
          <b class={failures.length > 0 ? "bad" : undefined}>{failures.length}</b>
          <span class="quiet">of them failed</span>
        </div>
        <div>
          <b class={broken.length > 0 ? "bad" : undefined}>{broken.length}</b>
          <span class="quiet">agents that failed</span>
        </div>
      </div>
      <Shown of={of} empty={<Empty title="Nothing is under way.">A turn appears here as soon as somebody says something to an agent.</Empty>}>
        {() => (
          <div class="lanes">
            {[...lanes].map(([agent, its]) => (
              <Lane key={agent} agent={agent} turns={its} now={now} onOpen={setOpen} />
            ))}
          </div>
        )}
      </Shown>
      <div class="narrow">
      {broken.length > 0 && (
        <Section title="Agents that failed">
          <Table
            label="Agents that failed"
            rows={broken}
            rowKey={(it) => it.id}
            columns={[
              { key: "id", title: "Agent", cell: (it) => <a href={to("map", [], { agent: it.id })}>{it.id}</a> },
              { key: "why", title: "Why", cell: (it) => it.reason && <Ticked text={it.reason} /> },
            ]}
          />
        </Section>
      )}
      {recent.length > 0 && (
        <Section title="Just ended">
          <Table
            label="Turns that ended"
            rows={recent}
            rowKey={(it) => it.key}
            onOpen={(it) => setOpen(it)}
            columns={[
              { key: "agent", title: "Agent", width: "18%", cell: (it) => <span class="strong">{it.agent}</span> },
              { key: "status", title: "State", cell: (it) => <State state={it.status} /> },
              { key: "where", title: "Where", width: "32%", cell: (it) => (it.session ? whereOf(it.session) : "") },
              { key: "why", title: "Why", cell: (it) => (it.error ? <Ticked text={it.error} /> : cutOff(it.cut)) },
              { key: "at", title: "When", width: "7rem", cell: (it) => ago(it.at, now) },
            ]}
          />
        </Section>
      )}
      {isAdmin() && <Accounts />}
            </div>
      {open && (
        <Follow
          key={turnKey(open.agent, open.turn)}
          agent={open.agent}
          turn={open.turn}
          underWay={(of.data ?? []).find((it) => turnKey(it.agent, it.turn) === turnKey(open.agent, open.turn))}
          began={began(open.agent, open.turn)}
          onClose={() => setOpen(null)}
        />
      )}
    </Page>
  );
}
