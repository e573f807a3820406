//! What becomes of a turn whose time has come: it runs to its end, whatever happens in it.

use crate::LOG;
use crate::course::TurnFailure;
use crate::current::{Lost, watch};
use crate::run;
use crate::shop::Shop;
use crate::turn::TurnContext;
use futures_util::FutureExt as _;
use insula_capabilities::mcp::settle;
use insula_domain::FailureCause;
use insula_registry::whole::Whole;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tracing::Instrument as _;

/// Runs a turn to its end, and says how it ended.
pub(super) async fn serve(shop: &Arc<Whole<Shop>>, mut context: TurnContext) {
    let stop = context.live.cancel.clone();
    // From before the first look, so that no change falls between two.
    let changes = shop.registry.changes();
    let settled = settle(&shop.caps, context.agent.clone(), &stop).await;
    context.live.begin().await;
    let (agent, turn) = (context.agent.id.clone(), context.turn);
    tracing::debug!(target: LOG, %agent, %turn, generation = settled.generation.0, "a turn began");
    let begun_at = shop.world.clock.elapsed();
    let begun = context.begin_now((&shop.access, &shop.caps), settled).await;
    if let Err(lost) = begun
        && !stop.is_cancelled()
    {
        let why = match lost {
            Lost::Said(why) => TurnFailure::new(FailureCause::TakenAway, why),
            Lost::Store(error) => TurnFailure::new(FailureCause::Store, error.to_string()),
        };
        let end = run::fail(shop, &context, why).await;
        tracing::debug!(target: LOG, %agent, %turn, status = end.as_str(), "a turn ended");
        context.live.voice.end(end);
        return;
    }
    // Whose, where and which: never what was said.
    let span = tracing::info_span!(target: LOG, "turn", %agent, session = %context.session, %turn);
    let running = AssertUnwindSafe(run::run(shop, &context).instrument(span)).catch_unwind();
    tokio::pin!(running);
    let ended = tokio::select! {
        biased;
        ended = &mut running => ended,
        () = watch(shop, &context, changes) => running.await,
    };
    let end = if let Ok(end) = ended {
        end
    } else {
        tracing::error!(%agent, %turn, "a turn panicked; it failed, and nothing else did");
        let error = "the turn met a fault of the runtime, which is in its log";
        run::fail(shop, &context, TurnFailure::new(FailureCause::Fault, error)).await
    };
    let ms = shop.world.clock.elapsed().saturating_sub(begun_at).as_millis() as u64;
    tracing::debug!(target: LOG, %agent, %turn, status = end.as_str(), ms, "a turn ended");
    context.live.voice.end(end);
}
