//! Whether a turn may go to another agent with what it has seen: the one comparison, for the gate
//! and for the hand that goes there.

use crate::shop::Shop;
use crate::turn::TurnContext;
use insula_domain::{AgentId, Hops, Link, LinkKind, Linking};
use insula_registry::AgentState;
use insula_registry::context::AgentContext;
use std::sync::Arc;

/// Why a turn may not go to another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotLinked {
    /// The word for it in records.
    pub(crate) word: &'static str,
    /// For the model: what it can do instead.
    pub(crate) told: String,
}

/// Through whom a turn was asked for.
pub(crate) fn hops(cx: &TurnContext) -> Option<&Hops> {
    cx.from.link.as_ref().map(|link| &link.hops)
}

/// An agent, while it serves.
pub(crate) fn serving(shop: &Shop, id: &AgentId) -> Option<Arc<AgentContext>> {
    match &shop.registry.snapshot().agents.get(id)?.state {
        AgentState::Ready(agent) => Some(agent.clone()),
        _ => None,
    }
}

/// The link by which a turn goes to another agent, of one generation of its own; or why it does
/// not.
pub(crate) fn decide(
    shop: &Shop,
    cx: &TurnContext,
    own: &AgentContext,
    (kind, name): (LinkKind, &str),
) -> Result<Link, NotLinked> {
    let nobody = || {
        // The same whether there is such an agent or not.
        let reached: Vec<&str> = own.boundary.links.of(kind).map(|it| it.to.as_str()).collect();
        let told = match reached.is_empty() {
            true => format!("you may not {} `{name}`, and nobody else", verb(kind)),
            false => format!("you may not {} `{name}`, only {}", verb(kind), reached.join(", ")),
        };
        NotLinked { word: Linking::NoLink.as_str(), told }
    };
    let Ok(to) = AgentId::new(name) else { return Err(nobody()) };
    if own.boundary.links.find(&to, kind).is_none() {
        return Err(nobody());
    }
    let Some(other) = serving(shop, &to) else {
        let told = format!("`{to}` does not serve at the moment");
        return Err(NotLinked { word: "not serving", told });
    };
    let (label, hearers) = (cx.seen.label(), shop.access.hearers(&other, Some(&cx.from.address)));
    let links = &own.boundary.links;
    let linking = links.decide((&own.id, &to), kind, hops(cx), (&label, &hearers));
    let word = linking.as_str();
    let told = match linking {
        Linking::Allowed(link) => return Ok(link.clone()),
        Linking::NoLink => return Err(nobody()),
        Linking::Cycle => {
            format!("`{to}` waits for the answer to this, so it can't be asked for it")
        }
        Linking::TooDeep { .. } => {
            "this question came through as many agents as it may, so answer it yourself".to_owned()
        }
        // Of other places their names are not for the model to pass on.
        Linking::Wider { .. } | Linking::Unknown => format!(
            "others hear `{to}` who may not read what you have seen in this conversation; say it here, or ask the operator to let it go along (`carry` of the link)"
        ),
    };
    Err(NotLinked { word, told })
}

fn verb(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::Ask => "ask",
        LinkKind::Notify => "tell",
        LinkKind::Handoff => "hand this conversation to",
    }
}
