//! Who is talking to an agent.

use crate::id::{AccountId, PersonId, RoleId, UserId};
use crate::platform::Platform;

/// The sender of one message, as this agent sees them.
///
/// Whether they may talk, approve or change the agent is decided from this value at the
/// moment they ask, never from what a session remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Where they speak from.
    pub platform: Platform,
    /// Which of our connections heard them.
    pub account: AccountId,
    /// The platform's id for them.
    pub user: UserId,
    /// The person this identity was linked to by the operator of the agent.
    pub person: Option<PersonId>,
    /// The roles they hold where they speak.
    pub roles: Vec<RoleId>,
    /// What they may do to the agent itself.
    pub standing: Standing,
}

/// What a principal may do to the agent itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// May talk, no more.
    Guest,
    /// May approve and change this agent.
    Admin,
}
