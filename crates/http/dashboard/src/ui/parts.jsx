// The small parts that every page is made of.
import { useEffect, useRef, useState } from "preact/hooks";
import { connection } from "../lib/events.js";
import { ago, moment } from "../lib/words.js";

/** A page: its title, what can be done, and what it shows. */
export function Page({ title, lead, actions, wide, children }) {
  useEffect(() => {
    document.title = `${title} · Insula`;
  }, [title]);
  return (
    <main class={wide ? "page wide" : "page"} id="main" tabIndex={-1}>
      <div class="title">
        <div>
          <h1>{title}</h1>
          {lead && <p class="quiet">{lead}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {children}
    </main>
  );
}

/** A part of a page under a heading of its own. */
export function Section({ title, actions, children }) {
  return (
    <section class="section">
      <div class="title small">
        <h2>{title}</h2>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {children}
    </section>
  );
}

/** A button. `kind` is `plain`, `main` or `danger`; one that waits for its answer can't be pressed twice, and stays where one is at. */
export function Button({ kind = "plain", onClick, children, type = "button", disabled, ...rest }) {
  const [busy, setBusy] = useState(false);
  const alive = useRef(true);
  useEffect(() => () => (alive.current = false), []);
  async function press(event) {
    if (busy) return;
    const made = onClick?.(event);
    if (made instanceof Promise) {
      setBusy(true);
      try {
        await made;
      } finally {
        if (alive.current) setBusy(false);
      }
    }
  }
  return (
    <button type={type} class={`button ${kind}`} onClick={press} disabled={disabled} aria-busy={busy || undefined} aria-disabled={busy || undefined} {...rest}>
      {children}
    </button>
  );
}

/** What colour a state has. The word is always beside it. */
const TONES = {
  ready: "good", connected: "good", replied: "good", done: "good", ok: "good", allowed: "good", approved: "good", live: "good",
  failed: "bad", refused: "bad", denied: "bad", blocked: "bad", error: "bad", broken: "bad", offline: "bad",
  paused: "warn", "backing off": "warn", waiting: "warn", pending: "warn", stopped: "warn", timed_out: "warn", off: "warn", connecting: "warn",
  running: "busy", model: "busy", tool: "busy",
};

/** A state, by colour and word. */
export function State({ state, tone, title }) {
  return (
    <span class={`state ${tone ?? TONES[state] ?? "calm"}`} title={title}>
      {String(state).replaceAll("_", " ")}
    </span>
  );
}

/** A moment, as how long ago it was. */
export function When({ at }) {
  return at ? (
    <time dateTime={at} title={moment(at)}>
      {ago(at)}
    </time>
  ) : (
    <span class="quiet">never</span>
  );
}

/** A text with what stands between backticks as code; one that stands alone is a mark like any other. */
export function Ticked({ text }) {
  const parts = String(text ?? "").split("`");
  return <span>{parts.length % 2 === 0 ? text : parts.map((it, index) => (index % 2 === 1 ? <code key={index}>{it}</code> : it))}</span>;
}

/** A sentence as it is told; what is no text stays as it is. */
const told = (it) => (typeof it === "string" ? <Ticked text={it} /> : it);

/** Where there is nothing: what would be here, and how it comes. */
export function Empty({ title, children }) {
  return (
    <div class="empty">
      <p class="strong">{told(title)}</p>
      {children && <div class="quiet">{told(children)}</div>}
    </div>
  );
}

/** What went wrong, and a way to try again. That the daemon is away is said once, by the bar. */
export function Problem({ error, retry }) {
  if (!error || (error.code === "offline" && connection.value === "offline")) return null;
  return (
    <div class="problem" role="alert">
      <p>
        <Ticked text={error.message ?? String(error)} />
      </p>
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

export function Loading() {
  return (
    <p class="quiet" role="status">
      Reading…
    </p>
  );
}

/** Shows what a resource has: the problem, that it is being read, that it is empty, or `children(data)`. */
export function Shown({ of, empty, children }) {
  if (of.data === undefined) return of.error ? <Problem error={of.error} retry={of.reload} /> : <Loading />;
  const isEmpty = Array.isArray(of.data) && of.data.length === 0;
  return (
    <>
      <Problem error={of.error} retry={of.reload} />
      {isEmpty && empty ? empty : children(of.data)}
    </>
  );
}

/** A named field of a form. `children` is one control; without it a line of text. */
export function Field({ label, hint, error, children, ...input }) {
  return (
    <label class="field">
      <span class="label">{label}</span>
      {children ?? <input {...input} />}
      {hint && <span class="quiet small">{told(hint)}</span>}
      {error && (
        <span class="bad small" role="alert">
          {told(error)}
        </span>
      )}
    </label>
  );
}

export function Search({ value, onInput, label = "Search" }) {
  return <input class="search" type="search" aria-label={label} placeholder={label} value={value} onInput={(event) => onInput(event.currentTarget.value)} />;
}

/** One of several. `options` are texts or `[value, text]`. */
export function Choice({ label, value, options, onChange }) {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      {options.map((it) => {
        const [key, text] = Array.isArray(it) ? it : [it, it];
        return (
          <option key={key} value={key}>
            {text}
          </option>
        );
      })}
    </select>
  );
}

/** Views of one page, one at a time. `tabs` are `[key, text]`. */
export function Tabs({ tabs, value, onChange, label = "Views" }) {
  function move(event) {
    const at = tabs.findIndex(([key]) => key === value);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const [key] = tabs[(at + step + tabs.length) % tabs.length];
    onChange(key);
    event.currentTarget.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(([key, text]) => (
        <button key={key} type="button" role="tab" data-key={key} aria-selected={key === value} tabIndex={key === value ? 0 : -1} onClick={() => onChange(key)}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** A text that is copied by a button. */
export function Copy({ text, label = "Copy" }) {
  const [said, setSaid] = useState(null);
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("Copied");
    } catch {
      setSaid("Not allowed");
    }
    setTimeout(() => setSaid(null), 1500);
  }
  return (
    <button type="button" class="button small" onClick={copy}>
      {said ?? label}
    </button>
  );
}

/** Text as it is, line by line, with a button that copies it. */
export function Code({ text, label }) {
  return (
    <div class="code">
      {label && <span class="quiet small">{label}</span>}
      <Copy text={text} />
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}

/** A window over the page. Closed by Escape, or by pressing beside it. */
export function Dialog({ title, onClose, children }) {
  const at = useRef(null);
  useEffect(() => {
    at.current.showModal();
  }, []);
  return (
    <dialog ref={at} class="dialog" aria-label={title} onClose={onClose} onClick={(event) => event.target === at.current && at.current.close()}>
      <div class="title small">
        <h2>{title}</h2>
        <button type="button" class="button small" onClick={() => at.current.close()}>
          Close
        </button>
      </div>
      {children}
    </dialog>
  );
}

/** A list of names and what they are. `rows` are `[name, what]`; what is nothing is left out. */
export function Facts({ rows }) {
  const told = rows.filter(([, what]) => what !== null && what !== undefined && what !== "" && what !== false);
  return (
    <dl class="facts">
      {told.map(([name, what]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
