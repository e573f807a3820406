// One card in full, in a window: what it says, what can be done with it, and what happened to it.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, at, query } from "../lib/api.js";
import { BLOCKS, request, targets, warning } from "../lib/board.js";
import { useResource } from "../lib/resource.js";
import { count, moment, usd } from "../lib/words.js";
import { CardLinks, Comments, Files, History, Runs } from "./card_parts.jsx";
import { Confirm } from "./confirm.jsx";
import { Markdown } from "./markdown.jsx";
import { Button, Choice, Dialog, Facts, Field, Problem, Section, Shown, State, When } from "./parts.jsx";

/** One line that is asked for before something is done. */
function Reason({ label, yes, kinds, onSay, onClose }) {
  const [text, setText] = useState("");
  const [kind, setKind] = useState(kinds?.[0]?.[0]);
  async function go(event) {
    event.preventDefault();
    if (await onSay(text, kind)) onClose();
  }
  return (
    <form class="card stack reason-form" onSubmit={go}>
      {kinds && (
        <Field label="What keeps it">
          <Choice label="What keeps it" value={kind} options={kinds.map(([key, means]) => [key, `${key.replaceAll("_", " ")}: ${means}`])} onChange={setKind} />
        </Field>
      )}
      <Field label={label}>
        <textarea rows={3} required value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </Field>
      <div class="row">
        <Button kind="main" type="submit">
          {yes}
        </Button>
        <Button onClick={onClose}>Leave it</Button>
      </div>
    </form>
  );
}

function Doing({ board, card, act, say }) {
  const [asks, setAsks] = useState(null);
  const has = (right) => board.rights.includes(right);
  const open = card.status !== "done" && card.status !== "archived";
  const where = targets(card, board.rights);
  const close = () => setAsks(null);
  return (
    <>
      <div class="row">
        {card.status === "review" && has("review") && (
          <>
            <Button kind="main" onClick={() => act({ action: "done", result: "" })}>
              It is done
            </Button>
            <Button onClick={() => setAsks("rework")}>Send it back</Button>
          </>
        )}
        {card.status === "ready" && has("claim") && <Button onClick={() => act({ action: "claim" })}>Take it</Button>}
        {open && card.status !== "review" && has("administer") && <Button onClick={() => setAsks("done")}>It is done…</Button>}
        {card.status === "blocked" && has("add") && (
          <Button kind="main" onClick={() => act({ action: "unblock" })}>
            Unblock
          </Button>
        )}
        {open && card.status !== "blocked" && has("administer") && <Button onClick={() => setAsks("block")}>Block…</Button>}
        {where.length > 0 && (
          <Choice label="Move it to" value="" options={[["", "Move to…"], ...where.map((it) => [it, it])]} onChange={(it) => it && say(it)} />
        )}
      </div>
      {asks === "done" && <Reason label="What came of it" yes="It is done" onClose={close} onSay={(result) => act({ action: "done", result })} />}
      {asks === "block" && <Reason label="Why it can't go on" yes="Block it" kinds={BLOCKS} onClose={close} onSay={(why, kind) => act({ action: "block", kind, why })} />}
      {asks === "rework" && <Reason label="What is missing" yes="Send it back" onClose={close} onSay={(why) => act({ action: "rework", why })} />}
    </>
  );
}

/** Who may be given a card: agents that work here, and kinds of work. */
export function workers(board) {
  const agents = Object.entries(board.agents).filter(([, rights]) => /claim|work|manage/.test(rights));
  return [...agents.map(([id]) => [id, id]), ...Object.keys(board.kinds).map((kind) => [kind, `${kind} (a kind of work)`])];
}

function Assign({ board, card, act }) {
  const options = [["", "nobody"], ...workers(board)];
  if (card.assignee && !options.some(([key]) => key === card.assignee)) options.push([card.assignee, card.assignee]);
  return <Choice label="Who is to do it" value={card.assignee ?? ""} options={options} onChange={(to) => act({ action: "assign", to: to || null })} />;
}

function Needs({ card, act }) {
  const [number, setNumber] = useState("");
  async function add(event) {
    event.preventDefault();
    if (await act({ action: "link", needs: Number(number.replace("#", "")) })) setNumber("");
  }
  return (
    <form class="row" onSubmit={add}>
      <input class="number" aria-label={`Card that #${card.id} is to wait for`} placeholder="#" required title="the number of a card" pattern="#?[0-9]+" value={number} onInput={(event) => setNumber(event.currentTarget.value)} />
      <Button type="submit">Wait for it</Button>
    </form>
  );
}

