//! The hand by which a turn hands work to children. What a child may do is derived by whoever
//! made the hand; a task can only ask for less.

use crate::output::{QuotedSource, ToolError};
use async_trait::async_trait;
use insula_domain::Role;

/// Hands work to children.
#[async_trait]
pub trait Delegate: Send + Sync {
    /// Runs a child for each task, some at a time, and comes back when all are over: their
    /// reports, in the order of the tasks. Refuses all of them or none.
    async fn delegate(&self, tasks: Vec<Task>) -> Result<Vec<ChildReport>, ToolError>;
}

/// What one child is to do. There is nothing here by which it could be given anything that
/// whoever asks does not have:
///
/// ```compile_fail,E0560
/// let task = insula_tools::delegate::Task { also_allow: vec!["terminal"], ..Default::default() };
/// ```
/// ```compile_fail,E0560
/// let task = insula_tools::delegate::Task { shared: vec!["/etc"], ..Default::default() };
/// ```
/// ```compile_fail,E0560
/// let task = insula_tools::delegate::Task { sandbox: false, ..Default::default() };
/// ```
/// ```compile_fail,E0560
/// let task = insula_tools::delegate::Task { agent: "other", ..Default::default() };
/// ```
/// while what takes something away is fine:
/// ```
/// let tools = Some(vec!["read_file".to_owned()]);
/// let task = insula_tools::delegate::Task { tools, ..Default::default() };
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Task {
    /// What to do.
    pub goal: String,
    /// What to know for it.
    pub context: Option<String>,
    /// Whether it may hand work on itself.
    pub role: Role,
    /// Of the tools it would have, keep only these.
    pub tools: Option<Vec<String>>,
    /// Run on this model, out of those that children may run on.
    pub model: Option<String>,
    /// Stop when it has used this many tokens.
    pub max_tokens: Option<u64>,
}

/// What became of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildReport {
    /// Its number among the children of the turn, with that of each child above it: `2.1`.
    pub child: String,
    pub end: DelegateOutcome,
    /// The files it changed with its file tools, as paths in the workspace.
    pub changed: Vec<String>,
    /// What was asked for it and it did not get, and why.
    pub note: Option<String>,
    /// Whose words its last ones are: who has read something foreign may tell of it.
    pub words: QuotedSource,
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DelegateOutcome {
    /// With this to say.
    Finished(String),
    /// With an error.
    Failed(String),
    /// It was ended before it was done; why.
    Stopped(String),
}
