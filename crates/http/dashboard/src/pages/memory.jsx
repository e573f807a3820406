// What an agent remembers: by scope, where each entry came from, what a conversation there would
// see of it, sharing, forgetting, and whether all of it is as it was written.
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, at, query } from "../lib/api.js";
import { changes, isAdmin, me } from "../lib/me.js";
import { DAYS, byScope, isOf, sourceName } from "../lib/memory.js";
import { useResource } from "../lib/resource.js";
import { ask, go, route, to } from "../lib/router.js";
import { scopeOf } from "../lib/where.js";
import { ago, many, moment } from "../lib/words.js";
import { AgentChoice } from "../ui/agent_choice.jsx";
import { Confirm } from "../ui/confirm.jsx";
import { Button, Copy, Dialog, Empty, Facts, Field, Loading, Page, Problem, Search, Section, Shown, State, Tabs, Ticked } from "../ui/parts.jsx";
import { List } from "../ui/table.jsx";
import "./memory.css";

/** How long nothing is typed before it is looked for. */
const PAUSE_MS = 250;

function useLater(value) {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return later;
}

function Came({ agent, of }) {
  return (
    <div class="source">
      <Facts
        rows={[
          ["How", sourceName(of.source)],
          ["By", of.principal],
          ["When", of.record === null ? "not taken in yet" : `${ago(of.at)} (${moment(of.at)})`],
          ["In", of.session !== null && <a href={to("sessions", [agent, String(of.session)], { message: of.message ?? "" })}>conversation {String(of.session)}</a>],
          ["By the call", of.call && <span class="mono">{of.call}</span>],
          ["Agreed to by", of.approved_by],
          ["Who may hear it", of.audience],
          ["Made of", of.from.length > 0 && of.from.map(String).join(", ")],
          ["Generation", of.generation || null],
          ["Record", of.record !== null && `${of.record}`],
          ["Sealed by", of.hash && <span class="mono small">{of.hash}</span>],
        ]}
      />
    </div>
  );
}

function Share({ agent, of, scopes, onClose, onDone }) {
  const [where, setWhere] = useState("");
  const [error, setError] = useState(null);
  async function share(event) {
    event.preventDefault();
    setError(null);
    try {
      await api.post(at("agents", agent, "memory", "share"), { fragment: of.id, to: where.trim() });
      onDone();
      onClose();
    } catch (fault) {
      setError(fault);
    }
  }
  return (
    <Dialog title="Share with another scope" onClose={onClose}>
      <form class="stack" onSubmit={share}>
        <div class="quoted">{of.text}</div>
        <p>A copy is made there that says where it came from. Everybody who talks there may hear it.</p>
        <Field label="Scope" list="share-scopes" required placeholder="global, or chat:…" value={where} onInput={(event) => setWhere(event.currentTarget.value)} />
        <datalist id="share-scopes">
          {scopes
            .filter((it) => it.scope !== of.scope)
            .map((it) => (
              <option key={it.scope} value={it.scope} />
            ))}
        </datalist>
        <Problem error={error} />
        <div class="row">
          <Button kind="main" type="submit">
            Share it
          </Button>
          <Button onClick={onClose}>Keep it here</Button>
        </div>
      </form>
    </Dialog>
  );
}

/** One entry with all it came from, and what may be done with it. */
function Entry({ agent, of, scopes, onClose, onChanged }) {
  const whole = useResource(({ signal }) => (of.id === null ? Promise.resolve(null) : api.get(at("agents", agent, "memory", String(of.id)), { signal })), [agent, of.id]);
  const [doing, setDoing] = useState(null);
  const records = whole.data?.provenance ?? (of.provenance ? [of.provenance] : []);
  const person = records.at(-1)?.principal;
  const forget = async (what) => {
    await api.post(at("agents", agent, "memory", "forget"), what);
    await onChanged();
    onClose();
  };
  if (doing === "share") return <Share agent={agent} of={of} scopes={scopes} onClose={() => setDoing(null)} onDone={() => (onChanged(), onClose())} />;
  if (doing === "forget")
    return (
      <Confirm title="Forget this for good?" verb="Forget it" onClose={() => setDoing(null)} onYes={() => forget({ fragment: of.id })}>
        <div class="quoted">{of.text}</div>
        <p>It is taken out of the memory, its index and its file. It can’t be had back. Conversations in which it was said stay.</p>
      </Confirm>
    );
  if (doing === "person")
    return (
      <Confirm title={`Forget all that ${person} said?`} verb="Forget all of it" onClose={() => setDoing(null)} onYes={() => forget({ user: person })}>
        <p>Everything that {agent} remembers of what {person} said is taken out, in every scope. It can’t be had back.</p>
      </Confirm>
    );
  return (
    <Dialog title="Remembered" onClose={onClose}>
      <div class="stack">
        <div class="quoted">{of.text}</div>
        <div class="row">
          <Copy text={of.text} />
          {changes() && isAdmin() && of.id !== null && (
            <>
              <Button class="button small" onClick={() => setDoing("share")}>
                Share…
              </Button>
              <Button class="button small danger" onClick={() => setDoing("forget")}>
                Forget…
              </Button>
              {person?.includes(":") && (
                <Button class="button small danger" onClick={() => setDoing("person")}>
                  Forget all that {person} said…
                </Button>
              )}
            </>
          )}
        </div>
        <Facts
          rows={[
            ["Scope", <span>{scopeOf(of.scope)}</span>],
            ["List", of.target],
            ["Blocked", of.blocked && <span class="bad">kept from every model: {of.blocked_reason}</span>],
            ["Taken in", of.id === null && "somebody wrote it into the file; it is taken in at the next use"],
          ]}
        />
        <Section title="Where it came from">
          <Problem error={whole.error} retry={whole.reload} />
          <div class="stack">
            {records.map((it) => (
              <Came key={it.record ?? "file"} agent={agent} of={it} />
            ))}
          </div>
        </Section>
      </div>
    </Dialog>
  );
}

