//! Whether a platform recognises what it may have been sent before.

use insula_channel::Idempotency;
use insula_store::{Delivery, DeliveryState};
use insula_world::Timestamp;
use std::time::Duration;

/// Why it can't be told whether a delivery arrived, where it can't.
pub(super) fn doubtful(
    delivery: &Delivery,
    idempotency: Idempotency,
    now: Timestamp,
) -> Option<&'static str> {
    let was_sending = delivery.state == DeliveryState::Sending;
    match idempotency {
        Idempotency::Always => None,
        Idempotency::Never => was_sending.then_some("it was being sent when the daemon ended"),
        Idempotency::For(_) => {
            let was_tried = was_sending || delivery.tried_at.is_some();
            (was_tried && !is_covered(idempotency, delivery.tried_at, now))
                .then_some("the platform no longer recognises what it may have been sent before")
        }
    }
}

/// Whether a request that may have been made first at `tried_at` is recognised when it is made
/// again. One whose time is not known, or lies ahead of a clock that was set back, may not be.
pub(super) fn is_covered(
    idempotency: Idempotency,
    tried_at: Option<Timestamp>,
    now: Timestamp,
) -> bool {
    match (idempotency, tried_at) {
        (Idempotency::Always, _) => true,
        (_, Some(at)) if at <= now => idempotency.covers(since(at, now)),
        _ => false,
    }
}

/// How long it is from one time to a later one.
fn since(from: Timestamp, to: Timestamp) -> Duration {
    let ms = to.as_millis().saturating_sub(from.as_millis());
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

/// How long it is until a time, if it is not there yet.
pub(super) fn between(now: Timestamp, then: Timestamp) -> Option<Duration> {
    Some(since(now, then)).filter(|wait| !wait.is_zero())
}
