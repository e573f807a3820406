// Days and weeks as calendars show them, and what agents do by the clock on each.

const DAY_MS = 86_400_000;

/** The first moment of a day, in this place's time. */
export function dayOf(at) {
  const day = new Date(at);
  day.setHours(0, 0, 0, 0);
  return day;
}

/** So many days later, also where clocks change. */
export function plusDays(day, days) {
  const later = new Date(day);
  later.setDate(later.getDate() + days);
  return later;
}

/** What a day is called: the same in every time of it. */
export function dayKey(at) {
  const day = new Date(at);
  return `${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, "0")}-${String(day.getDate()).padStart(2, "0")}`;
}

/** Reads what `dayKey` writes; today where it is none. */
export function ofKey(text, now = Date.now()) {
  const read = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text ?? "");
  const day = read ? new Date(Number(read[1]), Number(read[2]) - 1, Number(read[3])) : null;
  return day && !Number.isNaN(day.getTime()) ? day : dayOf(now);
}

/** The Monday of a day's week. */
export function mondayOf(day) {
  return plusDays(dayOf(day), -((new Date(day).getDay() + 6) % 7));
}

/** The days that a view shows: a week, or the weeks that a month is in. */
export function daysOf(view, day) {
  if (view === "week") return Array.from({ length: 7 }, (_, n) => plusDays(mondayOf(day), n));
  const first = new Date(day.getFullYear(), day.getMonth(), 1);
  const last = new Date(day.getFullYear(), day.getMonth() + 1, 0);
  const from = mondayOf(first);
  const weeks = Math.ceil((Math.round((last - from) / DAY_MS) + 1) / 7);
  return Array.from({ length: weeks * 7 }, (_, n) => plusDays(from, n));
}

/** The day that a step back or ahead leads to. */
export function stepped(view, day, by) {
  return view === "week" ? plusDays(day, 7 * by) : new Date(day.getFullYear(), day.getMonth() + by, 1);
}

/** What colour an outcome has. */
export const OUTCOMES = {
  done: "good", silent: "good", empty: "calm", failed: "bad", timeout: "bad", stopped: "warn", budget: "bad", denied: "bad",
  refused: "bad", undelivered: "bad", interrupted: "warn", overlap: "warn", missed: "warn",
};

/** Whether a run went wrong. */
export const wentWrong = (run) => ["bad"].includes(OUTCOMES[run.outcome]);

/** How late a run began, in words; nothing where it was on time. */
export function lateness(run) {
  const s = Math.round((run.late_ms ?? 0) / 1000);
  if (s < 60) return "";
  return s < 5400 ? `${Math.round(s / 60)} min late` : s < 129_600 ? `${Math.round(s / 3600)} h late` : `${Math.round(s / 86_400)} d late`;
}

const time = (at) => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/**
 * What happens on each day, by its key: runs that were and moments that come, each
 * `{key, at, time, job, run}`. A job that is due too often to tell each is one line a day.
 */
export function happenings(jobs, days, now = Date.now()) {
  const all = new Map(days.map((day) => [dayKey(day), []]));
  const add = (at, it) => all.get(dayKey(at))?.push({ at, time: time(at), ...it });
  for (const job of jobs) {
    const name = `${job.agent}/${job.name}`;
    for (const run of job.recent) {
      const at = new Date(run.scheduled_at).getTime();
      add(at, { key: `${name}@${at}`, job, run });
    }
    if (job.frequent) {
      for (const day of days) {
        if (plusDays(day, 1).getTime() > now) all.get(dayKey(day)).push({ key: `${name}~${dayKey(day)}`, at: day.getTime(), time: "", job, often: true });
      }
    } else {
      for (const at of job.moments) add(at, { key: `${name}@${at}`, job });
    }
  }
  for (const list of all.values()) list.sort((a, b) => a.at - b.at || a.key.localeCompare(b.key));
  return all;
}

/** What a job is, where its name does not say it. */
export const KINDS = { cron: "configuration", heartbeat: "heartbeat", boot: "at the start", added: "added" };
