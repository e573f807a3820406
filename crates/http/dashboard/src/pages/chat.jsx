// Talking to an agent: conversations, what is said while it is said, and what ran.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, at } from "../lib/api.js";
import { isPicture, parts, tooMuch } from "../lib/attach.js";
import { may, me } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { go, route, to } from "../lib/router.js";
import { size } from "../lib/parts.js";
import { ended, retry, say, talk } from "../lib/talk.js";
import { apart, besideFiles, byTurn, textsOf, titleOf } from "../lib/transcript.js";
import { ago } from "../lib/words.js";
import { Approval } from "../ui/approval.jsx";
import { File, TextFile } from "../ui/files.jsx";
import { Markdown } from "../ui/markdown.jsx";
import { Button, Choice, Copy, Dialog, Empty, Loading, Page, Problem, Search, Shown, State } from "../ui/parts.jsx";
import { Recalled } from "../ui/recalled.jsx";
import { List } from "../ui/table.jsx";
import { Turn } from "../ui/turn.jsx";
import "./chat.css";

/** Where the agent is kept that was talked to last. */
const LAST = "insula.agent";

const newName = () => `web-${Date.now().toString(36)}-${crypto.randomUUID().slice(0, 6)}`;

function Step({ step }) {
  if (step.kind === "text") return <Markdown text={step.text} />;
  return (
    <details class="step">
      <summary>
        <State state={step.state} tone={{ done: "calm", running: "busy", failed: "bad" }[step.state]} />
        <span class="mono">{step.name}</span>
        <span class="about">{step.about}</span>
      </summary>
      <div class="inner">
        {step.result?.source && <p class="quiet small">Words from {step.result.source}</p>}
        {step.result ? <pre class="small">{step.result.text}</pre> : <span class="quiet">{step.about || "Nothing more is told of it here."}</span>}
      </div>
    </details>
  );
}

function Reply({ agent, session, where, it, isLast, onLook }) {
  return (
    <div class="theirs">
      {it.steps.map((step, index) => (
        <Step key={index} step={step} />
      ))}
      {it.reply && <Markdown text={it.reply.text} />}
      <Files where={where} of={it.made} />
      <div class="foot">
        {it.reply && <span>{ago(it.reply.at)}</span>}
        {it.reply && <Copy text={it.reply.text} />}
        {it.turn !== null && may(agent, "read") && (
          <>
            <button type="button" class="button small" onClick={() => onLook({ turn: it.turn, what: "course" })}>
              How it went
            </button>
            <button type="button" class="button small" onClick={() => onLook({ turn: it.turn, what: "memory" })}>
              What it remembered
            </button>
          </>
        )}
        {isLast && it.said && (
          <Button class="button small" onClick={() => void retry(agent, session, apart(it.said.text).words)}>
            Try again
          </Button>
        )}
      </div>
    </div>
  );
}

/** Files of a conversation, each by its message. */
function Files({ where, of, texts = [] }) {
  if (of.length + texts.length === 0) return null;
  return (
    <div class="kept-files">
      {texts.map((it, index) => (
        <TextFile key={`text${index}`} of={it} />
      ))}
      {of.map((it) => (
        <File key={`${it.message}/${it.part}`} of={it} path={`${where}/files/${it.message}/${it.part}`} />
      ))}
    </div>
  );
}

function Own({ said, where }) {
  const { words, beside } = apart(said.text);
  const told = besideFiles(beside);
  return (
    <>
      {(words || told) && (
        <div class="own">
          {words}
          {told && (
            <details class="small">
              <summary>What came along</summary>
              {told}
            </details>
          )}
        </div>
      )}
      <Files where={where} of={(said.files ?? []).map((it) => ({ ...it, message: said.seq }))} texts={textsOf(beside)} />
    </>
  );
}

function Live({ agent, of }) {
  return (
    <>
      {of.said && <div class="own">{of.said}</div>}
      {of.along.length > 0 && <Along of={of.along} />}
      <div class="theirs" aria-live="polite" aria-busy={of.state === "running"}>
        {of.reasoning && (
          <details class="step">
            <summary>
              <span class="quiet">What it thinks</span>
            </summary>
            <div class="inner">
              <Markdown text={of.reasoning} />
            </div>
          </details>
        )}
        {of.steps.map((step, index) => (
          <Step key={index} step={step} />
        ))}
        {of.approvals.map((it) => (
          <Approval key={it.id} agent={agent} of={it} />
        ))}
        {of.text && <Markdown text={of.text} />}
        {of.error && <Problem error={{ message: of.error }} />}
        <div class="foot">
          <State state={of.state} tone={{ sending: "busy", reconnecting: "warn" }[of.state]} />
        </div>
      </div>
    </>
  );
}

function Along({ of }) {
  return (
    <div class="along">
      {of.map((it) => (it.url ? <img key={it.url} src={it.url} alt={it.name} /> : <span key={it.name} class="brought">{it.name}</span>))}
    </div>
  );
}

