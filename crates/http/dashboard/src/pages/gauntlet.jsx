// The gauntlet: what attacked this build and what held, and a run of the quick sections beside this
// daemon, where its program is.
import { useEffect, useState } from "preact/hooks";
import { api } from "../lib/api.js";
import { me } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { ago, many, moment, took } from "../lib/words.js";
import { Button, Code, Empty, Page, Problem, Search, Section, Shown, State, Ticked } from "../ui/parts.jsx";
import "./gauntlet.css";

const TONES = { held: "good", broken: "bad", failed: "warn", missed: "warn", "not run": "calm", lost: "bad" };

/** An attempt that failed judged nothing: the board counts it among those that were not run, too. */
function Totals({ of: totals }) {
  const of = { ...totals, left: totals.not_run - totals.failed };
  return (
    <div class="score">
      {[["attempts", "attempts"], ["held", "held"], ["broken", "broken"], ["missed", "missed a figure"], ["failed", "could not judge"], ["left", "not run"]].map(([key, word]) => (
        <div key={key}>
          <b class={key === "held" ? "good" : of[key] > 0 ? { broken: "bad", failed: "warn" }[key] : undefined}>{of[key]}</b>
          <span class="quiet">{word}</span>
        </div>
      ))}
    </div>
  );
}

function Board({ sections, wanted }) {
  const isMeant = (section, it) => `${it.row} ${it.variant} ${it.result} ${section.title}`.toLowerCase().includes(wanted);
  return (
    <div class="sections">
      {sections.map((section) => {
        const attempts = section.attempts.filter((it) => isMeant(section, it));
        const { totals } = section;
        if (attempts.length === 0) return null;
        return (
          <details key={section.id}>
            <summary>
              <span class="title-of">
                <b>{section.id}</b> {section.title}
              </span>
              <span class="bar-of" aria-hidden="true">
                <i style={{ width: `${(100 * totals.held) / Math.max(1, totals.attempts)}%` }} />
              </span>
              <span class="num small">
                {totals.held} of {totals.attempts} held
              </span>
              <span class="lost">
                {totals.broken > 0 && <State state={`${totals.broken} broken`} tone="bad" />}
                {totals.failed > 0 && <State state={`${totals.failed} could not judge`} tone="warn" />}
                {totals.missed > 0 && <State state={`${totals.missed} missed`} tone={TONES.missed} />}
                {totals.not_run > totals.failed && <State state={`${totals.not_run - totals.failed} not run`} tone={TONES["not run"]} />}
              </span>
            </summary>
            <ul tabIndex={0} aria-label={`Attempts of ${section.id}`}>
              {attempts.map((it, at) => (
                <li key={at}>
                  <State state={it.result} tone={TONES[it.result]} />
                  <span class="mono">{it.row}</span>
                  <span>
                    {it.variant}
                    {it.why && <span class="quiet"> · <Ticked text={it.why} /></span>}
                  </span>
                </li>
              ))}
            </ul>
          </details>
        );
      })}
    </div>
  );
}

/** The run of this daemon, as it goes. */
function useRun(first) {
  const [run, setRun] = useState(first);
  useEffect(() => setRun(first), [first]);
  const goesOn = run?.state === "running";
  useEffect(() => {
    if (!goesOn) return undefined;
    const stop = new AbortController();
    api.stream("GET", "/api/gauntlet/events", undefined, ({ data }) => setRun(data), { signal: stop.signal }).catch(() => {});
    return () => stop.abort();
  }, [goesOn, run?.started]);
  return [run, setRun];
}

