//! What happens in a turn, as it happens.

use super::refusal::BudgetRefusal;
use insula_domain::{Actor, Role};
use insula_store::{Cut, Usage};
use std::sync::Arc;

/// One thing that happened. Deltas are provisional: what counts is the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEvent {
    /// Its message is durable.
    Accepted {
        /// Who said it.
        principal: Actor,
    },
    /// A message joined the turn.
    Joined {
        /// Who said it.
        principal: Actor,
    },
    /// More of the reply.
    Text(String),
    /// More of what the model thinks.
    Reasoning(String),
    /// A tool was called.
    ToolCall {
        /// The tool.
        name: String,
        /// What it runs, reads or looks for, in a line without secrets; empty where its name says
        /// it all.
        about: String,
    },
    /// A tool came back, or was refused.
    ToolDone {
        /// The tool.
        name: String,
        /// Whether that is a failure.
        is_error: bool,
    },
    /// A call waits for somebody's approval.
    Approval {
        /// By which it is answered.
        id: String,
        tool: String,
        /// What it would do.
        what: String,
        /// The rule by which it needs approval.
        rule: String,
        /// How long it waits until silence is a no, in seconds.
        wait_s: u64,
    },
    /// A call waits no longer.
    ApprovalDone {
        /// By which it could be answered.
        id: String,
        tool: String,
        /// What became of it.
        outcome: ApprovalOutcome,
        /// Who answered, if anybody did.
        by: Option<Actor>,
    },
    /// Something happened to a child.
    Child {
        /// Which one: its number, after those of the children above it, as `2.1`.
        child: Arc<str>,
        act: ChildAct,
    },
    /// For the editor that the turn was asked from, and nobody else who listens to the agent.
    Editor(Box<EditorEvent>),
    /// What was said of the reply so far does not count: more was asked meanwhile.
    Void,
    /// Older parts of the conversation were replaced by a summary.
    Compressed,
    /// It is over. Always the last.
    Ended(TurnEnd),
}

/// What an editor is told or asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorEvent {
    /// A call begins.
    Call {
        /// Its name in the journal.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments as the model wrote them, the beginning where they are long.
        arguments: String,
        /// The files it names.
        paths: Vec<String>,
    },
    /// A call is over.
    Done {
        id: String,
        name: String,
        is_error: bool,
        /// The rule by which it was refused, where it was.
        refused: Option<&'static str>,
        /// What came of it, the beginning where that is long.
        text: String,
        changes: Vec<EditedFile>,
    },
    /// What it has open under this path is asked for.
    Read {
        /// By which it is answered.
        request: String,
        path: String,
    },
    /// This text is what a file says now.
    Write { request: String, path: String, text: String },
}

/// A file that a call changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedFile {
    pub path: String,
    /// What it said before; `None` for a new one.
    pub old: Option<String>,
    /// What it says now; nothing for one that is gone.
    pub new: String,
}

/// What happens to a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildAct {
    /// It begins, or goes on after a crash.
    Started {
        role: Role,
        /// What it is to do, the beginning of it.
        goal: String,
    },
    /// It calls a tool.
    ToolCall {
        /// The tool.
        name: String,
        /// What it runs, reads or looks for.
        about: String,
    },
    /// A tool came back, or was refused.
    ToolDone {
        /// The tool.
        name: String,
        /// Whether that is a failure.
        is_error: bool,
    },
    /// It is over.
    Ended { outcome: ChildOutcome },
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildOutcome {
    /// With a report.
    Finished,
    /// With an error.
    Failed,
    /// With its parent.
    Stopped,
    /// Because it took too long.
    TimedOut,
}

impl ChildOutcome {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::TimedOut => "timed_out",
        }
    }
}

/// What became of a call that waited for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalOutcome {
    /// Somebody said yes.
    Approved,
    /// Somebody said no.
    Denied,
    /// Nobody said anything in time.
    TimedOut,
    /// The turn was stopped.
    Stopped,
}

impl ApprovalOutcome {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::TimedOut => "timed_out",
            Self::Stopped => "stopped",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// With a reply.
    Replied {
        /// The reply.
        text: String,
        /// What it took.
        usage: Usage,
        /// Why it is not all that the model would have said.
        cut: Option<Cut>,
        /// What whoever asked is to do before it goes on: calls of tools of their own.
        calls: Vec<ClientCall>,
    },
    /// With an error.
    Failed {
        /// What went wrong, for people.
        error: String,
    },
    /// Because a budget left no room for it.
    OverBudget(BudgetRefusal),
    /// Because somebody said stop.
    Stopped,
}

impl TurnEnd {
    /// How it ended, in a word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Replied { .. } => "replied",
            Self::Failed { .. } => "failed",
            Self::OverBudget(_) => "over_budget",
            Self::Stopped => "stopped",
        }
    }
}

/// A call of a tool that belongs to whoever asked, who makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCall {
    /// Which call, by its id in the journal.
    pub id: Box<str>,
    /// The tool, as its owner calls it.
    pub name: Box<str>,
    /// Its arguments: a JSON object.
    pub arguments: String,
}
