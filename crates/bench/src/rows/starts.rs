//! How soon the daemon is ready, and what it weighs before anyone has said anything.

use super::{Bench, settle};
use crate::daemon::Daemon;
use crate::homes;
use crate::stats::Figure;
use anyhow::{Context as _, Result};
use std::path::Path;

/// Agents in a home: one, what a household of specialists has, what other runtimes could
/// not start, and the two ends of the slope.
const SIZES: [usize; 5] = [1, 28, 600, 1_000, 10_000];

#[derive(Default)]
struct Start {
    ready_ms: Figure,
    resident_mb: Figure,
    peak_mb: Figure,
}

impl Start {
    fn take(&mut self, insula: &Path, home: &Path) -> Result<()> {
        let daemon = Daemon::start(insula, home)?;
        settle();
        let weight = daemon.process().weight()?;
        self.ready_ms.add(daemon.ready.as_secs_f64() * 1e3);
        self.resident_mb.add(weight.resident_mb);
        self.peak_mb.add(weight.peak_mb);
        daemon.stop()
    }

    fn row(&self, size: usize, home: &str) {
        let Self { ready_ms, resident_mb, peak_mb } = self;
        let peak = peak_mb.median();
        println!("| {size} | {home} | {ready_ms:.1} | {resident_mb:.1} | {peak:.1} |");
    }
}

/// Prints the table.
pub fn report(bench: &Bench) -> Result<()> {
    println!("| agents | home | ready after, ms | resident, MB | peak, MB |");
    println!("| ---: | --- | ---: | ---: | ---: |");
    let mut resident = Vec::new();
    for size in SIZES {
        let mut first = Start::default();
        let mut again = Start::default();
        for _ in 0..bench.runs {
            // A fresh home each time: the first start also writes every agent down.
            let home = homes::generate(size)?;
            first.take(&bench.insula, home.path()).context("first start")?;
            again.take(&bench.insula, home.path()).context("second start")?;
        }
        first.row(size, "new");
        again.row(size, "known");
        resident.push((size, first.resident_mb.median(), again.resident_mb.median()));
    }
    slope(&resident);
    Ok(())
}

/// What each further idle agent weighs, between the last two sizes.
fn slope(resident: &[(usize, f64, f64)]) {
    let [.., (low, low_first, low_again), (high, high_first, high_again)] = resident else {
        return;
    };
    let kb = |low_mb: f64, high_mb: f64| (high_mb - low_mb) * 1e3 / (high - low) as f64;
    println!();
    println!(
        "Per further idle agent, from {low} to {high}: {:.1} KB in a new home, {:.1} KB in a known one (at most 10).",
        kb(*low_first, *high_first),
        kb(*low_again, *high_again),
    );
}
