//! Commands that are the same wherever somebody types them: in a chat, or at a terminal.

use insula_domain::{Actor, Address};
use insula_registry::boards::Boards;
use insula_registry::jobs::Jobs;
use insula_registry::{AgentContext, Registry};
use std::sync::Arc;

/// Somebody who typed a command to an agent, and where.
pub struct Typing<'t> {
    pub agent: &'t Arc<AgentContext>,
    pub who: Actor,
    /// Whether they are an admin of the agent.
    pub is_admin: bool,
    pub address: &'t Address,
    /// Whether the agent can say something there later. At a terminal nobody waits for that.
    pub is_chat: bool,
    /// What its repetition would carry, where there may be one.
    pub event: Option<Box<str>>,
}

/// Carries such commands out.
pub struct Clerk<'c> {
    pub registry: &'c Registry,
    pub jobs: &'c Jobs,
    pub boards: &'c Boards,
}
