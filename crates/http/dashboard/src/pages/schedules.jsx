// What agents do by the clock: a calendar of runs that were and that come, and a list of jobs.
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, query } from "../lib/api.js";
import { KINDS, OUTCOMES, dayKey, dayOf, daysOf, happenings, lateness, ofKey, plusDays, stepped, wentWrong } from "../lib/calendar.js";
import { changes, mayAny } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { ask, go, route, to } from "../lib/router.js";
import { useSoon } from "../lib/soon.js";
import { ago, many, moment } from "../lib/words.js";
import { JobActions, JobWindow, NewJob, Outcome } from "../ui/job.jsx";
import { Button, Choice, Code, Dialog, Empty, Page, Problem, Search, Shown, State, Tabs } from "../ui/parts.jsx";
import { List, Table } from "../ui/table.jsx";
import "../ui/narrow.css";
import "./schedules.css";

/** What a day shows of itself; the rest is behind a button. */
const SHOWN = { week: 16, month: 4 };
const FEW = 7;
/** How soon after a run the jobs are read again. */
const PAUSE_MS = 1_000;

const chipTone = ({ run, job }) => (run ? (run.outcome ? OUTCOMES[run.outcome] : "busy") : job.state === "active" ? "next" : "calm");

function Chip({ it, onOpen }) {
  const what = it.run ? (it.run.outcome ?? "running") : it.often ? "again and again" : "comes";
  return (
    <button type="button" class={`chip is-${chipTone(it)}`} onClick={() => onOpen(it.job)} title={`${it.job.name} of ${it.job.agent}: ${it.often ? it.job.schedule : what}${it.run?.why ? `, ${it.run.why}` : ""}`}>
      <span class="at">{it.often ? "often" : it.time}</span>
      <span class="name">{it.job.name}</span>
      <span class="agent quiet">{it.job.agent}</span>
      <span class="sr">{what}</span>
    </button>
  );
}

function Day({ day, view, month, list, onOpen, onMore }) {
  const isToday = dayKey(day) === dayKey(Date.now());
  const most = SHOWN[view];
  // Where not all have room, those that went wrong come first.
  const few = list.length > most ? [...list].sort((a, b) => Number(Boolean(b.run && wentWrong(b.run))) - Number(Boolean(a.run && wentWrong(a.run)))).slice(0, most - 1) : list;
  const bad = list.filter((it) => it.run && wentWrong(it.run)).length;
  return (
    <li class={`day${isToday ? " today" : ""}${month !== null && day.getMonth() !== month ? " beside" : ""}${list.length === 0 ? " bare" : ""}`} data-day={dayKey(day)}>
      <h3>
        <time dateTime={dayKey(day)}>{day.toLocaleDateString([], view === "week" ? { weekday: "short", day: "numeric", month: "short" } : { day: "numeric" })}</time>
        <span class="narrow quiet">{view === "month" && day.toLocaleDateString([], { weekday: "short", month: "short" })}</span>
        {bad > 0 && <span class="bad small">{bad} failed</span>}
      </h3>
      {few.map((it) => (
        <Chip key={it.key} it={it} onOpen={onOpen} />
      ))}
      {list.length > few.length && (
        <button type="button" class="more small" onClick={() => onMore(day)}>
          {list.length - few.length} more
        </button>
      )}
    </li>
  );
}

