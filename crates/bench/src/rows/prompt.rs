//! What a first word costs in bytes to the model.

use super::{Bench, load, spend};
use crate::daemon::Daemon;
use crate::homes;
use anyhow::Result;

/// Prints how much a fresh coding agent sends for "ping".
pub fn report(bench: &Bench) -> Result<()> {
    let home = homes::coder(bench.model.address)?;
    let daemon = Daemon::start(&bench.insula, home.path())?;
    let load = load(&daemon, vec!["coder".to_owned()], 1, 1)?;
    spend(&daemon, load)?;
    println!(
        "\"ping\" to a fresh agent with `tools: coding` sends {} bytes to the model (at most 8,192).",
        bench.model.last_len()
    );
    daemon.stop()
}
