//! The words of `insula service`.

use clap::{Args, Subcommand};

/// Let the machine start the daemon, and keep it running.
#[derive(Debug, Subcommand)]
pub enum Service {
    /// Write the unit, enable it and start it
    #[command(
        after_help = "Without --system the service is this person's own: it starts when they log in, or with the machine after `loginctl enable-linger`. With --system, run as root, it starts with the machine and runs as --user."
    )]
    Install(Install),
    /// Show how the service stands; exit 1 when it does not run
    Status(Which),
    /// Show what the service printed, by the journal of the machine
    Logs(ServiceLogs),
    /// Stop the service and remove its unit; the home stays
    Uninstall(Which),
}

/// Which service.
#[derive(Debug, Args)]
pub struct Which {
    /// The machine's service instead of this person's
    #[arg(long)]
    pub system: bool,
    /// What the service is called
    #[arg(long, value_name = "NAME", default_value = "insula")]
    pub name: String,
}

/// Write the unit, enable it and start it.
#[derive(Debug, Args)]
pub struct Install {
    #[command(flatten)]
    pub which: Which,
    /// Who the daemon runs as; only with --system, and the home must be theirs
    #[arg(long, value_name = "NAME", requires = "system")]
    pub user: Option<String>,
    /// Print the unit and change nothing
    #[arg(long)]
    pub print: bool,
}

/// Show what the service printed.
#[derive(Debug, Args)]
pub struct ServiceLogs {
    #[command(flatten)]
    pub which: Which,
    /// Go on with what comes
    #[arg(long, short)]
    pub follow: bool,
    /// How many lines
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    pub lines: u32,
}
