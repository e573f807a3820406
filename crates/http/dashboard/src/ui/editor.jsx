// A text of the configuration, to write in: line numbers, what is wrong beside them, and what could
// stand at the cursor by the schema. A plain text field underneath, so that it works as every other.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Ticked } from "./parts.jsx";
import { about, complete } from "../lib/complete.js";
import "./editor.css";

/** Beyond this many lines their numbers are left out. */
const NUMBERED_MAX = 20_000;

/** How wide a letter is and how high a line, in this field. */
function measured(field) {
  const style = getComputedStyle(field);
  const context = document.createElement("canvas").getContext("2d");
  context.font = `${style.fontSize} ${style.fontFamily}`;
  const letter = context.measureText("M".repeat(100)).width / 100;
  return { letter, line: Number.parseFloat(style.lineHeight), left: Number.parseFloat(style.paddingLeft), top: Number.parseFloat(style.paddingTop) };
}

/** Where a line and a column (from 1) are in a text. */
export function offset(text, line, column) {
  let at = 0;
  for (let n = 1; n < line; n += 1) {
    const next = text.indexOf("\n", at);
    if (next === -1) return text.length;
    at = next + 1;
  }
  const end = text.indexOf("\n", at);
  // Columns count characters, a text counts units.
  const ahead = [...text.slice(at, end === -1 ? text.length : end)].slice(0, Math.max(0, column - 1)).join("");
  return at + ahead.length;
}

/** The findings of a file, each of which leads to its place. */
export function Findings({ findings, onGo }) {
  if (findings.length === 0) return null;
  return (
    <ul class="findings" aria-label="What is wrong">
      {findings.map((it, at) => (
        <li key={at} class={it.tone}>
          <button type="button" onClick={() => onGo(it)}>
            <span class="mono">
              {it.line}:{it.column}
            </span>{" "}
            <b>{it.tone === "bad" ? "error" : "warning"}</b> <Ticked text={it.message} />
            {it.help && (
              <span class="quiet">
                {" "}
                · <Ticked text={it.help} />
              </span>
            )}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** `kind` is `agent` or `top` for YAML with a schema, `prose` for text of people. */
export function Editor({ label, text, onInput, kind, schema, names, findings = [], readOnly }) {
  const field = useRef(null);
  const gutter = useRef(null);
  const [offered, setOffered] = useState(null);
  const [chosen, setChosen] = useState(0);
  const [said, setSaid] = useState(null);
  const caret = useRef(null);
  const isCode = kind !== "prose";
  const lines = isCode ? text.split("\n").length : 0;
  const id = `offers-${label.replace(/\W+/g, "-")}`;
  const marks = new Map();
  for (const it of findings) if (it.tone === "bad" || !marks.has(it.line)) marks.set(it.line, it.tone);

  useLayoutEffect(() => {
    if (caret.current !== null && field.current) {
      field.current.setSelectionRange(caret.current, caret.current);
      caret.current = null;
    }
  }, [text]);

  function look({ always = false } = {}) {
    const { value, selectionStart: at, selectionEnd: end } = field.current;
    if (!isCode || !schema) return;
    setSaid(about(schema, kind, value, at));
    const found = at === end ? complete(schema, kind, value, at, names) : null;
    // It stays out of the way of who only moves about.
    const shows = found && (always || at > found.from);
    if (!shows) return setOffered(null);
    const { letter, line, left, top } = measured(field.current);
    const before = value.slice(0, found.from).split("\n");
    const place = {
      left: field.current.offsetLeft + Math.max(0, Math.min(left + [...before.at(-1)].length * letter - field.current.scrollLeft, field.current.clientWidth - 230)),
      top: top + before.length * line - field.current.scrollTop,
    };
    setChosen(0);
    setOffered({ ...found, at, place });
  }

  function take(item) {
    const { from, at } = offered;
    const next = text.slice(0, from) + item.insert + text.slice(at);
    caret.current = from + item.insert.length;
    setOffered(null);
    onInput(next);
    field.current.focus();
  }

  function press(event) {
    if (event.key === " " && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      return look({ always: true });
    }
    if (!offered) return undefined;
    const count = offered.items.length;
    const step = { ArrowDown: 1, ArrowUp: count - 1 }[event.key];
    if (step) {
      event.preventDefault();
      setChosen((chosen + step) % count);
    } else if (event.key === "Enter" || event.key === "Tab") {
      event.preventDefault();
      take(offered.items[chosen]);
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      setOffered(null);
    }
    return undefined;
  }

  function goTo(finding) {
    const at = offset(text, finding.line, finding.column);
    const { line } = measured(field.current);
    field.current.focus();
    field.current.setSelectionRange(at, at);
    field.current.scrollTop = Math.max(0, (finding.line - 4) * line);
  }

  useEffect(() => setOffered(null), [label]);

  return (
    <div class={`editor ${isCode ? "code-field" : "prose-field"}`}>
      <div class="sheet">
        {isCode && lines <= NUMBERED_MAX && (
          <div class="gutter" aria-hidden="true">
            <div ref={gutter}>
              {Array.from({ length: lines }, (_, at) => (
                <div key={at} class={marks.get(at + 1)}>
                  {at + 1}
                </div>
              ))}
            </div>
          </div>
        )}
        <textarea
          ref={field}
          aria-label={label}
          aria-autocomplete={isCode ? "list" : undefined}
          aria-haspopup={isCode ? "listbox" : undefined}
          aria-controls={offered ? id : undefined}
          aria-activedescendant={offered ? `${id}-${chosen}` : undefined}
          aria-invalid={findings.some((it) => it.tone === "bad") ? "true" : undefined}
          spellcheck={!isCode}
          autocomplete="off"
          autocapitalize="off"
          wrap={isCode ? "off" : "soft"}
          readOnly={readOnly}
          rows={Math.min(28, Math.max(isCode ? 10 : 14, text.split("\n").length + 1))}
          value={text}
          onInput={(event) => (onInput(event.currentTarget.value), look())}
          onKeyDown={press}
          onKeyUp={(event) => ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key) && !offered && look()}
          onClick={() => look()}
          onBlur={() => setOffered(null)}
          onScroll={(event) => {
            if (gutter.current) gutter.current.style.transform = `translateY(${-event.currentTarget.scrollTop}px)`;
            setOffered(null);
          }}
        />
        {offered && (
          <ul class="offers" id={id} role="listbox" aria-label="What could stand here" style={{ left: `${offered.place.left}px`, top: `${offered.place.top}px` }}>
            {offered.items.map((it, at) => (
              <li
                key={it.text}
                id={`${id}-${at}`}
                role="option"
                aria-selected={at === chosen}
                ref={(row) => at === chosen && row?.scrollIntoView({ block: "nearest" })}
                onMouseDown={(event) => (event.preventDefault(), take(it))}
              >
                <span class="mono">{it.text}</span>
                {it.about && <span class="quiet small">{it.about}</span>}
              </li>
            ))}
          </ul>
        )}
      </div>
      {isCode && (
        <p class="about quiet small">
          {said ? (
            <>
              <span class="mono strong">{said.key}</span> {said.text}
            </>
          ) : (
            "Ctrl and space: what could stand at the cursor."
          )}
        </p>
      )}
      <Findings findings={findings} onGo={goTo} />
    </div>
  );
}
