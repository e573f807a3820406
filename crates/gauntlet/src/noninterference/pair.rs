//! Pairs of runs: the same trace of one agent beside others that differ in everything.

use super::disk::Ground;
use super::generate;
use super::observe::{Difference, Observed};
use super::shrink::shrink;
use super::stage::play;
use super::trace::{Other, Plan, Variation};
use anyhow::Result;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// How many variations are compared with the first run of a trace. To be equal is transitive, so
/// each is a pair of its own.
pub const VARIATIONS: u64 = 4;

/// What is run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The seed of the first trace; the next ones follow.
    pub seed: u64,
    /// How many pairs.
    pub pairs: u64,
    /// How many steps the agent that is watched has in each trace.
    pub steps: usize,
    /// Whether a difference is made smaller before it is told.
    pub shrinks: bool,
}

/// Two runs that differ.
#[derive(Debug, Clone)]
pub struct Found {
    /// How many pairs were equal before it.
    pub pairs_before: u64,
    /// The trace of the agent that is watched.
    pub plan: Plan,
    /// What was beside it in the first run.
    pub one: Variation,
    /// And in the second.
    pub two: Variation,
    /// Where they differ.
    pub difference: Difference,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.plan.seed, self.difference)?;
        for (name, variation) in self.runs() {
            let others: Vec<String> = variation.others.iter().map(Other::to_string).collect();
            let others = if others.is_empty() { "nobody".to_owned() } else { others.join(", ") };
            writeln!(f, "beside it in run {name}: {others}")?;
        }
        writeln!(f, "what happens to it, which begins with version {}:", self.plan.version)?;
        for (number, step) in self.plan.steps.iter().enumerate() {
            for (name, variation) in self.runs() {
                for aside in variation.asides.iter().filter(|aside| aside.before == number) {
                    let who = variation.others.get(aside.who).map_or("?", |it| it.id.as_str());
                    write!(f, "       run {name}, `{who}`: {}", aside.step)?;
                    if let Some(polls) = aside.cut_after {
                        write!(f, " (cut off after {polls} polls)")?;
                    }
                    writeln!(f, " (the next after {} yields)", aside.yields)?;
                }
            }
            writeln!(f, "  {number:>3}  {step}")?;
        }
        Ok(())
    }
}

impl Found {
    fn runs(&self) -> [(&'static str, &Variation); 2] {
        [("one", &self.one), ("two", &self.two)]
    }
}

/// What came of many pairs.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Pairs that were compared.
    pub pairs: u64,
    /// Steps of all runs together.
    pub steps: u64,
    /// Bytes that were compared.
    pub bytes: u64,
    /// How much was seen, by kind of stream.
    pub counts: BTreeMap<String, u64>,
    /// The first difference.
    pub found: Option<Found>,
}

impl Outcome {
    /// Adds what another part found.
    pub fn add(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.steps += other.steps;
        self.bytes += other.bytes;
        for (kind, count) in other.counts {
            *self.counts.entry(kind).or_default() += count;
        }
        if self.found.is_none() {
            self.found = other.found;
        }
    }

    fn saw(&mut self, observed: &Observed, plan: &Plan, variation: &Variation) {
        self.steps += (plan.steps.len() + variation.len()) as u64;
        self.bytes += observed.bytes() as u64;
        for (kind, count) in observed.counts() {
            *self.counts.entry(kind).or_default() += count as u64;
        }
    }
}

/// Runs all pairs of one seed: each variation against the first run.
pub fn run_seed(ground: &Arc<Ground>, seed: u64, options: &Options) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let plan = generate::plan(seed, options.steps);
    let one = generate::variation(seed, 0, plan.steps.len());
    let first = play(ground, &plan, &one)?;
    outcome.saw(&first, &plan, &one);
    for number in 1..=VARIATIONS {
        let two = generate::variation(seed, number, plan.steps.len());
        let second = play(ground, &plan, &two)?;
        outcome.saw(&second, &plan, &two);
        if let Some(difference) = first.difference(&second) {
            let pairs_before = outcome.pairs;
            let mut found = Found { pairs_before, plan, one, two, difference };
            if options.shrinks {
                shrink(ground, &mut found)?;
            }
            outcome.found = Some(found);
            return Ok(outcome);
        }
        outcome.pairs += 1;
    }
    Ok(outcome)
}

/// Runs pairs until one differs or all are done, on this thread.
pub fn run(options: &Options, tell: impl Fn(&Outcome)) -> Result<Outcome> {
    let ground = Arc::new(Ground::new()?);
    let mut outcome = Outcome::default();
    let mut seed = options.seed;
    while outcome.pairs < options.pairs && outcome.found.is_none() {
        let before = outcome.pairs;
        let mut part = run_seed(&ground, seed, options)?;
        if let Some(found) = &mut part.found {
            found.pairs_before += before;
        }
        outcome.add(part);
        tell(&outcome);
        seed += 1;
    }
    Ok(outcome)
}

/// Runs one pair; where it differs.
pub fn differ(
    ground: &Arc<Ground>,
    plan: &Plan,
    one: &Variation,
    two: &Variation,
) -> Result<Option<Difference>> {
    let first = play(ground, plan, one)?;
    Ok(first.difference(&*play(ground, plan, two)?))
}
