//! The way out: placeholder until the outbox is here.

use crate::lines::Lines;
use insula_runtime::House;
use insula_runtime::turn::Engine;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Sends nothing.
pub struct WayOut;

impl WayOut {
    /// A way out that leads nowhere.
    pub fn new(_: Arc<House>, _: Engine, _: Arc<dyn Lines>) -> Arc<Self> {
        Arc::new(Self)
    }

    /// Waits for the end.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        stop.cancelled().await;
    }
}
