// A question whether a call may be made, with its answers for who may give them.
import { useState } from "preact/hooks";
import { api, at } from "../lib/api.js";
import { may } from "../lib/me.js";
import { Button, Problem, State } from "./parts.jsx";

/** `of` is `{id, tool, what, rule, outcome}`. */
export function Approval({ agent, of, onDone }) {
  const [reason, setReason] = useState("");
  const [error, setError] = useState(null);
  const [outcome, setOutcome] = useState(null);
  async function answer(decision, scope) {
    setError(null);
    try {
      const done = await api.post(at("agents", agent, "approvals", of.id), { decision, scope, reason: reason || undefined });
      setOutcome(done.outcome);
      onDone?.(done);
    } catch (fault) {
      setError(fault);
    }
  }
  const ended = of.outcome ?? outcome;
  return (
    <div class="asked" role="group" aria-label={`Approval of ${of.tool}`}>
      <div class="row">
        <State state={ended ?? "waiting"} />
        <span class="strong mono">{of.tool}</span>
        <span class="quiet small">{of.rule}</span>
      </div>
      <pre tabIndex={0}>{of.what}</pre>
      {!ended && !may(agent, "approve") && <p class="quiet">An admin of this agent has to answer.</p>}
      {!ended && may(agent, "approve") && (
        <div class="row">
          <Button kind="main" onClick={() => answer("approve", "once")}>
            Allow once
          </Button>
          <Button onClick={() => answer("approve", "session")}>For this conversation</Button>
          <Button onClick={() => answer("approve", "always")}>Always</Button>
          <Button kind="danger" onClick={() => answer("deny")}>
            Deny
          </Button>
          <input class="reason" aria-label="Reason, which the agent is told" placeholder="Reason" value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
        </div>
      )}
      <Problem error={error} />
    </div>
  );
}
