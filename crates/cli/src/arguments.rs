//! What can be typed.

mod access;
mod agents;
mod audit;
mod backup;
mod board;
mod bundle;
mod conversation;
mod cron;
mod import;
#[cfg(test)]
mod in_docs_tests;
mod policies;
mod service;
mod setup;
mod work;

pub use access::{
    Deliveries, Less, Mcp, McpServe, OneSecret, Pairing, Secret, Skills, Token, TokenCreate,
};
pub use agents::{Add, AgentHome, Agents, OneAgent, SetKey};
pub use audit::{Audit, Export, Filters, Tail, Verify};
pub use backup::{Backup, PassphraseFrom, Restore};
pub use board::{Board, BoardAdd, BoardCreate, OneCard};
pub use bundle::{Along, CloneAgent, ExportAgent, ImportAgent, RenameAgent};
use conversation::CHAT_HELP;
pub use conversation::{Approvals, Chat, Files, Forgetting, Memory, Sessions, Turns};
pub use cron::{Cron, CronAdd, OneJob};
pub use import::{Import, Wish};
pub use policies::Policies;
pub use service::{Install, Service, ServiceLogs, Which};
pub use setup::{AccountWords, ChannelAdd, Channels, Init};
use work::{ACP_HELP, RUN_HELP};
pub use work::{Acp, Run};

use crate::setting::Answer;
use clap::builder::{OsStringValueParser, RangedU64ValueParser, TypedValueParser as _};
use clap::{Args, Parser, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;

/// A number of things that are to be shown. None at all would be taken for an answer: that there
/// are none.
fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

/// One daemon, many agents, each in its own trust domain.
#[derive(Debug, Parser)]
#[command(name = "insula", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Start with `insula up`. Exit codes: 0 done, 1 failed, 2 wrong use or invalid configuration.\nWith --json an error is {\"error\": {\"message\": …}} on standard output."
)]
pub struct Arguments {
    /// The home folder
    // An empty variable is none; the parser of paths would refuse it.
    #[arg(long, global = true, value_name = "DIR", env = "INSULA_HOME",
        value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub home: Option<PathBuf>,

    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,

    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// How to answer. What is said on standard output by a protocol is that protocol's alone.
    pub fn answer(&self) -> Answer {
        let is_protocol = matches!(self.command, Command::Mcp(Mcp::Serve(_)) | Command::Acp(_));
        if self.json && !is_protocol { Answer::Json } else { Answer::Text }
    }
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the daemon in this home, which is created on first run
    Up(Up),
    /// Set up a home: a model, a first agent, a first channel; by questions or by flags
    Init(Box<Init>),
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
    /// Say whether an agent, or somebody by it, can do something, by which rule, and what to change
    #[command(
        after_help = "What can be asked:\n  read PATH, write PATH    a file: in its workspace, by its full path, or as AGENT/path\n  call TOOL                a tool\n  send PLACE               say something there, such as telegram:main:-100\n  ask|notify|handoff AGENT reach another agent by a link\n  remember, schedule       keep something, do something by the clock\n  connect HOST             reach a host\n  see AGENT                what it can see of another agent\n  talk                     whether who is named by --as may talk to it\n\nExamples:\n  insula explain coder call terminal\n  insula explain coder read support/workspace/notes.md\n  insula explain coder send telegram:main:-100 --as telegram:5"
    )]
    Explain(ExplainAgent),
    /// Work with the Model Context Protocol: an agent's servers, and an agent as a server
    #[command(subcommand)]
    Mcp(Mcp),
    /// Work with models
    #[command(subcommand)]
    Model(Model),
    /// Show how the daemon stands; exit 1 when none runs
    Status,
    /// Open the dashboard in a browser, signed in: prints a link that opens once, within two minutes
    Open {
        /// Only print the link
        #[arg(long)]
        print: bool,
    },
    /// Read the configuration again and apply it
    Reload,
    /// End the daemon of this home in order
    Stop,
    /// End the daemon in order and begin it anew, with the program that is installed now
    Restart,
    /// Let systemd start the daemon and keep it running
    #[command(subcommand)]
    Service(Service),
    /// Pack the whole home into one sealed file, also while its daemon runs
    #[command(
        after_help = "All databases are copied as of one moment: whatever was acknowledged before it is in the backup. Secrets come along as they are, with the key of the vault; the passphrase closes all of it. Folders outside the home that agents are granted are not part of it.\n\nThe passphrase is asked for, or read from standard input or --passphrase-file. The file is an age file: `age -d FILE | tar xz` opens it without this program."
    )]
    Backup(Backup),
    /// Make a home of a backup, in a folder that is empty (--home), or examine one (--check)
    #[command(
        after_help = "Everything is verified before the home is in its place: the seal, every file, every database, every audit chain.\n\nExamples:\n  insula restore --check home.backup\n  insula --home /srv/insula restore home.backup"
    )]
    Restore(Restore),
    /// Show what this machine and this home can do, measured, and what is off
    Doctor {
        /// Also try what costs money: one search at each service that counts them
        #[arg(long)]
        paid: bool,
    },
    /// Read and verify audit chains
    #[command(subcommand)]
    Audit(Audit),
    /// Show what happened to an agent, by its own log, or what the daemon's own log says
    Logs(Logs),
    /// Talk to an agent
    #[command(after_help = CHAT_HELP)]
    Chat(Chat),
    /// Have an agent do one task, and end with a code that says how it went
    #[command(after_help = RUN_HELP)]
    Run(Run),
    /// Let an editor talk to an agent, by the Agent Client Protocol on standard streams
    #[command(after_help = ACP_HELP)]
    Acp(Acp),
    /// Show what agents used, and what their budgets leave
    Usage(Usage),
    /// List, show, search and forget an agent's conversations
    #[command(subcommand)]
    Sessions(Sessions),
    /// List, show and follow an agent's turns: what each waited for, asked, called, and why it failed
    #[command(subcommand)]
    Turns(Turns),
    /// List, show, search, share, forget, export and verify what an agent remembers
    #[command(subcommand)]
    Memory(Memory),
    /// List and answer what waits for approval
    #[command(subcommand)]
    Approvals(Approvals),
    /// List an agent's files that hold words of others, and take them for its own
    #[command(subcommand)]
    Files(Files),
    /// List, resend and drop what an agent could not deliver
    #[command(subcommand)]
    Deliveries(Deliveries),
    /// List, add, run, pause and remove what agents do by the clock
    #[command(subcommand)]
    Cron(Cron),
    /// Make boards that agents share; list, add and change their cards
    #[command(subcommand)]
    Board(Board),
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
    /// Show, install, list, verify and remove policies, which agents apply by name
    #[command(subcommand)]
    Policies(Policies),
    /// Take over agents from another runtime's home, whose files are never written
    #[command(subcommand)]
    Import(Import),
    /// Connect platforms, and see how they stand
    #[command(subcommand)]
    Channels(Channels),
    /// Work with the configuration format
    #[command(subcommand)]
    Config(Config),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one a command, into a folder
    Manual {
        /// The folder, which is made where it is missing, such as /usr/local/share/man/man1
        folder: PathBuf,
    },
}

