// One job in full, and a job that is added.
import { useState } from "preact/hooks";
import { api, at } from "../lib/api.js";
import { KINDS, OUTCOMES, lateness } from "../lib/calendar.js";
import { changes, may, me } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { to } from "../lib/router.js";
import { many, moment, took } from "../lib/words.js";
import { Confirm } from "./confirm.jsx";
import { Button, Choice, Code, Dialog, Facts, Field, Problem, Section, Shown, State, When, Ticked } from "./parts.jsx";
import { Table } from "./table.jsx";

const MISSED = [["once", "one for all of them"], ["skip", "leave them out"], ["all", "make up for each"]];
const OVERLAP = [["skip", "leave it out"], ["queue", "wait for it"]];

/** How a run went. */
export function Outcome({ run }) {
  if (!run) return <span class="quiet">never</span>;
  return <State state={run.outcome ?? "running"} tone={run.outcome ? OUTCOMES[run.outcome] : "busy"} title={run.why ?? undefined} />;
}

/** What can be done with a job now: running it, pausing, having it go on, removing it. */
export function JobActions({ job, onDone, onError, small }) {
  const [asks, setAsks] = useState(false);
  if (!changes() || !may(job.agent, "manage")) return null;
  const path = at("agents", job.agent, "jobs", job.name);
  const act = (what) => async () => {
    try {
      await api.post(`${path}/${what}`);
      onDone(what);
    } catch (fault) {
      onError(fault);
    }
  };
  const kind = small ? "plain small" : "plain";
  return (
    <span class="row">
      <Button kind={kind} onClick={act("run")} aria-label={`Run now: ${job.name} of ${job.agent}`}>
        Run now
      </Button>
      {job.state === "active" && (
        <Button kind={kind} onClick={act("pause")} aria-label={`Pause ${job.name} of ${job.agent}`}>
          Pause
        </Button>
      )}
      {job.state === "paused" && (
        <Button kind={kind} onClick={act("resume")} aria-label={`Resume ${job.name} of ${job.agent}`}>
          Resume
        </Button>
      )}
      {job.origin === "added" && !small && (
        <Button kind="danger" onClick={() => setAsks(true)}>
          Remove
        </Button>
      )}
      {asks && (
        <Confirm
          title={`Remove ${job.name}?`}
          verb="Remove it"
          onClose={() => setAsks(false)}
          onYes={async () => {
            await api.del(path);
            onDone("remove");
          }}
        >
          It runs no more, and its runs are no longer told here. What it did stays in the agent's sessions.
        </Confirm>
      )}
    </span>
  );
}