function Calendar({ view, day, jobs, onOpen }) {
  const [more, setMore] = useState(null);
  const days = useMemo(() => daysOf(view, day), [view, dayKey(day)]);
  const all = useMemo(() => happenings(jobs, days), [jobs, days]);
  const names = Array.from({ length: 7 }, (_, n) => days[n].toLocaleDateString([], { weekday: "long" }));
  return (
    <>
      {view === "month" && (
        <div class="weekdays small quiet" aria-hidden="true">
          {names.map((it) => (
            <span key={it}>{it}</span>
          ))}
        </div>
      )}
      <ol class={`calendar ${view}`} aria-label={view === "week" ? "The days of the week" : "The days of the month"}>
        {days.map((it) => (
          <Day key={dayKey(it)} day={it} view={view} month={view === "month" ? day.getMonth() : null} list={all.get(dayKey(it))} onOpen={onOpen} onMore={setMore} />
        ))}
      </ol>
      {more && (
        <Dialog title={more.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" })} onClose={() => setMore(null)}>
          <List label="All of that day" items={all.get(dayKey(more))} itemKey={(it) => it.key} height={40} row={(it) => <Chip it={it} onOpen={(job) => (setMore(null), onOpen(job))} />} />
        </Dialog>
      )}
    </>
  );
}

function Jobs({ jobs, onOpen, onDone, onError }) {
  return (
    <div class="broad narrow">
    <Table
      label="Jobs"
      rows={jobs}
      rowKey={(it) => `${it.agent}/${it.name}`}
      onOpen={onOpen}
      height={54}
      columns={[
        { key: "name", title: "Job", cell: (it) => <><a class="strong" href={to("schedules", [it.agent, it.name], { view: "list" })}>{it.name}</a><br /><span class="quiet small">{it.agent} · {KINDS[it.kind]}</span></> },
        { key: "when", title: "When", cell: (it) => <span title={it.timezone}>{it.schedule}</span> },
        { key: "state", title: "State", cell: (it) => <State state={it.state} tone={it.state === "active" ? "good" : undefined} title={it.why ?? undefined} /> },
        { key: "next", title: "Next", cell: (it) => (it.moments[0] ? <time dateTime={new Date(it.moments[0]).toISOString()} title={moment(it.moments[0])}>{ago(it.moments[0])}</time> : (it.next[0] ?? (it.kind === "boot" ? "at the start" : "—"))) },
        { key: "last", title: "Last", width: "21%", cell: (it) => <span class="last"><Outcome run={it.last} />{it.last && <span class="quiet small">{ago(it.last.began_at)}{lateness(it.last) && `, ${lateness(it.last)}`}</span>}</span> },
        { key: "failures", title: "Failed", num: true, cell: (it) => (it.failures > 0 ? <span class="bad">{it.failures}×</span> : "") },
        { key: "do", title: "", cell: (it) => <JobActions job={it} small onDone={onDone} onError={onError} /> },
      ]}
    />
    </div>
  );
}

const RECIPE = `agents:
  AGENT:
    cron:
      morning:
        schedule: every weekday at 8:30
        prompt: What happened since yesterday?`;

export function Schedules() {
  const { rest, query: asked } = route.value;
  const view = ["week", "month", "list"].includes(asked.view) ? asked.view : "week";
  const day = ofKey(asked.day);
  const days = view === "list" ? [dayOf(Date.now()), plusDays(dayOf(Date.now()), FEW - 1)] : daysOf(view, day);
  const span = { from: days[0].toISOString(), until: plusDays(days.at(-1), 1).toISOString() };
  const of = useResource(({ signal }) => api.list(query("/api/calendar", span), { signal }), [span.from, span.until], ({ event }) => (event === "job.ended" && soon()) || event === "changed");
  const soon = useSoon(of.reload, PAUSE_MS);
  const [text, setText] = useState("");
  const [kind, setKind] = useState("all");
  const [adds, setAdds] = useState(false);
  const [error, setError] = useState(null);
  const [said, setSaid] = useState("");
  // What comes and what has run moves on with the day.
  useEffect(() => {
    const timer = setInterval(() => of.reload(), 60_000);
    return () => clearInterval(timer);
  }, []);
  const jobs = useMemo(() => {
    const wanted = text.toLowerCase();
    const is = { all: () => true, failed: (it) => it.failures > 0 || (it.last && wentWrong(it.last)), paused: (it) => it.state !== "active", config: (it) => it.origin === "config", added: (it) => it.origin === "added", beats: (it) => it.kind === "heartbeat" || it.kind === "boot" }[kind];
    return (of.data ?? []).filter((it) => is(it) && [it.name, it.agent, it.prompt, it.schedule].some((part) => part.toLowerCase().includes(wanted)));
  }, [of.data, text, kind]);
  const open = (job) => go(to("schedules", [job.agent, job.name], { view: asked.view, day: asked.day }));
  const shown = rest.length === 2 && (of.data ?? []).find((it) => it.agent === rest[0] && it.name === rest[1]);
  const step = (by) => ask({ day: dayKey(stepped(view, day, by)) });
  const title = view === "week" ? `${days[0].toLocaleDateString([], { day: "numeric", month: "long" })} to ${days.at(-1).toLocaleDateString([], { day: "numeric", month: "long", year: "numeric" })}` : day.toLocaleDateString([], { month: "long", year: "numeric" });
  const done = (what) => {
    setError(null);
    setSaid({ run: "It begins now.", pause: "It is paused.", resume: "It goes on." }[what] ?? "");
    of.reload();
  };
  return (
    <Page
      title="Schedules"
      lead={of.data ? `${many(of.data.length, "job")} ${of.data.length === 1 ? "runs" : "run"} by the clock.` : "What agents do by the clock."}
      wide={view !== "list"}
      actions={
        <>
          <Choice label="Which jobs" value={kind} options={[["all", "All jobs"], ["failed", "Those that fail"], ["paused", "Those that don't run"], ["config", "Of the configuration"], ["added", "Those that were added"], ["beats", "Heartbeats and starts"]]} onChange={setKind} />
          <Search label="Search jobs" value={text} onInput={setText} />
          {changes() && mayAny("manage") && (
            <Button kind="main" onClick={() => setAdds(true)}>
              Add a job
            </Button>
          )}
        </>
      }
    >
      <div class="calendar-bar">
        <Tabs label="How they are shown" tabs={[["week", "Week"], ["month", "Month"], ["list", "List"]]} value={view} onChange={(it) => ask({ view: it })} />
        {view !== "list" && (
          <div class="row">
            <h2>{title}</h2>
            <Button onClick={() => step(-1)} aria-label={`The ${view} before`}>
              ‹
            </Button>
            <Button onClick={() => ask({ day: null })}>Today</Button>
            <Button onClick={() => step(1)} aria-label={`The ${view} after`}>
              ›
            </Button>
          </div>
        )}
      </div>
      <Problem error={error} />
      <p class="told" role="status">
        {said}
      </p>
      <Shown
        of={of}
        empty={
          <Empty title="Nothing runs by the clock yet.">
            <p>Add a job here, say it to an agent in a chat, or write it into its configuration:</p>
            <Code text={RECIPE} />
          </Empty>
        }
      >
        {() => (jobs.length === 0 ? <Empty title="No job is like that." /> : view === "list" ? <Jobs jobs={jobs} onOpen={open} onDone={done} onError={setError} /> : <Calendar view={view} day={day} jobs={jobs} onOpen={open} />)}
      </Shown>
      {shown && <JobWindow job={shown} onChange={of.reload} onClose={() => go(to("schedules", [], { view: asked.view, day: asked.day }))} />}
      {adds && <NewJob onClose={() => setAdds(false)} onAdded={(job) => (setAdds(false), setSaid(`${job.name} was added, and comes ${job.next[0] ?? "never"}.`), of.reload())} />}
    </Page>
  );
}
