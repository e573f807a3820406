//! What can be typed about setting up a home: models, first agents, channels.

use clap::{Args, Subcommand};

/// Set up a home.
#[derive(Debug, Args)]
pub struct Init {
    /// The model, as provider/name; `rehearsal/rehearsal` needs no key and no network
    #[arg(long)]
    pub model: Option<String>,
    /// Where the model's provider is, if it is none of the built-in ones
    #[arg(long, value_name = "URL", requires = "model")]
    pub base_url: Option<String>,
    /// Take the provider's key from this environment variable
    #[arg(long, value_name = "VARIABLE", requires = "model")]
    pub key_env: Option<String>,
    /// What the agent is to begin with: assistant, coder, family, worker, community, support or
    /// researcher
    #[arg(long)]
    pub template: Option<String>,
    /// The agent's id [default: what it is to begin with]
    #[arg(long, value_name = "NEW")]
    pub agent: Option<String>,
    /// What people see it called
    #[arg(long, allow_hyphen_values = true)]
    pub name: Option<String>,
    /// A platform that it is reached on, or `none`
    #[arg(long, value_name = "PLATFORM")]
    pub channel: Option<String>,
    #[command(flatten)]
    pub account: AccountWords,
    /// Who may talk to the agent, as platform:user; the first one is its admin
    #[arg(long = "allow", value_name = "WHO")]
    pub allow: Vec<String>,
    /// Ask neither the model nor the platform whether it works
    #[arg(long)]
    pub no_test: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Write it without asking
    #[arg(long)]
    pub yes: bool,
}

/// What an account is made of.
#[derive(Debug, Args, Default)]
pub struct AccountWords {
    /// What the account is called here
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub account: String,
    /// Take the account's token or secret from this environment variable
    #[arg(long, value_name = "VARIABLE")]
    pub token_env: Option<String>,
    /// A further setting of the account, such as homeserver=https://matrix.org; secrets are kept
    /// sealed
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
}

/// Connect platforms, and see how they stand.
#[derive(Debug, Subcommand)]
pub enum Channels {
    /// List the accounts, and the platforms that there could be accounts of
    List,
    /// Add an account: writes it into config.yaml, keeps its token as a secret, and tries it; exit 1
    /// when the platform refuses it
    Add(ChannelAdd),
    /// Ask each platform who we are there, and what we lack; exit 1 when one refuses
    Test {
        /// One platform; without it all
        platform: Option<String>,
    },
}

/// Add an account.
#[derive(Debug, Args)]
pub struct ChannelAdd {
    /// The platform
    pub platform: String,
    /// The agent that answers there; without it whoever answers by the bindings
    #[arg(long)]
    pub agent: Option<String>,
    #[command(flatten)]
    pub account: AccountWords,
    /// Do not ask the platform whether it works
    #[arg(long)]
    pub no_test: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Write it without asking
    #[arg(long)]
    pub yes: bool,
}
