//! The words of `insula backup` and `insula restore`.

use clap::Args;
use std::path::PathBuf;

/// Where a passphrase comes from.
#[derive(Debug, Args)]
pub struct PassphraseFrom {
    /// Read the passphrase from the first line of this file, in place of the terminal or standard input
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
}

/// Pack the home into one sealed file.
#[derive(Debug, Args)]
pub struct Backup {
    /// The file to make; nothing stands there until it is whole
    pub file: PathBuf,
    #[command(flatten)]
    pub passphrase: PassphraseFrom,
}

/// Make a home of a backup.
#[derive(Debug, Args)]
pub struct Restore {
    /// The backup
    pub file: PathBuf,
    /// Examine the backup and write nothing
    #[arg(long)]
    pub check: bool,
    /// Restore it although an audit chain in it does not hold
    #[arg(long, conflicts_with = "check")]
    pub accept_broken_audit: bool,
    #[command(flatten)]
    pub passphrase: PassphraseFrom,
}
