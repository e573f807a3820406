//! A quiet agent beside one that floods and one whose provider never answers.

use super::{Bench, load, spend};
use crate::daemon::Daemon;
use crate::driver::{self, Load, Outcome};
use crate::homes;
use crate::machine;
use crate::stats::Figure;
use anyhow::{Context as _, Result};
use std::time::Duration;

/// Turns of the quiet agent in one measurement.
const QUIET_TURNS: usize = 1_500;
/// What its user does between two: a quiet agent is one that is not driven.
const QUIET_THINK: Duration = Duration::from_millis(2);
/// Sessions that flood, each with a request in flight at all times.
const FLOOD_SESSIONS: usize = 256;
/// Sessions that wait for the provider that never answers.
const HUNG_SESSIONS: usize = 64;
/// Of a disturbing neighbour's sessions, those with one token: fewer than it may have connections,
/// so that the flood reaches the agent instead of being turned away at the listener.
const SESSIONS_PER_TOKEN: usize = 100;
/// How long neighbours are at it before anyone counts.
const AT_IT: Duration = Duration::from_millis(500);

struct Neighbours<'b> {
    bench: &'b Bench,
    daemon: Daemon,
    load: Load,
}

impl Neighbours<'_> {
    fn quiet(&self, prefix: &str) -> Result<Outcome> {
        let load = Load {
            turns: QUIET_TURNS,
            think: QUIET_THINK,
            prefix: prefix.to_owned(),
            ..self.load.clone()
        };
        Ok(spend(&self.daemon, load)?.outcome)
    }

    /// The quiet one's user, asking the model itself: what the machine alone does to them.
    fn bare(&self) -> Outcome {
        driver::run(Load {
            target: self.bench.model.address,
            turns: QUIET_TURNS,
            think: QUIET_THINK,
            ..self.load.clone()
        })
    }

    /// Lets `agent` be asked by `sessions` at once, for as long as the process lives.
    fn disturb(&self, agent: &str, sessions: usize) -> Result<()> {
        for first in (0..sessions).step_by(SESSIONS_PER_TOKEN) {
            let agents = vec![agent.to_owned()];
            let sessions = SESSIONS_PER_TOKEN.min(sessions - first);
            let load = Load {
                prefix: format!("f{first}-"),
                ..load(&self.daemon, agents, sessions, usize::MAX)?
            };
            driver::start(load).context("no thread for a neighbour")?;
        }
        Ok(())
    }
}

/// Prints the table.
pub fn report(bench: &Bench) -> Result<()> {
    let mut rows: [(&str, Figure, Figure, Figure); 4] = [
        ("alone", Figure::default(), Figure::default(), Figure::default()),
        (
            "beside one whose provider hangs",
            Figure::default(),
            Figure::default(),
            Figure::default(),
        ),
        (
            "beside that and one that floods",
            Figure::default(),
            Figure::default(),
            Figure::default(),
        ),
        (
            "no daemon between, same neighbours",
            Figure::default(),
            Figure::default(),
            Figure::default(),
        ),
    ];
    for _ in 0..bench.runs {
        let home = homes::neighbours(bench.model.address)?;
        let daemon = Daemon::start(&bench.insula, home.path())?;
        let load = load(&daemon, vec!["quiet".to_owned()], 1, 1)?;
        let them = Neighbours { bench, daemon, load };
        them.quiet("warm")?;
        let mut note = |row: usize, outcome: &Outcome| {
            rows[row].1.add(outcome.quantile_ms(0.5));
            rows[row].2.add(outcome.quantile_ms(0.99));
            rows[row].3.add(outcome.quantile_ms(1.0));
        };
        note(0, &them.quiet("alone")?);
        them.disturb("hung", HUNG_SESSIONS)?;
        machine::pause(AT_IT);
        note(1, &them.quiet("hung")?);
        them.disturb("flood", FLOOD_SESSIONS)?;
        machine::pause(AT_IT);
        note(2, &them.quiet("flood")?);
        note(3, &them.bare());
        // Killed, not stopped: it would wait for the provider that never answers.
        drop(them);
        machine::pause(AT_IT);
    }
    println!("| the quiet agent | p50, ms | p99, ms | worst, ms |");
    println!("| --- | ---: | ---: | ---: |");
    for (what, p50_ms, p99_ms, worst_ms) in &rows {
        println!("| {what} | {p50_ms:.2} | {p99_ms:.2} | {worst_ms:.1} |");
    }
    let alone = rows[0].2.median();
    let bound = (alone * 1.5).max(alone + 5.0);
    println!();
    println!(
        "{FLOOD_SESSIONS} sessions flood and {HUNG_SESSIONS} hang. The quiet one's p99 may be {bound:.2} ms beside them."
    );
    Ok(())
}
