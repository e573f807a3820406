//! Measures the release binary from outside: how soon it is ready and what it weighs.
//!
//! `insula-bench PATH-TO-INSULA [RUNS]` prints a Markdown table. Nothing here fails because
//! a machine was busy; read the spread.

mod daemon;
mod homes;
mod stats;

use anyhow::{Context as _, Result};
use stats::Figures;

/// Agents in a home: one, what a household of specialists has, what other runtimes could
/// not start, and the two ends of the slope.
const SIZES: [usize; 5] = [1, 28, 600, 1_000, 10_000];

fn main() -> Result<()> {
    let (binary, runs) = daemon::arguments()?;
    println!("| agents | home | ready after, ms | resident, MB | peak, MB |");
    println!("| ---: | --- | ---: | ---: | ---: |");
    let mut resident = Vec::new();
    for size in SIZES {
        let mut first = Figures::default();
        let mut again = Figures::default();
        for _ in 0..runs {
            // A fresh home each time: the first start also writes every agent down.
            let home = homes::generate(size)?;
            first.add(daemon::start(&binary, home.path()).context("first start")?);
            again.add(daemon::start(&binary, home.path()).context("second start")?);
        }
        println!("| {size} | new | {first} |");
        println!("| {size} | known | {again} |");
        resident.push((size, first.resident_kb(), again.resident_kb()));
    }
    slope(&resident);
    Ok(())
}

/// What each further idle agent weighs, between the last two sizes.
fn slope(resident: &[(usize, f64, f64)]) {
    let [.., (low, low_first, low_again), (high, high_first, high_again)] = resident else {
        return;
    };
    let agents = (high - low) as f64;
    println!();
    println!(
        "Per further idle agent, from {low} to {high}: {:.1} KB in a new home, {:.1} KB in a known one.",
        (high_first - low_first) / agents,
        (high_again - low_again) / agents,
    );
}
