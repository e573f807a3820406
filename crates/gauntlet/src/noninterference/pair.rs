//! Pairs of runs: the same trace of one agent beside others that differ in everything. Where what
//! is seen of it differs, the trace is made smaller until nothing can be left out.

use super::disk::Ground;
use super::generate;
use super::observe::{Difference, Observed};
use super::stage::play;
use super::trace::{Plan, Variation};
use anyhow::Result;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// How many variations are compared with the first run of a trace. To be equal is transitive, so
/// each is a pair of its own.
pub const VARIATIONS: u64 = 4;

/// Most runs that are spent on making a trace smaller.
const SHRINK_RUNS_MAX: usize = 400;

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
        writeln!(f, "first configuration: {}", self.plan.version)?;
        for (name, variation) in [("one", &self.one), ("two", &self.two)] {
            writeln!(f, "beside it in run {name}: {:?}", variation.others)?;
        }
        for (number, step) in self.plan.steps.iter().enumerate() {
            for (name, variation) in [("one", &self.one), ("two", &self.two)] {
                for aside in variation.asides.iter().filter(|aside| aside.before == number) {
                    let who = variation.others.get(aside.who).map_or("?", |it| it.id.as_str());
                    writeln!(
                        f,
                        "    (run {name}) {who}: {:?}, then {} yields, cut {:?}",
                        aside.step, aside.yields, aside.cut_after
                    )?;
                }
            }
            writeln!(f, "{number}: {step:?}")?;
        }
        Ok(())
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

/// Leaves out whatever can be left out while the same kind of thing still differs.
fn shrink(ground: &Arc<Ground>, found: &mut Found) -> Result<()> {
    let mut runs = 0;
    let mut attempt = |found: &mut Found, plan: Plan, one: Variation, two: Variation| {
        runs += 1;
        if runs > SHRINK_RUNS_MAX {
            return Ok(false);
        }
        // A trace that can't be played is no smaller trace.
        let Ok(Some(difference)) = differ(ground, &plan, &one, &two) else { return Ok(false) };
        *found = Found { pairs_before: found.pairs_before, plan, one, two, difference };
        Ok::<bool, anyhow::Error>(true)
    };
    // Nobody in the first run, if that is enough.
    let (plan, two) = (found.plan.clone(), found.two.clone());
    attempt(found, plan, Variation::default(), two)?;
    let (plan, one) = (found.plan.clone(), found.one.clone());
    if !found.one.is_empty() {
        attempt(found, plan, one, Variation::default())?;
    }
    // Then pieces, from halves down to single steps.
    let mut size = found.plan.steps.len().max(found.two.asides.len()).div_ceil(2);
    while size > 0 {
        for part in [Part::Steps, Part::Asides(false), Part::Asides(true)] {
            let mut at = 0;
            while at < part.len(found) {
                let (plan, one, two) = part.without(found, at, size);
                if !attempt(found, plan, one, two)? {
                    at += size;
                }
            }
        }
        size /= 2;
    }
    Ok(())
}

/// What can be left out.
#[derive(Clone, Copy)]
enum Part {
    Steps,
    /// Of the second run, or of the first.
    Asides(bool),
}

impl Part {
    fn len(self, found: &Found) -> usize {
        match self {
            Self::Steps => found.plan.steps.len(),
            Self::Asides(false) => found.two.asides.len(),
            Self::Asides(true) => found.one.asides.len(),
        }
    }

    fn without(self, found: &Found, at: usize, size: usize) -> (Plan, Variation, Variation) {
        let Found { mut plan, mut one, mut two, .. } = found.clone();
        let cut = |list: &mut Vec<_>| drop(list.drain(at..(at + size).min(list.len())));
        match self {
            Self::Asides(false) => cut(&mut two.asides),
            Self::Asides(true) => cut(&mut one.asides),
            Self::Steps => {
                let end = (at + size).min(plan.steps.len());
                plan.steps.drain(at..end);
                for aside in one.asides.iter_mut().chain(&mut two.asides) {
                    let moved = aside.before.saturating_sub(end).min(aside.before);
                    aside.before =
                        if aside.before >= end { at + moved } else { aside.before.min(at) };
                    aside.before = aside.before.min(plan.steps.len().saturating_sub(1));
                }
            }
        }
        (plan, one, two)
    }
}
