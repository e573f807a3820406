// What is said next in a conversation: words and files. What is not sent yet stays while one looks at
// other pages.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, at } from "../lib/api.js";
import { isPicture, parts, tooMuch } from "../lib/attach.js";
import { size } from "../lib/parts.js";
import { say } from "../lib/talk.js";
import { keepFiles, keepText, unsent } from "../lib/unsent.js";
import { Button, Problem } from "./parts.jsx";

export function Composer({ agent, session, busy, onSaid, onMemory }) {
  const [text, setText] = useState(() => unsent(agent, session).text);
  const [files, setFiles] = useState(() => unsent(agent, session).files);
  const [error, setError] = useState(null);
  const [over, setOver] = useState(false);
  const [early, setEarly] = useState(false);
  const area = useRef(null);
  const pick = useRef(null);
  useEffect(() => area.current?.focus({ preventScroll: true }), [agent, session]);
  useEffect(() => setEarly(false), [busy]);
  useEffect(() => keepText(agent, session, text), [text]);
  useEffect(() => keepFiles(agent, session, files), [files]);
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
    if (busy && !isEmpty) setEarly(true);
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
          {early ? (
            <span class="warn small" role="status">
              It still answers: wait, or stop it. What you wrote stays.
            </span>
          ) : (
            <span class="quiet small hint">Enter sends, Shift+Enter breaks the line</span>
          )}
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
