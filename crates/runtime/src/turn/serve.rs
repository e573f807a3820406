//! What becomes of a turn whose time has come: it runs to its end, whatever happens in it.

use crate::mcp::settle;
use crate::turn::engine::Shop;
use crate::turn::run;
use futures_util::FutureExt as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// Runs a turn to its end, and says how it ended.
pub(super) async fn serve(shop: &Arc<Shop>, mut context: run::TurnContext) {
    let stop = context.live.cancel.clone();
    context.agent = settle(&shop.house, context.agent, &stop).await;
    context.live.begin().await;
    let running = AssertUnwindSafe(run::run(shop, &context)).catch_unwind();
    let end = if let Ok(end) = running.await {
        end
    } else {
        let (agent, turn) = (&context.agent.id, context.turn);
        tracing::error!(%agent, %turn, "a turn panicked; it failed, and nothing else did");
        let error = "the turn met a fault of the runtime, which is in its log".to_owned();
        run::fail(shop, &context, error).await
    };
    context.live.voice.end(end);
}
