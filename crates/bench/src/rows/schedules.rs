//! Many agents that each do something every minute: what is lost, how late it begins, and what
//! the daemon weighs while nothing is due.

use super::{Bench, settle};
use crate::daemon::Daemon;
use crate::homes;
use crate::machine;
use crate::wire::Wire;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// The job of every agent.
const JOB: &str = "tick";
const MINUTE: Duration = Duration::from_secs(60);
const MINUTE_MS: i64 = 60_000;
/// Connections that ask for the runs afterwards.
const READERS: usize = 8;
/// The most a run may be late in all but one in a hundred.
const LATE_AIM_MS: i64 = 2_000;

/// What became of the runs of all agents, in whole minutes in which all of them were due.
struct Seen {
    /// The first of these minutes, and the first after them.
    window_ms: (i64, i64),
    outcomes: BTreeMap<String, usize>,
    /// How late each began.
    late_ms: Vec<i64>,
    /// How long after it was due each had ended.
    over_ms: Vec<i64>,
    /// Minutes of an agent that nothing was run for.
    lost: i64,
    /// Minutes of an agent that something was run for twice.
    twice: i64,
}

impl Seen {
    /// Those of the minutes that began when the daemon was ready and were over, jitter and aim
    /// included, at this moment.
    fn between(ready_ms: i64, now_ms: i64) -> Self {
        let first = ready_ms.div_euclid(MINUTE_MS) * MINUTE_MS + MINUTE_MS;
        let last = (now_ms - LATE_AIM_MS).div_euclid(MINUTE_MS) * MINUTE_MS - MINUTE_MS;
        Self {
            window_ms: (first, last.max(first)),
            outcomes: BTreeMap::new(),
            late_ms: Vec::new(),
            over_ms: Vec::new(),
            lost: 0,
            twice: 0,
        }
    }

    fn minutes(&self) -> i64 {
        (self.window_ms.1 - self.window_ms.0) / MINUTE_MS
    }

    /// Takes down the runs of one agent.
    fn note(&mut self, runs: &Value) -> Result<()> {
        let mut minutes = BTreeMap::new();
        for run in runs.as_array().context("no list of runs")? {
            let moment = |key: &str| run[key].as_str().and_then(unix_ms);
            let meant = moment("scheduled_at").context("a run without its moment")?;
            if meant < self.window_ms.0 || meant >= self.window_ms.1 {
                continue;
            }
            *minutes.entry(meant).or_insert(0_i64) += 1;
            let outcome = run["outcome"].as_str().unwrap_or("under way");
            *self.outcomes.entry(outcome.to_owned()).or_default() += 1;
            // One that waits has not begun.
            let Some(late) = run["late_ms"].as_i64() else { continue };
            self.late_ms.push(late);
            if let (Some(began), Some(ended)) = (moment("began_at"), moment("ended_at")) {
                self.over_ms.push(late + ended - began);
            }
        }
        self.lost += self.minutes() - i64::try_from(minutes.len())?;
        self.twice += minutes.values().map(|count| count - 1).sum::<i64>();
        Ok(())
    }
}

