//! What can be typed.

use crate::setting::Answer;
use clap::{Args, Parser, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;

/// One daemon, many agents, each in its own trust domain.
#[derive(Debug, Parser)]
#[command(name = "insula", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Start with `insula up`. Exit codes: 0 done, 1 failed, 2 wrong use or invalid configuration.\nWith --json an error is {\"error\": {\"message\": …}} on standard output."
)]
pub struct Arguments {
    /// The home folder
    #[arg(long, global = true, value_name = "DIR", env = "INSULA_HOME")]
    pub home: Option<PathBuf>,

    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,

    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// How to answer. What is said on standard output as an MCP server is that protocol's alone.
    pub fn answer(&self) -> Answer {
        let is_protocol = matches!(self.command, Command::Mcp(Mcp::Serve(_)));
        if self.json && !is_protocol { Answer::Json } else { Answer::Text }
    }
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the daemon in this home, which is created on first run
    Up(Up),
    /// Validate the configuration: every error, with its place
    Check(Check),
    /// See which agent a message reaches
    #[command(subcommand)]
    Route(Route),
    /// List, show, add and change agents
    #[command(subcommand)]
    Agents(Agents),
    /// Look at the live object an agent is
    #[command(subcommand)]
    Context(Context),
    /// Show an agent's tools, and why each is in or out
    Tools(Tools),
    /// Work with the Model Context Protocol: an agent's servers, and an agent as a server
    #[command(subcommand)]
    Mcp(Mcp),
    /// Show how the daemon stands; exit 1 when none runs
    Status,
    /// Read the configuration again and apply it
    Reload,
    /// Show what this machine and this home can do, measured, and what is off
    Doctor,
    /// Read and verify audit chains
    #[command(subcommand)]
    Audit(Audit),
    /// Talk to an agent
    #[command(after_help = CHAT_HELP)]
    Chat(Chat),
    /// Show what agents used, and what their budgets leave
    Usage(Usage),
    /// List, show, search and forget an agent's conversations
    #[command(subcommand)]
    Sessions(Sessions),
    /// List, show, search, share, forget, export and verify what an agent remembers
    #[command(subcommand)]
    Memory(Memory),
    /// List and answer what waits for approval
    #[command(subcommand)]
    Approvals(Approvals),
    /// List, resend and drop what an agent could not deliver
    #[command(subcommand)]
    Deliveries(Deliveries),
    /// List who asks to talk to an agent, let them in, and let them in no longer
    #[command(subcommand)]
    Pairing(Pairing),
    /// Make, list and revoke tokens of the API
    #[command(subcommand)]
    Token(Token),
    /// Set, list and remove secrets; no value is ever shown
    #[command(subcommand)]
    Secret(Secret),
    /// List, show, install, remove and verify an agent's skills
    #[command(subcommand)]
    Skills(Skills),
    /// Work with the configuration format
    #[command(subcommand)]
    Config(Config),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Show an agent's tools.
#[derive(Debug, Args)]
pub struct Tools {
    /// The agent's id
    pub agent: String,
    /// Those of a child it could have, in place of its own
    #[arg(long, value_name = "ROLE", num_args = 0..=1, default_missing_value = "leaf", value_parser = ["leaf", "orchestrator"])]
    pub child: Option<String>,
}

/// Offer an agent as an MCP server.
#[derive(Debug, Args)]
pub struct McpServe {
    /// The agent
    #[arg(long)]
    pub agent: String,
    /// A token that says what may be done; without one, everything the local admin may
    #[arg(long, env = "INSULA_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
}

/// Start the daemon.
#[derive(Debug, Args)]
pub struct Up {
    /// Where to listen, instead of what the configuration says; port 0 picks one
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,

    /// Apply edits only on SIGHUP and `insula reload`, not as files change
    #[arg(long)]
    pub no_watch: bool,
}

/// Show what agents used.
#[derive(Debug, Args)]
pub struct Usage {
    /// One agent, by day, principal and context
    pub agent: Option<String>,
    /// How many days back, today included; days begin at midnight UTC
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=400))]
    pub days: u32,
}

