//! Many accounts and chats in one daemon: what it weighs, and how many messages it answers.

use super::{Bench, settle};
use crate::daemon::Daemon;
use crate::driver::Outcome;
use crate::homes::{self, Durability};
use crate::messenger::{Messenger, Pace};
use crate::stats::Figure;
use anyhow::{Result, bail};

/// People who speak at once when it is measured how fast it goes.
const AT_ONCE: usize = 64;

/// What to measure.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Bots of ours.
    pub accounts: usize,
    /// People who talk with one of them each.
    pub chats: usize,
    /// Agents behind the bots.
    pub agents: usize,
    /// Messages of each load.
    pub messages: usize,
    /// Messages a second of the steady load.
    pub rate: usize,
    /// What a commit survives.
    pub durability: Durability,
}

impl Default for Plan {
    fn default() -> Self {
        let durability = Durability::Power;
        Self { accounts: 200, chats: 1_000, agents: 28, messages: 20_000, rate: 500, durability }
    }
}

#[derive(Default)]
struct Load {
    rate: Figure,
    p50_ms: Figure,
    p99_ms: Figure,
    cpu_ms: Figure,
    resident_mb: Figure,
    peak_mb: Figure,
}

impl Load {
    fn take(
        &mut self,
        daemon: &Daemon,
        platform: &Messenger,
        (messages, pace): (usize, Pace),
    ) -> Result<()> {
        let before = daemon.process().cpu_ms()?;
        let outcome: Outcome = platform.load(messages, pace)?;
        let cpu_ms = daemon.process().cpu_ms()? - before;
        if outcome.turns != messages {
            bail!("{} of {messages} messages were answered", outcome.turns);
        }
        self.rate.add(outcome.rate());
        self.p50_ms.add(outcome.quantile_ms(0.5));
        self.p99_ms.add(outcome.quantile_ms(0.99));
        self.cpu_ms.add(cpu_ms / messages as f64);
        settle();
        let weight = daemon.process().weight()?;
        self.resident_mb.add(weight.resident_mb);
        self.peak_mb.add(weight.peak_mb);
        Ok(())
    }

    fn print(&self, what: &str) {
        let Self { rate, p50_ms, p99_ms, cpu_ms, resident_mb, peak_mb } = self;
        println!(
            "| {what} | {rate:.0} | {p50_ms:.1} | {p99_ms:.1} | {cpu_ms:.3} | {resident_mb:.1} | {peak_mb:.1} |"
        );
    }
}

/// Measures a plan and prints the table.
pub fn report(bench: &Bench, plan: Plan) -> Result<()> {
    let Plan { accounts, chats, agents, messages, rate, durability } = plan;
    let mut connected_mb = Figure::default();
    let [mut first, mut steady, mut fast] = [Load::default(), Load::default(), Load::default()];
    for _ in 0..bench.runs {
        let platform = Messenger::start(accounts, chats)?;
        let home =
            homes::gateway(agents, accounts, platform.address, bench.model.address, durability)?;
        let daemon = Daemon::start(&bench.insula, home.path())?;
        platform.wait_until_ready()?;
        settle();
        connected_mb.add(daemon.process().weight()?.resident_mb);
        first.take(&daemon, &platform, (chats, Pace::AtOnce(AT_ONCE)))?;
        steady.take(&daemon, &platform, (messages, Pace::Rate(rate)))?;
        fast.take(&daemon, &platform, (messages, Pace::AtOnce(AT_ONCE)))?;
        daemon.stop()?;
    }
    println!(
        "{accounts} accounts, {chats} chats, {agents} agents, `{}`; resident with all accounts connected: {connected_mb:.1} MB",
        durability.as_str()
    );
    println!();
    println!(
        "| load | messages/s | p50, ms | p99, ms | daemon CPU per message, ms | resident after it, MB | peak, MB |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    first.print("a first message in each chat");
    steady.print(&format!("{messages} messages, {rate} a second"));
    fast.print(&format!("{messages} messages, {AT_ONCE} people at once"));
    println!();
    println!("At most 60 MB with 200 accounts and 1,000 chats; at least 500 messages a second.");
    Ok(())
}
