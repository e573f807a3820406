// Boards: cards in columns by status, moved by drag and by keyboard, live as agents work on them.
import { effect, signal } from "@preact/signals";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Fault, api, at, query } from "../lib/api.js";
import { MEANS, STATUSES, columns, isLate, matches, request, targets, warning } from "../lib/board.js";
import { isAdmin, me } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { ask, go, route, to } from "../lib/router.js";
import { ago, usd } from "../lib/words.js";
import { Card } from "../ui/card.jsx";
import { NewCard } from "../ui/new_card.jsx";
import { Confirm } from "../ui/confirm.jsx";
import { Button, Choice, Code, Empty, Page, Problem, Search, Shown } from "../ui/parts.jsx";
import { List } from "../ui/table.jsx";
import "./boards.css";

/** Cards that one answer tells of, and the most that are drawn of what is open, and of what is over. */
const PAGE = 200;
const OPEN_MAX = 4000;
const OVER_MAX = 400;
/** How long to wait for something to happen on a board in one request. */
const WAIT_S = 25;
const PAUSE_MS = 1_000;

/** Whether whoever signed in sees any board: only then there is this page. */
const some = signal(false);
let asked = null;
effect(() => {
  const who = me.value?.who ?? null;
  if (who === asked || location.pathname === "/chat") return;
  asked = who;
  some.value = false;
  if (who) api.get("/api/boards", { quiet: true }).then((all) => (some.value = all.length > 0), () => {});
});
export const hasBoards = () => isAdmin() || some.value;

/** All open cards, and the newest of those that are over. */
async function cardsOf(board, archived, signal) {
  const path = at("boards", board, "cards");
  const open = [];
  const status = STATUSES.slice(0, 7).join(",");
  for (let after = 0; open.length < OPEN_MAX; ) {
    const some = await api.get(query(path, { status, after }), { signal });
    open.push(...some);
    if (some.length < PAGE) break;
    after = some.at(-1).id;
  }
  const over = [];
  for (let before = 0; over.length < OVER_MAX; ) {
    const some = await api.get(query(path, { status: archived ? "done,archived" : "done", before }), { signal });
    over.push(...some);
    if (some.length < PAGE) break;
    before = some.at(-1).id;
  }
  return [...open, ...over];
}

/** Tells when something happens on a board, for as long as it is looked at. */
function useHappenings(board, hear) {
  const latest = useRef(hear);
  latest.current = hear;
  useEffect(() => {
    if (!board) return undefined;
    const stop = new AbortController();
    (async () => {
      let after = board.last_event;
      while (!stop.signal.aborted) {
        try {
          const events = await api.get(query(at("boards", board.name, "events"), { after, wait: WAIT_S }), { signal: stop.signal });
          if (events.length > 0) {
            after = events.at(-1).seq;
            latest.current(events);
          }
        } catch (error) {
          if (stop.signal.aborted || error.status === 401 || error.status === 404) return;
          await new Promise((done) => setTimeout(done, PAUSE_MS));
        }
      }
    })();
    return () => stop.abort();
  }, [board?.name]);
}

/** Whether a board goes on beyond its right edge. */
function useGoesOn() {
  const [more, setMore] = useState(false);
  const box = useRef(null);
  const look = () => box.current && setMore(box.current.scrollLeft + box.current.clientWidth < box.current.scrollWidth - 4);
  useEffect(look);
  useEffect(() => (addEventListener("resize", look), () => removeEventListener("resize", look)), []);
  return { box, more, look };
}

/** What is said under a card's title: who has it, or what it waits for. */
function Under({ card }) {
  if (card.status === "running") {
    return (
      <span class="live" title={card.note ?? undefined}>
        {card.worker} · {card.note ?? (card.beat_at ? ago(card.beat_at) : "has it")}
      </span>
    );
  }
  const why = card.status === "blocked" ? (card.why ?? (card.block ?? "blocked").replaceAll("_", " ")) : null;
  const needs = card.needs_open.map((it) => `#${it}`).join(", ");
  if (!why && !needs && !card.assignee) return <span class="quiet">for nobody yet</span>;
  return (
    <>
      {why && (
        <span class="bad" title={why}>
          {why}
        </span>
      )}
      {needs && <span>waits for {needs}</span>}
      {card.assignee && (
        <span class="whose" title={card.assignee}>
          {card.assignee}
        </span>
      )}
    </>
  );
}