function Composer({ agent, session, busy, onSaid, onMemory }) {
  const [text, setText] = useState("");
  const [files, setFiles] = useState([]);
  const [error, setError] = useState(null);
  const [over, setOver] = useState(false);
  const area = useRef(null);
  const pick = useRef(null);
  useEffect(() => area.current?.focus({ preventScroll: true }), [agent, session]);
  useEffect(() => {
    // As high as what is written.
    area.current.style.height = "auto";
    area.current.style.height = `${area.current.scrollHeight}px`;
  }, [text]);
  function add(list) {
    const all = [...files, ...[...list].map((file) => ({ file, name: file.name, url: isPicture(file) ? URL.createObjectURL(file) : null }))];
    const why = tooMuch(all.map((it) => it.file));
    setError(why);
    if (why === null) setFiles(all);
  }
  const isEmpty = text.trim() === "" && files.length === 0;
  async function send(event) {
    event?.preventDefault();
    const said = text.trim();
    if (isEmpty || busy) return;
    let brought;
    try {
      brought = await parts(files.map((it) => it.file));
    } catch (fault) {
      // It was moved or changed since it was chosen.
      setError(`A file can't be read: ${fault.message}`);
      return;
    }
    setText("");
    setFiles([]);
    setError(null);
    onSaid();
    say(agent, session, said, { parts: brought, along: files.map(({ name, url }) => ({ name, url })) });
  }
  return (
    <div
      class={over ? "composer drop" : "composer"}
      onDragOver={(event) => (event.preventDefault(), setOver(true))}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => (event.preventDefault(), setOver(false), add(event.dataTransfer.files))}
    >
      <Problem error={error && { message: error }} />
      <form onSubmit={send}>
        {files.length > 0 && (
          <div class="along">
            {files.map((it, index) => (
              <span key={index} class="brought">
                {it.url ? <img src={it.url} alt="" /> : null}
                {it.name} <span class="quiet">{size(it.file.size)}</span>
                <button type="button" class="button small" aria-label={`Leave out ${it.name}`} onClick={() => setFiles(files.filter((_, at) => at !== index))}>
                  ×
                </button>
              </span>
            ))}
          </div>
        )}
        <textarea
          ref={area}
          rows={1}
          aria-label={`Message to ${agent}`}
          placeholder={`Message to ${agent}`}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onPaste={(event) => event.clipboardData.files.length > 0 && (event.preventDefault(), add(event.clipboardData.files))}
          onKeyDown={(event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && send(event)}
        />
        <div class="row">
          <input ref={pick} type="file" multiple hidden aria-hidden="true" onChange={(event) => (add(event.currentTarget.files), (event.currentTarget.value = ""))} />
          <button type="button" class="button small" onClick={() => pick.current.click()}>
            Add files
          </button>
          <button type="button" class="button small" onClick={onMemory}>
            What is remembered here
          </button>
          <span class="quiet small hint">Enter sends, Shift+Enter breaks the line</span>
          <span class="actions push">
            {busy ? (
              <Button kind="danger" onClick={() => api.post(at("agents", agent, "stop"), { session })}>
                Stop
              </Button>
            ) : (
              <Button kind="main" type="submit" disabled={isEmpty}>
                Send
              </Button>
            )}
          </span>
        </div>
      </form>
    </div>
  );
}

function Remembered({ agent, session, onClose }) {
  const of = useResource(({ signal }) => api.post(at("agents", agent, "remembered"), { session }, { signal }), [agent, session]);
  return (
    <Dialog title="What is remembered here" onClose={onClose}>
      <Shown of={of}>
        {(it) =>
          !it.memory ? (
            <Empty title="This agent remembers nothing." />
          ) : it.entries.length === 0 ? (
            <Empty title="Nothing is remembered in this conversation yet." />
          ) : (
            <ul class="stack">
              {it.entries.map((entry) => (
                <li key={entry.number} class="card">
                  {entry.text} {entry.blocked && <State state="blocked" />}
                  <div class="quiet small">{entry.target}</div>
                </li>
              ))}
              {it.held_back > 0 && <li class="quiet">{it.held_back} more were said in other conversations.</li>}
            </ul>
          )
        }
      </Shown>
      {may(agent, "read") && (
        <p class="small">
          <a href={to("memory", [agent])}>Where each of them came from</a>
        </p>
      )}
    </Dialog>
  );
}

/** Whether a turn of the transcript is the one that is told live. */
function isSaid(turn, now) {
  return turn?.said ? apart(turn.said.text).words === now.said : false;
}

