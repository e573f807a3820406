// The audit chains: what was recorded, whether it is intact, and taking it along.
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, at, query } from "../lib/api.js";
import { KINDS, filters, summary, together } from "../lib/audit.js";
import { isAdmin, me } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { ask, go, route, to } from "../lib/router.js";
import { saveText, saveUrl } from "../lib/save.js";
import { scopeOf, whereOf } from "../lib/where.js";
import { ago, count, many, moment } from "../lib/words.js";
import { AgentChoice } from "../ui/agent_choice.jsx";
import { Button, Code, Dialog, Empty, Facts, Field, Page, Problem, Shown } from "../ui/parts.jsx";
import { Table } from "../ui/table.jsx";
import "./memory.css";
import "./audit.css";
import "../ui/narrow.css";

/** The chain of the daemon, which is the admin's: no agent is called like that. */
const DAEMON = "(daemon)";
/** Records that one reading brings. */
const PAGE = 200;
/** Records that a download without a signature has at most. */
const SAVED_MAX = 100_000;
/** How long nothing is typed before it is looked for. */
const PAUSE_MS = 400;

const chainOf = (agent) => (agent === DAEMON ? "/api/audit" : at("agents", agent, "audit"));

function Filters({ agent, asked }) {
  const [now, setNow] = useState(filters(asked));
  const wanted = JSON.stringify(filters(asked));
  useEffect(() => setNow(filters(asked)), [wanted]);
  // What is typed counts when nothing more is typed.
  useEffect(() => {
    const timer = setTimeout(() => JSON.stringify(now) !== wanted && ask(now), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [now]);
  const field = (name, label, more) => <Field label={label} value={now[name] ?? ""} onInput={(event) => setNow({ ...now, [name]: event.currentTarget.value })} spellcheck={false} {...more} />;
  const isSet = Object.values(filters(asked)).some(Boolean);
  return (
    <div class="filters" role="search" aria-label="Filter records">
      <Field label="Chain">
        <AgentChoice verb="read" value={agent} onChange={(id) => go(to("audit", [id], filters({ ...asked, session: "" })))} more={isAdmin() ? [[DAEMON, "the daemon"]] : []} />
      </Field>
      {field("kind", "Kind", { list: "audit-kinds", placeholder: "tool.call, or tool.*" })}
      <datalist id="audit-kinds">
        {KINDS.map((it) => (
          <option key={it} value={it} />
        ))}
      </datalist>
      {field("scope", "Scope", { placeholder: "agent, or chat:…" })}
      {field("user", "Who did it", { placeholder: "telegram:12345" })}
      {agent !== DAEMON && field("session", "Conversation", { placeholder: "its key or number" })}
      {field("since", "Since", { placeholder: "2h, 7d or 2026-11-18" })}
      {field("until", "Until", { placeholder: "2h, 7d or 2026-11-18" })}
      {isSet && <Button onClick={() => ask(Object.fromEntries(Object.keys(filters({})).map((it) => [it, ""])))}>Show all</Button>}
    </div>
  );
}

/** Whether a chain is as it was written, in plain words. */
function Verdict({ of, agent }) {
  const whose = agent === DAEMON ? "the daemon" : agent;
  const title = of.ok ? `Intact: every record of ${whose} is as it was written, and none is missing.` : of.broken_at === null ? `The chain of ${whose} could not be verified.` : `Broken at record ${of.broken_at} of ${whose}.`;
  const facts = [`${many(of.records, "record")} verified`, of.erased > 0 && `${of.erased} of them were erased on purpose`, of.lost > 0 && `${many(of.lost, "record")} lost with the power`, of.reason].filter(Boolean);
  return (
    <div class={of.ok ? "verdict" : "verdict bad"}>
      <b>{title}</b>
      <span>{facts.join("; ")}</span>
    </div>
  );
}

function Detail({ agent, of, onClose, onFilter }) {
  const only = (name, value, text) =>
    value && (
      <span class="row">
        <span>{text ?? value}</span>
        <Button class="button small" onClick={() => (onFilter({ [name]: value }), onClose())} aria-label={`Only ${name} ${value}`}>
          Only these
        </Button>
      </span>
    );
  return (
    <Dialog title={`Record ${of.seq}`} onClose={onClose}>
      <div class="stack">
        <Facts
          rows={[
            ["Kind", only("kind", of.kind)],
            ["When", `${moment(of.at)} (${of.at})`],
            ["Who did it", only("user", of.actor)],
            ["Scope", only("scope", of.scope, scopeOf(of.scope))],
            ["Conversation", only("session", of.session, of.session && whereOf(of.session))],
            ["Transcript", of.session && of.content?.session !== undefined && agent !== DAEMON && <a href={to("sessions", [agent, String(of.content.session)], { turn: of.content.turn ?? "" })}>what was said</a>],
            ["Generation", of.generation || null],
            ["Its link in the chain", of.mac && <span class="mono small">{of.mac}</span>],
          ]}
        />
        {of.content === null ? (
          <Empty title="What it said was erased.">The record and its place in the chain are left, and can be verified.</Empty>
        ) : (
          <div class="detail-json">
            <Code text={JSON.stringify(of.content, null, 2)} label="Details" />
          </div>
        )}
      </div>
    </Dialog>
  );
}

function Take({ agent, asked, onClose }) {
  const [scope, setScope] = useState(asked.scope ?? "");
  const [error, setError] = useState(null);
  const [said, setSaid] = useState(null);
  const name = (what) => `audit-${agent === DAEMON ? "daemon" : agent}-${what}.jsonl`;
  async function signed(event) {
    event.preventDefault();
    setError(null);
    try {
      const { kind, user, session, since, until } = asked;
      saveUrl(await api.blob(query(at("agents", agent, "audit", "export"), { scope: scope.trim(), kind, user, session, since, until })), name(scope.trim().replace(/[^A-Za-z0-9_-]+/g, "_")));
    } catch (fault) {
      setError(fault);
    }
  }
  async function plain() {
    setError(null);
    try {
      const lines = [];
      // Page by page from the first: what is written meanwhile comes along at the end.
      for (let after = 0; lines.length < SAVED_MAX; ) {
        const page = await api.get(query(chainOf(agent), { ...filters(asked), after, limit: 1000 }));
        if (page.length === 0) break;
        lines.push(...page.map((it) => JSON.stringify(it)));
        after = page.at(-1).seq;
        setSaid(`${count(lines.length)} records…`);
      }
      setSaid(`${many(lines.length, "record")} saved${lines.length >= SAVED_MAX ? ", which is the most at once" : ""}.`);
      saveText(lines.join("\n") + (lines.length > 0 ? "\n" : ""), name("records"));
    } catch (fault) {
      setError(fault);
    }
  }
  return (
    <Dialog title="Take records along" onClose={onClose}>
      <div class="stack">
        <Problem error={error} />
        {agent !== DAEMON && (
          <form class="card stack" onSubmit={signed}>
            <h3>Signed, of one scope</h3>
            <p class="quiet">
              Anybody can check it alone, by <code>insula audit verify FILE</code>. Of what the filters leave out a hash stands there.
            </p>
            <Field label="Scope" required placeholder="agent, or chat:…" value={scope} onInput={(event) => setScope(event.currentTarget.value)} />
            <div class="row">
              <Button kind="main" type="submit">
                Download, signed
              </Button>
            </div>
          </form>
        )}
        <div class="card stack">
          <h3>What is filtered, as lines of JSON</h3>
          <p class="quiet">All records that the filters let through, for programs. Without a signature.</p>
          <div class="row">
            <Button onClick={plain}>Download</Button>
            <span role="status" class="quiet">
              {said}
            </span>
          </div>
        </div>
      </div>
    </Dialog>
  );
}

function Records({ agent, asked }) {
  const wanted = JSON.stringify(filters(asked));
  const path = chainOf(agent);
  const of = useResource(
    ({ signal }) => api.get(query(path, { ...filters(asked), limit: PAGE }), { signal }),
    [agent, wanted],
    (told) => told.event === "turn.ended" && told.agent === agent && !asked.until,
  );
  const [older, setOlder] = useState([]);
  const [over, setOver] = useState(false);
  const [error, setError] = useState(null);
  const [open, setOpen] = useState(null);
  useEffect(() => (setOlder([]), setOver(false), setError(null)), [agent, wanted]);
  const rows = useMemo(() => together(older, of.data ?? []), [older, of.data]);
  async function more() {
    setError(null);
    try {
      const next = await api.get(query(path, { ...filters(asked), before: rows.at(-1).seq, limit: PAGE }));
      setOlder([...older, ...next]);
      setOver(next.length < PAGE);
    } catch (fault) {
      setError(fault);
    }
  }
  const isAll = over || (older.length === 0 && (of.data?.length ?? 0) < PAGE);
  return (
    <Shown of={of} empty={<Empty title="No record is like that.">{Object.values(filters(asked)).some(Boolean) ? "Take a filter away to see more." : "What an agent does is recorded here as it happens."}</Empty>}>
      {() => (
        <div class="records narrow">
          <Table
            label="Records, the newest first"
            rows={rows}
            rowKey={(it) => it.seq}
            onOpen={setOpen}
            columns={[
              { key: "seq", title: "No.", num: true, width: "5rem", cell: (it) => it.seq },
              { key: "at", title: "When", width: "8rem", cell: (it) => <time dateTime={it.at} title={moment(it.at)}>{ago(it.at)}</time> },
              { key: "kind", title: "Kind", width: "13rem", cell: (it) => <span class="kind mono">{it.kind}</span> },
              { key: "who", title: "Who", width: "13rem", cell: (it) => <span>{it.actor}</span> },
              { key: "where", title: "Where", width: "18%", cell: (it) => (it.session ? whereOf(it.session) : scopeOf(it.scope)) },
              { key: "what", title: "Details", cell: (it) => <span class="quiet">{summary(it.content)}</span> },
            ]}
          />
          <div class="tail">
            <Problem error={error} />
            {!isAll && <Button onClick={more}>Show older records</Button>}
            <span class="quiet small">
              {many(rows.length, "record")} {isAll ? "in all" : "so far"}
            </span>
          </div>
          {open && <Detail agent={agent} of={open} onClose={() => setOpen(null)} onFilter={ask} />}
        </div>
      )}
    </Shown>
  );
}

export function Audit() {
  const { rest, query: asked } = route.value;
  const own = me.value.agents.filter((it) => it.verbs.includes("read"));
  const agent = rest[0] ?? own[0]?.id ?? (isAdmin() ? DAEMON : undefined);
  const isThere = own.some((it) => it.id === agent) || (agent === DAEMON && isAdmin());
  const [report, setReport] = useState(null);
  const [error, setError] = useState(null);
  const [taking, setTaking] = useState(false);
  useEffect(() => (setReport(null), setError(null)), [agent]);
  async function verify() {
    setError(null);
    setReport(null);
    try {
      setReport(await api.get(`${chainOf(agent)}/verify`));
    } catch (fault) {
      setError(fault);
    }
  }
  return (
    <Page
      title="Audit"
      lead="What was done, by whom and where. Each record is tied to the one before: what is changed or missing shows."
      wide
      actions={
        isThere && (
          <>
            <Button kind="main" onClick={verify}>
              Verify the chain
            </Button>
            <Button onClick={() => setTaking(true)}>Download…</Button>
          </>
        )
      }
    >
      {isThere ? (
        <>
          <div role="status">{report && <Verdict of={report} agent={agent} />}</div>
          <Problem error={error} />
          <Filters agent={agent} asked={asked} />
          <Records key={agent} agent={agent} asked={asked} />
          {taking && <Take agent={agent} asked={asked} onClose={() => setTaking(false)} />}
        </>
      ) : (
        <Empty title="There is no such agent that you may read." />
      )}
    </Page>
  );
}