fn quantile_ms(sorted: &[i64], share: f64) -> i64 {
    let at = (sorted.len() as f64 * share) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// The moment of a text such as `2026-11-18T17:49:00.000Z`.
fn unix_ms(text: &str) -> Option<i64> {
    let part = |from, to| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    // Days since 1970, by a calendar whose years begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let hours = (days - 719_468) * 24 + part(11, 13)?;
    let ms = part(20, 23).unwrap_or(0);
    Some(((hours * 60 + part(14, 16)?) * 60 + part(17, 19)?) * 1_000 + ms)
}

/// Prints what came of some minutes.
pub fn report(bench: &Bench, agents: usize, minutes: u32) -> Result<()> {
    let idle = homes::serving(agents, bench.model.address, homes::Durability::Power)?;
    let daemon = Daemon::start(&bench.insula, idle.path())?;
    settle();
    let without_mb = daemon.process().weight()?.resident_mb;
    daemon.stop()?;
    let home = homes::scheduled(agents, bench.model.address)?;
    let daemon = Daemon::start(&bench.insula, home.path())?;
    let (ready, ready_ms) = (daemon.ready, machine::unix_ms());
    settle();
    let process = daemon.process();
    let (first_mb, first_files) = (process.weight()?.resident_mb, process.descriptors()?);
    let before = (process.cpu_ms()?, bench.model.requests());
    // As many whole minutes, beside the one it began in and the one that jitter reaches into.
    machine::pause(MINUTE * (minutes + 2));
    let spent = (process.cpu_ms()? - before.0, bench.model.requests() - before.1);
    let (weight, later_files) = (process.weight()?, process.descriptors()?);
    let token = daemon.admin_token()?;
    let (listen, mut seen) = (daemon.listen()?, Seen::between(ready_ms, machine::unix_ms()));
    let names = super::first(agents);
    let parts = names.chunks(agents.div_ceil(READERS).max(1));
    let read = parts.map(|some| read(listen, &token, some));
    let runs = machine::block_on(async { Some(futures_util::future::join_all(read).await) });
    for runs in runs.context("no thread to read with")? {
        runs?.iter().try_for_each(|runs| seen.note(runs))?;
    }
    seen.late_ms.sort_unstable();
    seen.over_ms.sort_unstable();
    println!("| | |");
    println!("| --- | ---: |");
    println!("| agents, each with a job a minute | {agents} |");
    println!("| ready after, ms | {:.0} |", ready.as_secs_f64() * 1e3);
    println!("| resident without jobs, MB | {without_mb:.1} |");
    println!("| resident with jobs, before the first minute, MB | {first_mb:.1} |");
    println!("| resident at the end, MB | {:.1} |", weight.resident_mb);
    println!("| resident at most, MB | {:.1} |", weight.peak_mb);
    println!("| open descriptors, before and at the end | {first_files}, {later_files} |");
    let seconds = (MINUTE * (minutes + 2)).as_secs_f64();
    println!("| model calls a second | {:.0} |", spent.1 as f64 / seconds);
    println!("| processor time a run, ms | {:.2} |", spent.0 / spent.1.max(1) as f64);
    println!("| whole minutes that count | {} |", seen.minutes());
    for (outcome, count) in &seen.outcomes {
        println!("| runs {outcome} | {count} |");
    }
    println!("| runs lost | {} |", seen.lost);
    println!("| runs twice | {} |", seen.twice);
    for (what, all) in [("late", &seen.late_ms), ("over", &seen.over_ms)] {
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("worst", 1.0)] {
            println!("| {what}, {name}, ms | {} |", quantile_ms(all, share));
        }
    }
    let is_met = seen.lost == 0 && quantile_ms(&seen.late_ms, 0.99) <= LATE_AIM_MS;
    let verdict = if is_met { "yes" } else { "**no**" };
    println!("| none lost, and p99 at most {LATE_AIM_MS} ms late | {verdict} |");
    daemon.stop()
}

/// Asks for the runs of some agents.
async fn read(listen: SocketAddr, token: &str, agents: &[String]) -> Result<Vec<Value>> {
    let mut wire = Wire::connect(listen).await?;
    let mut all = Vec::new();
    for agent in agents {
        let request = format!(
            "GET /api/agents/{agent}/jobs/{JOB}/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        wire.say(request.as_bytes()).await?;
        let heard = wire.hear().await?.context("the daemon hung up")?;
        if heard.status() != 200 {
            bail!("the runs of {agent} were not told: {}", heard.status());
        }
        all.push(serde_json::from_slice(heard.body)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn moments_are_read_and_minutes_counted() {
        assert_eq!(unix_ms("1970-01-01T00:00:00.000Z"), Some(0));
        assert_eq!(unix_ms("2026-02-28T23:59:59.250Z"), Some(1_772_323_199_250));
        assert_eq!(unix_ms("2024-02-29T12:00:00.000Z"), Some(1_709_208_000_000));
        assert_eq!(unix_ms("soon"), None);
        // Ready in the first minute, read in the sixth: three whole ones are over with jitter.
        let mut seen = Seen::between(30_000, 5 * MINUTE_MS + 10_000);
        assert_eq!((seen.window_ms, seen.minutes()), ((60_000, 240_000), 3));
        let run = |minute: u32| {
            let at = format!("1970-01-01T00:0{minute}:00.000Z");
            let ended = format!("1970-01-01T00:0{minute}:07.500Z");
            json!({ "scheduled_at": at, "began_at": at, "ended_at": ended, "late_ms": 40, "outcome": "done" })
        };
        seen.note(&json!([run(5), run(3), run(2), run(1), run(0)])).unwrap();
        assert_eq!((seen.lost, seen.twice, seen.late_ms.len()), (0, 0, 3));
        assert_eq!(seen.over_ms, [7_540; 3]);
        seen.note(&json!([run(3), run(3)])).unwrap();
        assert_eq!((seen.lost, seen.twice), (2, 1));
    }
}