/// Validate the configuration.
#[derive(Debug, Args)]
pub struct Check {
    /// Show every setting of every agent with its origin
    #[arg(long)]
    pub resolved: bool,

    /// Show what the files would grant or take away, compared with what is applied
    #[arg(long)]
    pub diff: bool,

    /// Check this file in place of config.yaml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// See which agent a message reaches.
#[derive(Debug, Subcommand)]
pub enum Route {
    /// Print every rule considered, why it lost or won, and the agent, session and scope
    Explain(Explain),
}

/// A message, as far as routing looks at it.
#[derive(Debug, Args)]
pub struct Explain {
    /// Where it comes from
    #[arg(long)]
    pub platform: String,
    /// The chat
    #[arg(long, allow_hyphen_values = true)]
    pub chat: String,
    /// The topic inside the chat
    #[arg(long, allow_hyphen_values = true)]
    pub topic: Option<String>,
    /// The chat a thread hangs below
    #[arg(long, allow_hyphen_values = true)]
    pub parent: Option<String>,
    /// The sender
    #[arg(long, allow_hyphen_values = true)]
    pub user: Option<String>,
    /// A role of the sender; may be given several times
    #[arg(long = "role", value_name = "ROLE", allow_hyphen_values = true)]
    pub roles: Vec<String>,
    /// The guild
    #[arg(long, allow_hyphen_values = true)]
    pub guild: Option<String>,
    /// The team
    #[arg(long, allow_hyphen_values = true)]
    pub team: Option<String>,
    /// dm, group, channel or thread [default: thread below a parent, dm where the chat is the user, else group]
    #[arg(long, value_name = "KIND")]
    pub chat_type: Option<String>,
    /// Our account on the platform [default: the only one, or `default`]
    #[arg(long, allow_hyphen_values = true)]
    pub account: Option<String>,
}

/// One agent.
#[derive(Debug, Args)]
pub struct OneAgent {
    /// The agent's id
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
    /// Stop an agent from serving; it keeps everything
    Pause(OneAgent),
    /// Let a paused or archived agent serve again
    Resume(OneAgent),
    /// Apply edits to one agent alone
    Reload(OneAgent),
    /// Put an agent away; it keeps everything
    Archive(OneAgent),
    /// Delete an agent with all it has: files, sessions, memory, audit
    Delete {
        /// The agent's id
        agent: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// Add an agent.
#[derive(Debug, Args)]
pub struct Add {
    /// Its id: a-z, 0-9, `_` and `-`
    pub agent: String,
    /// What people see it called
    #[arg(long, allow_hyphen_values = true)]
    pub name: Option<String>,
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

/// Look at the live object an agent is.
#[derive(Debug, Subcommand)]
pub enum Context {
    /// Print the context as the runtime holds it, secrets by name only
    Show(OneAgent),
}

/// Read and verify audit chains.
#[derive(Debug, Subcommand)]
pub enum Audit {
    /// Show the newest records
    Tail {
        /// The agent; without it, the daemon's own chain
        agent: Option<String>,
        /// How many
        #[arg(long, short = 'n', default_value_t = 20)]
        lines: usize,
    },
    /// Check that a chain is intact; exit 1 when it is not
    Verify {
        /// The agent; without it, every chain there is
        agent: Option<String>,
    },
    /// Write a whole chain to standard output, one JSON record a line
    Export {
        /// The agent; without it, the daemon's own chain
        agent: Option<String>,
    },
}

/// Talk to an agent.
#[derive(Debug, Args)]
pub struct Chat {
    /// The agent [default: the one that answers the command line]
    #[arg(long)]
    pub agent: Option<String>,
    /// Say this and print the reply
    #[arg(short, long, allow_hyphen_values = true)]
    pub message: Option<String>,
    /// The conversation to continue
    #[arg(long, value_name = "NAME", default_value = "terminal")]
    pub session: String,
}

const CHAT_HELP: &str = "\
At a terminal it is a conversation: Alt-Enter or a backslash at the end goes on in the next line,
Ctrl-C stops a turn, Ctrl-D leaves, /help lists commands. Where standard input or output is no
terminal, all of standard input is one message; with -m, what is piped in follows the message,
as in `cat notes.txt | insula chat -m 'sum this up'`. A message that is a command, such as /memory,
is done and not said; //memory says it. Exit codes: 0 replied or done, 1 failed, 2 wrong use, 130
stopped by Ctrl-C.";

/// List, show, search and forget an agent's conversations.
#[derive(Debug, Subcommand)]
pub enum Sessions {
    /// List an agent's conversations, the latest first
    List {
        /// The agent's id
        agent: String,
        /// How many at most
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
        limit: usize,
        /// Only those before this one, to go on with a long list
        #[arg(long, value_name = "ID")]
        before: Option<u64>,
    },
    /// Show what was said in a conversation
    Show {
        /// The agent's id
        agent: String,
        /// The conversation, as `list` names it
        id: String,
        /// How many messages at most, the latest ones
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
        limit: usize,
        /// Only messages before this one, to go further back
        #[arg(long, value_name = "SEQ")]
        before: Option<u64>,
    },
    /// Find words in an agent's conversations
    Search {
        /// The agent's id
        agent: String,
        /// What to look for
        #[arg(required = true, value_name = "WORDS")]
        words: Vec<String>,
        /// Only in this scope, such as `chat:…`; `list` shows them
        #[arg(long)]
        scope: Option<String>,
        /// How many at most
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Erase a conversation; it can't be undone
    Forget {
        /// The agent's id
        agent: String,
        /// The conversation, as `list` names it
        id: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// What an agent remembers.
#[derive(Debug, Subcommand)]
pub enum Memory {
    /// List what an agent remembers
    List {
        /// The agent's id
        agent: String,
        /// Only in this scope, such as `chat:…` or `global`
        #[arg(long)]
        scope: Option<String>,
        /// Also where each came from
        #[arg(long)]
        provenance: bool,
    },
    /// Show one fragment and all it came from
    Show {
        /// The agent's id
        agent: String,
        /// The fragment, as `list` numbers it
        fragment: i64,
    },
    /// Find words in what an agent remembers
    Search {
        /// The agent's id
        agent: String,
        /// What to look for
        #[arg(required = true, value_name = "WORDS")]
        words: Vec<String>,
        /// Only in this scope
        #[arg(long)]
        scope: Option<String>,
        /// How many at most
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Share one fragment with another scope
    Share {
        /// The agent's id
        agent: String,
        /// The fragment, as `list` numbers it
        fragment: i64,
        /// The scope that gets it, such as `chat:…` or `global`
        #[arg(long, value_name = "SCOPE")]
        to: String,
    },
    /// Erase what an agent remembers; it can't be undone
    Forget(Forgetting),
    /// Print every list as its file has it
    Export {
        /// The agent's id
        agent: String,
    },
    /// Check where everything came from; exit code 1 when something was tampered with
    Verify {
        /// The agent's id
        agent: String,
    },
}

/// Erase what an agent remembers.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("what").required(true)))]
pub struct Forgetting {
    /// The agent's id
    pub agent: String,
    /// One fragment, as `list` numbers it
    #[arg(long, group = "what", value_name = "ID")]
    pub fragment: Option<i64>,
    /// What was learned in this conversation, as `sessions list` numbers it
    #[arg(long, group = "what", value_name = "ID")]
    pub session: Option<i64>,
    /// What was learned from this person, such as `telegram:12345`
    #[arg(long, group = "what", value_name = "WHO")]
    pub user: Option<String>,
    /// Everything in this scope
    #[arg(long, group = "what")]
    pub scope: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}

/// List and answer what waits for approval.
#[derive(Debug, Subcommand)]
pub enum Approvals {
    /// List what waits, the oldest first
    List {
        /// The agent; without it, every agent
        agent: Option<String>,
    },
    /// Allow a call that waits
    Approve {
        /// The approval, as `list` names it
        id: String,
        /// Allow the same invocation for the rest of its session
        #[arg(long, conflicts_with = "always")]
        session: bool,
        /// Allow the same invocation by this agent from now on
        #[arg(long)]
        always: bool,
    },
    /// Refuse a call that waits
    Deny {
        /// The approval, as `list` names it
        id: String,
        /// Why, which the agent is told
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        reason: Option<String>,
    },
    /// List what an agent may do without asking again, the newest first
    Grants {
        /// The agent's id
        agent: String,
    },
    /// Take back what an agent may do without asking; the next such call asks again
    Revoke {
        /// The agent's id
        agent: String,
        /// The grant, as `grants` names it
        grant: String,
    },
}

/// List, resend and drop what an agent could not deliver.
#[derive(Debug, Subcommand)]
pub enum Deliveries {
    /// List what is not delivered: waiting, uncertain, held or failed, the newest first
    List {
        /// The agent's id
        agent: String,
    },
    /// Send it now; where it may have arrived before, it says so
    Resend {
        /// The agent's id
        agent: String,
        /// The delivery, as `list` names it
        delivery: String,
    },
    /// Take it out of the outbox for good
    Drop {
        /// The agent's id
        agent: String,
        /// The delivery, as `list` names it
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
        /// The agent's id
        agent: String,
        /// The code, as they were given it; or who asks, as `list` names them
        code: String,
        /// The platform it was given on; without it, any
        #[arg(long)]
        platform: Option<String>,
    },
    /// Let somebody in no longer, or close a group that the agent was added to
    Revoke {
        /// The agent's id
        agent: String,
        /// Who, as `list` names them, such as `telegram:12345` or `telegram:chat:-100`
        who: String,
    },
}

/// Make, list and revoke tokens of the API.
#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make a token; its text is shown once
    Create {
        /// An agent it is for; may be given several times
        #[arg(long = "agent", value_name = "AGENT", required = true)]
        agents: Vec<String>,
        /// What it may do: chat, read, approve, manage, admin [default: chat]
        #[arg(long = "verb", value_name = "VERB")]
        verbs: Vec<String>,
        /// What it is for, in your words
        #[arg(long, allow_hyphen_values = true)]
        note: Option<String>,
        /// A value for hooks and expressions; may be given several times
        #[arg(long = "metadata", value_name = "KEY=VALUE")]
        metadata: Vec<String>,
    },
    /// List every token, without the part that is secret
    List,
    /// Revoke a token at once
    Revoke {
        /// Its id
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
        /// The agent's id
        agent: String,
        /// One server; without it all
        server: Option<String>,
    },
    /// Let the model see tools that are new or described otherwise than before
    Approve {
        /// The agent's id
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
    /// The agent's id, then the secret's name; with --daemon the name alone
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
        /// The agent's id
        agent: String,
    },
    /// Show one skill
    Show {
        /// The agent's id
        agent: String,
        /// The skill's name
        skill: String,
    },
    /// Install skills for an agent, from a folder, an archive or a git repository
    Install {
        /// The agent's id
        agent: String,
        /// A folder, a .zip or .tar.gz file, or an https://, ssh:// or file:// address of a repository
        source: String,
        /// Take the place of skills of the same name
        #[arg(long)]
        replace: bool,
    },
    /// Remove a skill from an agent's own folder
    Remove {
        /// The agent's id
        agent: String,
        /// The skill's name
        skill: String,
    },
    /// Compare installed skills with what was installed; exit 1 when they differ
    Verify {
        /// The agent's id
        agent: String,
    },
}

/// Work with the configuration format.
#[derive(Debug, Subcommand)]
pub enum Config {
    /// Print the JSON schema of config.yaml, for editors
    Schema,
}
