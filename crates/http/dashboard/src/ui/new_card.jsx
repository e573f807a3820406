// A card that is added to a board.
import { useState } from "preact/hooks";
import { api, at } from "../lib/api.js";
import { workers } from "./card.jsx";
import { Button, Choice, Dialog, Field, Problem } from "./parts.jsx";

/** What a browser's field of date and time says, as the daemon reads it. */
const instant = (text) => (text ? new Date(text).toISOString() : undefined);

export function NewCard({ board, onClose, onAdded }) {
  const [card, setCard] = useState({ title: "", body: "", assignee: "", reviewer: "", priority: "0", due: "", start: "", labels: "", parents: "" });
  const [error, setError] = useState(null);
  // The same wish sent twice adds one card.
  const [key] = useState(() => crypto.randomUUID());
  const set = (name) => (event) => setCard({ ...card, [name]: event.currentTarget.value });
  const reviewers = Object.entries(board.agents).filter(([, rights]) => /review|manage/.test(rights));
  async function add(event) {
    event.preventDefault();
    try {
      const list = (text) => text.split(",").map((it) => it.trim()).filter(Boolean);
      onAdded(
        await api.post(at("boards", board.name, "cards"), {
          title: card.title,
          body: card.body,
          assignee: card.assignee || undefined,
          reviewer: card.reviewer || undefined,
          priority: Number(card.priority) || 0,
          due: instant(card.due),
          start: instant(card.start),
          labels: list(card.labels),
          parents: list(card.parents).map((it) => Number(it.replace("#", ""))),
          idempotency_key: key,
        }),
      );
    } catch (fault) {
      setError(fault);
    }
  }
  return (
    <Dialog title={`Add a card to ${board.name}`} onClose={onClose}>
      <form class="stack" onSubmit={add}>
        <Problem error={error} />
        <Field label="What is to be done" required maxLength={300} value={card.title} onInput={set("title")} autoFocus />
        <Field label="More about it">
          <textarea rows={4} value={card.body} onInput={set("body")} />
        </Field>
        <div class="pair">
          <Field label="For">
            <Choice label="For" value={card.assignee} options={[["", "nobody yet"], ...workers(board)]} onChange={(assignee) => setCard({ ...card, assignee })} />
          </Field>
          <Field label="Who looks at it before it is done">
            <Choice label="Who looks at it" value={card.reviewer} options={[["", "as the board says"], ["person", "a person"], ...reviewers.map(([id]) => [id, id])]} onChange={(reviewer) => setCard({ ...card, reviewer })} />
          </Field>
          <Field label="Priority" hint="higher comes first" type="number" value={card.priority} onInput={set("priority")} />
          <Field label="Labels" hint="with commas between" value={card.labels} onInput={set("labels")} />
          <Field label="Due" type="datetime-local" value={card.due} onInput={set("due")} />
          <Field label="Not before" type="datetime-local" value={card.start} onInput={set("start")} />
          <Field label="Waits for" hint="numbers of cards, with commas between" title="numbers, with commas between" pattern="[#0-9, ]*" value={card.parents} onInput={set("parents")} />
        </div>
        <div class="row">
          <Button kind="main" type="submit">
            Add it
          </Button>
          <Button onClick={onClose}>Leave it</Button>
        </div>
      </form>
    </Dialog>
  );
}
