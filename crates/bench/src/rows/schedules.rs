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

/// What became of the runs of all agents.
#[derive(Default)]
struct Seen {
    outcomes: BTreeMap<String, usize>,
    /// How late each began.
    late_ms: Vec<i64>,
    /// Moments between an agent's first and last run that nothing was run for.
    lost: i64,
}

impl Seen {
    /// Takes down the runs of one agent, the newest first.
    fn note(&mut self, runs: &Value) -> Result<()> {
        let runs = runs.as_array().context("no list of runs")?;
        for run in runs {
            let outcome = run["outcome"].as_str().unwrap_or("under way");
            *self.outcomes.entry(outcome.to_owned()).or_default() += 1;
            self.late_ms.push(run["late_ms"].as_i64().context("a run without its lateness")?);
        }
        let minute = |run: &Value| -> Option<i64> {
            // 2026-11-18T17:49:00.000Z: the day, the hour and the minute of a run.
            let text = run["scheduled_at"].as_str()?;
            let part = |from, to| text.get(from..to)?.parse::<i64>().ok();
            Some((part(8, 10)? * 24 + part(11, 13)?) * 60 + part(14, 16)?)
        };
        let ends = runs.first().and_then(minute).zip(runs.last().and_then(minute));
        self.lost += ends.map_or(0, |(last, first)| last - first + 1 - runs.len() as i64);
        Ok(())
    }

    fn quantile_ms(&self, share: f64) -> i64 {
        let at = (self.late_ms.len() as f64 * share) as usize;
        let last = self.late_ms.len().saturating_sub(1);
        self.late_ms.get(at.min(last)).copied().unwrap_or_default()
    }
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
    let ready = daemon.ready;
    settle();
    let process = daemon.process();
    let first_mb = process.weight()?.resident_mb;
    let before = (process.cpu_ms()?, bench.model.requests());
    machine::pause(MINUTE * minutes);
    let spent = (process.cpu_ms()? - before.0, bench.model.requests() - before.1);
    let later_mb = process.weight()?.resident_mb;
    let token = daemon.admin_token()?;
    let (listen, mut seen) = (daemon.listen()?, Seen::default());
    let runs = machine::block_on(async { Some(read(listen, &token, agents).await) });
    for runs in runs.context("no thread to read with")?? {
        seen.note(&runs)?;
    }
    seen.late_ms.sort_unstable();
    println!("| | |");
    println!("| --- | ---: |");
    println!("| agents, each with a job a minute | {agents} |");
    println!("| ready after, ms | {:.0} |", ready.as_secs_f64() * 1e3);
    println!("| resident without jobs, MB | {without_mb:.1} |");
    println!("| resident with jobs, before the first minute, MB | {first_mb:.1} |");
    println!("| resident after {minutes} minutes, MB | {later_mb:.1} |");
    let seconds = (MINUTE * minutes).as_secs_f64();
    println!("| model calls a second | {:.0} |", spent.1 as f64 / seconds);
    println!("| processor time a run, ms | {:.2} |", spent.0 / spent.1.max(1) as f64);
    for (outcome, count) in &seen.outcomes {
        println!("| runs {outcome} | {count} |");
    }
    println!("| moments that nothing was run for | {} |", seen.lost);
    for (name, share) in [("p50", 0.5), ("p99", 0.99), ("worst", 1.0)] {
        println!("| late, {name}, ms | {} |", seen.quantile_ms(share));
    }
    daemon.stop()
}

/// Asks for the runs of every agent.
async fn read(listen: SocketAddr, token: &str, agents: usize) -> Result<Vec<Value>> {
    let mut wire = Wire::connect(listen).await?;
    let mut all = Vec::new();
    for agent in super::first(agents) {
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
