// Conversations of all agents that one may read, what was said in each, and what the model was shown.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, at, query } from "../lib/api.js";
import { changes, isAdmin, may, me } from "../lib/me.js";
import { beginningOf, byTurns, callNames, joined, marked } from "../lib/parts.js";
import { useResource } from "../lib/resource.js";
import { ask, go, route, to } from "../lib/router.js";
import { titleOf } from "../lib/transcript.js";
import { scopeOf, whereOf } from "../lib/where.js";
import { ago, many, moment } from "../lib/words.js";
import { AgentChoice } from "../ui/agent_choice.jsx";
import { Confirm } from "../ui/confirm.jsx";
import { CutOff } from "../ui/exchange.jsx";
import { Message } from "../ui/message.jsx";
import { Button, Dialog, Empty, Facts, Page, Problem, Search, Shown, State, When, Ticked } from "../ui/parts.jsx";
import { ShownToModel } from "../ui/shown.jsx";
import { Table } from "../ui/table.jsx";
import { Turn } from "../ui/turn.jsx";
import "./approvals.css";
import "./sessions.css";
import "../ui/narrow.css";

/** Messages that one reading brings. */
const PAGE = 100;
/** Conversations of one agent that one reading brings, and of all agents. */
const LIST = 200;
const NEWEST = 60;
/** Agents that are searched one by one where only the daemon's admin may search all at once. */
const SEARCHED_MAX = 20;

const isTalk = ({ event }) => event === "turn.ended" || event === "turn.accepted";

/** The conversations: of all agents the newest, of one agent all, a page at a time. */
function List({ agent, text }) {
  const of = useResource(
    ({ signal }) => api.get(query("/api/sessions", agent ? { agent, limit: LIST } : { limit: NEWEST }), { signal }),
    [agent],
    (told) => isTalk(told) && (!agent || told.agent === agent),
  );
  const [older, setOlder] = useState({ rows: [], over: false });
  const [error, setError] = useState(null);
  useEffect(() => setOlder({ rows: [], over: false }), [agent]);
  const first = of.data ?? [];
  const all = [...new Map([...older.rows, ...first].map((it) => [`${it.agent}/${it.id}`, it])).values()].sort((a, b) => (agent ? b.started.localeCompare(a.started) : b.used.localeCompare(a.used)));
  const wanted = text.toLowerCase();
  const rows = all.filter((it) => [it.agent, it.title ?? "", it.begins ?? "", it.key, it.scope].some((part) => part.toLowerCase().includes(wanted)));
  async function more() {
    setError(null);
    try {
      const last = all.at(-1);
      const next = await api.get(query("/api/sessions", agent ? { agent, limit: LIST, before: String(last.id) } : { limit: NEWEST, until: last.used }));
      const known = new Set(all.map((it) => `${it.agent}/${it.id}`));
      setOlder({ rows: [...older.rows, ...next], over: next.every((it) => known.has(`${it.agent}/${it.id}`)) });
    } catch (fault) {
      setError(fault);
    }
  }
  return (
    <Shown of={of} empty={<Empty title={agent ? `Nobody talked to ${agent} yet.` : "Nobody talked to an agent of yours yet."}>Every conversation appears here as soon as something was said in it.</Empty>}>
      {() =>
        rows.length === 0 ? (
          <Empty title="No conversation is called like that.">Press Enter to look for these words in what was said.</Empty>
        ) : (
          <div class="stack narrow">
            <Table
              label="Conversations"
              rows={rows}
              rowKey={(it) => `${it.agent}/${it.id}`}
              onOpen={(it) => go(to("sessions", [it.agent, String(it.id)]))}
              columns={[
                ...(agent ? [] : [{ key: "agent", title: "Agent", width: "14%", cell: (it) => <span class="strong">{it.agent}</span> }]),
                {
                  key: "what",
                  title: "Conversation",
                  width: "44%",
                  cell: (it) => (
                    <>
                      <a href={to("sessions", [it.agent, String(it.id)])}>{it.title ?? titleOf(it.begins) ?? whereOf(it.key)}</a>
                      {it.ended && <span class="quiet small"> ended</span>}
                    </>
                  ),
                },
                { key: "where", title: "Where", width: "24%", cell: (it) => whereOf(it.key) },
                { key: "messages", title: "Messages", num: true, width: "7rem", cell: (it) => it.messages },
                { key: "used", title: "Last used", width: "8rem", cell: (it) => <When at={it.used} /> },
              ]}
            />
            <Problem error={error} />
            {first.length >= (agent ? LIST / 2 : NEWEST) && !older.over && <Button onClick={more}>Show older ones</Button>}
            {!agent && (older.over || first.length < NEWEST) && <p class="quiet small">Of each agent the newest fifty. Choose an agent to see all of its conversations.</p>}
          </div>
        )
      }
    </Shown>
  );
}