function Conversation({ agent, name, known, onTold }) {
  const now = talk(agent, name).value;
  const busy = now !== null && ["sending", "waiting", "running", "reconnecting"].includes(now.state);
  const [look, setLook] = useState(null);
  const [memory, setMemory] = useState(false);
  const id = known?.id;
  const of = useResource(({ signal }) => (id === undefined ? Promise.resolve(null) : api.get(at("agents", agent, "conversations", String(id)), { signal })), [agent, id]);
  const [stick, setStick] = useState(true);
  // A conversation that begins is in the list from then on.
  useEffect(() => {
    if (id === undefined && now?.turn) onTold();
  }, [now?.turn]);
  // What ended is in the transcript from then on.
  useEffect(() => {
    if (ended.value === 0 || busy) return;
    onTold();
    of.reload().then(() => {
      if (talk(agent, name).value?.state === "replied") talk(agent, name).value = null;
    });
  }, [ended.value, id]);
  useEffect(() => {
    if (stick) scrollTo(0, document.documentElement.scrollHeight);
  }, [now?.text, now?.state, now?.steps.length, of.data]);
  useEffect(() => {
    const look = () => setStick(innerHeight + scrollY > document.documentElement.scrollHeight - 120);
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, []);
  const where = at("agents", agent, "conversations", String(id));
  const turns = byTurn(of.data?.messages ?? []);
  // A turn under way has its message in the journal already.
  const shown = now && turns.length > 0 && isSaid(turns.at(-1), now) && (busy || now.state !== "replied") ? turns.slice(0, -1) : turns;
  return (
    <div class="stack">
      <div class="said">
        {id !== undefined && of.data === undefined && <Loading />}
        <Problem error={of.error} retry={of.reload} />
        {shown.length === 0 && now === null && id === undefined && <Empty title={`Say something to ${agent}.`}>What you say stays in this conversation.</Empty>}
        {shown.map((it, index) => (
          <div key={it.key} class="stack">
            {it.said && <Own said={it.said} where={where} />}
            <Reply agent={agent} session={name} where={where} it={it} isLast={index === shown.length - 1 && now === null} onLook={setLook} />
          </div>
        ))}
        {now !== null && !(now.state === "replied" && isSaid(turns.at(-1), now)) && <Live agent={agent} of={now} />}
      </div>
      <Composer agent={agent} session={name} busy={busy} onSaid={() => setStick(true)} onMemory={() => setMemory(true)} />
      {look !== null &&
        (look.what === "memory" ? (
          <Recalled agent={agent} turn={look.turn} onClose={() => setLook(null)} />
        ) : (
          <Dialog title="How it went" onClose={() => setLook(null)}>
            <Turn agent={agent} turn={look.turn} />
          </Dialog>
        ))}
      {memory && <Remembered agent={agent} session={name} onClose={() => setMemory(false)} />}
    </div>
  );
}

export function Chat() {
  const [agent, name] = route.value.rest;
  const own = me.value.agents.filter((it) => it.verbs.includes("chat"));
  const current = own.find((it) => it.id === agent) ?? null;
  const [text, setText] = useState("");
  // Whom one talked to last is the one to talk to; before that the one that is there by itself.
  useEffect(() => {
    const last = localStorage.getItem(LAST);
    const first = own.find((it) => it.id === last) ?? own.find((it) => it.id === "main") ?? own.find((it) => it.state === "ready") ?? own[0];
    if (current) localStorage.setItem(LAST, agent);
    if (!agent && first) go(to("chat", [first.id]), { replace: true });
    else if (agent && !name) go(to("chat", [agent, newName()]), { replace: true });
  }, [agent, name]);
  const list = useResource(({ signal }) => (current ? api.get(at("agents", agent, "conversations"), { signal }) : Promise.resolve([])), [agent, current === null]);
  if (own.length === 0) {
    return (
      <Page title="Chat">
        <Empty title="There is no agent that you may talk to." />
      </Page>
    );
  }
  const all = (list.data ?? []).filter((it) => !it.ended);
  const wanted = text.toLowerCase();
  const found = all.filter((it) => (titleOf(it.title) ?? it.session).toLowerCase().includes(wanted));
  return (
    <Page title={current?.name ?? agent ?? "Chat"} lead={current?.description}>
      <div class="talk">
        <aside aria-label="Conversations">
          <Choice label="Agent" value={agent ?? ""} onChange={(id) => go(to("chat", [id]))} options={own.map((it) => [it.id, it.state === "ready" ? it.id : `${it.id} (${it.state})`])} />
          <Button onClick={() => go(to("chat", [agent, newName()]))}>New conversation</Button>
          {all.length > 5 && <Search label="Search conversations" value={text} onInput={setText} />}
          <Problem error={list.error} retry={list.reload} />
          <List
            label="Conversations"
            items={found}
            itemKey={(it) => it.id}
            height={54}
            row={(it) => (
              <a href={to("chat", [agent, it.session])} aria-current={it.session === name ? "page" : undefined}>
                {titleOf(it.title) ?? it.session}
                <span class="meta quiet small">{ago(it.used)}</span>
              </a>
            )}
          />
        </aside>
        {!current ? (
          agent && <Empty title={`There is no agent ${agent} that you may talk to.`} />
        ) : !name ? null : current.state !== "ready" && all.every((it) => it.session !== name) ? (
          <Empty title={`${agent} does not serve now.`}>{current.reason}</Empty>
        ) : list.data === undefined ? (
          <Loading />
        ) : (
          <Conversation key={`${agent}/${name}`} agent={agent} name={name} known={all.find((it) => it.session === name)} onTold={list.reload} />
        )}
      </div>
    </Page>
  );
}
