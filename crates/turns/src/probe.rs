//! Trying the providers that agents ask, by what costs nothing: their lists of models.

use crate::shop::Shop;
use insula_registry::registry::AgentState;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Agents that are named for one provider; of the others it is told how many there are.
const NAMED_MAX: usize = 5;

/// What came of trying a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderTried {
    pub name: String,
    /// `good`, `notice` or `bad`.
    pub status: &'static str,
    pub detail: String,
}

/// Tries every provider that an agent that serves asks; each once, and all that lead nowhere are
/// told with the agents that they are missing to.
pub(crate) async fn all(shop: &Shop) -> Vec<ProviderTried> {
    let snapshot = shop.registry.snapshot();
    // Agents with keys of their own may call different ones the same.
    let mut asked = BTreeMap::new();
    let mut nowhere: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (id, entry) in &snapshot.agents {
        let AgentState::Ready(agent) = &entry.state else { continue };
        for model in agent.models.models.iter().chain(agent.voice.models()) {
            match shop.link(agent, model) {
                Ok(link) => {
                    let key = (link.provider.name().to_owned(), Arc::as_ptr(&link.provider).addr());
                    let (_, of) = asked.entry(key).or_insert_with(|| (link, Vec::new()));
                    if of.last() != Some(&id.to_string()) {
                        of.push(id.to_string());
                    }
                }
                Err(why) => nowhere.entry(why).or_default().push(id.to_string()),
            }
        }
    }
    let mut tried = Vec::new();
    for ((name, _), (link, agents)) in asked {
        let whom = named(&agents);
        let (status, detail) = match link.provider.probe().await {
            Ok(Some(count)) => {
                ("good", format!("answers, and lists {count} models; asked by {whom}"))
            }
            Ok(None) => {
                ("good", format!("has no list of models, so it was not tried; asked by {whom}"))
            }
            Err(error) => ("bad", format!("{}; asked by {whom}", error.fault)),
        };
        tried.push(ProviderTried { name: format!("provider {name}"), status, detail });
    }
    tried.extend(nowhere.into_iter().map(|(why, agents)| ProviderTried {
        name: format!("models of {}", named(&agents)),
        status: "bad",
        detail: why,
    }));
    tried
}

fn named(agents: &[String]) -> String {
    let more = agents.len().saturating_sub(NAMED_MAX);
    let first = agents[..agents.len().min(NAMED_MAX)].join(", ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}
