//! The hand of the tools that run programs: what they may ask for, and what comes back.
//!
//! How a program is confined is decided where the hand is made; nothing here can ask for more.

use crate::output::ToolError;
use async_trait::async_trait;
use std::time::Duration;

/// A program to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job<'j> {
    /// What is run.
    pub code: Code<'j>,
    /// Where, instead of where the last one left off.
    pub workdir: Option<&'j str>,
    /// How long it may take; never longer than the agent's own limit.
    pub timeout: Option<Duration>,
}

/// What is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code<'c> {
    /// Commands of a shell. Where it ends is where the next one begins.
    Shell(&'c str),
    /// A shell script of its own, which leaves no trace in where the next one begins.
    Script(&'c str),
    /// Python.
    Python(&'c str),
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
    /// By a limit, in words.
    Limited(String),
    /// Because somebody ended it.
    Killed,
}

/// What a program printed, as far as it was kept: its beginning and its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printed {
    /// How it begins.
    pub head: Vec<u8>,
    /// How it ends, where there was more than the head holds.
    pub tail: Vec<u8>,
    /// Bytes in all.
    pub total: u64,
}

impl Printed {
    /// Bytes between head and tail that were not kept.
    pub fn dropped(&self) -> u64 {
        self.total.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }
}

/// A program that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub end: End,
    /// What it printed, both streams as they came.
    pub printed: Printed,
    /// Where the next one begins, if that changed.
    pub moved_to: Option<String>,
    /// What is good to know, for the model.
    pub notes: Vec<String>,
}

/// A process in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id, in this conversation.
    pub id: String,
    /// How its command begins.
    pub command: String,
    /// How it ended; `None` while it runs.
    pub end: Option<End>,
    /// For how long it has run.
    pub seconds: u64,
    pub printed: Printed,
}

/// What becomes of a process's input after a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// It stays open.
    Open,
    /// It ends.
    Closed,
}

/// Runs programs for one conversation of one agent. Bound when it is made.
#[async_trait]
pub trait Shell: Send + Sync {
    /// Runs a program to its end. Dropping the future ends it and all it started.
    async fn run(&self, job: Job<'_>) -> Result<Ran, ToolError>;

    /// Starts a program that outlives this call; its id.
    async fn start(&self, job: Job<'_>) -> Result<String, ToolError>;

    /// The processes that this conversation started, oldest first, without what they printed.
    fn processes(&self) -> Vec<Process>;

    /// One of them; `None` where there is no such process in this conversation.
    fn process(&self, id: &str) -> Option<Process>;

    /// The same, once it has ended or `patience` is over.
    async fn wait(&self, id: &str, patience: Duration) -> Option<Process>;

    /// Ends one, with all it started.
    async fn kill(&self, id: &str) -> Option<Process>;

    /// Writes to its input.
    async fn write(&self, id: &str, data: &[u8], after: Input) -> Result<(), ToolError>;
}
