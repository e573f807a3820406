//! Asking many agents the same. Each is looked into in passing, so that a list of hundreds leaves
//! those at rest as they are.

use crate::caller::Caller;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use insula_registry::tokens::Verb;
use insula_registry::{AgentContext, Registry};
use std::sync::Arc;

/// Agents that one request asks at the same time.
const AT_ONCE: usize = 4;

/// What `look` finds of each of these agents, in their order.
pub(crate) async fn ask_each<T, E, Look: Future<Output = Result<T, E>>>(
    agents: Vec<Arc<AgentContext>>,
    look: impl Fn(Arc<AgentContext>) -> Look,
) -> Result<Vec<T>, E> {
    let looks = agents.into_iter().map(|agent| {
        let (store, look) = (agent.store.clone(), look(agent));
        async move { store.in_passing(look).await }
    });
    stream::iter(looks).buffered(AT_ONCE).try_collect().await
}

/// Every agent that serves, by id.
pub(crate) fn serving(registry: &Registry) -> Vec<Arc<AgentContext>> {
    let snapshot = registry.snapshot();
    snapshot.agents.values().filter_map(|entry| entry.state.context().cloned()).collect()
}

/// Every agent that serves and that the caller may do `verb` with, by id.
pub(crate) fn serving_own(
    registry: &Registry,
    caller: &Caller,
    verb: Verb,
) -> Vec<Arc<AgentContext>> {
    let snapshot = registry.snapshot();
    let own = caller.own(&snapshot.agents, verb);
    own.filter_map(|(_, entry)| entry.state.context().cloned()).collect()
}
