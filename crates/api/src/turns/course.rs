//! How a turn went, put together from what was noted beside it and from its deliveries. Figures and
//! names: what was said is not among them.

use insula_capabilities::failures::cause_in;
use insula_domain::FailureCause;
use insula_store::{Delivery, Turn, TurnNote};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// Something that happened in a turn.
#[derive(Debug, Serialize, ToSchema)]
pub struct Happening {
    at: String,
    /// Milliseconds since its message was taken in.
    after_ms: i64,
    /// `began`, `model`, `call`, `failed` or `delivery`, with what is known of it.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    what: Value,
}

/// Why a turn failed, by its notes.
pub(super) fn cause(notes: &[TurnNote]) -> Option<FailureCause> {
    notes.iter().rev().find_map(|it| cause_in(&it.note))
}

/// All that happened in a turn, in order.
pub(super) fn of(turn: &Turn, notes: &[TurnNote], sent: &[Delivery]) -> Vec<Happening> {
    let noted = notes.iter().filter_map(|it| {
        let what: Value = serde_json::from_str(&it.note).ok()?;
        what.is_object().then_some((it.at, what))
    });
    let delivered = sent.iter().map(|it| {
        let what = json!({
            "kind": "delivery",
            "platform": it.to.lane.platform,
            "state": it.state.as_str(),
            "attempts": it.attempts,
            "ms": it.changed_at.as_millis().saturating_sub(it.queued_at.as_millis()),
        });
        (it.changed_at, what)
    });
    let mut all: Vec<_> = noted.chain(delivered).collect();
    all.sort_by_key(|(at, _)| *at);
    let from = turn.accepted_at.as_millis();
    let happening = |(at, what): (insula_world::Timestamp, Value)| Happening {
        at: at.to_string(),
        after_ms: at.as_millis().saturating_sub(from),
        what,
    };
    all.into_iter().map(happening).collect()
}
