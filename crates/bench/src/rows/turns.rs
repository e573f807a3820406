//! Whole turns over the API under load, beside what the driver reaches without a daemon.

use super::{Bench, SESSION_TURNS, direct, first, load, settle, spend};
use crate::daemon::Daemon;
use crate::driver::Outcome;
use crate::homes::{self, Durability};
use crate::stats::Figure;
use anyhow::Result;

/// Agents behind the load.
pub const AGENTS: usize = 28;
/// Turns before a measurement, so that databases and connections are open.
const WARM_UP: usize = 500;

/// One load to measure.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Agents in the home and in the load.
    pub agents: usize,
    /// Sessions at once.
    pub sessions: usize,
    /// Turns that count.
    pub turns: usize,
    /// What a commit survives.
    pub durability: Durability,
    pub session_turns: usize,
}

/// Turns a second that 64 sessions should have, or this share of what the driver reaches
/// without a daemon where that is lower.
const RATE_MIN: f64 = 3_000.0;
const SHARE_MIN: f64 = 0.4;

#[derive(Default)]
struct Taken {
    rate: Figure,
    p50_ms: Figure,
    p99_ms: Figure,
    cpu_ms: Figure,
    direct: Figure,
    share: Figure,
    idle_mb: Figure,
    greeted_mb: Figure,
    after_mb: Figure,
    peak_mb: Figure,
}

impl Taken {
    fn take(&mut self, bench: &Bench, plan: Plan) -> Result<()> {
        let limit = direct(bench, plan.sessions, plan.turns)?;
        let home = homes::serving(plan.agents, bench.model.address, plan.durability)?;
        let daemon = Daemon::start(&bench.insula, home.path())?;
        let process = daemon.process();
        settle();
        self.idle_mb.add(process.weight()?.resident_mb);
        let mut load = load(&daemon, first(plan.agents), plan.agents, plan.agents)?;
        load.prefix = "greet".to_owned();
        spend(&daemon, load.clone())?;
        settle();
        self.greeted_mb.add(process.weight()?.resident_mb);
        load.sessions = plan.sessions;
        load.turns = WARM_UP;
        load.session_turns = plan.session_turns;
        load.prefix = "warm".to_owned();
        spend(&daemon, load.clone())?;
        load.turns = plan.turns;
        load.prefix = "s".to_owned();
        let spent = spend(&daemon, load)?;
        self.note(&spent.outcome, &limit);
        self.cpu_ms.add(spent.cpu_ms);
        settle();
        let weight = process.weight()?;
        self.after_mb.add(weight.resident_mb);
        self.peak_mb.add(weight.peak_mb);
        daemon.stop()
    }

    /// How many turns a second would be enough with 64 sessions, by what was reached without a
    /// daemon.
    fn enough(&self) -> f64 {
        RATE_MIN.min(self.direct.median() * SHARE_MIN)
    }

    fn note(&mut self, outcome: &Outcome, limit: &Outcome) {
        self.rate.add(outcome.rate());
        self.p50_ms.add(outcome.quantile_ms(0.5));
        self.p99_ms.add(outcome.quantile_ms(0.99));
        self.direct.add(limit.rate());
        self.share.add(outcome.rate() / limit.rate() * 100.0);
    }
}

/// Measures one plan and prints it as a list.
pub fn one(bench: &Bench, plan: Plan) -> Result<()> {
    let mut taken = Taken::default();
    for _ in 0..bench.runs {
        taken.take(bench, plan)?;
    }
    let Taken { rate, p50_ms, p99_ms, cpu_ms, direct, share, .. } = &taken;
    println!("turns/s            {rate:.0}");
    println!("p50, ms            {p50_ms:.2}");
    println!("p99, ms            {p99_ms:.2}");
    println!("CPU per turn, ms   {cpu_ms:.3}");
    println!("direct, turns/s    {direct:.0}");
    println!("of direct, %       {share:.1}");
    println!("with 64 sessions   {:.0} turns/s are enough, and p99 50 ms", taken.enough());
    let Taken { idle_mb, greeted_mb, after_mb, peak_mb, .. } = &taken;
    println!(
        "resident, MB       idle {idle_mb:.1}, after a turn each {greeted_mb:.1}, after the load {after_mb:.1}, peak {peak_mb:.1}"
    );
    Ok(())
}

/// Prints the table.
pub fn report(bench: &Bench) -> Result<()> {
    println!(
        "| sessions | durability | turns/s | direct, turns/s | of direct, % | p50, ms | p99, ms | daemon CPU per turn, ms |"
    );
    println!("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut weights = vec![];
    for (sessions, turns) in [(1, 4_000), (64, 20_000)] {
        for durability in Durability::ALL {
            let mut taken = Taken::default();
            let plan =
                Plan { agents: AGENTS, sessions, turns, durability, session_turns: SESSION_TURNS };
            for _ in 0..bench.runs {
                taken.take(bench, plan)?;
            }
            let Taken { rate, p50_ms, p99_ms, cpu_ms, direct, share, .. } = &taken;
            println!(
                "| {sessions} | `{}` | {rate:.0} | {direct:.0} | {share:.0} | {p50_ms:.2} | {p99_ms:.2} | {cpu_ms:.3} |",
                durability.as_str()
            );
            weights.push((sessions, durability, taken));
        }
    }
    println!();
    println!(
        "At least 1,000 turns/s with one session, and with 64 the lower of 3,000 and 40 % of direct; p99 at most 50 ms; at most 0.4 ms CPU."
    );
    println!();
    println!("| load | resident idle, MB | after a turn of each agent | after the load | peak |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for (sessions, durability, taken) in &weights {
        let Taken { idle_mb, greeted_mb, after_mb, peak_mb, .. } = taken;
        println!(
            "| {sessions} sessions, `{}` | {idle_mb:.1} | {greeted_mb:.1} | {after_mb:.1} | {peak_mb:.1} |",
            durability.as_str()
        );
    }
    println!();
    println!("At most 20 idle, 40 after a turn each, 60 after the load, and 20 of growth.");
    Ok(())
}
