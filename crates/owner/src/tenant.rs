//! The marks by which adapters know whose a conversation is, as of now.

use insula_channel::Tenant;
use insula_registry::{AgentContext, Daemon};
use std::collections::HashSet;

/// The mark of what an agent says to those whom it lets in.
pub fn of(daemon: &Daemon, agent: &AgentContext) -> Tenant {
    Tenant::of_life(&agent.id, agent.store.incarnation(), daemon.forgotten.count(agent))
}

/// The mark of what strangers hear from an agent, and nobody else does.
pub(crate) fn to_strangers(daemon: &Daemon, agent: &AgentContext) -> Tenant {
    Tenant::to_strangers(&agent.id, agent.store.incarnation(), daemon.forgotten.count(agent))
}

/// The marks of all agents that are there.
pub(crate) fn all(daemon: &Daemon) -> HashSet<Tenant> {
    let snapshot = daemon.snapshot();
    let contexts = snapshot.agents.values().filter_map(|entry| entry.state.context());
    contexts.flat_map(|agent| [of(daemon, agent), to_strangers(daemon, agent)]).collect()
}
