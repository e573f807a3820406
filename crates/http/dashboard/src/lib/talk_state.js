// What is known of a turn while it runs: each event makes it another.

/** What is known of a turn before anything was heard of it. */
export const unheard = { text: "", reasoning: "", steps: [], approvals: [], state: "sending", error: null, cut: null, turn: null };

/** How a turn can end. */
export const isOver = (now) => ["replied", "failed", "stopped"].includes(now.state);

/** What a turn is after one more event, heard at a moment. */
export function heard(now, { event, data }, at = Date.now()) {
  const next = { ...now };
  if (data.turn !== undefined) next.turn = data.turn;
  switch (event) {
    case "turn.accepted":
      next.state = "waiting";
      break;
    case "text.delta":
      next.state = "running";
      next.text += data.text;
      break;
    case "reasoning.delta":
      next.state = "running";
      next.reasoning += data.text;
      break;
    case "text.reset":
      next.text = "";
      break;
    case "tool.call":
      next.state = "running";
      // Words before a call are a passage of their own.
      next.steps = [...next.steps, ...(next.text ? [{ kind: "text", text: next.text }] : []), { kind: "call", name: data.name, about: data.about, state: "running" }];
      next.text = "";
      break;
    case "tool.done":
      next.steps = closed(next.steps, data.name, data.is_error ? "failed" : "done");
      break;
    case "child.started":
      next.steps = [...next.steps, { kind: "call", name: `child ${data.child}`, about: data.goal, state: "running" }];
      break;
    case "child.ended":
      next.steps = closed(next.steps, `child ${data.child}`, data.outcome === "finished" ? "done" : "failed");
      break;
    case "approval.asked": {
      const expires_at = Number.isFinite(data.wait_s) ? new Date(at + data.wait_s * 1000).toISOString() : null;
      next.approvals = [...next.approvals.filter((it) => it.id !== data.id), { ...data, expires_at, outcome: null }];
      break;
    }
    case "approval.done":
      next.approvals = next.approvals.map((it) => (it.id === data.id ? { ...it, outcome: data.outcome } : it));
      break;
    case "turn.ended":
      next.state = data.status;
      next.error = data.error ?? null;
      next.cut = data.cut ?? null;
      next.text = data.text ?? next.text;
      break;
    default:
  }
  return next;
}

function closed(steps, tool, state) {
  const open = steps.findLastIndex((it) => it.kind === "call" && it.name === tool && it.state === "running");
  return steps.map((it, index) => (index === open ? { ...it, state } : it));
}

/** What a turn that runs is at: a call, a question, or its model. */
export function at(now) {
  const asks = now.approvals.find((it) => !it.outcome);
  if (asks) return { kind: "question", name: asks.tool };
  const call = now.steps.findLast((it) => it.kind === "call" && it.state === "running");
  return call ? { kind: "call", name: call.name } : { kind: "model" };
}

/**
 * Where the turn that is told live stands in the transcript. It goes by its number: the same words
 * may have been said before.
 */
export function placeOf(turns, now) {
  return now === null || now.turn === null ? -1 : turns.findLastIndex((it) => it.turn !== null && String(it.turn) === String(now.turn));
}
