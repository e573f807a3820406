//! What `insula import` takes.

use clap::{Args, Subcommand};
use std::path::PathBuf;

const AFTER: &str = "Secrets go to the vault. What let more people or chats at something than is let here is closed, and listed. Run it again when more was said there: what is here already stays as it is, and what you changed or removed here does not come back. The daemon has to be stopped meanwhile; --dry-run does not need that.";

/// Take over agents from another runtime's home.
#[derive(Debug, Subcommand)]
pub enum Import {
    /// From Hermes Agent: its profiles become agents
    #[command(after_help = AFTER)]
    Hermes(Wish),
    /// From OpenClaw: its agents become agents
    #[command(after_help = AFTER)]
    Openclaw(Wish),
}

/// What to take over.
#[derive(Debug, Args)]
pub struct Wish {
    /// Its home folder, such as ~/.hermes or ~/.openclaw
    pub path: PathBuf,
    /// Say what would become of each thing, with the line it comes from, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Bring also what was brought before and was changed or removed here since
    #[arg(long)]
    pub again: bool,
}
