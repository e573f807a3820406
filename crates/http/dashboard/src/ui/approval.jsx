// A question whether a call may be made: why it is asked, how long there is, and the answers that it
// takes, for who may give them. The same in the inbox, in a chat and beside a turn under way.
import { useEffect, useState } from "preact/hooks";
import { api, at } from "../lib/api.js";
import { useClock } from "../lib/clock.js";
import { read, waiting } from "../lib/inbox.js";
import { may } from "../lib/me.js";
import { to } from "../lib/router.js";
import { sourcesOf, whereOf } from "../lib/where.js";
import { took } from "../lib/words.js";
import { Button, Code, Problem, State, Ticked, When } from "./parts.jsx";
import "./approval.css";

/** What is left of the time when a question is marked as late. */
const LATE_MS = 15_000;

/** What a rule that is none of the classifier's is about. */
const RULES = {
  integrity: "Words of others may have brought this about.",
  hook: "A hook of this agent wants an admin to agree.",
};

/** What a finding says to the agent, said of it. */
const ofAgent = (says) => says.replace(/\byou have\b/, "it has").replace(/\byou are\b/, "it is");

function Because({ of }) {
  const { found, rule, integrity, by } = of;
  return (
    <div class="because">
      {(!found || rule !== found.rule) && (
        <p>
          {RULES[rule] ?? "A rule of this agent asks."} {rule && <span class="quiet small">Rule {rule}.</span>}
        </p>
      )}
      {found && (
        <p>
          It <b>{ofAgent(found.says)}</b>
          {found.piece && (
            <>
              : <code>{found.piece}</code>
            </>
          )}
          . <span class="quiet small">Rule {found.rule}.</span>
        </p>
      )}
      {found?.unseen && <p class="small">Nobody looked at: {found.unseen}.</p>}
      {by && (
        <p class="small">
          By the setting <Ticked text={by} />.
        </p>
      )}
      {integrity && !integrity.own && (
        <div class="chips small">
          <span>The turn has read words of</span>
          {sourcesOf(integrity).map((it) => (
            <span key={it} class="chip-soft">
              {it}
            </span>
          ))}
        </div>
      )}
    </div>
  );
}

function Answers({ agent, of, title, onAnswer }) {
  const [reason, setReason] = useState("");
  const answer = (decision, scope) => onAnswer({ decision, scope, reason: reason || undefined });
  return (
    <div class="answers" role="group" aria-label={`Answer ${title}`}>
      <Button kind="main" onClick={() => answer("approve", "once")}>
        Allow once
      </Button>
      {(of.widest === "session" || of.widest === "always") && <Button onClick={() => answer("approve", "session")}>For this conversation</Button>}
      {of.widest === "always" && <Button onClick={() => answer("approve", "always")}>Always</Button>}
      <Button kind="danger" onClick={() => answer("deny")}>
        Deny
      </Button>
      <input class="reason" aria-label={`Reason against ${title}, which the agent is told`} placeholder="Why not, for the agent" value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
    </div>
  );
}

/**
 * A question: `of` is what the inbox says of it, or what was heard in its turn. In its own
 * conversation (`inPlace`) it says not again where and for whom it is asked.
 */
export function Question({ agent, of, now, inPlace, onDone }) {
  const [error, setError] = useState(null);
  const [outcome, setOutcome] = useState(null);
  const ended = of.outcome ?? outcome;
  const left = of.expires_at ? new Date(of.expires_at).getTime() - now : null;
  async function answer(body) {
    setError(null);
    try {
      const done = await api.post(at("agents", agent, "approvals", of.id), body);
      setOutcome(done.outcome);
      onDone?.(of, done);
    } catch (fault) {
      setError(fault);
    }
  }
  const title = `${of.tool} of ${agent}`;
  const Heading = inPlace ? "h3" : "h2";
  const isLate = !ended && left !== null && left < LATE_MS;
  return (
    <article class={`question${isLate ? " is-late" : ""}${inPlace ? " asked" : ""}`} aria-label={inPlace ? `Approval of ${of.tool}` : title}>
      <Heading class="asks">
        {inPlace && <State state={ended ?? "waiting"} />}
        {!inPlace && <span>{agent}</span>}
        <span class="quiet small">{inPlace ? "may it use" : "wants to use"}</span>
        <span class="mono">{of.tool}</span>
        {!ended && left !== null && <span class="left">{left > 0 ? `${took(left)} left, then it is a no` : "the time is over"}</span>}
      </Heading>
      {!inPlace && (
        <p class="quiet small">
          Asked <When at={of.asked_at} /> in a turn of <b>{of.asked_by}</b>
          {of.conversation && (
            <>
              , {may(agent, "read") ? <a href={to("sessions", [agent, String(of.session)], { turn: String(of.turn) })}>{whereOf(of.conversation)}</a> : whereOf(of.conversation)}
            </>
          )}
        </p>
      )}
      {!ended && <Because of={of} />}
      <Code text={of.what} />
      <Problem error={error} retry={error?.status === 404 ? read : undefined} />
      {!ended && (may(agent, "approve") ? <Answers agent={agent} of={of} title={title} onAnswer={answer} /> : <p class="quiet">An admin of this agent has to answer.</p>)}
    </article>
  );
}

/** A question where it came up. What the inbox knows of it is said with it, as soon as it is read. */
export function Approval({ agent, of }) {
  const now = useClock();
  const known = (waiting.value ?? []).find((it) => it.agent === agent && it.id === of.id);
  useEffect(() => {
    if (!known && !of.outcome && may(agent, "approve")) read();
  }, [of.id]);
  return <Question agent={agent} of={{ ...of, ...known }} now={now} inPlace />;
}