/** Words in what was said: the daemon's admin looks everywhere at once, others agent by agent. */
async function search(words, agent, signal) {
  const one = async (id) => (await api.get(query(at("agents", id, "sessions", "search"), { q: words }), { signal })).map((it) => ({ agent: id, ...it }));
  if (agent) return one(agent);
  if (isAdmin()) return api.get(query("/api/sessions/search", { q: words }), { signal });
  const own = me.value.agents.filter((it) => it.verbs.includes("read")).slice(0, SEARCHED_MAX);
  const all = await Promise.all(own.map((it) => one(it.id).catch((error) => (error.status === 409 ? [] : Promise.reject(error)))));
  return all.flat().sort((a, b) => b.at.localeCompare(a.at));
}

function Finds({ words, agent }) {
  const of = useResource(({ signal }) => search(words, agent, signal), [words, agent]);
  return (
    <Shown of={of} empty={<Empty title={`Nobody said “${words}”.`} />}>
      {(found) => (
        <ul class="finds" aria-label={`Messages with “${words}”`}>
          {found.map((it) => (
            <li key={`${it.agent}/${it.session}/${it.seq}`}>
              <a class="find" href={to("sessions", [it.agent, String(it.session)], { message: it.seq })}>
                <div class="quiet small">
                  <b>{it.agent}</b> · {it.role === "user" ? "said to it" : it.role === "assistant" ? "said by it" : it.role} · {scopeOf(it.scope)} · {ago(it.at)}
                </div>
                {marked(it.text, words).map((piece, index) => (piece.hit ? <mark key={index}>{piece.text}</mark> : piece.text))}
              </a>
            </li>
          ))}
        </ul>
      )}
    </Shown>
  );
}

/** What a turn began with. */
function firstWords(group) {
  const said = group.messages.flatMap((it) => it.parts).find((part) => part.kind === "text");
  return said?.text.trim().split("\n", 1)[0] ?? ago(group.summary.accepted);
}

function Group({ of, names, session, agent, labels, meant, message, onLook, onShown }) {
  const { summary } = of;
  return (
    <section class={meant ? "turn-of is-meant" : "turn-of"} id={of.turn === null ? undefined : `turn-${of.turn}`} aria-label={of.turn === null ? "Between turns" : `Turn ${of.turn}`}>
      {summary && (
        <header>
          <State state={summary.status} />
          <span>
            Turn {summary.name ?? of.turn} <span class="quiet">by {summary.principal}, {ago(summary.accepted)}</span>
          </span>
          <span class="actions">
            <button type="button" class="button small" onClick={() => onLook(of.turn)}>
              How it went
            </button>
            <button type="button" class="button small" onClick={() => onShown(of.turn)}>
              What the model was shown
            </button>
          </span>
        </header>
      )}
      {summary?.error && (
        <p class="failed">
          {summary.cause && <b>{summary.cause.replaceAll("_", " ")}: </b>}
          <Ticked text={summary.error} />
        </p>
      )}
      {of.messages.map((it) => (
        <Message key={it.seq} of={it} names={names} session={session} agent={agent} labels={labels} isMeant={String(it.seq) === message} />
      ))}
      <CutOff cut={summary?.cut} />
    </section>
  );
}

