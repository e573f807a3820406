//! What is typed after `insula audit`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Read and verify audit chains.
#[derive(Debug, Subcommand)]
pub enum Audit {
    /// Show the newest records
    Tail(Tail),
    /// Check that a chain, or an export of one scope, is intact; exit 1 when it is not
    Verify(Verify),
    /// Write records to standard output or a file, one JSON object a line
    #[command(after_help = EXPORT_HELP)]
    Export(Export),
    /// Show the key by which an agent's exports are signed, to be told to its tenants
    Key {
        /// The agent's id or name
        agent: String,
    },
}

const EXPORT_HELP: &str =
    "With --scope, an export of an agent is a proof: whoever has it can check it by
`insula audit verify FILE`, without this daemon and without records of anybody else.";

/// Which records: all that is given has to hold.
#[derive(Debug, Args)]
pub struct Filters {
    /// Whose matter it is: a scope such as `chat:telegram:main:5`, or agent, daemon, unknown
    #[arg(long)]
    pub scope: Option<String>,
    /// Who did it, such as `telegram:12345`, `api:TOKEN` or `cli:local`, or by what the agent calls them
    #[arg(long, value_name = "PERSON")]
    pub user: Option<String>,
    /// The conversation: its key, or the number or title of one of its sessions
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// The kind, such as `tool.call`, or `tool.*` for all that begin so
    #[arg(long)]
    pub kind: Option<String>,
    /// Not before: how long ago (30m, 2h, 7d), or when (2026-11-18, 2026-11-18T09:00:00Z)
    #[arg(long)]
    pub since: Option<String>,
}

impl Filters {
    /// Whether nothing but a scope is asked for.
    pub fn is_scope_alone(&self) -> bool {
        let others = [&self.user, &self.session, &self.kind, &self.since];
        self.scope.is_some() && others.into_iter().all(Option::is_none)
    }
}

/// Show the newest records.
#[derive(Debug, Args)]
pub struct Tail {
    /// The agent; without it, the daemon's own chain
    pub agent: Option<String>,
    /// How many
    #[arg(long, short = 'n', default_value_t = 20)]
    pub lines: usize,
    /// Go on with those that come, until it is interrupted
    #[arg(long, short)]
    pub follow: bool,
    #[command(flatten)]
    pub filters: Filters,
}

/// Check what is intact.
#[derive(Debug, Args)]
pub struct Verify {
    /// The agent, or the file of an export; without it, every chain there is
    #[arg(value_name = "AGENT|FILE")]
    pub what: Option<String>,
    /// The key that must have signed the export, as `insula audit key` shows it
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// An earlier export, which this one must go on from
    #[arg(long, value_name = "FILE")]
    pub after: Option<PathBuf>,
}

impl Verify {
    /// The file that is meant, if one is: what looks like a path, and can't be an agent's id.
    pub fn file(&self) -> Option<PathBuf> {
        let what = self.what.as_deref()?;
        let is_export = self.key.is_some() || self.after.is_some();
        let is_path = what.contains(['/', '.']);
        (is_export || is_path).then(|| what.into())
    }
}

/// Write records.
#[derive(Debug, Args)]
pub struct Export {
    /// The agent; without it, the daemon's own chain
    pub agent: Option<String>,
    /// A file to make, instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub filters: Filters,
}