function Face({ card, rights, saving, onOpen, onMove, onDrag }) {
  const where = targets(card, rights);
  const late = isLate(card);
  return (
    <div
      class={saving ? "face saving" : "face"}
      data-card={card.id}
      draggable={where.length > 0}
      onDragStart={(event) => {
        event.dataTransfer.setData("text/plain", String(card.id));
        event.dataTransfer.effectAllowed = "move";
        onDrag(card);
      }}
      onDragEnd={() => onDrag(null)}
    >
      <div class="head small">
        <span class="quiet">#{card.id}</span>
        {card.priority !== 0 && <span class={card.priority > 0 ? "urgent" : "quiet"}>{card.priority > 0 ? `▲ ${card.priority}` : `▽ ${-card.priority}`}</span>}
        {card.due && <span class={late ? "bad" : "quiet"}>{late ? `late, due ${ago(card.due)}` : `due ${ago(card.due)}`}</span>}
        <span class="push quiet">{[card.comments > 0 && `${card.comments} said`, card.files > 0 && `${card.files} ${card.files === 1 ? "file" : "files"}`, card.usd > 0 && usd(card.usd * 1e6)].filter(Boolean).join(" · ")}</span>
      </div>
      <button type="button" class="open" onClick={() => onOpen(card)}>
        <span>{card.title}</span>
      </button>
      <div class="under small quiet">
        <Under card={card} />
        {card.labels.slice(0, 3).map((it) => (
          <span key={it} class="card-label">
            {it}
          </span>
        ))}
      </div>
      {where.length > 0 && (
        <span class="mover">
          <Choice label={`Move #${card.id} to`} value="" options={[["", "Move"], ...where.map((it) => [it, it])]} onChange={(it) => it && onMove(card, it)} />
        </span>
      )}
    </div>
  );
}

function Column({ status, cards, total, dragged, rights, children, onDrop }) {
  const [over, setOver] = useState(false);
  const takes = dragged && targets(dragged, rights).includes(status);
  const kind = `column${cards.length === 0 ? " bare" : ""}${dragged ? (takes ? " takes" : dragged.status === status ? "" : " shut") : ""}${over && takes ? " over" : ""}`;
  return (
    <section
      class={kind}
      data-status={status}
      aria-label={`${status}: ${cards.length}`}
      onDragOver={(event) => dragged && dragged.status !== status && (event.preventDefault(), setOver(true))}
      onDragLeave={(event) => event.currentTarget.contains(event.relatedTarget) || setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        // Where it can't be put, the daemon says why.
        if (dragged && dragged.status !== status) onDrop(dragged, status);
      }}
    >
      <h2 title={MEANS[status]}>
        {status}
        <span class="quiet small">{cards.length < total ? `${cards.length} of ${total}` : cards.length}</span>
      </h2>
      {children}
    </section>
  );
}