export function JobWindow({ job, onClose, onChange }) {
  const runs = useResource(({ signal }) => api.get(at("agents", job.agent, "jobs", job.name, "runs"), { signal }), [job.agent, job.name], (told) => told.event === "job.ended" && told.agent === job.agent);
  const [error, setError] = useState(null);
  const [said, setSaid] = useState("");
  const done = (what) => {
    setError(null);
    setSaid({ run: "It begins now.", pause: "It is paused.", resume: "It goes on.", remove: "It is removed." }[what]);
    onChange();
    if (what === "remove") onClose();
    else runs.reload();
  };
  return (
    <Dialog title={`${job.name} of ${job.agent}`} onClose={onClose}>
      <div class="stack">
        <Problem error={error} />
        <div class="row">
          <State state={job.state} tone={job.state === "active" ? "good" : undefined} />
          <JobActions job={job} onDone={done} onError={setError} />
          <span class="quiet" role="status">
            {said}
          </span>
        </div>
        {job.why && <p class="why-blocked"><Ticked text={job.why} /></p>}
        {job.origin === "config" && (
          <p class="quiet">
            It stands in the configuration of the agent, which alone changes it. It can be paused here all the same.
          </p>
        )}
        <Facts
          rows={[
            ["When", `${job.schedule}, ${job.timezone}`],
            ["Next", job.next.length > 0 ? <ul>{job.next.map((it) => <li key={it}>{it}</li>)}</ul> : job.kind === "boot" ? "when the daemon starts" : "not any more"],
            ["Its reply goes to", job.deliver],
            ["Its memory", job.scope],
            ["Made by", `${job.owner}, ${moment(job.made_at)}`],
            ["Kind", KINDS[job.kind]],
            ["Where runs were missed", MISSED.find(([key]) => key === job.missed)?.[1]],
            ["Where one still runs", OVERLAP.find(([key]) => key === job.overlap)?.[1]],
            ["Has run when it was due", many(job.runs, "time")],
            ["Failed", job.failures > 0 ? `${job.failures} times in a row` : null],
          ]}
        />
        <Code label="What it is told" text={job.prompt} />
        {job.script && <Code label="The script that runs first" text={job.script} />}
        <Section title="Runs">
          <Shown of={runs} empty={<p class="quiet">It has not run yet.</p>}>
            {(all) => (
              <Table
                label={`Runs of ${job.name}`}
                rows={all}
                rowKey={(it) => it.scheduled_at}
                columns={[
                  { key: "at", title: "For", width: "11rem", cell: (it) => <time dateTime={it.scheduled_at} title={moment(it.scheduled_at)}>{new Date(it.scheduled_at).toLocaleString([], { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" })}</time> },
                  { key: "outcome", title: "Came to", cell: (it) => <Outcome run={it} /> },
                  { key: "late", title: "Late", cell: (it) => lateness(it) || "on time" },
                  { key: "took", title: "Took", cell: (it) => (it.ended_at ? took(new Date(it.ended_at) - new Date(it.began_at)) : <When at={it.began_at} />) },
                  { key: "why", title: "Why", cell: (it) => it.why && <Ticked text={it.why} /> },
                ]}
              />
            )}
          </Shown>
        </Section>
        <p>
          <a href={to("map", [], { agent: job.agent })}>What {job.agent} may do</a>
        </p>
      </div>
    </Dialog>
  );
}

export function NewJob({ agent: first, onClose, onAdded }) {
  const agents = me.value.agents.filter((it) => it.verbs.includes("manage")).map((it) => it.id);
  const [job, setJob] = useState({ agent: agents.includes(first) ? first : agents[0], name: "", schedule: "", prompt: "", timezone: Intl.DateTimeFormat().resolvedOptions().timeZone, deliver: "", missed: "once", overlap: "skip" });
  const [error, setError] = useState(null);
  const set = (name) => (event) => setJob({ ...job, [name]: event.currentTarget.value });
  async function add(event) {
    event.preventDefault();
    const { agent, name, deliver, ...settings } = job;
    try {
      onAdded(await api.post(at("agents", agent, "jobs"), { ...(name ? { name } : {}), ...settings, ...(deliver ? { deliver } : {}) }));
    } catch (fault) {
      setError(fault);
    }
  }
  return (
    <Dialog title="Add a job" onClose={onClose}>
      <form class="stack" onSubmit={add}>
        <Problem error={error} />
        <div class="pair">
          <Field label="Agent" list="job-agents" required value={job.agent} onInput={set("agent")} />
          <datalist id="job-agents">
            {agents.map((it) => (
              <option key={it} value={it} />
            ))}
          </datalist>
          <Field label="Name" hint="letters, digits, _ and -; one is found where you give none" title="letters, digits, _ and -" pattern="[A-Za-z0-9_\-]*" value={job.name} onInput={set("name")} />
        </div>
        <Field label="When" hint="every weekday at 8:30 · every 2h · tomorrow at 9 · 30 8 * * 1-5" required value={job.schedule} onInput={set("schedule")} autoFocus />
        <Field label="What it is told">
          <textarea rows={4} required value={job.prompt} onInput={set("prompt")} />
        </Field>
        <div class="pair">
          <Field label="By the clocks of" value={job.timezone} onInput={set("timezone")} />
          <Field label="Its reply goes to" hint="nowhere where nothing is said; agent, or a place of send.to" value={job.deliver} onInput={set("deliver")} />
          <Field label="Where runs were missed">
            <Choice label="Where runs were missed" value={job.missed} options={MISSED} onChange={(missed) => setJob({ ...job, missed })} />
          </Field>
          <Field label="Where one still runs">
            <Choice label="Where one still runs" value={job.overlap} options={OVERLAP} onChange={(overlap) => setJob({ ...job, overlap })} />
          </Field>
        </div>
        <div class="row">
          <Button kind="main" type="submit">
            Add it
          </Button>
          <Button onClick={onClose}>Leave it</Button>
        </div>
      </form>
    </Dialog>
  );
}