function Whole({ board, card, act, say, change }) {
  const has = (right) => board.rights.includes(right);
  const over = card.status === "done" || card.status === "archived";
  const mayAssign = has("add") && !card.worker && !over;
  return (
    <div class="stack">
      <div class="row">
        <State state={card.status} tone={card.status === "blocked" ? "bad" : card.status === "review" ? "warn" : undefined} />
        {card.block && <span class="quiet">{card.block.replaceAll("_", " ")}</span>}
        {card.priority !== 0 && <span class="quiet">priority {card.priority}</span>}
        {card.labels.map((it) => (
          <span key={it} class="card-label">
            {it}
          </span>
        ))}
      </div>
      {card.why && <p class={card.status === "blocked" ? "why-blocked" : "quiet"}>{card.why}</p>}
      <Doing board={board} card={card} act={act} say={say} />
      {card.body && <Markdown text={card.body} />}
      {card.result && (
        <div class="result">
          <h3>What came of it</h3>
          <Markdown text={card.result} />
        </div>
      )}
      <Facts
        rows={[
          ["For", mayAssign ? <Assign board={board} card={card} act={act} /> : (card.assignee ?? "nobody")],
          ["Reviewed by", card.reviewer],
          ["With", card.worker && <>{card.worker}, by claim {card.run}{card.lease_until && <>, until <When at={card.lease_until} /></>}</>],
          ["Due", card.due && moment(card.due)],
          ["Not before", card.start && moment(card.start)],
          ["Asked by", card.author_agent ? `${card.author}, through ${card.author_agent}` : card.author],
          ["Made", <When at={card.made_at} />],
          ["Done", card.done_at && <When at={card.done_at} />],
          ["Cost", card.tokens > 0 || card.usd > 0 ? `${usd(card.usd * 1e6)} for ${count(card.tokens)} tokens` : null],
          ["Failed", card.failures > 0 ? `${card.failures} times in a row` : null],
          ["Came back", card.reworks > 0 ? `${card.reworks} times` : null],
          ["Part of", card.part_of && <CardLinks board={board.name} cards={[{ id: card.part_of }]} />],
          ["Parts", card.parts.length > 0 && <CardLinks board={board.name} cards={card.parts.map((id) => ({ id }))} />],
          ["Waits for", (card.needs.length > 0 || (has("add") && !over)) && <span class="row">{card.needs.length > 0 && <CardLinks board={board.name} cards={card.needs} />}{has("add") && !over && <Needs card={card} act={act} />}</span>],
          ["Waited for by", card.needed_by.length > 0 && <CardLinks board={board.name} cards={card.needed_by.map((id) => ({ id }))} />],
        ]}
      />
      <Comments board={board.name} card={card} may={has("add")} act={act} />
      <Files board={board.name} card={card} may={has("add") && !over} onChange={change} />
      <Runs runs={card.runs} />
      <History history={card.history} />
    </div>
  );
}

/** A card in a window. `seen` changes when something happened on the board. */
export function Card({ board, id, seen, onChange, onClose }) {
  const path = at("boards", board.name, "cards", id);
  const of = useResource(({ signal }) => api.get(path, { signal }), [path]);
  const [changed, setChanged] = useState(null);
  const [error, setError] = useState(null);
  const [asked, setAsked] = useState(null);
  const first = useRef(true);
  useEffect(() => {
    if (first.current) first.current = false;
    else of.reload();
  }, [seen]);
  useEffect(() => setChanged(null), [of.data]);
  const card = changed ?? of.data;
  /** Does something with the card as it is shown; where it is another by now, that is said. */
  async function act(body) {
    try {
      const asSeen = body.action === "comment" ? {} : { status: card.status, run: card.run };
      setChanged(await api.post(query(path, asSeen), body));
      setError(null);
      onChange();
      return true;
    } catch (fault) {
      setError(fault);
      of.reload();
      return false;
    }
  }
  const say = (to) => (warning(card, to) ? setAsked(to) : act(request(to)));
  return (
    <Dialog title={card ? `#${card.id} ${card.title}` : `Card ${id}`} onClose={onClose}>
      <Problem error={error} />
      <Shown of={card ? { ...of, data: card, error: null } : of}>{() => <Whole board={board} card={card} act={act} say={say} change={(it) => (setChanged(it), onChange())} />}</Shown>
      {asked && (
        <Confirm title={`Move #${card.id} to ${asked}?`} verb={`Move it to ${asked}`} onClose={() => setAsked(null)} onYes={() => act(request(asked))}>
          {warning(card, asked)}
        </Confirm>
      )}
    </Dialog>
  );
}
