// Whether something may be done, by which rule, where that stands and what would change it.
import { useState } from "preact/hooks";
import { api, at } from "../lib/api.js";
import { Button, Choice, Facts, Problem, State, Ticked } from "./parts.jsx";

const WORDS = { yes: ["allowed", "good"], no: ["refused", "bad"], asks: ["asks an admin", "warn"] };

/** What `explain` answered. */
export function Explained({ of }) {
  const [word, tone] = WORDS[of.allowed] ?? [of.allowed, "calm"];
  return (
    <div class={`answer ${of.allowed}`} role="status">
      <div class="row">
        <State state={word} tone={tone} />
        <Ticked text={of.rule} />
      </div>
      <Facts
        rows={[
          ["Where it stands", of.places.length > 0 ? of.places.map((it) => <div key={it} class="mono">{it}</div>) : null],
          ["To change it", of.change && <Ticked text={of.change} />],
          ["Also", of.notes.length > 0 ? <Ticked text={of.notes.join("; ")} /> : null],
        ]}
      />
    </div>
  );
}

const VERBS = ["read", "write", "call", "send", "connect", "ask", "notify", "handoff", "remember", "schedule", "see", "talk"];

/** “Can X do Y?” */
export function Ask({ agents, agent: first }) {
  const [agent, setAgent] = useState(first ?? "");
  const [verb, setVerb] = useState("read");
  const [what, setWhat] = useState("");
  const [by, setBy] = useState("");
  const [answer, setAnswer] = useState(null);
  const [error, setError] = useState(null);
  async function ask(event) {
    event.preventDefault();
    setError(null);
    try {
      setAnswer(await api.post(at("agents", agent, "explain"), { verb, what: what || undefined, as: by || undefined }));
    } catch (fault) {
      setAnswer(null);
      setError(fault);
    }
  }
  return (
    <div class="card">
      <h2>Can it?</h2>
      <form onSubmit={ask}>
        <span>Can</span>
        <input list="map-agents" aria-label="Agent" placeholder="agent" required value={agent} onInput={(event) => setAgent(event.currentTarget.value)} />
        <datalist id="map-agents">
          {agents.map((it) => (
            <option key={it} value={it} />
          ))}
        </datalist>
        <Choice label="What it would do" value={verb} options={VERBS} onChange={setVerb} />
        <input class="what" aria-label="What" placeholder="a path, a board, a tool, a place, a host, an agent" value={what} onInput={(event) => setWhat(event.currentTarget.value)} />
        <input class="whom" aria-label="For whom" placeholder="for whom, as telegram:5" value={by} onInput={(event) => setBy(event.currentTarget.value)} />
        <Button kind="main" type="submit">
          Ask
        </Button>
      </form>
      <Problem error={error} />
      {answer && <Explained of={answer} />}
    </div>
  );
}

/** “Who answers there?” */
export function Route({ platforms }) {
  const [asked, setAsked] = useState({ platform: platforms[0] ?? "telegram", chat: "", topic: "", user: "" });
  const [answer, setAnswer] = useState(null);
  const [error, setError] = useState(null);
  const set = (key) => (event) => setAsked({ ...asked, [key]: event.currentTarget.value });
  async function ask(event) {
    event.preventDefault();
    setError(null);
    try {
      setAnswer(await api.post("/api/route/explain", Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== ""))));
    } catch (fault) {
      setAnswer(null);
      setError(fault);
    }
  }
  return (
    <div class="card">
      <h2>Who answers there?</h2>
      <form onSubmit={ask}>
        <Choice label="Platform" value={asked.platform} options={[...new Set([...platforms, "telegram", "discord", "slack", "matrix", "api"])]} onChange={(platform) => setAsked({ ...asked, platform })} />
        <input aria-label="Chat" placeholder="chat" required value={asked.chat} onInput={set("chat")} />
        <input aria-label="Topic" placeholder="topic" value={asked.topic} onInput={set("topic")} />
        <input aria-label="User" placeholder="user" value={asked.user} onInput={set("user")} />
        <Button kind="main" type="submit">
          Ask
        </Button>
      </form>
      <Problem error={error} />
      {answer && (
        <div class={`answer ${answer.agent ? "yes" : "no"}`} role="status">
          <div class="row">
            <State state={answer.agent ?? "nobody"} tone={answer.agent ? "good" : "bad"} />
            <Ticked text={answer.refused ?? `by a rule for a ${answer.tier ?? "default"}`} />
          </div>
          <Facts
            rows={[
              ["Conversation", answer.session_key && <span class="mono">{answer.session_key}</span>],
              ["Memory", answer.scope ?? <Ticked text={answer.scope_refused} />],
              ["May they talk", answer.may_talk === undefined ? null : <Ticked text={`${answer.may_talk ? "yes" : "no"}${answer.may_talk_why ? `: ${answer.may_talk_why}` : ""}`} />],
            ]}
          />
          {answer.considered.length > 0 && (
            <ul class="small">
              {answer.considered.map((it) => (
                <li key={`${it.binding}-${it.rule}`}>
                  <State state={it.matched ? "matched" : "lost"} tone={it.matched ? "good" : "calm"} /> {it.rule} → {it.agent}: <Ticked text={it.why} /> {it.place && <span class="quiet mono">{it.place}</span>}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </div>
  );
}
