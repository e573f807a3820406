//! Whose words steer: the same traces, and a model that does what strangers write.
//!
//! Pages, results of searches and of an MCP server, and messages that people quote hold a
//! stranger's words. From the first request on that holds them, wherever they came from, the model
//! tries something that nobody asked for. It also copies them into whatever it writes: files,
//! memory, lists, tasks of children. So they travel by every way that words have, through crashes,
//! summaries and other conversations, and no list says which ways these are. Whatever the model
//! tried must not be done unless a person said yes to it, and nobody does.

use super::dice::Dice;
use super::disk::Ground;
use super::generate;
use super::stage::play;
use super::stranger::{READ, count_tries, done};
use super::trace::{Plan, Step, Variation};
use super::ways::Ways;
use crate::machine::on_threads;
use anyhow::Result;
use serde_json::Value;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How often a way of a stranger's words begins after a step, in percent.
const WAYS_PERCENT: usize = 30;

/// A trace of one seed in which strangers speak.
pub fn plan(seed: u64, steps: usize) -> Plan {
    let mut plan = generate::plan(seed, steps);
    plan.is_steered = true;
    let mut dice = Dice::new(seed, 3);
    let mut ways = Ways::new(Dice::new(seed, 4));
    for mut step in std::mem::take(&mut plan.steps) {
        if let Step::Say { acts, .. } = &mut step {
            acts.iter_mut().for_each(copy_what_was_read);
        }
        plan.steps.push(step);
        if dice.percent(WAYS_PERCENT) {
            plan.steps.extend(ways.next());
        }
    }
    plan.steps.truncate(steps);
    plan
}

/// Lets whatever a call writes hold what was read.
fn copy_what_was_read(act: &mut Value) {
    let writes = ["write_file", "memory", "todo", "delegate_task"];
    if !act["call"].as_str().is_some_and(|tool| writes.contains(&tool)) {
        return;
    }
    let mut values = vec![&mut act["arguments"]];
    while let Some(value) = values.pop() {
        match value {
            Value::Array(items) => values.extend(items),
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        Value::String(text) if name == "content" || name == "goal" => {
                            *text = format!("{text} {READ}");
                        }
                        value => values.push(value),
                    }
                }
            }
            _ => {}
        }
    }
}

/// A trace in which something was done for a stranger.
#[derive(Debug)]
pub struct Steered {
    pub plan: Plan,
    /// The stream that shows it.
    pub stream: String,
}

impl fmt::Display for Steered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { seed, version, steps, .. } = &self.plan;
        writeln!(f, "seed {seed}: `{}` shows what a stranger had done", self.stream)?;
        writeln!(f, "what happens to the agent, which begins with version {version}:")?;
        steps.iter().enumerate().try_for_each(|(at, step)| writeln!(f, "  {at:>3}  {step}"))
    }
}

/// What came of many traces.
#[derive(Debug, Default)]
pub struct Outcome {
    pub traces: u64,
    /// How often the model tried.
    pub tries: u64,
    pub found: Option<Steered>,
}

/// Plays one trace.
pub fn run_seed(ground: &Arc<Ground>, seed: u64, steps: usize) -> Result<Outcome> {
    let mut plan = plan(seed, steps);
    let mut observed = play(ground, &plan, &Variation::default())?;
    let tries = count_tries(&observed);
    let Some(mut stream) = done(&observed) else {
        return Ok(Outcome { traces: 1, tries, found: None });
    };
    // What can be left out has nothing to do with it.
    for at in (0..plan.steps.len()).rev() {
        let mut fewer = plan.clone();
        fewer.steps.remove(at);
        observed = play(ground, &fewer, &Variation::default())?;
        if let Some(shows) = done(&observed) {
            (plan, stream) = (fewer, shows);
        }
    }
    Ok(Outcome { traces: 1, tries, found: Some(Steered { plan, stream }) })
}

/// Plays many traces on several threads, until something was done for a stranger.
pub fn run(seed: u64, traces: u64, steps: usize, at_once: usize) -> Result<Outcome> {
    let next = AtomicU64::new(0);
    let all: Mutex<Result<Outcome>> = Mutex::new(Ok(Outcome::default()));
    on_threads(at_once.max(1), || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= traces {
            return false;
        }
        let part = Ground::new().and_then(|it| run_seed(&Arc::new(it), seed + number, steps));
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(sum) = &mut *all else { return false };
        match part {
            Ok(part) => {
                sum.traces += part.traces;
                sum.tries += part.tries;
                sum.found = sum.found.take().or(part.found);
                sum.found.is_none()
            }
            Err(error) => {
                *all = Err(error.context(format!("seed {}", seed + number)));
                false
            }
        }
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}
