// A message of a transcript in all its parts.
import { at } from "../lib/api.js";
import { laidOut, size } from "../lib/parts.js";
import { textsOf, unmarked } from "../lib/transcript.js";
import { sourcesOf } from "../lib/where.js";
import { moment } from "../lib/words.js";
import { File, TextFile } from "./files.jsx";
import { Markdown } from "./markdown.jsx";
import { Copy, State } from "./parts.jsx";

const firstLine = (text) => text.trim().split("\n", 1)[0].slice(0, 200);

function Folded({ name, state, tone, about, text, open, children }) {
  return (
    <details class="folded" open={open}>
      <summary>
        <State state={state} tone={tone} />
        {name && <span class="mono">{name}</span>}
        <span class="about">{about}</span>
      </summary>
      <div class="inner">
        {children}
        <div class="code">
          <Copy text={text} />
          <pre tabIndex={0}>{text}</pre>
        </div>
      </div>
    </details>
  );
}

function Part({ of, role, names, path }) {
  switch (of.kind) {
    case "text":
      return role === "assistant" ? <Markdown text={of.text} /> : <div class="plain">{of.text}</div>;
    case "beside":
      return (
        <>
          <Folded state="told beside it" about={firstLine(of.text)} text={of.text} />
          {textsOf(of.text).map((it, index) => (
            <TextFile key={index} of={it} />
          ))}
        </>
      );
    case "reasoning":
      return of.text ? <Folded state="thought" about={firstLine(of.text)} text={of.text} /> : <State state="thought, kept by its provider" />;
    case "call":
      return <Folded name={of.tool} state="call" tone="busy" about={firstLine(of.arguments)} text={laidOut(of.arguments)} />;
    case "result": {
      const { text, source } = unmarked(of.text);
      return (
        <Folded name={names.get(of.call)} state={of.is_error ? "failed" : "result"} tone={of.is_error ? "bad" : "good"} about={firstLine(text)} text={text}>
          {(of.untrusted || source) && <p class="small">Words of others{source && `: ${source}`}.</p>}
        </Folded>
      );
    }
    case "attachment":
      return (
        <span class="filed">
          <span>{of.name}</span>
          <span class="quiet small">
            {of.media_type} · {size(of.bytes)}
          </span>
          <span class="mono" title={`BLAKE3 ${of.blake3}`}>
            {of.blake3}
          </span>
          <File of={of} path={path} />
        </span>
      );
    case "image":
      return <File of={{ name: `picture.${of.media_type.replace(/^.*\//, "")}`, media_type: of.media_type }} path={path} />;
    default:
      return <pre class="plain">{JSON.stringify(of)}</pre>;
  }
}

const WHO = { user: "said", assistant: "agent", tool: "tool", system: "runtime" };

/** Who may hear something, without whose words it was made of, which is told beside it. */
const heardBy = (label) => label.split(";", 1)[0];

/** With `labels` all that is noted of it; else what is not the same for the whole conversation. */
export function Message({ of, names, isMeant, session, agent, labels }) {
  const { integrity } = of;
  const notes = [
    labels && of.role !== "user" && `on behalf of ${of.principal}`,
    (labels || heardBy(of.label) !== heardBy(session.label)) && `heard by ${heardBy(of.label)}`,
    (labels || of.scope !== session.scope) && `scope ${of.scope}`,
    labels && `generation ${of.generation}`,
    labels && `message ${of.seq}`,
  ].filter(Boolean);
  return (
    <article class={isMeant ? "message is-meant" : "message"} id={`message-${of.seq}`} aria-label={`${WHO[of.role] ?? of.role}, message ${of.seq}`}>
      <div class="who">
        <b>{of.role === "user" ? of.principal : (WHO[of.role] ?? of.role)}</b>
        <time class="quiet" dateTime={of.at} title={moment(of.at)}>
          {new Date(of.at).toLocaleTimeString()}
        </time>
      </div>
      <div class="parts">
        {of.parts.map((part, index) => (
          <Part key={index} of={part} role={of.role} names={names} path={at("agents", agent, "sessions", String(session.id), "files", String(of.seq), String(index))} />
        ))}
      </div>
      {(notes.length > 0 || !integrity.own) && (
        <div class="labels">
          {!integrity.own && <span class="chip-soft">words of {sourcesOf(integrity).join(", ")}</span>}
          {notes.map((it) => (
            <span key={it}>{it}</span>
          ))}
        </div>
      )}
    </article>
  );
}
