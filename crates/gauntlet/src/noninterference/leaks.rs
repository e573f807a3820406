//! Tests the tester: wakes one planted bug after the other and says how soon the comparison of
//! runs notices it, and by what.

use super::pair::{Options, Outcome, run};
use crate::machine::{timed, write};
use anyhow::{Result, ensure};
use insula_domain::leak::{self, Leak};
use std::fmt::Write as _;
use std::path::PathBuf;
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
    /// Write the report as a document, too.
    #[arg(long)]
    pub report: Option<PathBuf>,
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
    /// Which pair showed it, from 1.
    pub fn pairs(&self) -> Option<u64> {
        self.outcome.found.as_ref().map(|found| found.pairs_before + 1)
    }

    /// The line of the report.
    pub fn line(&self) -> String {
        let (leak, took) = (self.leak, self.took.as_millis());
        let by = match &self.outcome.found {
            Some(found) => found.difference.kind(),
            None => "nothing",
        };
        let pairs = self.pairs().unwrap_or(self.outcome.pairs);
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
    if let Some(path) = &arguments.report {
        write(path, document(arguments, &all).as_bytes())?;
    }
    Ok(caught == all.len())
}

/// The report as a document.
pub fn document(arguments: &Arguments, all: &[Caught]) -> String {
    let Arguments { pairs, seed, steps, .. } = arguments;
    let caught = all.iter().filter(|it| it.outcome.found.is_some()).count();
    let within = |most: u64| {
        let soon = |it: &&Caught| it.pairs().is_some_and(|pairs| pairs <= most);
        all.iter().filter(soon).count()
    };
    let took: Duration = all.iter().map(|it| it.took).sum();
    let mut text = format!(
        "# Seeded leaks

Who tests the tester? Bugs are planted in the product, each of a kind that was seen in the field \
and at the place where it would really be made. They exist only with the feature `seeded-leaks`, \
which no release compiles with, and are asleep until a test wakes one by name. \
[Noninterference](gauntlet.md#noninterference) knows nothing about them: it has to notice that \
what is seen of one agent depends on others.

`scripts/seeded-leaks` runs this and writes this page: up to {pairs} pairs for each leak, the \
same ones from seed {seed} on, {steps} steps of the agent that is watched and at least 40 in \
every run with others.

**{caught} of {} are caught**, {} of them by the first pair, {} within 10 pairs, {} within 100; \
{:.0} s in all, on one thread.

*Caught by* is the first stream in which a byte differs: `step` is what came of what was done to \
the agent, `model` what its model was asked, `turn` and `heard` what happened in its turns, \
`post` what was posted, `look` what its token shows, `hook`, `mcp`, `search` and `site` what \
others were asked for it, `file` and `rows` what was kept.

| leak | crate | class | what is wrong | caught by | after pairs | seconds |
| --- | --- | --- | --- | --- | ---: | ---: |
",
        all.len(),
        within(1),
        within(10),
        within(100),
        took.as_secs_f64()
    );
    for it in all {
        let (leak, seconds) = (it.leak, it.took.as_secs_f64());
        let by = match &it.outcome.found {
            Some(found) => format!("noninterference, `{}`", found.difference.kind()),
            None => "**nothing**".to_owned(),
        };
        let pairs = it.pairs().unwrap_or(it.outcome.pairs);
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {by} | {pairs} | {seconds:.1} |",
            leak.name(),
            leak.room(),
            leak.class().as_str(),
            leak.what()
        );
    }
    text
}
