// Talking to an agent: conversations, what is said while it is said, and what ran.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, at } from "../lib/api.js";
import { listen } from "../lib/events.js";
import { may, me } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { go, route, to } from "../lib/router.js";
import { hearTabs } from "../lib/tabs.js";
import { ended, follow, leave, talk } from "../lib/talk.js";
import { isOver, placeOf } from "../lib/talk_state.js";
import { byTurn, titleOf } from "../lib/transcript.js";
import { keepPlace, placeLast, placeWith } from "../lib/unsent.js";
import { nameIn } from "../lib/where.js";
import { ago } from "../lib/words.js";
import { Composer } from "../ui/composer.jsx";
import { Live, Own, Reply } from "../ui/exchange.jsx";
import { Button, Choice, Dialog, Empty, Loading, Page, Problem, Search, Shown, State } from "../ui/parts.jsx";
import { Recalled } from "../ui/recalled.jsx";
import { List } from "../ui/table.jsx";
import { Turn } from "../ui/turn.jsx";
import "./chat.css";

/** Where the agent is kept that was talked to last. */
const LAST = "insula.agent";
/** How near its end a conversation is read when it goes on by itself. */
const NEAR_PX = 120;

/** What tells that there is something to read in a conversation. */
const COMES = new Set(["turn.accepted", "turn.joined", "turn.ended"]);

const newName = () => `web-${Date.now().toString(36)}-${crypto.randomUUID().slice(0, 6)}`;

function Remembered({ agent, session, onClose }) {
  const of = useResource(({ signal }) => api.post(at("agents", agent, "remembered"), { session }, { signal }), [agent, session]);
  return (
    <Dialog title="What is remembered here" onClose={onClose}>
      <Shown of={of}>
        {(it) =>
          !it.memory ? (
            <Empty title="This agent remembers nothing." />
          ) : it.entries.length === 0 ? (
            <Empty title="Nothing is remembered in this conversation yet." />
          ) : (
            <ul class="stack">
              {it.entries.map((entry) => (
                <li key={entry.number} class="card">
                  {entry.text} {entry.blocked && <State state="blocked" />}
                  <div class="quiet small">{entry.target}</div>
                </li>
              ))}
              {it.held_back > 0 && <li class="quiet">{it.held_back} more were said in other conversations.</li>}
            </ul>
          )
        }
      </Shown>
      {may(agent, "read") && (
        <p class="small">
          <a href={to("memory", [agent])}>Where each of them came from</a>
        </p>
      )}
    </Dialog>
  );
}

/** Keeps the end of a conversation in sight while it grows, unless somebody reads further up. */
function useEnd() {
  const box = useRef(null);
  const sticks = useRef(true);
  const toEnd = () => {
    sticks.current = true;
    scrollTo(0, document.documentElement.scrollHeight);
  };
  useEffect(() => {
    let was = { y: scrollY, height: document.documentElement.scrollHeight };
    const look = () => {
      const now = { y: scrollY, height: document.documentElement.scrollHeight };
      if (innerHeight + now.y > now.height - NEAR_PX) sticks.current = true;
      // Only who goes up leaves the end: it may also be out of sight since a picture came, and a
      // page that became shorter moves up by itself.
      else if (now.y < was.y && now.height >= was.height) sticks.current = false;
      was = now;
    };
    addEventListener("scroll", look, { passive: true });
    const grown = new ResizeObserver(() => {
      if (sticks.current) toEnd();
      was = { y: scrollY, height: document.documentElement.scrollHeight };
    });
    grown.observe(box.current);
    return () => (removeEventListener("scroll", look), grown.disconnect());
  }, []);
  return { box, toEnd };
}

