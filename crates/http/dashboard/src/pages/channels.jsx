// Channels: our accounts on platforms and how they stand, and who asks to be let in.
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, at } from "../lib/api.js";
import { changes, isAdmin, me } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { to } from "../lib/router.js";
import { Account, NewAccount } from "../ui/account.jsx";
import { Confirm } from "../ui/confirm.jsx";
import { Button, Choice, Empty, Page, Problem, Search, Section, Shown, State, When } from "../ui/parts.jsx";
import { Table } from "../ui/table.jsx";
import "../ui/narrow.css";
import "./channels.css";

/** How often accounts are looked at, which tell nobody when they change. */
const EVERY_MS = 5_000;
/** Agents that are asked at the same time. */
const AT_ONCE = 6;

/** The agents whose people one may let in. */
const mine = () => me.value.agents.filter((it) => it.verbs.includes("approve")).map((it) => it.id);
export const hasChannels = () => isAdmin() || mine().length > 0;

/** Who asks and who was let in, at all of one's agents. */
async function pairings(signal) {
  if (isAdmin()) return api.get("/api/pairing", { signal });
  const ids = mine();
  const all = [];
  const next = async () => {
    for (let id = ids.shift(); id !== undefined; id = ids.shift()) all.push(...(await api.get(at("agents", id, "pairing"), { signal }).catch(() => [])));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return all.sort((a, b) => a.agent.localeCompare(b.agent));
}

function Accounts() {
  const of = useResource(({ signal }) => api.get("/api/accounts", { signal }), [], ({ event }) => event === "changed");
  const [adds, setAdds] = useState(false);
  useEvery(of.reload);
  return (
    <Section
      title="Accounts"
      actions={
        changes() && (
          <Button kind="main" onClick={() => setAdds(true)}>
            Connect a platform
          </Button>
        )
      }
    >
      <Shown
        of={of}
        empty={
          <Empty title="No platform is connected yet.">
            <p>Telegram, Matrix, a web page of yours, or programs that post here: an account on each is a way to your agents.</p>
          </Empty>
        }
      >
        {(all) => (
          <div class="accounts">
            {all.map((it) => (
              <Account key={`${it.platform}:${it.account}`} account={it} onChange={of.reload} />
            ))}
          </div>
        )}
      </Shown>
      {adds && <NewAccount onClose={() => setAdds(false)} onChange={of.reload} />}
    </Section>
  );
}

/** Looks again and again, while the page is seen. */
function useEvery(look) {
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && look(), EVERY_MS);
    return () => clearInterval(timer);
  }, [look]);
}

const STATES = { waiting: "warn", paired: "good", joined: "good", closed: "calm" };
const ENDS = {
  waiting: ["Deny", "They are not let in, and their code is good no more. They can ask again."],
  paired: ["Revoke", "They can't talk to the agent any more, unless `access` lets them in. They can ask again."],
  joined: ["Close", "Nobody there is heard any more, unless a rule of its own lets them in."],
};

function ByCode({ agents, onDone }) {
  const [code, setCode] = useState("");
  const [agent, setAgent] = useState(agents[0]);
  const [error, setError] = useState(null);
  async function letIn(event) {
    event.preventDefault();
    try {
      const done = await api.post(at("agents", agent, "pairing"), { code: code.trim() });
      setCode("");
      setError(null);
      onDone(done);
    } catch (fault) {
      setError(fault);
    }
  }
  return (
    <form class="row code-form" onSubmit={letIn}>
      <input aria-label="A code that somebody was given" placeholder="A code, as ABCD2345" required value={code} onInput={(event) => setCode(event.currentTarget.value)} />
      {agents.length > 1 && <input list="pairing-agents" aria-label="Which agent" required value={agent} onInput={(event) => setAgent(event.currentTarget.value)} />}
      <datalist id="pairing-agents">
        {agents.map((it) => (
          <option key={it} value={it} />
        ))}
      </datalist>
      <Button type="submit">Let them in</Button>
      <Problem error={error} />
    </form>
  );
}

