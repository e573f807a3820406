// What drafts would do, looked at before they are written: what they grant and take away, and what
// differs in the texts. And the bar that leads there.
import { useEffect, useState } from "preact/hooks";
import { api } from "../lib/api.js";
import { changed, drop, over, sent, theirs, untaken, useCheck, wrote } from "../lib/drafts.js";
import { folded } from "../lib/line_diff.js";
import { whoAmI } from "../lib/me.js";
import { many } from "../lib/words.js";
import { Button, Dialog, Empty, Problem, State, Ticked } from "./parts.jsx";
import "./review.css";

const KINDS = { grants: ["grants", "warn"], takes: ["takes", "good"], changes: ["changes", "calm"] };

/** Findings of a report, of one file or of all others. */
export function findingsOf(answer, isMeant) {
  const list = (all, tone) => (all ?? []).filter((it) => isMeant(it.file)).map((it) => ({ ...it, tone }));
  return answer ? [...list(answer.report.errors, "bad"), ...list(answer.report.warnings, "warn")] : [];
}

/** What differs between two texts. */
export function TextDiff({ file, before, after }) {
  return (
    <div class="text-diff" role="region" tabIndex={0} aria-label={`What changes in ${file}`}>
      <table>
        <caption class="mono strong">{file}</caption>
        <tbody>
          {folded(before, after).map((it, at) =>
            it.kind === "gap" ? (
              <tr key={at} class="gap">
                <td colSpan={3}>{many(it.count, "line")} as before</td>
              </tr>
            ) : (
              <tr key={at} class={it.kind}>
                <td class="num">{it.kind === "in" ? it.after : it.before}</td>
                <td class="sign">{{ in: "+", out: "−", same: "" }[it.kind]}</td>
                <td>
                  <pre>{it.text}</pre>
                </td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  );
}

/** What is granted and taken away, by agent. */
export function RightsDiff({ changes }) {
  if (changes.length === 0) return <p class="quiet">Nobody may do more or less than before.</p>;
  const whose = [...new Set(changes.map((it) => it.agent))];
  return (
    <div class="rights">
      {whose.map((agent) => (
        <section key={agent ?? ""} aria-label={agent ?? "the daemon"}>
          <h4>{agent ?? "the daemon"}</h4>
          <ul>
            {changes
              .filter((it) => it.agent === agent)
              .map((it, at) => (
                <li key={at}>
                  <State state={KINDS[it.kind][0]} tone={KINDS[it.kind][1]} /> <Ticked text={it.what} />
                </li>
              ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

/** What somebody else wrote meanwhile. Nothing of the draft is lost before it is decided. */
function Conflict({ stale }) {
  const mine = changed.value.find((it) => it.file === stale.file);
  return (
    <div class="conflict" role="group" aria-label={`${stale.file} changed meanwhile`}>
      <p>
        <State state="changed meanwhile" tone="bad" /> Somebody wrote <span class="mono">{stale.file}</span> after you began. Your text is kept.
      </p>
      {mine && <TextDiff file="theirs, and what yours would make of it" before={stale.text ?? ""} after={mine.text} />}
      <div class="row">
        <Button onClick={() => over(stale)}>Go on with mine over theirs</Button>
        <Button kind="danger" onClick={() => theirs(stale)}>
          Take theirs, leave mine
        </Button>
      </div>
    </div>
  );
}

/** Shows all of it, and applies it once it was shown. */
function Review({ onClose, onDone }) {
  const mine = changed.value;
  const key = mine.map((it) => `${it.file}\n${it.mark}\n${it.text}`).join("\0");
  const [told, setTold] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    if (mine.length === 0) return onClose();
    const stop = new AbortController();
    setTold(null);
    api.post("/api/config/check", { files: mine.map(sent) }, { signal: stop.signal }).then(
      (answer) => setTold({ key, answer }),
      (fault) => !stop.signal.aborted && setError(fault),
    );
    return () => stop.abort();
  }, [key]);
  async function apply() {
    setError(null);
    try {
      const done = await api.put("/api/config/files", { files: mine.map(sent), shown: told.answer.shown });
      wrote(done.files);
      await whoAmI().catch(() => {});
      onDone(done);
    } catch (fault) {
      setError(fault);
      // What is so now is shown, and can be applied when it was looked at.
      if (fault.body?.check) setTold({ key, answer: fault.body.check });
    }
  }
  const answer = told?.key === key ? told.answer : null;
  const errors = answer?.report.errors ?? [];
  return (
    <Dialog title="What this would do" onClose={onClose}>
      <div class="stack review">
        <Problem error={error} />
        {!answer && !error && (
          <p class="quiet" role="status">
            Looking at it…
          </p>
        )}
        {answer?.stale.map((it) => (
          <Conflict key={it.file} stale={it} />
        ))}
        {answer && answer.stale.length === 0 && (
          <>
            <section aria-label="Rights">
              <h3>Rights</h3>
              {answer.report.errors.length > 0 && !answer.ok ? <p class="quiet">Known once nothing is wrong.</p> : <RightsDiff changes={answer.changes} />}
              {answer.restart.length > 0 && <p class="small">After a restart of the daemon: {answer.restart.join(", ")}.</p>}
            </section>
            {errors.length > 0 && (
              <section aria-label="What is wrong">
                <h3>What is wrong</h3>
                <ul class="plain-findings">
                  {errors.map((it, at) => (
                    <li key={at}>
                      <span class="mono">
                        {it.file}:{it.line}:{it.column}
                      </span>{" "}
                      <Ticked text={it.message} />
                      {it.help && (
                        <span class="quiet">
                          {" "}
                          · <Ticked text={it.help} />
                        </span>
                      )}
                    </li>
                  ))}
                </ul>
              </section>
            )}
            <section aria-label="Texts">
              <h3>Texts</h3>
              {mine.map((it) => (
                <TextDiff key={it.file} file={it.file} before={it.base ?? ""} after={it.text} />
              ))}
            </section>
          </>
        )}
        <div class="row">
          <Button kind="main" disabled={!answer?.ok} onClick={apply}>
            Apply
          </Button>
          <Button onClick={onClose}>Go on writing</Button>
          {answer && !answer.ok && answer.stale.length === 0 && <span class="bad small">It would not load, so nothing is written.</span>}
        </div>
      </div>
    </Dialog>
  );
}

/** What is not applied yet. `checked` is what `useCheck` gave. */
export function DraftBar({ onDone }) {
  const told = useCheck();
  // What is being typed was not looked at yet.
  const check = untaken.value ? null : told;
  const [isOpen, setOpen] = useState(false);
  const [leaves, setLeaves] = useState(false);
  const [done, setDone] = useState(null);
  const mine = changed.value;
  const wrong = check?.answer?.report.errors.length ?? 0;
  useEffect(() => {
    if (mine.length > 0) setDone(null);
  }, [mine.length]);
  return (
    <>
      {mine.length === 0 && done && (
        <p class="applied good" role="status">
          Applied: {["added", "changed", "removed", "failed"].filter((key) => done.applied[key].length > 0).map((key) => `${key} ${done.applied[key].join(", ")}`).join("; ") || "nothing that runs changed"}.
        </p>
      )}
      {mine.length > 0 && (
        <div class="draft-bar" role="region" aria-label="Not applied yet">
          <span>
            <b>{many(mine.length, "file")}</b> <span class="quiet">not applied: {mine.map((it) => it.file).join(", ")}</span>
          </span>
          <span role="status">
            {!check ? <State state="looking" tone="busy" /> : check.error ? <State state={check.error.message} tone="bad" /> : !check.answer.ok ? <State state={check.answer.stale.length > 0 ? "changed meanwhile" : many(wrong, "error")} tone="bad" /> : <State state="it would load" tone="good" />}
          </span>
          <span class="push row">
            <Button onClick={() => setLeaves(true)}>Discard…</Button>
            <Button kind="main" onClick={() => setOpen(true)}>
              Review and apply…
            </Button>
          </span>
        </div>
      )}
      {isOpen && mine.length > 0 && (
        <Review
          onClose={() => setOpen(false)}
          onDone={(it) => {
            setOpen(false);
            setDone(it);
            onDone?.(it);
          }}
        />
      )}
      {leaves && (
        <Dialog title="Leave what you wrote?" onClose={() => setLeaves(false)}>
          <div class="stack">
            <p>What you wrote in {mine.map((it) => it.file).join(", ")} is gone then. The files stay as they are.</p>
            <div class="row">
              <Button kind="danger" onClick={() => (mine.forEach((it) => drop(it.file)), setLeaves(false))}>
                Leave it
              </Button>
              <Button onClick={() => setLeaves(false)}>Keep writing</Button>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** Where there is nothing to change over HTTP. */
export function NoChanges() {
  return (
    <Empty title="Nothing is changed over HTTP here.">
      <code>api.changes</code> is false in config.yaml: edit the files on the machine.
    </Empty>
  );
}
