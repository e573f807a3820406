//! Tests the tester: wakes one planted bug after the other and says how soon the comparison of
//! runs notices it, and by what.

use super::pair::{Options, Outcome, run};
use crate::machine::timed;
use anyhow::{Result, ensure};
use insula_domain::leak::{self, Leak};
use std::time::Duration;

/// What is to be looked for.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Only these, by name.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// How many pairs each may take.
    #[arg(long, default_value_t = 120)]
    pub pairs: u64,
    /// The seed of the first trace.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many steps the agent that is watched has in each trace.
    #[arg(long, default_value_t = 20)]
    pub steps: usize,
    /// Show where each was noticed, in the smallest trace that shows it.
    #[arg(long)]
    pub show: bool,
}

/// What became of one leak.
#[derive(Debug, Clone)]
pub struct Caught {
    /// The leak.
    pub leak: Leak,
    /// What was compared, and where it first differed.
    pub outcome: Outcome,
    /// How long that took.
    pub took: Duration,
}

impl Caught {
    /// The line of the report.
    pub fn line(&self) -> String {
        let (leak, took) = (self.leak, self.took.as_millis());
        let (by, pairs) = match &self.outcome.found {
            Some(found) => (found.difference.kind().to_owned(), found.pairs_before + 1),
            None => ("nothing".to_owned(), self.outcome.pairs),
        };
        format!(
            "{:<30} {:<8} {:<21} noninterference:{by:<9} {pairs:>5} {took:>7}",
            leak.name(),
            leak.room(),
            leak.class().as_str()
        )
    }
}

/// Wakes one leak and looks for it.
pub fn look_for(leak: Leak, arguments: &Arguments) -> Result<Caught> {
    let options = Options {
        seed: arguments.seed,
        pairs: arguments.pairs,
        steps: arguments.steps,
        shrinks: arguments.show,
    };
    leak::wake(Some(leak));
    let (outcome, took) = timed(|| run(&options, |_| ()));
    leak::wake(None);
    Ok(Caught { leak, outcome: outcome?, took })
}

/// Looks for all that are chosen; whether all were caught.
pub fn run_all(arguments: &Arguments, tell: impl Fn(&Caught)) -> Result<Vec<Caught>> {
    let is_chosen = |leak: &Leak| {
        arguments.only.is_empty() || arguments.only.iter().any(|name| name == leak.name())
    };
    for name in &arguments.only {
        ensure!(Leak::parse(name).is_some(), "there is no leak `{name}`");
    }
    let mut all = Vec::new();
    for leak in Leak::ALL.iter().copied().filter(is_chosen) {
        let caught = look_for(leak, arguments)?;
        tell(&caught);
        all.push(caught);
    }
    Ok(all)
}

/// Prints the report; whether all were caught.
pub fn run_and_tell(arguments: &Arguments) -> Result<bool> {
    println!(
        "{:<30} {:<8} {:<21} {:<25} {:>5} {:>7}",
        "leak", "crate", "class", "caught by", "pairs", "ms"
    );
    let all = run_all(arguments, |caught| {
        println!("{}", caught.line());
        if arguments.show
            && let Some(found) = &caught.outcome.found
        {
            println!("{found}");
        }
    })?;
    let caught = all.iter().filter(|it| it.outcome.found.is_some()).count();
    println!("{caught} of {} caught", all.len());
    Ok(caught == all.len())
}
