//! Models that a limit in money keeps from being called, because nobody knows what they cost.

use super::estimate::price_by;
use insula_config::DaemonConfig;
use insula_config::agent::AgentConfig;
use insula_config::model::ModelRef;
use insula_domain::BudgetLimits;

/// The models of an agent that will not be called for want of a price; none where no limit in
/// money holds for it.
pub fn unpriced(daemon: &DaemonConfig, agent: &AgentConfig) -> Vec<String> {
    let own = &agent.boundary.budget;
    let limits =
        [&daemon.budget.own, &daemon.budget.per_user, &own.own, &own.per_user, &own.per_context];
    if !limits.iter().any(|limits: &&BudgetLimits| limits.usd_micros_per_day.is_some()) {
        return Vec::new();
    }
    let price = |it: &&ModelRef| {
        let (provider, own) = (&*it.provider, agent.providers.get(&it.provider));
        let known = own.or_else(|| daemon.providers.configured.get(provider));
        let kind = known.map_or(provider, |known| &*known.kind);
        price_by(daemon, kind, provider, &it.name)
    };
    let lacking = agent.models.iter().chain(&agent.model_choices).filter(|it| price(it).is_none());
    lacking.map(ToString::to_string).collect()
}
