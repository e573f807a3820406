//! What waits for somebody's approval, and what was allowed for longer than once.

use crate::id::{SessionId, TurnId};
use insula_domain::Actor;
use insula_world::Timestamp;

/// Longest words of an approval, in bytes.
pub const APPROVAL_BYTES_MAX: usize = 64 * 1024;
/// Most approvals one read returns.
pub const APPROVALS_MAX: u32 = 1_000;
/// Most grants one read returns, the newest ones.
pub const GRANTS_MAX: u32 = 10_000;

/// A call that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Its name, which nobody guesses.
    pub id: Box<str>,
    /// The turn that waits.
    pub turn: TurnId,
    /// The session of that turn.
    pub session: SessionId,
    pub call: Box<str>,
    pub tool: Box<str>,
    /// What exactly is asked for: a hash over the tool and its arguments.
    pub invocation: [u8; 32],
    /// The rule by which it needs an answer.
    pub rule: Box<str>,
    /// What it would do, for people.
    pub what: String,
    /// Who began the turn.
    pub principal: Actor,
    /// Since when it waits.
    pub asked_at: Timestamp,
    /// When silence becomes a no.
    pub expires_at: Timestamp,
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// Somebody said yes.
    Approved { by: Actor },
    /// Somebody said no.
    Denied {
        by: Actor,
        /// Why.
        reason: Option<String>,
    },
    /// Nobody said anything in time.
    TimedOut,
    /// The turn was stopped meanwhile.
    Stopped,
}

/// A permission for exactly one invocation that outlives the call it was given for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Its name: that of the approval by which it was given.
    pub id: Box<str>,
    pub invocation: [u8; 32],
    /// The session it holds in; `None` for all of the agent.
    pub session: Option<SessionId>,
    /// Who gave it.
    pub by: Actor,
    pub at: Timestamp,
    pub tool: Box<str>,
    /// The rule by which it needed an answer.
    pub rule: Box<str>,
    /// What it does, for people; empty once the session it was asked in is forgotten.
    pub what: String,
    pub asked_in: SessionId,
}