function Runs({ of }) {
  const [run, setRun] = useRun(of.run);
  const [chosen, setChosen] = useState(of.quick);
  const [error, setError] = useState(null);
  const act = (made) => {
    setError(null);
    return made.then((view) => setRun(view.run), setError);
  };
  const goesOn = run.state === "running";
  // What a section is about is known from the last scoreboard.
  const titles = new Map((of.recorded.sections ?? []).map((it) => [it.id, it.title]));
  const boards = run.sections.filter((it) => it.board).map((it) => it.board);
  const ended = run.sections.filter((it) => !["waiting", "running"].includes(it.state)).length;
  return (
    <Section title="Run it here">
      <div class="stack">
        {of.missing ? (
          <Empty title="No run can be started here.">
            <p><Ticked text={of.missing} /></p>
          </Empty>
        ) : !me.value.changes ? (
          <p class="quiet">Nothing is started over HTTP here: api.changes is false.</p>
        ) : (
          <>
            <p class="quiet">It attacks daemons of its own, in fresh homes, with nothing of this one: an empty environment, no right of root, in a room of processes that ends with it. It takes some minutes of this machine.</p>
            <fieldset class="choose" disabled={goesOn}>
              <legend>Sections</legend>
              {of.quick.map((id) => (
                <label key={id}>
                  <input type="checkbox" checked={chosen.includes(id)} onChange={() => setChosen(chosen.includes(id) ? chosen.filter((it) => it !== id) : of.quick.filter((it) => it === id || chosen.includes(it)))} />
                  <span>
                    <b>{id}</b> {titles.get(id)}
                  </span>
                </label>
              ))}
            </fieldset>
            <div class="row">
              {goesOn ? (
                <Button kind="danger" onClick={() => act(api.del("/api/gauntlet"))}>
                  Stop it
                </Button>
              ) : (
                <Button kind="main" disabled={chosen.length === 0} onClick={() => act(api.post("/api/gauntlet", { sections: chosen }))}>
                  Run {many(chosen.length, "section")}
                </Button>
              )}
            </div>
          </>
        )}
        <Problem error={error} />
        {run.state !== "none" && (
          <div class="stack" role="status" aria-label="The run of this daemon">
            <p class="row">
              <State state={run.state} /> <span>{goesOn ? `${ended} of ${many(run.sections.length, "section")} done` : `ended ${ago(run.ended)}`}</span>
              <span class="quiet small">
                begun by {run.by}, {moment(run.started)}
              </span>
            </p>
            <p class="row">
              {run.sections.map((it) => (
                <State key={it.id} state={`${it.id} ${it.state}`} tone={TONES[it.state] ?? (it.state === "running" ? "busy" : "calm")} title={it.why} />
              ))}
            </p>
            {run.sections.filter((it) => it.why).map((it) => (
              <Problem key={it.id} error={{ message: `${it.id}: ${it.why}` }} />
            ))}
            <Board sections={boards} wanted="" />
          </div>
        )}
      </div>
    </Section>
  );
}

export function Gauntlet() {
  const of = useResource(({ signal }) => api.get("/api/gauntlet", { signal }), []);
  const [text, setText] = useState("");
  return (
    <Page title="Gauntlet" lead="What attacks a daemon like this one, and what held." actions={<Search label="Search attempts" value={text} onInput={setText} />}>
      <Shown of={of}>
        {(view) => {
          const { recorded } = view;
          return (
            <>
              <Section title="The last scoreboard of this build">
                {!recorded.totals ? (
                  <Empty title="None was recorded." />
                ) : (
                  <>
                    <Totals of={recorded.totals} />
                    <p class="quiet small under-tabs">
                      Recorded {moment(recorded.date)} ({ago(recorded.date)}) at commit <span class="mono">{recorded.commit}</span>, version {recorded.version}, as {recorded.as}, {recorded.build} build, in {took(recorded.milliseconds)}. Version here: {me.value.version}.
                    </p>
                    <Board sections={recorded.sections} wanted={text.toLowerCase()} />
                  </>
                )}
              </Section>
              <Runs of={view} />
              <Section title="By hand">
                <p class="quiet under-tabs">From the sources, all sections, as root and again as an ordinary user:</p>
                <Code text="scripts/gauntlet" label="In a shell" />
              </Section>
            </>
          );
        }}
      </Shown>
    </Page>
  );
}