function Row({ it, onOpen }) {
  const from = it.provenance;
  return (
    <button type="button" class={it.blocked ? "entry is-blocked" : "entry"} onClick={() => onOpen(it)}>
      <span>
        <span class="words">{it.text}</span>
        {it.blocked && <State state="blocked" title={it.blocked_reason} />}
        {it.id === null && <State state="in its file" tone="warn" />}
      </span>
      <span class="quiet small">
        <span class="under">
          {scopeOf(it.scope)} · {it.target}
          {from && ` · ${sourceName(from.source)}, ${from.principal}, ${ago(from.at)}`}
        </span>
      </span>
    </button>
  );
}

/** What a conversation of one scope is shown and would find. */
function AsThere({ agent, scope, words }) {
  const of = useResource(({ signal }) => api.get(query(at("agents", agent, "memory", "recall"), { scope, q: words }), { signal }), [agent, scope, words]);
  return (
    <Shown of={of}>
      {(it) => (
        <div class="stack">
          <p class="quiet">
            A conversation here reads {it.reads.map(scopeOf).join(" and ")}
            {it.also && `, and ${it.also}, which is not looked at here`}.
          </p>
          {words && (
            <Section title={`What it finds with “${words}”`}>
              {it.found.length === 0 ? (
                <Empty title="It finds nothing." />
              ) : (
                <ul class="found-as">
                  {it.found.map((hit, index) => (
                    <li key={index}>
                      {hit.text}
                      <div class="quiet small">
                        {scopeOf(hit.scope)} · {hit.target}
                      </div>
                    </li>
                  ))}
                </ul>
              )}
            </Section>
          )}
          <Section title="What it is shown when it begins">{it.shown ? <pre class="quoted" tabIndex={0}>{it.shown}</pre> : <Empty title="Nothing is shown." />}</Section>
        </div>
      )}
    </Shown>
  );
}

function Checks({ agent }) {
  const troubles = useResource(({ signal }) => api.get(at("agents", agent, "memory", "troubles"), { signal }), [agent]);
  const [report, setReport] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => setReport(null), [agent]);
  async function verify() {
    setError(null);
    try {
      setReport(await api.get(at("agents", agent, "memory", "verify")));
    } catch (fault) {
      setError(fault);
    }
  }
  return (
    <Section title="Is it as it was written?" actions={<Button onClick={verify}>Verify where all of it came from</Button>}>
      <Problem error={error} />
      <div role="status">
        {report && (
          <div class={report.ok ? "verdict" : "verdict bad"}>
            <b>{report.ok ? "Intact" : `Broken at record ${report.broken_at}`}</b>
            <span>
              {many(report.records, "record")}, {many(report.fragments, "entry", "entries")}
              {report.reason && <>: <Ticked text={report.reason} /></>}
            </span>
          </div>
        )}
      </div>
      <Problem error={troubles.error} retry={troubles.reload} />
      {troubles.data?.length > 0 && (
        <ul class="stack">
          {troubles.data.map((it) => (
            <li key={it} class="card bad">
              {it}
            </li>
          ))}
        </ul>
      )}
      {troubles.data?.length === 0 && <p class="quiet">No file of this memory is in trouble.</p>}
    </Section>
  );
}

