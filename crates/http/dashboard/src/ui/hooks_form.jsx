// Hooks as a form: what is asked before something happens, or told after it did. Each is written
// into the text where hooks of that file stand; what is written in another way stays with the text.
import { useState } from "preact/hooks";
import { useSchema, write } from "../lib/drafts.js";
import { hookOf, hooksOf } from "../lib/hooks.js";
import { Button, Choice, Field } from "./parts.jsx";
import "./agent_form.css";

const KINDS = [["command", "a program"], ["http", "a server"], ["expr", "an expression"]];
const HINTS = { command: "./guard.sh, in the sandbox", http: "http://127.0.0.1:9000/hook", expr: "tool_name != 'terminal' || admin" };
const NEW = { event: "pre_tool_call", kind: "command", text: "", matcher: "", timeout: "", on_failure: "" };

/** `path` is where hooks stand in `file`, and `value` what stands there. */
export function HooksForm({ file, path, value, title, hint, onError }) {
  const schema = useSchema();
  const [of, setOf] = useState(NEW);
  const events = schema?.properties?.hooks?.propertyNames?.enum ?? [NEW.event];
  const hooks = hooksOf(value);
  const change = async (edits) => {
    onError(null);
    try {
      await write(file, edits);
      return true;
    } catch (fault) {
      onError(fault);
      return false;
    }
  };
  const there = (text) => path.reduce((node, key) => node?.[key], text) ?? {};
  async function add(event) {
    event.preventDefault();
    const hook = hookOf(of);
    // Where it goes is what the text says by then.
    const done = await change((text) => {
      const all = there(text)[of.event];
      return [{ path: [...path, of.event, Array.isArray(all) ? all.length : 0], value: hook }];
    });
    if (done) setOf({ ...NEW, event: of.event, kind: of.kind });
  }
  const takeOut = ({ event, at }) =>
    change((text) => {
      const all = there(text)[event] ?? [];
      return [{ path: all.length > 1 ? [...path, event, at] : [...path, event], remove: true }];
    });
  const type = (key) => (input) => setOf({ ...of, [key]: input.currentTarget.value });
  return (
    <fieldset class="card hooks">
      <legend>{title}</legend>
      <p class="quiet small">{hint}</p>
      <ul class="stack">
        {hooks.map((it) => (
          <li key={`${it.event}/${it.at}`} class="row">
            <span>
              <b class="mono">{it.event}</b> <span class="mono">{it.text}</span>
            </span>
            <Button class="button small danger" aria-label={`Take out hook ${it.at + 1} of ${it.event}`} onClick={() => takeOut(it)}>
              Take out
            </Button>
          </li>
        ))}
      </ul>
      <form class="stack" onSubmit={add}>
        <div class="form-grid">
          <Field label="When">
            <Choice label="When" value={of.event} options={events} onChange={(event) => setOf({ ...of, event })} />
          </Field>
          <Field label="Who is asked">
            <Choice label="Who is asked" value={of.kind} options={KINDS} onChange={(kind) => setOf({ ...of, kind })} />
          </Field>
          <Field label="Which" hint={HINTS[of.kind]} required value={of.text} onInput={type("text")} />
          <Field label="Tools" hint="Names joined by |, with *; all where nothing is said." value={of.matcher} onInput={type("matcher")} />
          <Field label="How long it may take" hint="5s unless said otherwise." value={of.timeout} onInput={type("timeout")} />
          <Field label="When it fails" hint="A hook that decides is a no then.">
            <Choice label="When it fails" value={of.on_failure} options={[["", "not said here"], "deny", "allow"]} onChange={(on_failure) => setOf({ ...of, on_failure })} />
          </Field>
        </div>
        <div class="row">
          <Button type="submit" disabled={of.text.trim() === ""}>
            Add the hook
          </Button>
        </div>
      </form>
    </fieldset>
  );
}
