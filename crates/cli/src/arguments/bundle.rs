//! The words of `insula agents export`, `import` and `clone`.

use super::backup::PassphraseFrom;
use clap::Args;
use std::path::PathBuf;

/// What of an agent goes along besides its configuration, soul, instructions and skills.
#[derive(Debug, Clone, Copy, Args)]
pub struct Along {
    /// What it remembers, in all its scopes
    #[arg(long)]
    pub memory: bool,
    /// The files of its workspace
    #[arg(long)]
    pub files: bool,
    /// Its conversations, the last 1,000 messages of each; only while no daemon runs
    #[arg(long)]
    pub sessions: bool,
    /// Its secrets, and credentials that stand in its configuration
    #[arg(long)]
    pub secrets: bool,
}

/// Pack an agent into one file.
#[derive(Debug, Args)]
pub struct ExportAgent {
    /// The agent's id or name
    pub agent: String,
    /// The file to make
    pub file: PathBuf,
    #[command(flatten)]
    pub along: Along,
    /// Seal it although nothing in it is private
    #[arg(long)]
    pub seal: bool,
    #[command(flatten)]
    pub passphrase: PassphraseFrom,
}

/// Add the agent of a bundle.
#[derive(Debug, Args)]
pub struct ImportAgent {
    /// The bundle
    pub file: PathBuf,
    /// Its id here, in place of the one it had
    #[arg(long = "as", value_name = "NEW")]
    pub id: Option<String>,
    /// Take over programs of hooks too, which run with the daemon's own rights
    #[arg(long)]
    pub hooks: bool,
    /// Examine it, say what it would be granted, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub passphrase: PassphraseFrom,
}

/// Call an agent otherwise.
#[derive(Debug, Args)]
pub struct RenameAgent {
    /// The agent's id or name
    pub agent: String,
    /// Its new id
    #[arg(value_name = "NEW")]
    pub to: String,
}

/// Make another agent like one that is there.
#[derive(Debug, Args)]
pub struct CloneAgent {
    /// The agent's id or name
    pub agent: String,
    /// The id of the new one
    #[arg(value_name = "NEW")]
    pub to: String,
    #[command(flatten)]
    pub along: Along,
}
