// What is under way: each agent's turns, what waits, what failed, and how accounts stand.
import { useEffect, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { api, at } from "../lib/api.js";
import { listen } from "../lib/events.js";
import { waiting } from "../lib/inbox.js";
import { isAdmin, may, me } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { to } from "../lib/router.js";
import { heard as talked } from "../lib/talk_state.js";
import { heard, nothing, place, turnKey } from "../lib/under_way.js";
import { ago, many, took } from "../lib/words.js";
import { Approval } from "../ui/approval.jsx";
import { Markdown } from "../ui/markdown.jsx";
import { Button, Dialog, Empty, Page, Problem, Search, Section, Shown, State } from "../ui/parts.jsx";
import { Table } from "../ui/table.jsx";
import { Turn } from "../ui/turn.jsx";
import "./now.css";

/** What was heard since the page was loaded, also while another one was open. */
const known = signal(nothing);
listen((told) => (known.value = heard(known.value, told, Date.now())));

/** What a turn asks and waits for, also where nobody was here when it began to. */
const asksOf = (agent, turn) => (waiting.value ?? []).filter((it) => it.agent === agent && String(it.turn) === String(turn));

/** Ticks, so that durations go on. */
function useClock(ms = 1000) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), ms);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** One turn while it runs, word by word. */
function Follow({ agent, turn, onClose }) {
  const [now, setNow] = useState({ said: "", along: [], text: "", reasoning: "", steps: [], approvals: [], state: "running", error: null });
  const [error, setError] = useState(null);
  useEffect(() => {
    const stop = new AbortController();
    const hear = (told) => {
      if (String(told.data.turn) === String(turn)) setNow((was) => talked(was, told));
    };
    api.stream("GET", at("agents", agent, "events"), undefined, hear, { signal: stop.signal }).catch((fault) => !stop.signal.aborted && setError(fault));
    return () => stop.abort();
  }, [agent, turn]);
  const over = ["replied", "failed", "stopped"].includes(now.state);
  const heard = new Set(now.approvals.map((it) => it.id));
  const approvals = [...asksOf(agent, turn).filter((it) => !heard.has(it.id)), ...now.approvals];
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
        <Turn agent={agent} turn={turn} />
        {approvals.map((it) => (
          <Approval key={it.id} agent={agent} of={it} />
        ))}
        {(now.text || now.reasoning) && (
          <div class="live-text" tabIndex={0} role="region" aria-label="What it says">
            <Markdown text={now.text || now.reasoning} />
          </div>
        )}
      </div>
    </Dialog>
  );
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
            <span class="under quiet small">{doing?.about || `${it.principal} · ${place(it.session)}`}</span>
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
                  { key: "why", title: "Why", cell: (it) => it.reason ?? "" },
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
  const recent = known.value.recent;
  const failures = recent.filter((it) => it.status === "failed");
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
          <b>{recent.length}</b>
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
      {broken.length > 0 && (
        <Section title="Agents that failed">
          <Table
            label="Agents that failed"
            rows={broken}
            rowKey={(it) => it.id}
            columns={[
              { key: "id", title: "Agent", cell: (it) => <a href={to("map", [], { agent: it.id })}>{it.id}</a> },
              { key: "why", title: "Why", cell: (it) => it.reason ?? "" },
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
              { key: "agent", title: "Agent", cell: (it) => <span class="strong">{it.agent}</span> },
              { key: "status", title: "State", cell: (it) => <State state={it.status} /> },
              { key: "where", title: "Where", cell: (it) => place(it.session) },
              { key: "why", title: "Why", cell: (it) => it.error ?? "" },
              { key: "at", title: "When", cell: (it) => ago(it.at, now) },
            ]}
          />
        </Section>
      )}
      {isAdmin() && <Accounts />}
      {open && <Follow key={turnKey(open.agent, open.turn)} agent={open.agent} turn={open.turn} onClose={() => setOpen(null)} />}
    </Page>
  );
}
