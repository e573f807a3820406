// Asks once more before something is done that takes something away or ends what runs.
import { useState } from "preact/hooks";
import { Button, Dialog, Field, Problem } from "./parts.jsx";

/**
 * Asks whether it is meant. `onYes` does it, and may give a promise; when it is done the window
 * closes, and what it throws is shown. `verb` is the word on the button; `typed` is what has to be
 * written to go on, where one word of agreement is too little.
 */
export function Confirm({ title, verb, onYes, onClose, typed, danger = true, children }) {
  const [text, setText] = useState("");
  const [error, setError] = useState(null);
  async function go() {
    setError(null);
    try {
      await onYes();
      onClose();
    } catch (fault) {
      setError(fault);
    }
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">
        <div>{children}</div>
        {typed && <Field label={`Write ${typed} to go on`} value={text} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} />}
        <Problem error={error} />
        <div class="row">
          <Button kind={danger ? "danger" : "main"} disabled={Boolean(typed) && text !== typed} onClick={go}>
            {verb}
          </Button>
          <Button onClick={onClose}>Leave it as it is</Button>
        </div>
      </div>
    </Dialog>
  );
}
