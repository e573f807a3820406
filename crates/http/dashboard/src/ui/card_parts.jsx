// What a card has: its texts, its dependencies, what was said on it, its files, runs and history.
import { useRef, useState } from "preact/hooks";
import { api, at, query } from "../lib/api.js";
import { to } from "../lib/router.js";
import { count, many, moment, took } from "../lib/words.js";
import { Markdown } from "./markdown.jsx";
import { Button, Field, Problem, Section, State, When, Ticked } from "./parts.jsx";

/** Other cards, as links. */
export function CardLinks({ board, cards }) {
  return (
    <span class="row">
      {cards.map((it) => (
        <a key={it.id} class="link-card" href={to("boards", [board, String(it.id)])}>
          #{it.id}
          {it.status && <State state={it.status} tone={it.status === "done" ? "good" : undefined} />}
        </a>
      ))}
    </span>
  );
}

export function Comments({ board, card, may, act }) {
  const [text, setText] = useState("");
  async function say(event) {
    event.preventDefault();
    if (text.trim() && (await act({ action: "comment", text }))) setText("");
  }
  return (
    <Section title={`Comments (${card.comments.length})`}>
      <ul class="said-list">
        {card.comments.map((it, index) => (
          <li key={index}>
            <p class="small quiet">
              {it.agent ? `${it.agent}, for ${it.author}` : it.author} · <When at={it.at} />
            </p>
            <Markdown text={it.text} />
          </li>
        ))}
      </ul>
      {card.comments.length === 0 && <p class="quiet">Nobody has said anything here.</p>}
      {may && (
        <form class="row say" onSubmit={say}>
          <textarea aria-label="A comment" placeholder="Say something on this card" rows={2} value={text} onInput={(event) => setText(event.currentTarget.value)} />
          <Button type="submit">Comment</Button>
        </form>
      )}
    </Section>
  );
}

/** The most a file may have: what a board keeps. */
const FILE_MAX = 1024 * 1024;

export function Files({ board, card, may, onChange }) {
  const [error, setError] = useState(null);
  const input = useRef(null);
  async function download(file) {
    try {
      const address = await api.blob(at("boards", board, "cards", String(card.id), "files", file.hash));
      const link = document.createElement("a");
      link.href = address;
      link.download = file.name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    } catch (fault) {
      setError(fault);
    }
  }
  async function attach(event) {
    const [file] = event.currentTarget.files;
    input.current.value = "";
    if (!file) return;
    if (file.size > FILE_MAX) {
      setError(new Error(`${file.name} has ${count(file.size)} bytes; a card keeps files of 1 MiB at most`));
      return;
    }
    try {
      onChange(await api.upload(query(at("boards", board, "cards", String(card.id), "files"), { name: file.name }), file));
      setError(null);
    } catch (fault) {
      setError(fault);
    }
  }
  if (!may && card.files.length === 0) return null;
  return (
    <Section title={`Files (${card.files.length})`}>
      <Problem error={error} />
      <ul class="file-list">
        {card.files.map((it) => (
          <li key={it.hash} class="row">
            <button type="button" class="button small" onClick={() => download(it)}>
              {it.name}
            </button>
            <span class="quiet small">
              {count(it.bytes)} bytes · {it.author} · <When at={it.at} />
            </span>
          </li>
        ))}
      </ul>
      {may && (
        <Field label="Put a file on it" hint="1 MiB at most; it is given back as it came, and nothing opens it here">
          <input ref={input} type="file" onChange={attach} />
        </Field>
      )}
    </Section>
  );
}

export function Runs({ runs }) {
  if (runs.length === 0) return null;
  return (
    <Section title="Who worked on it">
      <ul class="said-list">
        {[...runs].reverse().map((it) => (
          <li key={it.run}>
            <p class="row">
              <State state={it.outcome ?? "running"} tone={it.outcome ? undefined : "busy"} />
              <span>
                {it.worker}, {it.kind === "review" ? "looking at it" : "working"} · claim {it.run}
              </span>
              <span class="quiet small">
                <When at={it.began_at} />
                {it.ended_at && `, for ${took(new Date(it.ended_at) - new Date(it.began_at))}`}
                {!it.ended_at && (
                  <>
                    , last heard of <When at={it.beat_at} />
                  </>
                )}
              </span>
            </p>
            {(it.note || it.why) && <p class="small"><Ticked text={it.why ?? it.note} /></p>}
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** What an event says, in a few words. */
function told({ kind, detail }) {
  if (kind === "moved") return `from ${detail.from} to ${detail.to}`;
  if (kind === "assigned") return detail.to ? `to ${detail.to}` : "to nobody";
  if (kind === "linked") return `waits for #${detail.needs}`;
  if (kind === "attached") return detail.name;
  return detail.why ?? detail.status ?? "";
}

export function History({ history }) {
  return (
    <details class="section">
      <summary>History: {many(history.length, "change")}</summary>
      <ol class="history">
        {[...history].reverse().map((it) => (
          <li key={it.seq} class="small">
            <time dateTime={it.at} class="quiet">
              {moment(it.at)}
            </time>
            <span>
              <span class="strong">{it.kind.replaceAll("_", " ")}</span> {told(it)} <span class="quiet">by {it.actor}</span>
            </span>
          </li>
        ))}
      </ol>
    </details>
  );
}
