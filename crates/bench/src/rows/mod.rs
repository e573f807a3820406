//! What is measured, one file a table.

pub mod fairness;
pub mod gateway;
pub mod growth;
pub mod prompt;
pub mod schedules;
pub mod starts;
pub mod tools;
pub mod turns;

use crate::daemon::Daemon;
use crate::driver::{Load, Outcome};
use crate::machine;
use crate::model::Model;
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::time::Duration;

/// How long a daemon may settle before it is weighed: watches are set up after it is ready,
/// and buffers go back after a load.
pub const SETTLE: Duration = Duration::from_millis(1_500);

/// Turns after which the driver leaves a session and begins another, unless told otherwise:
/// what people say in one sitting.
pub const SESSION_TURNS: usize = 20;

/// What every measurement needs.
pub struct Bench {
    /// The binary under measurement.
    pub insula: PathBuf,
    /// How often each figure is taken.
    pub runs: usize,
    /// The model that everybody asks.
    pub model: Model,
}

/// A load and what the daemon spent on it.
pub struct Spent {
    /// What the driver saw.
    pub outcome: Outcome,
    /// The daemon's processor time for each turn, in milliseconds.
    pub cpu_ms: f64,
    /// The same with the programs that it ran.
    pub cpu_with_children_ms: f64,
}

/// Runs a load against a daemon. One that was not answered whole is no measurement.
pub fn spend(daemon: &Daemon, load: Load) -> Result<Spent> {
    let process = daemon.process();
    let before = (process.cpu_ms()?, process.cpu_with_children_ms()?);
    let outcome = crate::driver::run(load);
    if outcome.turns == 0 || outcome.failed() > 0 {
        bail!("{} turns answered, and {:?} not, by status", outcome.turns, outcome.errors);
    }
    let turns = outcome.turns as f64;
    let cpu_ms = (process.cpu_ms()? - before.0) / turns;
    let cpu_with_children_ms = (process.cpu_with_children_ms()? - before.1) / turns;
    Ok(Spent { outcome, cpu_ms, cpu_with_children_ms })
}

/// A load over these agents of a daemon, with a token for them.
pub fn load(daemon: &Daemon, agents: Vec<String>, sessions: usize, turns: usize) -> Result<Load> {
    Ok(Load {
        target: daemon.listen()?,
        token: daemon.token(agents.iter().map(String::as_str))?,
        agents,
        sessions,
        turns,
        session_turns: SESSION_TURNS,
        prefix: "s".to_owned(),
        think: Duration::ZERO,
    })
}

/// The same load straight to the model: nothing between driver and answer.
pub fn direct(bench: &Bench, sessions: usize, turns: usize) -> Result<Outcome> {
    let outcome = crate::driver::run(Load {
        target: bench.model.address,
        token: "none".to_owned(),
        agents: vec!["instant".to_owned()],
        sessions,
        turns,
        session_turns: SESSION_TURNS,
        prefix: "s".to_owned(),
        think: Duration::ZERO,
    });
    if outcome.turns == 0 {
        bail!("the instant model does not answer: {:?}", outcome.errors);
    }
    Ok(outcome)
}

/// The first agents of a home.
pub fn first(agents: usize) -> Vec<String> {
    (0..agents).map(crate::homes::agent).collect()
}

/// Waits until a daemon has nothing to do.
pub fn settle() {
    machine::pause(SETTLE);
}