function Board({ board, boards, reloadBoards }) {
  const archived = route.value.query.archived === "yes";
  const open = route.value.rest[1];
  const of = useResource(({ signal }) => cardsOf(board.name, archived, signal), [board.name, archived]);
  const [text, setText] = useState("");
  const [moved, setMoved] = useState(new Map());
  const [failed, setFailed] = useState(null);
  const [said, setSaid] = useState("");
  const [dragged, setDragged] = useState(null);
  const [sure, setSure] = useState(null);
  const [adds, setAdds] = useState(false);
  const [seen, setSeen] = useState(0);
  const timer = useRef(null);
  const edge = useGoesOn();
  const look = useCallback(() => {
    timer.current ??= setTimeout(() => ((timer.current = null), of.reload(), reloadBoards()), 250);
  }, []);
  useEffect(() => () => clearTimeout(timer.current), []);
  useHappenings(board, () => (setSeen((was) => was + 1), look()));

  const put = (id, status) =>
    setMoved((was) => {
      const next = new Map(was);
      if (status) next.set(id, status);
      else next.delete(id);
      return next;
    });
  /** Puts a card there at once, and back where the daemon refuses it. */
  async function move(card, status, why) {
    setFailed(null);
    setSaid("");
    put(card.id, status);
    try {
      const seen = { status: card.status, run: card.run };
      await api.post(query(at("boards", board.name, "cards", String(card.id)), seen), request(status, why));
      setSaid(`#${card.id} is in ${status} now`);
      await of.reload();
    } catch (fault) {
      setFailed(new Fault(fault.status, fault.code, `#${card.id} stays where it was: ${fault.message}`));
      await of.reload();
    } finally {
      put(card.id, null);
    }
  }
  const wish = (card, status) => (status === "blocked" || warning(card, status) ? setSure({ card, status }) : move(card, status));

  const shown = useMemo(() => columns(of.data ?? [], moved, text ? (card) => matches(card, text) : null), [of.data, moved, text]);
  const statuses = STATUSES.filter((it) => it !== "archived" || archived);
  const mayAdd = board.rights.includes("add");
  return (
    <Page
      title={board.name}
      lead={board.description ?? `What is to be done on the board ${board.name}, and by whom.`}
      wide
      actions={
        <>
          {boards.length > 1 && <Choice label="Board" value={board.name} options={boards.map((it) => it.name)} onChange={(name) => go(to("boards", [name]))} />}
          <Search label="Search cards" value={text} onInput={setText} />
          <label class="row small">
            <input type="checkbox" checked={archived} onChange={(event) => ask({ archived: event.currentTarget.checked ? "yes" : null })} />
            archived
          </label>
          {mayAdd && (
            <Button kind="main" onClick={() => setAdds(true)}>
              Add a card
            </Button>
          )}
        </>
      }
    >
      <Problem error={failed} />
      <div class="told">
        <p role="status" aria-live="polite">
          {said}
        </p>
        {edge.more && (
          <button type="button" class="button small" onClick={() => edge.box.current.scrollBy({ left: edge.box.current.clientWidth / 2, behavior: "smooth" })}>
            More to the right →
          </button>
        )}
      </div>
      <Shown of={of}>
        {() => (
          <div ref={edge.box} onScroll={edge.look} class={edge.more ? "board goes-on" : "board"} tabIndex={0} role="region" aria-label={`Board ${board.name}`}>
            {statuses.map((status) => (
              <Column key={status} status={status} cards={shown.get(status)} total={text ? shown.get(status).length : (board.cards[status] ?? 0)} dragged={dragged} rights={board.rights} onDrop={(card, to) => (setDragged(null), wish(card, to))}>
                {shown.get(status).length > 0 && (
                  <List
                    label={`Cards in ${status}`}
                    items={shown.get(status)}
                    itemKey={(it) => it.id}
                    height={116}
                    row={(card) => <Face card={card} rights={board.rights} saving={moved.has(card.id)} onOpen={(it) => go(to("boards", [board.name, String(it.id)], { archived: archived ? "yes" : null }))} onMove={wish} onDrag={setDragged} />}
                  />
                )}
              </Column>
            ))}
          </div>
        )}
      </Shown>
      {adds && <NewCard board={board} onClose={() => setAdds(false)} onAdded={(card) => (setAdds(false), look(), setSaid(`#${card.id} was added to ${card.status}`))} />}
      {open && <Card key={open} board={board} id={open} seen={seen} onChange={look} onClose={() => go(to("boards", [board.name], { archived: archived ? "yes" : null }))} />}
      {sure && <Sure of={sure} onClose={() => setSure((was) => (was === sure ? null : was))} onYes={(why) => (setSure(null), move(sure.card, sure.status, why))} />}
    </Page>
  );
}

/** Asks before a card is taken from somebody, put away or blocked; why it is blocked is asked too. */
function Sure({ of: { card, status }, onClose, onYes }) {
  const [why, setWhy] = useState("");
  return (
    <Confirm title={`Move #${card.id} to ${status}?`} verb={`Move it to ${status}`} danger={Boolean(card.worker) || status === "archived"} onClose={onClose} onYes={() => onYes(why.trim() || undefined)}>
      <div class="stack">
        {warning(card, status) && <p>{warning(card, status)}</p>}
        <p class="strong">{card.title}</p>
        {status === "blocked" && <input aria-label="Why it can't go on" placeholder="Why it can't go on" value={why} onInput={(event) => setWhy(event.currentTarget.value)} />}
      </div>
    </Confirm>
  );
}

const RECIPE = `boards:
  work:
    description: what we do this week
    agents: {AGENT: work}`;

export function Boards() {
  const of = useResource(({ signal }) => api.get("/api/boards", { signal }), [], ({ event }) => event === "changed");
  const [name] = route.value.rest;
  const boards = of.data ?? [];
  const board = boards.find((it) => it.name === name) ?? (name ? null : boards[0]);
  useEffect(() => {
    if (!name && board) go(to("boards", [board.name], route.value.query), { replace: true });
  }, [name, board?.name]);
  if (board) return <Board key={board.name} board={board} boards={boards} reloadBoards={of.reload} />;
  return (
    <Page title="Boards" lead="Work that agents and people share.">
      <Shown of={of}>
        {() =>
          name ? (
            <Empty title="There is no such board, or you have no right to it.">
              <a href={to("boards")}>All boards</a>
            </Empty>
          ) : (
            <Empty title="There is no board yet.">
              <p>
                <code>insula board create work --agent AGENT=work</code> makes one. Or write it into config.yaml:
              </p>
              <Code text={RECIPE} />
            </Empty>
          )
        }
      </Shown>
    </Page>
  );
}

