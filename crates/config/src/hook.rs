//! A hook as it is configured.

use insula_domain::expr::Expression;
use insula_domain::hook::HookEvent;
use std::sync::Arc;
use std::time::Duration;

/// How long a hook may take, unless configured.
pub const HOOK_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest time a hook may be given: whatever asks it waits.
pub const HOOK_TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// A policy as it was when it was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookPolicy {
    pub name: Arc<str>,
    /// Of all its files.
    pub hash: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// When it is asked.
    pub event: HookEvent,
    /// Who answers.
    pub way: HookWay,
    /// The tools it is asked about; all where there is none.
    pub matcher: Option<Box<[Box<str>]>>,
    /// How long it may take.
    pub timeout: Duration,
    /// What holds when it fails.
    pub on_failure: OnFailure,
    /// Who wrote it.
    pub owner: HookOwner,
    /// The policy it is of, in whose folder its program then is.
    pub policy: Option<HookPolicy>,
    /// What it is called in records: the event and the place it is written at.
    pub name: Box<str>,
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookWay {
    /// An expression, in this process.
    Expr(Expression),
    /// A program in the agent's sandbox.
    Command(Box<str>),
    /// A server.
    Http(Box<str>),
}

impl HookWay {
    /// The key used in configuration.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Expr(_) => "expr",
            Self::Command(_) => "command",
            Self::Http(_) => "http",
        }
    }
}

/// What holds when a hook fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// What was to happen does not.
    Deny,
    /// As if it had not been asked.
    Allow,
}

/// Who wrote a hook: it says where its programs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookOwner {
    /// It stands at the top and holds for every agent.
    Daemon,
    /// It is the agent's own.
    Agent,
}

impl Hook {
    /// Whether it is asked about a tool.
    pub fn matches(&self, tool: Option<&str>) -> bool {
        match (&self.matcher, tool) {
            (None, _) => true,
            (Some(patterns), Some(tool)) => {
                patterns.iter().any(|it| insula_domain::selector::is_like(it, tool))
            }
            // A hook for some tools is not asked where there is none.
            (Some(_), None) => false,
        }
    }
}