function Transcript({ agent, id }) {
  const { message, turn, shown } = route.value.query;
  // A message that is asked for is read with what is around it.
  const upto = message ? Number(message) + PAGE / 2 : undefined;
  const path = at("agents", agent, "sessions", id, "parts");
  const of = useResource(({ signal }) => api.get(query(path, { limit: PAGE, before: upto }), { signal }), [agent, id, message], (told) => isTalk(told) && told.agent === agent && !message);
  const [older, setOlder] = useState({ messages: [], turns: [], more: null });
  const [error, setError] = useState(null);
  const [look, setLook] = useState(null);
  const [forgetting, setForgetting] = useState(false);
  const [labels, setLabels] = useState(false);
  const asked = useRef(null);
  useEffect(() => setOlder({ messages: [], turns: [], more: null }), [agent, id, message]);
  const messages = useMemo(() => joined(older.messages, of.data?.messages ?? []), [older, of.data]);
  const turns = useMemo(() => [...older.turns, ...(of.data?.turns ?? [])], [older, of.data]);
  const groups = useMemo(() => byTurns(messages, turns), [messages, turns]);
  const names = useMemo(() => callNames(messages), [messages]);
  const more = older.more ?? of.data?.more ?? false;
  // To what was asked for, once; without that to the end.
  useEffect(() => {
    if (!of.data || asked.current === `${message}/${turn}`) return;
    asked.current = `${message}/${turn}`;
    const there = document.getElementById(message ? `message-${message}` : `turn-${turn}`);
    if (there) there.scrollIntoView({ block: "center" });
  }, [of.data, message, turn]);
  async function earlier() {
    setError(null);
    try {
      const next = await api.get(query(path, { limit: PAGE, before: messages[0].seq }));
      setOlder({ messages: joined(next.messages, older.messages), turns: [...next.turns, ...older.turns], more: next.more });
    } catch (fault) {
      setError(fault);
    }
  }
  const session = of.data?.session;
  const failed = groups.filter((it) => it.summary?.status === "failed").length;
  return (
    <Page
      title={session ? (session.title ?? beginningOf(messages) ?? whereOf(session.key)) : "Conversation"}
      lead={
        <>
          <a href={to("sessions", [agent])}>All conversations of {agent}</a>
          {session && ` · ${whereOf(session.key)}`}
        </>
      }
      actions={
        session && (
          <>
            <Button aria-pressed={labels} onClick={() => setLabels(!labels)}>
              {labels ? "Without labels" : "With labels"}
            </Button>
            <a class="button" href={to("audit", [agent], { session: session.key })}>
              Audit
            </a>
            {changes() && isAdmin() && (
              <Button kind="danger" onClick={() => setForgetting(true)}>
                Forget…
              </Button>
            )}
          </>
        )
      }
      wide
    >
      <Shown of={of}>
        {() => (
          <div class="transcript">
            <div class="stack">
              <Problem error={error} />
              {more && <Button onClick={earlier}>Show earlier messages</Button>}
              {groups.length === 0 && <Empty title="Nothing is left of what was said here." />}
              {groups.map((it) => (
                <Group
                  key={it.key}
                  of={it}
                  names={names}
                  session={session}
                  agent={agent}
                  labels={labels}
                  meant={it.turn !== null && it.turn === turn}
                  message={message}
                  onLook={setLook}
                  onShown={(which) => ask({ shown: which })}
                />
              ))}
              {message && <a href={to("sessions", [agent, id])}>To the end of the conversation</a>}
            </div>
            <aside class="course-of" aria-label="About this conversation">
              <Facts
                rows={[
                  ["Agent", agent],
                  ["Where", whereOf(session.key)],
                  ["Scope", scopeOf(session.scope)],
                  ["Who may hear it", session.label],
                  ["Messages", session.messages],
                  ["Began", moment(session.started)],
                  ["Last used", <When at={session.used} />],
                  ["State", session.ended ? "ended" : "goes on"],
                  ["Failed turns", failed || null],
                ]}
              />
              <h2>Turns</h2>
              <div>
                {groups
                  .filter((it) => it.summary)
                  .map((it) => (
                    <a
                      key={it.key}
                      class="go-turn"
                      href={to("sessions", [agent, id], { turn: it.turn })}
                      onClick={(event) => {
                        event.preventDefault();
                        document.getElementById(`turn-${it.turn}`)?.scrollIntoView({ block: "start" });
                        ask({ turn: it.turn, message: "" });
                      }}
                    >
                      <State state={it.summary.status} />
                      <span class="words">{firstWords(it)}</span>
                    </a>
                  ))}
              </div>
            </aside>
          </div>
        )}
      </Shown>
      {look !== null && (
        <Dialog title="How it went" onClose={() => setLook(null)}>
          <Turn agent={agent} turn={look} />
        </Dialog>
      )}
      {shown && <ShownToModel agent={agent} turn={shown} onClose={() => ask({ shown: "" })} />}
      {forgetting && (
        <Confirm
          title="Forget this conversation for good?"
          verb="Forget it"
          onClose={() => setForgetting(false)}
          onYes={async () => {
            await api.del(at("agents", agent, "sessions", id));
            go(to("sessions", [agent]), { replace: true });
          }}
        >
          <p>All {many(session.messages, "message")} of it are erased and can’t be had back. What the agent remembers from it stays, and is forgotten in Memory.</p>
        </Confirm>
      )}
    </Page>
  );
}

export function Sessions() {
  const [agent = "", id] = route.value.rest;
  const { q = "" } = route.value.query;
  const [text, setText] = useState(q);
  if (agent && !may(agent, "read")) {
    return (
      <Page title="Conversations">
        <Empty title="There is no such agent that you may read." />
      </Page>
    );
  }
  if (id) return <Transcript key={`${agent}/${id}`} agent={agent} id={id} />;
  return (
    <Page
      title="Conversations"
      lead="Everything that was said to agents you may read, with every call and what came of it."
      wide
      actions={
        <>
          <AgentChoice verb="read" all="All agents" value={agent} onChange={(it) => go(to("sessions", it ? [it] : [], { q }))} />
          <form class="row" onSubmit={(event) => (event.preventDefault(), ask({ q: text.trim() }))}>
            <Search label="Search conversations" value={text} onInput={(value) => (setText(value), value === "" && ask({ q: "" }))} />
            <Button type="submit">Search what was said</Button>
          </form>
        </>
      }
    >
      {q ? <Finds words={q} agent={agent} /> : <List agent={agent} text={text} />}
    </Page>
  );
}
