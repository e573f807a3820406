//! What can be typed of agents: which there are, and what becomes of them.

use super::bundle::{CloneAgent, ExportAgent, ImportAgent, RenameAgent};
use clap::{Args, Subcommand};

/// One agent.
#[derive(Debug, Args)]
pub struct OneAgent {
    /// The agent's id or name
    pub agent: String,
}

/// List, show, add and change agents.
#[derive(Debug, Subcommand)]
pub enum Agents {
    /// List every agent
    List,
    /// Show one agent
    Show(OneAgent),
    /// Add an agent: writes its agent.yaml
    Add(Add),
    /// Write one setting of an agent into its agent.yaml
    #[command(
        after_help = "The agent is checked with the setting first; what does not work is not written. A setting that stands in a file already is changed there.\n\nExamples:\n  insula agents set family network public\n  insula agents set family access '{allow: [\"telegram:12345\"]}'"
    )]
    Set(SetKey),
    /// Stop an agent from serving; it keeps everything
    Pause(OneAgent),
    /// Let a paused or archived agent serve again
    Resume(OneAgent),
    /// Apply edits to one agent alone
    Reload(OneAgent),
    /// End and restart an agent's turns, MCP servers and programs
    #[command(
        after_help = "Its files are read again. Turns that run end, and say so in their chats; nobody's words are lost, and whoever still wants an answer asks again. What was said and had not begun is answered afterwards. Other agents are not touched."
    )]
    Restart(OneAgent),
    /// Show, set or clear the chat where an agent tells what becomes of it
    #[command(
        after_help = "Admins of the agent do the same in the chat itself, by /sethome and /sethome off.\n\nExamples:\n  insula agents home family\n  insula agents home family --platform telegram --chat -1001234\n  insula agents home family off"
    )]
    Home(AgentHome),
    /// Put an agent away; it keeps everything
    Archive(OneAgent),
    /// Make another agent like one that is there: its settings, soul and skills
    Clone(CloneAgent),
    /// Call an agent otherwise, with all that is its own
    #[command(
        after_help = "What is its own follows: files, conversations, memory, secrets, audit records, tokens, and what bindings, links and boards say of it. A daemon that runs begins anew for it. Nothing is reached by the old id any more.\n\nExample:\n  insula agents rename coder reviewer"
    )]
    Rename(RenameAgent),
    /// Pack an agent into one file: its settings, soul and skills, and more when asked
    #[command(
        after_help = "What is private (--memory, --files, --sessions, --secrets) is sealed with a passphrase, which is asked for or read from standard input or --passphrase-file. Audit records and bindings stay here.\n\nExamples:\n  insula agents export coder coder.insula\n  insula agents export coder coder.insula --memory --files"
    )]
    Export(ExportAgent),
    /// Add the agent of such a file
    #[command(
        after_help = "The file is read to its end and the agent is checked with this home's configuration before anything is written. What it would be granted is printed.\n\nExamples:\n  insula agents import coder.insula --dry-run\n  insula agents import coder.insula --as second-coder"
    )]
    Import(ImportAgent),
    /// Delete an agent with all it has: files, sessions, memory, audit
    Delete {
        /// The agent's id or name
        agent: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// The chat where an agent tells what becomes of it.
#[derive(Debug, Args)]
pub struct AgentHome {
    /// The agent's id or name
    pub agent: String,
    /// `off`: it tells nobody
    #[arg(value_parser = ["off"], conflicts_with_all = ["platform", "chat"])]
    pub off: Option<String>,
    /// Where the chat is
    #[arg(long, requires = "chat")]
    pub platform: Option<String>,
    /// The chat
    #[arg(long, allow_hyphen_values = true, requires = "platform")]
    pub chat: Option<String>,
    /// The topic inside the chat
    #[arg(long, allow_hyphen_values = true, requires = "chat")]
    pub topic: Option<String>,
    /// The person, where it is theirs alone or a binding names them
    #[arg(long, allow_hyphen_values = true, requires = "chat")]
    pub user: Option<String>,
    /// dm, group, channel or thread [default: dm where the chat is the user, else group]
    #[arg(long, value_name = "KIND", requires = "chat")]
    pub chat_type: Option<String>,
    /// Our account on the platform [default: the only one]
    #[arg(long, allow_hyphen_values = true, requires = "chat")]
    pub account: Option<String>,
}

/// Write one setting of an agent.
#[derive(Debug, Args)]
pub struct SetKey {
    /// The agent's id or name
    pub agent: String,
    /// The key, such as `network`
    pub key: String,
    /// Its value, as YAML on one line
    #[arg(allow_hyphen_values = true)]
    pub value: String,
}

/// Add an agent.
#[derive(Debug, Args)]
pub struct Add {
    /// Its id: a-z, 0-9, `_` and `-`
    #[arg(value_name = "NEW")]
    pub agent: String,
    /// What people see it called
    #[arg(long, allow_hyphen_values = true)]
    pub name: Option<String>,
    /// What it is to begin with, settings and soul: assistant, coder, family, worker, community,
    /// support or researcher
    #[arg(long, conflicts_with_all = ["description", "personality", "tools", "memory"])]
    pub template: Option<String>,
    /// What it is for
    #[arg(long, allow_hyphen_values = true)]
    pub description: Option<String>,
    /// provider/name
    #[arg(long)]
    pub model: Option<String>,
    /// Who it is, in a few sentences
    #[arg(long, allow_hyphen_values = true)]
    pub personality: Option<String>,
    /// A profile: minimal, messaging, coding or full
    #[arg(long)]
    pub tools: Option<String>,
    /// Let it remember
    #[arg(long)]
    pub memory: bool,
}
