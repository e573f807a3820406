//! `insula-gauntlet noninterference`: many pairs, from one seed on.

use super::golden::Recorded;
use super::pair::{Options, Outcome, VARIATIONS, run_seed};
use super::trace::Variation;
use super::{Ground, generate, play, steered};
use crate::machine::{self, on_threads, timed};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// After how many pairs the program says how far it is.
const TELL_EVERY: u64 = 300;

/// What is to be run.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// How many pairs, rounded up to whole traces: each is played beside four kinds of others.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    pub pairs: u64,
    /// The seed of the first trace; the next ones follow.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many steps the agent that is watched has in each trace.
    #[arg(long, default_value_t = 40, value_parser = crate::at_least_one)]
    pub steps: usize,
    /// How many traces are played at the same time.
    #[arg(long, default_value_t = 2, value_parser = crate::at_least_one)]
    pub at_once: usize,
    /// Tell of a difference as it was found, without making it smaller.
    #[arg(long)]
    pub no_shrink: bool,
    /// Print all that is seen in the first run of the first seed, and run nothing else.
    #[arg(long)]
    pub show: bool,
    /// Compare what is seen with this file of recorded runs; `--pairs` says how many.
    #[arg(long, value_name = "FILE", conflicts_with = "show")]
    pub golden: Option<PathBuf>,
    /// Write that file instead.
    #[arg(long, requires = "golden")]
    pub record: bool,
    /// Let strangers speak to the model, which does what they say, and look whether it gets
    /// through; `--pairs` says how many traces.
    #[arg(long, conflicts_with = "golden")]
    pub steered: bool,
}

/// Runs them; whether no byte differed.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.show {
        let Arguments { seed, steps, .. } = *arguments;
        let (plan, one) = match arguments.steered {
            true => (steered::plan(seed, steps), Variation::default()),
            false => (generate::plan(seed, steps), generate::variation(seed, 0, steps)),
        };
        print!("{}", play(&Arc::new(Ground::new()?), &plan, &one)?.text());
        return Ok(true);
    }
    if let Some(file) = &arguments.golden {
        return golden(arguments, file);
    }
    if arguments.steered {
        return steered(arguments);
    }
    let (outcome, took) = timed(|| on_several(arguments));
    let outcome = outcome?;
    let each_ms = took.as_millis() as f64 / outcome.pairs.max(1) as f64;
    println!(
        "{} pairs from seed {}: {} steps and {} bytes compared, {:.0} s, {each_ms:.1} ms a pair",
        outcome.pairs,
        arguments.seed,
        outcome.steps,
        outcome.bytes,
        took.as_secs_f64()
    );
    for (kind, count) in &outcome.counts {
        println!("  {kind}: {count}");
    }
    match &outcome.found {
        Some(found) => println!("broken: after {} pairs\n{found}", found.pairs_before),
        None => println!("held: no byte differs"),
    }
    Ok(outcome.found.is_none())
}

/// Plays traces in which strangers speak; whether nothing was done for them.
fn steered(arguments: &Arguments) -> Result<bool> {
    let (outcome, took) =
        timed(|| steered::run(arguments.seed, arguments.pairs, arguments.steps, arguments.at_once));
    let steered::Outcome { traces, tries, found } = outcome?;
    println!(
        "{traces} traces from seed {}, {tries} tries, {:.0} s",
        arguments.seed,
        took.as_secs_f64()
    );
    match &found {
        Some(found) => println!("broken: {found}"),
        None => println!("held: nothing was done for a stranger"),
    }
    Ok(found.is_none())
}

fn golden(arguments: &Arguments, file: &Path) -> Result<bool> {
    let Arguments { seed, pairs, steps, at_once, .. } = *arguments;
    let (now, took) = timed(|| Recorded::play(seed, pairs, steps, at_once));
    let (now, took) = (now?, took.as_secs_f64());
    if arguments.record {
        machine::write(file, now.text().as_bytes())?;
        println!("recorded {pairs} runs from seed {seed}, {took:.0} s");
        return Ok(true);
    }
    let recorded = Recorded::parse(&String::from_utf8(machine::read(file)?)?)?;
    match recorded.compare(&now) {
        Ok(()) => println!("held: {pairs} runs from seed {seed} are as recorded, {took:.0} s"),
        Err(differs) => println!("broken: {differs}"),
    }
    Ok(recorded.compare(&now).is_ok())
}

/// Runs the pairs on several threads, until one differs.
pub fn on_several(arguments: &Arguments) -> Result<Outcome> {
    let options = Options {
        seed: arguments.seed,
        pairs: arguments.pairs,
        steps: arguments.steps,
        shrinks: !arguments.no_shrink,
    };
    let seeds = arguments.pairs.div_ceil(VARIATIONS);
    let next = AtomicU64::new(0);
    let (all, trouble) = (Mutex::new(Outcome::default()), Mutex::new(None));
    on_threads(arguments.at_once.max(1), || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= seeds {
            return false;
        }
        let part = Ground::new()
            .and_then(|ground| run_seed(&Arc::new(ground), options.seed + number, &options));
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        match part {
            Ok(part) => {
                let before = all.pairs;
                let told = before / TELL_EVERY;
                all.add(part);
                if let Some(found) = &mut all.found {
                    found.pairs_before = found.pairs_before.max(before);
                }
                if all.pairs / TELL_EVERY > told {
                    eprintln!("{} pairs are equal", all.pairs);
                }
                all.found.is_none()
            }
            Err(error) => {
                let error = error.context(format!("seed {}", options.seed + number));
                *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                false
            }
        }
    });
    if let Some(error) = trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}
