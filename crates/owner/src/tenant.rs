//! The marks by which adapters know whose a conversation is, as of now.

use insula_channel::Tenant;
use insula_registry::forgotten::Forgotten;
use insula_registry::{AgentContext, Registry};
use std::collections::HashSet;

/// The mark of what an agent says to those whom it lets in.
pub fn of(forgotten: &Forgotten, agent: &AgentContext) -> Tenant {
    Tenant::of_life(&agent.id, agent.store.incarnation(), forgotten.count(agent))
}

/// The mark of what strangers hear from an agent, and nobody else does.
pub(crate) fn to_strangers(forgotten: &Forgotten, agent: &AgentContext) -> Tenant {
    Tenant::to_strangers(&agent.id, agent.store.incarnation(), forgotten.count(agent))
}

/// The marks of all agents that are there.
pub(crate) fn all(registry: &Registry, forgotten: &Forgotten) -> HashSet<Tenant> {
    let snapshot = registry.snapshot();
    let contexts = snapshot.agents.values().filter_map(|entry| entry.state.context());
    contexts.flat_map(|agent| [of(forgotten, agent), to_strangers(forgotten, agent)]).collect()
}
