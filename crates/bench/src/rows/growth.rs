//! What must not grow: the cost of a turn with other agents and with the length of its
//! session, and memory with turns.

use super::{Bench, first, load, settle, spend};
use crate::daemon::Daemon;
use crate::homes::{self, Durability};
use crate::machine;
use crate::stats::Figure;
use anyhow::Result;

/// Agents in the home of whom one is talked to.
const CROWDS: [usize; 3] = [1, 100, 10_000];
/// Sessions of that one.
const CROWD_SESSIONS: usize = 8;
/// Turns of it that count.
const CROWD_TURNS: usize = 6_000;
/// Sessions that are made long at once.
const LONG_SESSIONS: usize = 8;
/// Turns of them that count, in each.
const LONG_TURNS: usize = 100;

/// Prints what a turn costs beside more and more agents.
pub fn agents(bench: &Bench) -> Result<()> {
    println!("| agents in the home | daemon CPU per turn, ms | turns/s |");
    println!("| ---: | ---: | ---: |");
    for crowd in CROWDS {
        let (mut cpu_ms, mut rate) = (Figure::default(), Figure::default());
        for _ in 0..bench.runs {
            let home = homes::serving(crowd, bench.model.address, Durability::Power)?;
            let daemon = Daemon::start(&bench.insula, home.path())?;
            settle();
            let mut load = load(&daemon, first(1), CROWD_SESSIONS, CROWD_TURNS / 10)?;
            load.prefix = "warm".to_owned();
            spend(&daemon, load.clone())?;
            (load.turns, load.prefix) = (CROWD_TURNS, "s".to_owned());
            let spent = spend(&daemon, load)?;
            cpu_ms.add(spent.cpu_ms);
            rate.add(spent.outcome.rate());
            daemon.stop()?;
        }
        println!("| {crowd} | {cpu_ms:.3} | {rate:.0} |");
    }
    Ok(())
}

/// Prints what a turn costs at the beginning of a session and far into it.
pub fn length(bench: &Bench) -> Result<()> {
    println!("| about message | daemon CPU per turn, ms | p50, ms | bytes to the model |");
    println!("| ---: | ---: | ---: | ---: |");
    let home = homes::serving(LONG_SESSIONS, bench.model.address, Durability::Power)?;
    let daemon = Daemon::start(&bench.insula, home.path())?;
    let mut load = load(&daemon, first(LONG_SESSIONS), LONG_SESSIONS, 2_000)?;
    // Ten turns a session: on average the tenth message.
    (load.session_turns, load.prefix) = (10, "warm".to_owned());
    spend(&daemon, load.clone())?;
    load.prefix = "short".to_owned();
    let spent = spend(&daemon, load.clone())?;
    let row = |message: usize, spent: &super::Spent| {
        println!(
            "| {message} | {:.3} | {:.2} | {} |",
            spent.cpu_ms,
            spent.outcome.quantile_ms(0.5),
            bench.model.last_len()
        );
    };
    row(10, &spent);
    (load.session_turns, load.prefix) = (usize::MAX, "long".to_owned());
    let mut said = 0;
    for message in [100, 400, 1_000, 5_000] {
        let turns = (message / 2_usize).saturating_sub(said + LONG_TURNS / 2);
        load.turns = turns * LONG_SESSIONS;
        if load.turns > 0 {
            spend(&daemon, load.clone())?;
        }
        load.turns = LONG_TURNS * LONG_SESSIONS;
        let spent = spend(&daemon, load.clone())?;
        said += turns + LONG_TURNS;
        row(message, &spent);
    }
    daemon.stop()
}

/// Prints what the daemon weighs while it works through `turns` turns.
pub fn memory(bench: &Bench, turns: usize, every: usize) -> Result<()> {
    println!("| after turns | resident, MB | turns/s | p99, ms | daemon CPU per turn, ms |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    let agents = super::turns::AGENTS;
    let home = homes::serving(agents, bench.model.address, Durability::Power)?;
    let daemon = Daemon::start(&bench.insula, home.path())?;
    settle();
    let process = daemon.process();
    println!("| 0 | {:.1} | | | |", process.weight()?.resident_mb);
    let mut load = load(&daemon, first(agents), 64, every)?;
    for part in 1..=turns.div_ceil(every) {
        load.prefix = format!("part{part}-");
        let begun = machine::now();
        let spent = spend(&daemon, load.clone())?;
        let rate = spent.outcome.turns as f64 / machine::since(begun).as_secs_f64();
        println!(
            "| {} | {:.1} | {rate:.0} | {:.1} | {:.3} |",
            part * every,
            process.weight()?.resident_mb,
            spent.outcome.quantile_ms(0.99),
            spent.cpu_ms
        );
    }
    settle();
    let weight = process.weight()?;
    println!(
        "\nAt rest afterwards {:.1} MB; at most {:.1} MB.",
        weight.resident_mb, weight.peak_mb
    );
    daemon.stop()
}
