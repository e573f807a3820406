// The inbox: what waits for an answer and why it asks, what was answered, what was allowed for longer,
// and files that hold words of others.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, at, query } from "../lib/api.js";
import { useClock } from "../lib/clock.js";
import { read, trouble, waiting } from "../lib/inbox.js";
import { changes, mayAny, me } from "../lib/me.js";
import { calledWith } from "../lib/parts.js";
import { useResource } from "../lib/resource.js";
import { ask, route, to } from "../lib/router.js";
import { sourcesOf, whereOf } from "../lib/where.js";
import { many, moment } from "../lib/words.js";
import { AgentChoice } from "../ui/agent_choice.jsx";
import { Question } from "../ui/approval.jsx";
import { Confirm } from "../ui/confirm.jsx";
import { Button, Code, Dialog, Empty, Facts, Loading, Page, Problem, Search, Section, Shown, State, Tabs, When } from "../ui/parts.jsx";
import { Table } from "../ui/table.jsx";
import { Turn } from "../ui/turn.jsx";
import "./approvals.css";
import "../ui/narrow.css";

/** Questions that are drawn at once; the next ones come when asked for. */
const SHOWN = 20;
/** What it would do in one line: without where it begins, which stands before. */
const inShort = (what) => what.replace(/^where its programs begin\n(command:)?/, "").replace(/^\s*\| /gm, "").replace(/\s+/g, " ").slice(0, 160);

const SCOPES = { once: "once", session: "for its conversation", always: "always" };

function Waiting({ text }) {
  const now = useClock();
  const [done, setDone] = useState(null);
  const [shown, setShown] = useState(SHOWN);
  const told = useRef(null);
  useEffect(() => void read(), []);
  // The button that was pressed is gone: who works by keyboard goes on from here.
  useEffect(() => told.current?.focus(), [done]);
  const wanted = text.toLowerCase();
  const found = (waiting.value ?? []).filter((it) => [it.agent, it.tool, it.what, it.asked_by].some((part) => part.toLowerCase().includes(wanted)));
  function said(of, { outcome, scope }) {
    setDone({ text: `${of.tool} of ${of.agent}: ${outcome}${scope ? ` ${SCOPES[scope]}` : ""}.`, bad: outcome !== "approved" });
    waiting.value = waiting.value?.filter((it) => it.id !== of.id || it.agent !== of.agent) ?? null;
    read();
  }
  return (
    <>
      <div role="status">
        {done && (
          <p ref={told} tabIndex={-1} class={done.bad ? "said-done bad" : "said-done"}>
            {done.text}
          </p>
        )}
      </div>
      <Problem error={trouble.value} retry={read} />
      {waiting.value === null && !trouble.value && <Loading />}
      {waiting.value !== null && found.length === 0 && (
        <Empty title={text ? "Nothing that waits has these words." : "Nothing waits for you."}>
          {!text && "When an agent wants to do something that a rule does not let pass alone, it asks here, and waits. Silence is a no."}
        </Empty>
      )}
      <div class="questions-waiting">
        {found.slice(0, shown).map((it) => (
          <Question key={`${it.agent}/${it.id}`} agent={it.agent} of={it} now={now} onDone={said} />
        ))}
        {found.length > shown && <Button onClick={() => setShown(shown + SHOWN)}>Show {Math.min(SHOWN, found.length - shown)} more</Button>}
      </div>
    </>
  );
}

const isAnswer = ({ event }) => event === "approval.done";

/** What was asked for, as its turn has it: the calls of that tool, whole, and whose words the turn had read by then. */
function Asked({ of }) {
  const turn = useResource(({ signal }) => api.get(at("agents", of.agent, "turns", String(of.turn)), { signal }), [of.agent, of.turn]);
  return (
    <Section title="What it was about">
      <Shown of={turn}>
        {({ messages, more }) => {
          const calls = messages.flatMap((it) => it.calls.filter((call) => call.tool === of.tool).map((call) => ({ ...call, integrity: it.integrity })));
          return (
            <div class="stack whole">
              {calls.length > 1 && <p class="quiet small">The turn called {of.tool} {calls.length} times; one of these was asked about.</p>}
              {calls.map((it, index) => (
                <div key={index} class="stack">
                  <Code text={calledWith(it.arguments)} />
                  <p class="small quiet">{it.integrity.own ? "The turn had read nobody else’s words by then." : `The turn had read words of ${sourcesOf(it.integrity).join(", ")} by then.`}</p>
                </div>
              ))}
              {calls.length === 0 && <p class="quiet">{more ? "The turn is longer than is shown here; its conversation has the call." : "Its conversation does not have the call any more."}</p>}
            </div>
          );
        }}
      </Shown>
    </Section>
  );
}

