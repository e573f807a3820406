// What is known of a turn while it runs: each event makes it another.

/** What a turn is after one more event. */
export function heard(now, { event, data }) {
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
    case "approval.asked":
      next.approvals = [...next.approvals.filter((it) => it.id !== data.id), { ...data, outcome: null }];
      break;
    case "approval.done":
      next.approvals = next.approvals.map((it) => (it.id === data.id ? { ...it, outcome: data.outcome } : it));
      break;
    case "turn.ended":
      next.state = data.status;
      next.error = data.error ?? null;
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
