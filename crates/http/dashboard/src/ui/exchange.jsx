// What was said in a conversation: a message, what was done for it and the reply; what became of a turn
// that ended without one; and a turn while it runs.
import { may } from "../lib/me.js";
import { retry, say } from "../lib/talk.js";
import { isOver } from "../lib/talk_state.js";
import { apart, besideFiles, choicesOf, textsOf } from "../lib/transcript.js";
import { ago, cutOff } from "../lib/words.js";
import { Approval } from "./approval.jsx";
import { File, TextFile } from "./files.jsx";
import { Markdown } from "./markdown.jsx";
import { Button, Copy, Problem, State } from "./parts.jsx";

export function Step({ step }) {
  if (step.kind === "text") return <Markdown text={step.text} />;
  return (
    <details class="step">
      <summary>
        <State state={step.state} tone={{ done: "calm", running: "busy", failed: "bad" }[step.state]} />
        <span class="mono">{step.name}</span>
        <span class="about">{step.about}</span>
      </summary>
      <div class="inner">
        {step.result?.source && <p class="quiet small">Words from {step.result.source}</p>}
        {step.result ? <pre class="small">{step.result.text}</pre> : <span class="quiet">{step.about || "Nothing more is told of it here."}</span>}
      </div>
    </details>
  );
}

/** How a turn ended that brought no whole reply: that it was stopped, or why it failed. */
function Ended({ state, why, name }) {
  if (state === "stopped") {
    return (
      <p class="row">
        <State state="stopped" /> <span class="quiet">It was stopped here, and said nothing more.</span>
      </p>
    );
  }
  return (
    <>
      <p class="row">
        <State state="failed" /> {name && <span class="quiet small">Turn {name}</span>}
      </p>
      <Problem error={{ message: why || "It failed, and nothing is known of why." }} />
    </>
  );
}

/** That a reply is not whole, and why. */
export function CutOff({ cut }) {
  return cut ? (
    <p class="row">
      <State state="cut off" tone="warn" /> <span class="quiet">{cutOff(cut).replace("cut off: ", "")}</span>
    </p>
  ) : null;
}

/** What can be asked of a turn that is over. */
function LookAt({ agent, turn, onLook }) {
  if (turn === null || turn === undefined || !may(agent, "read")) return null;
  return (
    <>
      <button type="button" class="button small" onClick={() => onLook({ turn, what: "course" })}>
        How it went
      </button>
      <button type="button" class="button small" onClick={() => onLook({ turn, what: "memory" })}>
        What it remembered
      </button>
    </>
  );
}

/** The answers that a question offers. Pressing one says it. */
function Choices({ of, onChoose }) {
  return (
    <div class="row choices" role="group" aria-label="Answers">
      {of.map((it, index) => (
        <Button key={index} onClick={() => void onChoose(it)}>
          {it}
        </Button>
      ))}
    </div>
  );
}

export function Reply({ agent, session, where, it, isLast, onLook }) {
  const said = [...it.steps.filter((step) => step.kind === "text").map((step) => step.text), it.reply?.text].filter(Boolean).join("\n\n");
  const choices = isLast ? choicesOf(it) : [];
  return (
    <div class="theirs">
      {it.steps.map((step, index) => (
        <Step key={index} step={step} />
      ))}
      {it.reply && <Markdown text={it.reply.text} />}
      <CutOff cut={it.said?.cut} />
      <Files where={where} of={it.made} />
      {it.said?.became && <Ended state={it.said.became} why={it.said.why_failed} name={it.said.turn_name} />}
      {choices.length > 0 && <Choices of={choices} onChoose={(text) => say(agent, session, text)} />}
      <div class="foot">
        {(it.reply ?? it.said) && <span>{ago((it.reply ?? it.said).at)}</span>}
        {(said || it.said?.why_failed) && <Copy text={it.reply?.text || said || it.said.why_failed} />}
        <LookAt agent={agent} turn={it.turn} onLook={onLook} />
        {isLast && it.said && (
          <Button class="button small" onClick={() => void retry(agent, session, apart(it.said.text).words)}>
            Try again
          </Button>
        )}
      </div>
    </div>
  );
}

/** Files of a conversation, each by its message. */
function Files({ where, of, texts = [] }) {
  if (of.length + texts.length === 0) return null;
  return (
    <div class="kept-files">
      {texts.map((it, index) => (
        <TextFile key={`text${index}`} of={it} />
      ))}
      {of.map((it) => (
        <File key={`${it.message}/${it.part}`} of={it} path={`${where}/files/${it.message}/${it.part}`} />
      ))}
    </div>
  );
}

export function Own({ said, where }) {
  const { words, beside } = apart(said.text);
  const told = besideFiles(beside);
  return (
    <>
      {(words || told) && (
        <div class="own">
          {words}
          {told && (
            <details class="small">
              <summary>What came along</summary>
              {told}
            </details>
          )}
        </div>
      )}
      <Files where={where} of={(said.files ?? []).map((it) => ({ ...it, message: said.seq }))} texts={textsOf(beside)} />
    </>
  );
}

function Along({ of }) {
  return (
    <div class="along">
      {of.map((it) => (it.url ? <img key={it.url} src={it.url} alt={it.name} /> : <span key={it.name} class="brought">{it.name}</span>))}
    </div>
  );
}

/** What is heard of a turn: thoughts, calls, questions, words. */
export function Heard({ agent, of, approvals = of.approvals }) {
  return (
    <>
      {of.reasoning && (
        <details class="step">
          <summary>
            <span class="quiet">What it thinks</span>
          </summary>
          <div class="inner">
            <Markdown text={of.reasoning} />
          </div>
        </details>
      )}
      {of.steps.map((step, index) => (
        <Step key={index} step={step} />
      ))}
      {approvals.map((it) => (
        <Approval key={it.id} agent={agent} of={it} />
      ))}
      {of.text && <Markdown text={of.text} />}
    </>
  );
}

/** A turn of this page that is in no transcript yet. */
export function Live({ agent, of, onLook }) {
  const over = isOver(of);
  return (
    <>
      {of.said && <div class="own">{of.said}</div>}
      {of.along.length > 0 && <Along of={of.along} />}
      <div class="theirs" aria-live="polite" aria-busy={of.state === "running"}>
        <Heard agent={agent} of={of} />
        {over && of.state !== "replied" && <Ended state={of.state} why={of.error} />}
        {over && <CutOff cut={of.cut} />}
        <div class="foot">
          {!over && <State state={of.state} tone={{ sending: "busy", reconnecting: "warn" }[of.state]} />}
          {over && (of.text || of.error) && <Copy text={of.text || of.error} />}
          {over && <LookAt agent={agent} turn={of.turn} onLook={onLook} />}
          {over && of.again && (
            <Button class="button small" onClick={() => void of.again()}>
              Try again
            </Button>
          )}
        </div>
      </div>
    </>
  );
}
