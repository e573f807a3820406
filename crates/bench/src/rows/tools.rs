//! What one call of a tool adds to a turn: reading a file, and running a program in its sandbox.

use super::{Bench, load, settle, spend};
use crate::daemon::Daemon;
use crate::homes;
use crate::stats::Figure;
use anyhow::Result;

/// Sessions at once: one, so that nothing waits but for the call.
const SESSIONS: usize = 1;
/// What is measured: whose turns, how many count, and what they are.
const ROWS: [(&str, usize, &str); 3] = [
    ("talks", 2_000, "nothing"),
    ("reads", 2_000, "`read_file` of 40 lines"),
    ("runs", 400, "`terminal` of `true`"),
];

#[derive(Default)]
struct Taken {
    own_ms: Figure,
    whole_ms: Figure,
    p50_ms: Figure,
    p99_ms: Figure,
}

/// Prints the table.
pub fn report(bench: &Bench) -> Result<()> {
    let mut rows: [Taken; ROWS.len()] = Default::default();
    for _ in 0..bench.runs {
        let home = homes::hands(bench.model.address)?;
        let daemon = Daemon::start(&bench.insula, home.path())?;
        settle();
        for (row, (agent, turns, _)) in rows.iter_mut().zip(ROWS) {
            let mut load = load(&daemon, vec![agent.to_owned()], SESSIONS, turns / 10)?;
            load.prefix = "warm".to_owned();
            spend(&daemon, load.clone())?;
            (load.turns, load.prefix) = (turns, "s".to_owned());
            let spent = spend(&daemon, load)?;
            row.own_ms.add(spent.cpu_ms);
            row.whole_ms.add(spent.cpu_with_children_ms);
            row.p50_ms.add(spent.outcome.quantile_ms(0.5));
            row.p99_ms.add(spent.outcome.quantile_ms(0.99));
        }
        daemon.stop()?;
    }
    println!(
        "| a turn calls | daemon CPU, ms | with its programs, ms | more than without, ms | p50, ms | p99, ms |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let plain = rows.first().map_or(f64::NAN, |row| row.whole_ms.median());
    for (row, (_, _, what)) in rows.iter().zip(ROWS) {
        let Taken { own_ms, whole_ms, p50_ms, p99_ms } = row;
        let more = whole_ms.median() - plain;
        println!(
            "| {what} | {own_ms:.3} | {whole_ms:.3} | {more:.3} | {p50_ms:.2} | {p99_ms:.2} |"
        );
    }
    println!();
    println!("At most 1 ms more for `read_file` and 15 ms more for `true`, programs included.");
    Ok(())
}
