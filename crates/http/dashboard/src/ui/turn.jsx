// How a turn went: waiting, models, calls with the stages of the gate, delivery.
import { api, at } from "../lib/api.js";
import { useClock } from "../lib/clock.js";
import { useResource } from "../lib/resource.js";
import { count, cutOff, sentence, took } from "../lib/words.js";
import { Facts, Shown, State, Ticked, When } from "./parts.jsx";

function Happening({ it }) {
  switch (it.kind) {
    case "began":
      return <span>{it.waited_ms === undefined || it.waited_ms === null ? "went on after a restart" : `began, after waiting ${took(it.waited_ms)}`}</span>;
    case "model":
      return (
        <span>
          model <b>{it.model}</b>
          {it.ms !== undefined && ` took ${took(it.ms)}`}
          {it.first_ms !== undefined && it.first_ms !== null && `, first byte after ${took(it.first_ms)}`}
          {it.failed ? <span class="bad">: {it.failed}</span> : it.input !== undefined && `, ${count(it.input)} tokens in, ${count(it.output)} out`}
          {(it.passed_over ?? []).map((other) => `; ${other.model} passed over: ${other.failed}`)}
        </span>
      );
    case "call":
      return (
        <span>
          <b>{it.tool}</b> {it.verdict}
          {it.rule && ` by ${it.rule}`} after {took(it.ms)}
          {it.gate?.length > 0 && (
            <span class="stages">
              {it.gate.map(([stage, ms]) => (
                <span key={stage} title={took(ms)}>
                  {stage}
                </span>
              ))}
            </span>
          )}
        </span>
      );
    case "delivery":
      return (
        <span>
          delivery to {it.platform}: <State state={it.state} /> {took(it.ms)}
        </span>
      );
    case "failed":
      return <span class="bad">failed: {it.cause ?? it.error ?? "see the reason"}</span>;
    default:
      return <span>{it.kind}</span>;
  }
}

/** What a turn does at this moment, and for how long: notes of it come only when it is over. */
function UnderWay({ turn, course, doing }) {
  const now = useClock();
  const accepted = new Date(turn.accepted).getTime();
  const since = Math.max(accepted, doing.since ?? 0, ...course.map((step) => new Date(step.at).getTime()));
  const sofar = `${took(Math.max(0, now - since))} so far`;
  const what = {
    waiting: "waits for its place, ",
    question: (
      <>
        <b>{doing.name}</b> waits for an answer,{" "}
      </>
    ),
    call: (
      <>
        <b>{doing.name}</b> under way,{" "}
      </>
    ),
    model: "model call under way, ",
  }[doing.kind];
  return (
    <>
      {course.length === 0 && doing.since && (
        <li>
          <span class="quiet mono">{took(since - accepted)}</span>
          <span>began, after waiting {took(since - accepted)}</span>
        </li>
      )}
      <li class="is-now">
        <span class="quiet mono">{took(since - accepted)}</span>
        <span>
          {what}
          {sofar}
        </span>
      </li>
    </>
  );
}

/** The course of a turn. It is read again while the turn runs; `doing` is what it is at by then. */
export function Turn({ agent, turn, doing }) {
  const of = useResource(
    ({ signal }) => api.get(at("agents", agent, "turns", String(turn)), { signal }),
    [agent, turn],
    (told) => told.agent === agent && String(told.data.turn) === String(turn),
  );
  return (
    <Shown of={of}>
      {({ turn: it, course, children }) => (
        <div class="stack">
          <Facts
            rows={[
              ["State", <State state={it.status} />],
              ["Asked by", it.principal],
              ["When", <When at={it.accepted} />],
              ["Its reply", it.cut && <span class="warn">{sentence(cutOff(it.cut))}</span>],
              ["Why it failed", it.error && <Ticked text={it.error} />],
              ["Has read words of", it.integrity.own ? null : it.integrity.many ? "many places" : it.integrity.sources.join(", ")],
              ["Children", children.length || null],
            ]}
          />
          <ol class="course">
            {course.map((step, index) => (
              <li key={index} class={step.kind === "failed" || step.verdict === "refused" ? "is-bad" : undefined}>
                <span class="quiet mono">{took(step.after_ms)}</span>
                <Happening it={step} />
              </li>
            ))}
            {doing && it.status === "running" && <UnderWay turn={it} course={course} doing={doing} />}
          </ol>
          {course.length === 0 && !(doing && it.status === "running") && <p class="quiet">Nothing was noted yet.</p>}
        </div>
      )}
    </Shown>
  );
}