function Answered({ text }) {
  const of = useResource(({ signal }) => api.get(query("/api/inbox/answered", { limit: 300 }), { signal }), [], isAnswer);
  const [open, setOpen] = useState(null);
  const wanted = text.toLowerCase();
  const meant = (all) => all.filter((it) => [it.agent, it.tool, it.rule, it.by, it.outcome, it.asked_by ?? ""].some((part) => part.toLowerCase().includes(wanted)));
  return (
    <Shown of={of} empty={<Empty title="Nothing was answered yet.">Every answer is kept here, and in the agent’s audit chain.</Empty>}>
      {(all) => (
        <>
          <Table
            label="Answers"
            rows={meant(all)}
            rowKey={(it) => `${it.agent}/${it.record}`}
            onOpen={setOpen}
            columns={[
              { key: "outcome", title: "Answer", width: "9rem", cell: (it) => <State state={it.outcome} tone={it.outcome === "revoked" ? "warn" : undefined} /> },
              { key: "agent", title: "Agent", cell: (it) => <span class="strong">{it.agent}</span> },
              { key: "tool", title: "Tool", cell: (it) => <span class="mono">{it.tool}</span> },
              { key: "rule", title: "Rule", cell: (it) => it.rule },
              { key: "scope", title: "For", cell: (it) => SCOPES[it.scope] ?? it.scope ?? "" },
              { key: "by", title: "By", cell: (it) => it.by },
              { key: "at", title: "When", cell: (it) => <When at={it.at} /> },
            ]}
          />
          {open && (
            <Dialog title={`${open.tool} of ${open.agent}: ${open.outcome.replaceAll("_", " ")}`} onClose={() => setOpen(null)}>
              <div class="stack">
                <Facts
                  rows={[
                    ["Answered by", open.by],
                    ["When", moment(open.at)],
                    ["For", SCOPES[open.scope] ?? open.scope],
                    ["Rule", open.says ? `${open.rule}: it ${open.says}` : open.rule],
                    ["Instead", open.instead],
                    ["Asked by", open.asked_by],
                    ["Where", open.conversation && (open.session !== null ? <a href={to("sessions", [open.agent, String(open.session)], { turn: open.turn === null ? "" : String(open.turn) })}>{whereOf(open.conversation)}</a> : whereOf(open.conversation))],
                    ["Record", <a href={to("audit", [open.agent], { kind: "approval.*" })}>{open.record} of the audit chain</a>],
                  ]}
                />
                {open.turn !== null && <Asked key={open.record} of={open} />}
                {open.turn !== null && <Turn agent={open.agent} turn={open.turn} />}
              </div>
            </Dialog>
          )}
        </>
      )}
    </Shown>
  );
}

function Grants({ text }) {
  const of = useResource(({ signal }) => api.get("/api/inbox/grants", { signal }), [], isAnswer);
  const [open, setOpen] = useState(null);
  const [ending, setEnding] = useState(null);
  const wanted = text.toLowerCase();
  const meant = (all) => all.filter((it) => [it.agent, it.tool, it.what, it.rule, it.granted_by].some((part) => part.toLowerCase().includes(wanted)));
  return (
    <Shown of={of} empty={<Empty title="Nothing was allowed for longer than once.">An answer “for this conversation” or “always” is kept here until somebody takes it back.</Empty>}>
      {(all) => (
        <>
          <Table
            label="Grants"
            rows={meant(all)}
            rowKey={(it) => `${it.agent}/${it.id}`}
            onOpen={setOpen}
            columns={[
              { key: "agent", title: "Agent", cell: (it) => <span class="strong">{it.agent}</span> },
              { key: "tool", title: "Tool", cell: (it) => <span class="mono">{it.tool}</span> },
              { key: "what", title: "What", width: "34%", cell: (it) => (it.what ? <span class="mono">{inShort(it.what)}</span> : <span class="quiet">its conversation was forgotten</span>) },
              { key: "scope", title: "For", cell: (it) => <State state={SCOPES[it.scope]} tone={it.scope === "always" ? "warn" : "calm"} /> },
              { key: "by", title: "By", cell: (it) => it.granted_by },
              { key: "at", title: "When", cell: (it) => <When at={it.granted_at} /> },
              {
                key: "end",
                title: "",
                cell: (it) =>
                  changes() && (
                    <Button class="button small danger" onClick={() => setEnding(it)} aria-label={`Take back ${it.tool} of ${it.agent}`}>
                      Take back
                    </Button>
                  ),
              },
            ]}
          />
          {open && (
            <Dialog title={`${open.tool} of ${open.agent}`} onClose={() => setOpen(null)}>
              <div class="stack whole">
                <Facts rows={[["Allowed", SCOPES[open.scope]], ["By", open.granted_by], ["When", moment(open.granted_at)], ["Rule", open.rule]]} />
                {open.what && <Code text={open.what} />}
              </div>
            </Dialog>
          )}
          {ending && (
            <Confirm
              title={`Take back what ${ending.agent} was allowed?`}
              verb="Take it back"
              onClose={() => setEnding(null)}
              onYes={async () => {
                await api.del(at("agents", ending.agent, "grants", ending.id));
                await of.reload();
              }}
            >
              <p>The next such call of {ending.tool} asks again. One that has begun goes on.</p>
            </Confirm>
          )}
        </>
      )}
    </Shown>
  );
}

