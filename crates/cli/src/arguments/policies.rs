//! What `insula policies` takes.

use clap::Subcommand;
use std::path::PathBuf;

/// Folders of hooks, a scope rule, tool rules and approvals.
#[derive(Debug, Subcommand)]
pub enum Policies {
    /// Show what a policy takes and grants, and install it; its folder's name is its own
    Install {
        /// The folder with its policy.yaml
        folder: PathBuf,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// List policies, whether each is as it was installed, and which agents apply it
    List,
    /// Show what a policy takes and grants
    Show {
        /// Its name, or a folder that is not installed
        #[arg(value_name = "POLICY")]
        name: String,
    },
    /// Compare policies with what was installed; exit 1 when one differs
    Verify {
        /// One policy; without it all
        #[arg(value_name = "POLICY")]
        name: Option<String>,
    },
    /// Remove a policy that no agent applies
    Remove {
        /// Its name
        #[arg(value_name = "POLICY")]
        name: String,
    },
}
