//! What can be typed about who reaches an agent, and what an agent reaches.

use super::OneAgent;
use clap::{Args, Subcommand};

/// Offer an agent as an MCP server.
#[derive(Debug, Args)]
pub struct McpServe {
    /// The agent's id or name
    #[arg(long)]
    pub agent: String,
    /// A token that says what may be done; without one, everything the local admin may
    #[arg(long, env = "INSULA_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
}

/// List, resend and drop what an agent could not deliver.
#[derive(Debug, Subcommand)]
pub enum Deliveries {
    /// List what is not delivered: waiting, uncertain, held or failed, the newest first
    List {
        /// The agent's id or name
        agent: String,
    },
    /// Send it now; where it may have arrived before, it says so
    Resend {
        /// The agent's id or name
        agent: String,
        /// The delivery, as `list` names it, or the chat where it alone waits for that
        #[arg(allow_hyphen_values = true)]
        delivery: String,
    },
    /// Take it out of the outbox for good
    Drop {
        /// The agent's id or name
        agent: String,
        /// The delivery, as `list` names it, or the chat where it alone waits for that
        #[arg(allow_hyphen_values = true)]
        delivery: String,
    },
}

/// List who asks to talk to an agent, let them in, and let them in no longer.
#[derive(Debug, Subcommand)]
pub enum Pairing {
    /// List who asks to be let in, who was, and which groups the agent was added to
    List {
        /// The agent; without it, every agent
        agent: Option<String>,
    },
    /// Let in whoever was given this code
    Approve {
        /// The agent's id or name
        agent: String,
        /// The code, as they were given it; or who asks, as `list` names them
        code: String,
        /// The platform it was given on; without it, any
        #[arg(long)]
        platform: Option<String>,
    },
    /// Let somebody in no longer, or close a group that the agent was added to
    Revoke {
        /// The agent's id or name
        agent: String,
        /// Who, as `list` names them, such as `telegram:12345`, `telegram:chat:-100` or what they are called
        #[arg(value_name = "PERSON")]
        who: String,
    },
}

/// What a token takes away from its agents.
#[derive(Debug, Args)]
pub struct Less {
    /// Of the agents' tools, only this one; may be given several times, and be a group
    #[arg(long = "tool", value_name = "TOOL")]
    pub tools: Vec<String>,
    /// Not this tool; may be given several times
    #[arg(long = "without", value_name = "TOOL")]
    pub without: Vec<String>,
    /// The one model to run on, out of the agents'
    #[arg(long)]
    pub model: Option<String>,
    /// What may be spent by it: usd_per_day, tokens_per_day or turns_per_minute
    #[arg(long = "budget", value_name = "LIMIT=VALUE")]
    pub budget: Vec<String>,
    /// Bounds on what tools are called with, as YAML: '{terminal: {command: {command: [git]}}}'
    #[arg(long, value_name = "YAML")]
    pub rules: Option<String>,
}

/// What a token is made of.
#[derive(Debug, Args)]
pub struct TokenCreate {
    /// An agent it is for; may be given several times
    #[arg(long = "agent", value_name = "AGENT", required = true)]
    pub agents: Vec<String>,
    /// What it may do: chat, read, approve, manage, admin [default: chat]
    #[arg(long = "verb", value_name = "VERB")]
    pub verbs: Vec<String>,
    /// The one scope that it sees, such as `chat:telegram:main:5`; it only reads then
    #[arg(long)]
    pub scope: Option<String>,
    /// What it is for, in your words
    #[arg(long, allow_hyphen_values = true)]
    pub note: Option<String>,
    /// A value for hooks and expressions; may be given several times
    #[arg(long = "metadata", value_name = "KEY=VALUE")]
    pub metadata: Vec<String>,
    #[command(flatten)]
    pub less: Less,
}

/// Make, list and revoke tokens of the API.
#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make a token; its text is shown once
    Create(Box<TokenCreate>),
    /// List every token, without the part that is secret
    List,
    /// Revoke a token at once
    Revoke {
        /// Its id, or its note where one has it alone
        #[arg(value_name = "TOKEN")]
        id: String,
    },
}

/// Work with the Model Context Protocol.
#[derive(Debug, Subcommand)]
pub enum Mcp {
    /// List an agent's servers and tools, and why each tool is in or out
    List(OneAgent),
    /// Connect to an agent's servers and ask for their tools; exit 1 when one fails
    Test {
        /// The agent's id or name
        agent: String,
        /// One server; without it all
        server: Option<String>,
    },
    /// End a server's connection and program, and connect anew; exit 1 when that fails
    Restart {
        /// The agent's id or name
        agent: String,
        /// The server
        server: String,
    },
    /// Let the model see tools that are new or described otherwise than before
    Approve {
        /// The agent's id or name
        agent: String,
        /// The server
        server: String,
        /// One tool, also one that reads as if it gave orders; without it all that wait
        tool: Option<String>,
    },
    /// Offer an agent as an MCP server on standard input and output
    Serve(McpServe),
}

/// Set, list and remove secrets.
#[derive(Debug, Subcommand)]
pub enum Secret {
    /// Set a secret; its value is read from standard input, or asked for at a terminal
    Set(OneSecret),
    /// List secrets by name, and when each was set
    List {
        /// The agent; without it and without --daemon, every secret there is
        #[arg(conflicts_with = "daemon")]
        agent: Option<String>,
        /// The daemon's own, for its channels and shared providers
        #[arg(long)]
        daemon: bool,
    },
    /// Remove a secret
    Remove(OneSecret),
}

/// One secret: of an agent, or of the daemon.
#[derive(Debug, Args)]
pub struct OneSecret {
    /// The agent's id or name, then the secret's name; with --daemon the name alone
    #[arg(required = true, num_args = 1..=2, value_names = ["AGENT", "NAME"])]
    pub words: Vec<String>,
    /// The daemon's own, for its channels and shared providers
    #[arg(long)]
    pub daemon: bool,
}

/// List, show, install, remove and verify an agent's skills.
#[derive(Debug, Subcommand)]
pub enum Skills {
    /// List an agent's skills, those it can't use among them, and why
    List {
        /// The agent's id or name
        agent: String,
    },
    /// Show one skill
    Show {
        /// The agent's id or name
        agent: String,
        /// The skill's name
        skill: String,
    },
    /// Install skills for an agent, from a folder, an archive or a git repository
    Install {
        /// The agent's id or name
        agent: String,
        /// A folder, a .zip or .tar.gz file, or an https://, ssh:// or file:// address of a repository
        source: String,
        /// Take the place of skills of the same name
        #[arg(long)]
        replace: bool,
        /// Accept what blocks a skill, by the hash it was told with; as often as needed
        #[arg(long, value_name = "HASH", value_delimiter = ',')]
        accept: Vec<String>,
    },
    /// Remove a skill from an agent's own folder
    Remove {
        /// The agent's id or name
        agent: String,
        /// The skill's name
        skill: String,
    },
    /// Compare installed skills with what was installed; exit 1 when they differ
    Verify {
        /// The agent's id or name
        agent: String,
    },
}
