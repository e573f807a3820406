//! One start of the daemon: from exec to its `ready` line, then what it weighs at rest.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a measuring program: starts processes, reads the clock and /proc"
)]

use crate::stats::Sample;
use anyhow::{Context as _, Result, bail};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a daemon may settle before it is weighed: watches are set up after it is ready.
const SETTLE: Duration = Duration::from_millis(1_500);

/// The binary to measure and how often.
pub fn arguments() -> Result<(PathBuf, usize)> {
    let mut arguments = std::env::args_os().skip(1);
    let binary = arguments.next().context("usage: insula-bench PATH-TO-INSULA [RUNS]")?;
    let runs = match arguments.next() {
        Some(text) => text.to_string_lossy().parse().context("RUNS is a number")?,
        None => 5,
    };
    Ok((binary.into(), runs))
}

/// Starts the daemon, waits until it is ready, weighs it and stops it.
pub fn start(binary: &Path, home: &Path) -> Result<Sample> {
    let begun = Instant::now();
    let mut daemon = Command::new(binary)
        .arg("--home")
        .arg(home)
        .args(["up", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{} can't be started", binary.display()))?;
    let log = daemon.stderr.take().context("no standard error")?;
    let mut ready = None;
    for line in BufReader::new(log).lines() {
        if line?.contains("ready") {
            ready = Some(begun.elapsed());
            break;
        }
    }
    let Some(ready) = ready else { bail!("the daemon ended before it was ready") };
    std::thread::sleep(SETTLE);
    let (resident_kb, peak_kb) = weigh(&daemon)?;
    stop(&mut daemon)?;
    Ok(Sample { ready_ms: ready.as_secs_f64() * 1e3, resident_kb, peak_kb })
}

fn weigh(daemon: &Child) -> Result<(f64, f64)> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.id()))?;
    let field = |name: &str| -> Result<f64> {
        let line = status.lines().find(|line| line.starts_with(name)).context("no such field")?;
        Ok(line.split_whitespace().nth(1).context("no value")?.parse()?)
    };
    Ok((field("VmRSS:")?, field("VmHWM:")?))
}

fn stop(daemon: &mut Child) -> Result<()> {
    Command::new("kill").arg(daemon.id().to_string()).status()?;
    let status = daemon.wait()?;
    if !status.success() {
        bail!("the daemon ended with {status}");
    }
    Ok(())
}
