//! What can be typed about conversations: talk, look back, remember, forget, allow.

use super::at_least_one;
use clap::{Args, Subcommand};

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

pub(super) const CHAT_HELP: &str = "\
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
        /// The agent's id or name
        agent: String,
        /// How many at most
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50, value_parser = at_least_one())]
        limit: usize,
        /// Only those before this one, to go on with a long list
        #[arg(long, value_name = "BEFORE")]
        before: Option<u64>,
    },
    /// Show what was said in a conversation
    Show {
        /// The agent's id or name
        agent: String,
        /// The conversation, by its number or title, or a turn in it, as its chat was told
        #[arg(value_name = "SESSION")]
        id: String,
        /// How many messages at most, the latest ones
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50, value_parser = at_least_one())]
        limit: usize,
        /// Only messages before this one, to go further back
        #[arg(long, value_name = "SEQ")]
        before: Option<u64>,
    },
    /// Find words in an agent's conversations, or in everybody's
    #[command(override_usage = "insula sessions search [OPTIONS] <AGENT|--all> <WORDS>...")]
    Search {
        /// The agent's id or name, and what to look for; with --all, what to look for
        #[arg(required = true, value_name = "AGENT WORDS")]
        words: Vec<String>,
        /// In the conversations of all agents
        #[arg(long, conflicts_with = "scope")]
        all: bool,
        /// Only in this scope, such as `chat:…`; `list` shows them
        #[arg(long)]
        scope: Option<String>,
        /// How many at most
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = at_least_one())]
        limit: usize,
    },
    /// Erase a conversation; it can't be undone
    Forget {
        /// The agent's id or name
        agent: String,
        /// The conversation, by its number or title
        #[arg(value_name = "SESSION")]
        id: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// List, show and follow an agent's turns.
#[derive(Debug, Subcommand)]
pub enum Turns {
    /// List an agent's turns, the latest first, and whose words each has read
    List {
        /// The agent's id or name
        agent: String,
        /// How many at most
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = at_least_one())]
        limit: usize,
        /// Only those before this one, to go on with a long list
        #[arg(long, value_name = "BEFORE")]
        before: Option<String>,
    },
    /// Show what happened in a turn: messages, calls, whose words it had read, and what was
    /// asked or refused because of them
    Show {
        /// The agent's id or name
        agent: String,
        /// The turn, as `list` numbers it or as its chat was told
        turn: String,
        /// What its models were shown: a list of calls, or one of them byte for byte
        #[arg(long, value_name = "CALL", num_args = 0..=1)]
        shown: Option<Option<u32>>,
    },
    /// Show how a turn goes while it runs: what it waits for, models, calls, delivery
    Follow {
        /// The agent's id or name
        agent: String,
        /// The turn; without it the latest, and the one after it, and so on
        turn: Option<String>,
    },
}

/// What an agent remembers.
#[derive(Debug, Subcommand)]
pub enum Memory {
    /// List what an agent remembers
    List {
        /// The agent's id or name
        agent: String,
        /// Only in this scope, such as `chat:…` or `global`
        #[arg(long)]
        scope: Option<String>,
        /// Also where each came from
        #[arg(long)]
        provenance: bool,
    },
    /// List the contexts that an agent remembers in, each by its name and by its folder
    Contexts {
        /// The agent's id or name
        agent: String,
    },
    /// Show one fragment and all it came from
    Show {
        /// The agent's id or name
        agent: String,
        /// The fragment, as `list` numbers it
        fragment: i64,
    },
    /// Find words in what an agent remembers
    Search {
        /// The agent's id or name
        agent: String,
        /// What to look for
        #[arg(required = true, value_name = "WORDS")]
        words: Vec<String>,
        /// Only in this scope
        #[arg(long)]
        scope: Option<String>,
        /// How many at most
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = at_least_one())]
        limit: usize,
    },
    /// Share one fragment with another scope
    Share {
        /// The agent's id or name
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
        /// The agent's id or name
        agent: String,
    },
    /// Check where everything came from; exit code 1 when something was tampered with
    Verify {
        /// The agent's id or name
        agent: String,
    },
}

/// Erase what an agent remembers.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("what").required(true)))]
pub struct Forgetting {
    /// The agent's id or name
    pub agent: String,
    /// One fragment, as `list` numbers it
    #[arg(long, group = "what", value_name = "FRAGMENT")]
    pub fragment: Option<i64>,
    /// What was learned in this conversation, by its number in `sessions list` or its title
    #[arg(long, group = "what", value_name = "SESSION")]
    pub session: Option<String>,
    /// What was learned from this person, such as `telegram:12345`, or by what the agent calls them
    #[arg(long, group = "what", value_name = "PERSON")]
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
        /// The approval, as `list` names it, or the tool where it alone waits
        #[arg(value_name = "APPROVAL")]
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
        /// The approval, as `list` names it, or the tool where it alone waits
        #[arg(value_name = "APPROVAL")]
        id: String,
        /// Why, which the agent is told
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        reason: Option<String>,
    },
    /// List what an agent may do without asking again, the newest first
    Grants {
        /// The agent's id or name
        agent: String,
    },
    /// Take back what an agent may do without asking; the next such call asks again
    Revoke {
        /// The agent's id or name
        agent: String,
        /// The grant, as `grants` names it, or the tool where it has one grant
        grant: String,
    },
}

/// Look at whose words are in an agent's files.
#[derive(Debug, Subcommand)]
pub enum Files {
    /// List the files, and folders with all below them, that hold words of others
    Foreign {
        /// The agent's id or name
        agent: String,
    },
    /// Take what is in a file for the agent's own: whoever reads it asks no more than before
    Trust {
        /// The agent's id or name
        agent: String,
        /// The file or folder, as `foreign` names it; without it, all of them
        path: Option<String>,
    },
}