/// Work with models.
#[derive(Debug, Subcommand)]
pub enum Model {
    /// Set up a small model on this machine, by Ollama, llama.cpp or LM Studio, and try it
    #[command(
        after_help = "Looks for servers and programs that are here already, says what it would do, and asks before it does anything. Where nothing is installed, it says what to install."
    )]
    Try(ModelTry),
}

/// Set up a small model on this machine.
#[derive(Debug, Args)]
pub struct ModelTry {
    /// Do it without asking
    #[arg(long)]
    pub yes: bool,
    /// This model, by the name that its server has for it
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The server at this address and no other, such as http://127.0.0.1:8080
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

/// A question about what an agent can do.
#[derive(Debug, Args)]
pub struct ExplainAgent {
    /// The agent's id or name
    pub agent: String,
    /// What it would do: read, write, call, send, ask, notify, handoff, remember, schedule, connect, see or talk
    pub verb: String,
    /// With what: a path, a board, a card as `card work/7`, a tool, a place, an agent or a host
    #[arg(allow_hyphen_values = true)]
    pub what: Option<String>,
    /// For whom: somebody as `telegram:5` or by what the agent calls them, or a place as `telegram:main:-100`
    #[arg(long = "as", value_name = "PERSON", allow_hyphen_values = true)]
    pub by: Option<String>,
}

/// Show an agent's tools.
#[derive(Debug, Args)]
pub struct Tools {
    /// The agent's id or name
    pub agent: String,
    /// Those of a child it could have, in place of its own
    #[arg(long, value_name = "ROLE", num_args = 0..=1, default_missing_value = "leaf", value_parser = ["leaf", "orchestrator"])]
    pub child: Option<String>,
    /// As they are left to whoever comes by this way: the number of a binding (see `insula route
    /// explain`), an account as `platform:account`, or the id of a token
    #[arg(long, value_name = "WAY")]
    pub via: Option<String>,
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

/// Show what happened to an agent or to the daemon.
#[derive(Debug, Args)]
pub struct Logs {
    /// The agent's id or name; without it the daemon's own log, where `logging.file` names one
    pub agent: Option<String>,
    /// Since when: so long ago, such as `2h`, or a day or time in UTC, such as 2026-11-18
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// The newest so many lines [default: 50, or all since WHEN]
    #[arg(long, short = 'n', value_name = "N")]
    pub lines: Option<usize>,
    /// Go on as more comes
    #[arg(long, short)]
    pub follow: bool,
}

/// Show what agents used.
#[derive(Debug, Args)]
pub struct Usage {
    /// One agent, by day, principal and context
    pub agent: Option<String>,
    /// How many days back, today included; days begin at midnight UTC
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=400))]
    pub days: u32,
    /// What to add it up by: `key` shows whose keys paid
    #[arg(long, value_enum, default_value_t = UsageBy::Agent)]
    pub by: UsageBy,
}

/// What usage is added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum UsageBy {
    Agent,
    Key,
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
    /// Print every rule considered, why it lost or won, and agent, session, scope and integrity
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
    /// Whose words it replies to, by their id on the platform
    #[arg(long, value_name = "USER", allow_hyphen_values = true)]
    pub quotes: Option<String>,
    /// The name of a file that comes with it; may be given several times
    #[arg(long = "attachment", value_name = "NAME", allow_hyphen_values = true)]
    pub attachments: Vec<String>,
}

/// Look at the live object an agent is.
#[derive(Debug, Subcommand)]
pub enum Context {
    /// Print the context as the runtime holds it, secrets by name only
    Show(OneAgent),
}

/// Work with the configuration format.
#[derive(Debug, Subcommand)]
pub enum Config {
    /// Print the JSON schema of config.yaml, for editors
    Schema,
}