function Foreign({ agent }) {
  const of = useResource(({ signal }) => (agent ? api.get(at("agents", agent, "files", "foreign"), { signal }) : Promise.resolve([])), [agent]);
  const [trusting, setTrusting] = useState(null);
  return (
    <div class="stack">
      <p class="quiet">Files in which an agent put down words of others: pages, mails, results of tools. Whatever reads them has read those words. Trust one when you looked at it.</p>
      <div class="row">
        <AgentChoice verb="approve" value={agent} onChange={(id) => ask({ agent: id })} />
        {changes() && of.data?.length > 1 && <Button onClick={() => setTrusting({ path: null })}>Trust all</Button>}
      </div>
      <Shown of={of} empty={<Empty title={`No file of ${agent} holds words of others.`} />}>
        {(files) => (
          <Table
            label="Files that hold words of others"
            rows={files}
            rowKey={(it) => it.path}
            columns={[
              { key: "path", title: "File", width: "45%", cell: (it) => <span class="mono">{it.path}</span> },
              { key: "from", title: "Words of", cell: (it) => sourcesOf(it.integrity).join(", ") },
              {
                key: "trust",
                title: "",
                cell: (it) =>
                  changes() && (
                    <Button class="button small" onClick={() => setTrusting(it)} aria-label={`Trust ${it.path}`}>
                      Trust
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </Shown>
      {trusting && (
        <Confirm
          title={trusting.path === null ? `Trust all ${of.data.length} files?` : "Trust this file?"}
          verb="Trust"
          onClose={() => setTrusting(null)}
          onYes={async () => {
            await api.del(query(at("agents", agent, "files", "foreign"), { path: trusting.path }));
            await of.reload();
          }}
        >
          {trusting.path !== null && <p class="mono">{trusting.path}</p>}
          <p>What is in it counts as {agent}’s own from now on: what follows from it asks nobody.</p>
        </Confirm>
      )}
    </div>
  );
}

export function Approvals() {
  const { query: asked } = route.value;
  const [text, setText] = useState("");
  const tabs = [];
  if (mayAny("approve")) tabs.push(["waiting", waiting.value?.length ? `Waiting (${waiting.value.length})` : "Waiting"]);
  if (mayAny("read")) tabs.push(["answered", "Answered"]);
  if (mayAny("approve")) tabs.push(["grants", "Allowed for longer"], ["files", "Foreign files"]);
  const tab = tabs.some(([key]) => key === asked.tab) ? asked.tab : tabs[0][0];
  const first = me.value.agents.find((it) => it.verbs.includes("approve"))?.id;
  return (
    <Page
      title="Approvals"
      lead={waiting.value?.length ? `${many(waiting.value.length, "question")} ${waiting.value.length === 1 ? "waits" : "wait"} for you.` : "What agents may do alone is up to their rules; the rest is up to you."}
      actions={tab !== "files" && <Search label="Search approvals" value={text} onInput={setText} />}
    >
      <Tabs label="Approvals" tabs={tabs} value={tab} onChange={(key) => ask({ tab: key })} />
      {tab === "waiting" && <Waiting text={text} />}
      <div class="narrow">
        {tab === "answered" && <Answered text={text} />}
        {tab === "grants" && <Grants text={text} />}
        {tab === "files" && <Foreign agent={asked.agent || first} />}
      </div>
    </Page>
  );
}
