//! What may be spent and what models cost, out of the settings.

use crate::yaml::Node;
use insula_domain::BudgetLimits;
use std::collections::BTreeMap;

/// Prices by the name of the model, `provider/name`.
pub type Prices = BTreeMap<Box<str>, ModelPrice>;

/// What all agents together may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DaemonBudget {
    pub own: BudgetLimits,
    /// For each principal, whichever agents they talk to.
    pub per_user: BudgetLimits,
}

/// What a model costs, in millionths of a dollar for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelPrice {
    /// Tokens sent.
    pub input: u64,
    /// Tokens received.
    pub output: u64,
    /// Tokens sent that the provider had cached.
    pub cached_input: u64,
    /// Tokens sent that the provider wrote to its cache.
    pub cache_write: u64,
}

/// The limits in a part of a budget.
pub(crate) fn limits(node: Option<&Node>) -> BudgetLimits {
    let get = |key| node.and_then(|node| node.get(key));
    let whole = |key| get(key).and_then(Node::integer);
    BudgetLimits {
        usd_micros_per_day: get("usd_per_day").and_then(micros),
        tokens_per_day: whole("tokens_per_day").and_then(|n| u64::try_from(n).ok()),
        turns_per_minute: whole("turns_per_minute").and_then(|n| u32::try_from(n).ok()),
    }
}

/// What all agents together may spend.
pub(crate) fn of_daemon(node: Option<&Node>) -> DaemonBudget {
    let per_user = node.and_then(|node| node.get("per_user"));
    DaemonBudget { own: limits(node), per_user: limits(per_user) }
}

/// The prices that were written.
pub(crate) fn prices(node: Option<&Node>) -> Prices {
    let entries = node.map(Node::entries).unwrap_or_default().iter();
    let price = |node: &Node| {
        let get = |key| node.get(key).and_then(micros);
        let input = get("input")?;
        Some(ModelPrice {
            input,
            output: get("output")?,
            cached_input: get("cached_input").unwrap_or(input),
            cache_write: get("cache_write").unwrap_or(input),
        })
    };
    entries.filter_map(|entry| Some((entry.key.clone(), price(&entry.value)?))).collect()
}

/// Money in millionths, so that sums are exact.
pub(crate) fn micros(node: &Node) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    node.number().map(|usd| (usd * 1e6).round() as u64)
}