function Conversation({ agent, name, known, onTold }) {
  const now = talk(agent, name).value;
  const busy = now !== null && !isOver(now);
  const [look, setLook] = useState(null);
  const [memory, setMemory] = useState(false);
  const id = known?.id;
  const of = useResource(({ signal }) => (id === undefined ? Promise.resolve(null) : api.get(at("agents", agent, "conversations", String(id)), { signal })), [agent, id]);
  const { box, toEnd } = useEnd();
  // A conversation that begins is in the list from then on.
  useEffect(() => {
    if (id === undefined && now?.turn) onTold();
  }, [now?.turn]);
  // What ended is in the transcript from then on.
  useEffect(() => {
    if (ended.value === 0 || busy) return;
    onTold();
    of.reload().then(() => leave(agent, name));
  }, [ended.value, id]);
  // What the same person says elsewhere is heard of as everything is.
  useEffect(
    () =>
      listen(({ event, agent: whose, data }) => {
        if (whose !== agent || !COMES.has(event) || nameIn(data.session) !== name) return;
        const own = talk(agent, name).value;
        if (own !== null && !own.elsewhere) return;
        if (id === undefined) onTold();
        else of.reload();
      }),
    [agent, name, id],
  );
  // So is what another tab says, by who may only talk.
  useEffect(
    () =>
      hearTabs((it) => {
        if (it.agent !== agent || it.session !== name || may(agent, "read")) return;
        onTold();
        if (id !== undefined) of.reload();
      }),
    [agent, name, id],
  );
  const where = at("agents", agent, "conversations", String(id));
  const turns = byTurn(of.data?.messages ?? []);
  // A turn under way has its message in the journal already, and one that ended all of it.
  const place = placeOf(turns, now);
  const isTold = place >= 0 && isOver(now) && (turns[place].said?.became ?? turns[place].reply) != null;
  const live = now !== null && !isTold ? now : null;
  const last = turns.at(-1);
  const goesOn = last?.said && last.turn !== null && !last.reply && !last.said.became && may(agent, "read") ? last.turn : null;
  useEffect(() => {
    if (goesOn !== null && now === null) void follow(agent, name, goesOn);
  }, [goesOn, now === null]);
  const shown = live !== null && place >= 0 ? turns.slice(0, place) : turns;
  useLayoutEffect(() => {
    if (isTold) talk(agent, name).value = null;
  }, [isTold]);
  // Somebody has to answer it in time: it comes into sight wherever one reads.
  const asks = now?.approvals.filter((it) => !it.outcome).length ?? 0;
  useEffect(() => {
    if (asks > 0) toEnd();
  }, [asks]);
  return (
    <div class="stack" data-lands="textarea">
      <div class="said" ref={box}>
        {id !== undefined && of.data === undefined && <Loading />}
        <Problem error={of.error} retry={of.reload} />
        {shown.length === 0 && live === null && id === undefined && <Empty title={`Say something to ${agent}.`}>What you say stays in this conversation.</Empty>}
        {shown.map((it, index) => (
          <div key={it.key} class="stack">
            {it.said && <Own said={it.said} where={where} />}
            <Reply agent={agent} session={name} where={where} it={it} isLast={index === shown.length - 1 && live === null} onLook={setLook} />
          </div>
        ))}
        {live?.elsewhere && turns[place]?.said && <Own said={turns[place].said} where={where} />}
        {live !== null && <Live agent={agent} of={live} onLook={setLook} />}
      </div>
      <Composer agent={agent} session={name} busy={busy} onSaid={toEnd} onMemory={() => setMemory(true)} />
      {look !== null &&
        (look.what === "memory" ? (
          <Recalled agent={agent} turn={look.turn} onClose={() => setLook(null)} />
        ) : (
          <Dialog title="How it went" onClose={() => setLook(null)}>
            <Turn agent={agent} turn={look.turn} />
          </Dialog>
        ))}
      {memory && <Remembered agent={agent} session={name} onClose={() => setMemory(false)} />}
    </div>
  );
}

export function Chat() {
  const [agent, name] = route.value.rest;
  const own = me.value.agents.filter((it) => it.verbs.includes("chat"));
  const current = own.find((it) => it.id === agent) ?? null;
  const [text, setText] = useState("");
  // Whom one talked to last is the one to talk to, where one was with them in this tab; before that
  // the one that is there by itself.
  useEffect(() => {
    const last = placeLast() ?? localStorage.getItem(LAST);
    const first = own.find((it) => it.id === last) ?? own.find((it) => it.id === "main") ?? own.find((it) => it.state === "ready") ?? own[0];
    if (current) localStorage.setItem(LAST, agent);
    if (current && name) keepPlace(agent, name);
    if (!agent && first) go(to("chat", [first.id]), { replace: true });
    else if (agent && !name) go(to("chat", [agent, placeWith(agent) ?? newName()]), { replace: true });
  }, [agent, name]);
  const list = useResource(({ signal }) => (current ? api.get(at("agents", agent, "conversations"), { signal }) : Promise.resolve([])), [agent, current === null]);
  if (own.length === 0) {
    return (
      <Page title="Chat">
        <Empty title="There is no agent that you may talk to." />
      </Page>
    );
  }
  const all = (list.data ?? []).filter((it) => !it.ended);
  const wanted = text.toLowerCase();
  const found = all.filter((it) => (titleOf(it.title) ?? it.session).toLowerCase().includes(wanted));
  return (
    <Page title={current?.name ?? agent ?? "Chat"} lead={current?.description}>
      <div class="talk">
        <aside aria-label="Conversations">
          <Choice label="Agent" value={agent ?? ""} onChange={(id) => go(to("chat", [id]))} options={own.map((it) => [it.id, it.state === "ready" ? it.id : `${it.id} (${it.state})`])} />
          <Button onClick={() => go(to("chat", [agent, newName()]))}>New conversation</Button>
          {all.length > 5 && <Search label="Search conversations" value={text} onInput={setText} />}
          <Problem error={list.error} retry={list.reload} />
          <List
            label="Conversations"
            items={found}
            itemKey={(it) => it.id}
            height={54}
            row={(it) => (
              <a href={to("chat", [agent, it.session])} aria-current={it.session === name ? "page" : undefined}>
                {titleOf(it.title) ?? it.session}
                <span class="meta quiet small">{ago(it.used)}</span>
              </a>
            )}
          />
        </aside>
        {!current ? (
          agent && <Empty title={`There is no agent ${agent} that you may talk to.`} />
        ) : !name ? null : current.state !== "ready" && all.every((it) => it.session !== name) ? (
          <Empty title={`${agent} does not serve now.`}>{current.reason}</Empty>
        ) : list.data === undefined ? (
          <Loading />
        ) : (
          <Conversation key={`${agent}/${name}`} agent={agent} name={name} known={all.find((it) => it.session === name)} onTold={list.reload} />
        )}
      </div>
    </Page>
  );
}