function Remembered({ agent }) {
  const { scope = "", only = "", view = "", day = "" } = route.value.query;
  const [text, setText] = useState("");
  const words = useLater(text.trim());
  const [open, setOpen] = useState(null);
  const [leaving, setLeaving] = useState(false);
  const of = useResource(
    ({ signal }) => api.get(at("agents", agent, "memory"), { signal }),
    [agent],
    ({ event, agent: who, data }) => who === agent && (event === "turn.ended" || (event === "tool.done" && String(data.name).startsWith("memory"))),
  );
  const all = of.data ?? [];
  const scopes = useMemo(() => byScope(all), [of.data]);
  // Words are looked for by the daemon, which knows forms and orders; without words all is there.
  const found = useResource(({ signal }) => (words && view === "" ? api.get(query(at("agents", agent, "memory", "search"), { q: words, scope, limit: 100 }), { signal }) : Promise.resolve(null)), [agent, words, scope, view]);
  const known = useMemo(() => new Map(all.map((it) => [it.id, it])), [of.data]);
  if (of.data === undefined) return of.error ? <Problem error={of.error} retry={of.reload} /> : <Loading />;
  const listed = words ? (found.data ?? []).map((it) => known.get(it.id) ?? it) : all.filter((it) => scope === "" || it.scope === scope);
  const rows = listed.filter((it) => (only !== "blocked" || it.blocked) && isOf(day, it));
  const blocked = all.filter((it) => it.blocked).length;
  if (all.length === 0) {
    return (
      <>
        <Empty title={`${agent} remembers nothing.`}>What it is told to remember appears here, with who said it and where. An agent without `memory` in its configuration remembers nothing at all.</Empty>
        <Checks agent={agent} />
      </>
    );
  }
  return (
    <div class="remembered">
      <aside class="scopes" aria-label="Scopes">
        <List
          label="Scopes"
          items={[{ scope: "", count: all.length, blocked }, ...scopes]}
          itemKey={(it) => it.scope}
          height={38}
          row={(it) => (
            <button type="button" class="scope" aria-pressed={it.scope === scope} onClick={() => ask({ scope: it.scope, view: it.scope === "" ? "" : view })} title={it.scope || undefined}>
              <span>{it.scope === "" ? "All scopes" : scopeOf(it.scope)}</span>
              {it.blocked > 0 && <span class="bad small" title="blocked">{it.blocked}!</span>}
              <span class="quiet small">{it.count}</span>
            </button>
          )}
        />
      </aside>
      <div class="entries stack">
        <div class="row">
          <Search label={view === "there" ? "Search as this scope would" : "Search what is remembered"} value={text} onInput={setText} />
          {scope !== "" && (
            <Button aria-pressed={view === "there"} onClick={() => ask({ view: view === "there" ? "" : "there" })}>
              {view === "there" ? "Show its entries" : "See it as this scope does"}
            </Button>
          )}
          {view === "" && blocked > 0 && (
            <Button aria-pressed={only === "blocked"} onClick={() => ask({ only: only === "blocked" ? "" : "blocked" })}>
              {only === "blocked" ? "Show all" : `Only blocked (${blocked})`}
            </Button>
          )}
          {scope !== "" && changes() && isAdmin() && (
            <Button kind="danger" onClick={() => setLeaving(true)}>
              Forget this scope…
            </Button>
          )}
        </div>
        {view === "there" && scope !== "" ? (
          <AsThere agent={agent} scope={scope} words={words} />
        ) : (
          <>
            <Tabs label="When it was taken in" tabs={DAYS} value={day} onChange={(it) => ask({ day: it })} />
            <Problem error={found.error} retry={found.reload} />
            {rows.length === 0 ? (
              words && found.data === undefined ? <Loading /> : <Empty title={words ? "Nothing that is remembered has these words." : day ? "Nothing was taken in then." : "Nothing here."} />
            ) : (
              <List label="What is remembered" items={rows} itemKey={(it) => `${it.id}/${it.scope}/${it.target}/${it.text}`} height={64} row={(it) => <Row it={it} onOpen={setOpen} />} />
            )}
          </>
        )}
        <Checks agent={agent} />
      </div>
      {open && <Entry key={open.id} agent={agent} of={open} scopes={scopes} onClose={() => setOpen(null)} onChanged={of.reload} />}
      {leaving && (
        <Confirm
          title={`Forget all of ${scopeOf(scope)}?`}
          verb="Forget all of it"
          onClose={() => setLeaving(false)}
          onYes={async () => {
            await api.post(at("agents", agent, "memory", "forget"), { scope });
            ask({ scope: "", view: "" });
            await of.reload();
          }}
        >
          <p>{many(all.filter((it) => it.scope === scope).length, "entry", "entries")} of {agent} can’t be had back.</p>
        </Confirm>
      )}
    </div>
  );
}

export function Memory() {
  const own = me.value.agents.filter((it) => it.verbs.includes("read"));
  const agent = route.value.rest[0] ?? (own.find((it) => it.memory) ?? own[0])?.id;
  const is = own.some((it) => it.id === agent);
  return (
    <Page title="Memory" lead="What is remembered, in which scope, and where each of it came from." actions={<AgentChoice verb="read" value={agent} onChange={(id) => go(to("memory", [id]))} />} wide>
      {is ? <Remembered key={agent} agent={agent} /> : <Empty title="There is no such agent that you may read." />}
    </Page>
  );
}