function Pairing() {
  const of = useResource(({ signal }) => pairings(signal), [me.value?.who], ({ event }) => event === "changed" || event === "turn.accepted");
  const [text, setText] = useState("");
  const [state, setState] = useState("all");
  const [sure, setSure] = useState(null);
  const [error, setError] = useState(null);
  const [said, setSaid] = useState("");
  useEvery(of.reload);
  const rows = useMemo(() => {
    const wanted = text.toLowerCase();
    const order = { waiting: 0, paired: 1, joined: 2, closed: 3 };
    return (of.data ?? [])
      .filter((it) => state === "all" || it.state === state || (state === "in" && (it.state === "paired" || it.state === "joined")))
      .filter((it) => [it.who, it.name, it.agent, it.account].some((part) => part.toLowerCase().includes(wanted)))
      .sort((a, b) => order[a.state] - order[b.state] || b.at.localeCompare(a.at));
  }, [of.data, text, state]);
  const asking = (of.data ?? []).filter((it) => it.state === "waiting").length;
  async function approve(it) {
    try {
      const [platform] = it.who.split(":");
      await api.post(at("agents", it.agent, "pairing"), { code: it.who, platform });
      setSaid(`${it.name || it.who} may talk to ${it.agent} now.`);
      setError(null);
    } catch (fault) {
      setError(fault);
    }
    await of.reload();
  }
  async function end(it) {
    await api.del(at("agents", it.agent, "pairing", it.who));
    setSaid(`${it.name || it.who} may not talk to ${it.agent} now.`);
    setError(null);
    of.reload();
  }
  return (
    <Section
      title={asking > 0 ? `Pairing: ${asking} waiting` : "Pairing"}
      actions={
        <>
          <Choice label="Which people" value={state} options={[["all", "Everybody"], ["waiting", "Who asks"], ["in", "Who was let in"], ["closed", "Closed chats"]]} onChange={setState} />
          <Search label="Search people" value={text} onInput={setText} />
        </>
      }
    >
      <p class="quiet">Who is not known yet and writes to an agent directly is given a code. Let them in here, or leave them out.</p>
      {changes() && mine().length > 0 && <ByCode agents={mine()} onDone={(it) => (setSaid(`${it.name || it.who} may talk to ${it.agent} now.`), of.reload())} />}
      <Problem error={error} />
      <p class="told" role="status">
        {said}
      </p>
      <Shown
        of={of}
        empty={
          <Empty title="Nobody asks to be let in.">
            <p>
              Strangers who write to an agent directly are given a code, unless it has <code>access: {"{unknown: ignore}"}</code>. Those that <code>access.allow</code> names need none.
            </p>
          </Empty>
        }
      >
        {() =>
          rows.length === 0 ? (
            <Empty title="Nobody is like that." />
          ) : (
            <div class="broad narrow">
            <Table
              label="People and chats"
              rows={rows}
              rowKey={(it) => `${it.agent} ${it.state} ${it.account} ${it.who}`}
              height={56}
              columns={[
                { key: "who", title: "Who", cell: (it) => <><span class="strong">{it.name || it.who}</span><br /><span class="quiet small">{it.who} by {it.account}</span></> },
                { key: "agent", title: "Agent", cell: (it) => <a href={to("map", [], { agent: it.agent })}>{it.agent}</a> },
                { key: "state", title: "State", cell: (it) => <State state={it.state} tone={STATES[it.state]} /> },
                { key: "at", title: "Since", cell: (it) => <><When at={it.at} />{it.expires_at && <span class="quiet small">, until <When at={it.expires_at} /></span>}</> },
                { key: "by", title: "Let in by", cell: (it) => it.by ?? "" },
                {
                  key: "do",
                  title: "",
                  cell: (it) => changes() && (
                    <span class="row">
                      {it.state === "waiting" && (
                        <Button kind="main small" onClick={() => approve(it)} aria-label={`Let in ${it.name || it.who} at ${it.agent}`}>
                          Let in
                        </Button>
                      )}
                      {ENDS[it.state] && (
                        <Button kind="danger small" onClick={() => setSure(it)} aria-label={`${ENDS[it.state][0]} ${it.name || it.who} at ${it.agent}`}>
                          {ENDS[it.state][0]}
                        </Button>
                      )}
                    </span>
                  ),
                },
              ]}
            />
            </div>
          )
        }
      </Shown>
      {sure && (
        <Confirm title={`${ENDS[sure.state][0]} ${sure.name || sure.who}?`} verb={ENDS[sure.state][0]} onClose={() => setSure(null)} onYes={() => end(sure)}>
          <p>{ENDS[sure.state][1]}</p>
          <p class="quiet small">
            {sure.who} at {sure.agent}
          </p>
        </Confirm>
      )}
    </Section>
  );
}

export function Channels() {
  return (
    <Page title="Channels" lead="The ways in from outside, and who may use them.">
      {isAdmin() && <Accounts />}
      <Pairing />
    </Page>
  );
}
