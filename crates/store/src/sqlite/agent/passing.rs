//! Looking into an agent's file in passing: one that was closed before is closed again afterwards,
//! and few are open for this at once. Whoever looks at hundreds of agents leaves no more of them
//! open than there were.

use crate::backend::Visit;
use crate::sqlite::pool::{Pool, Slot};
use async_trait::async_trait;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// One look into a file.
struct SqliteVisit {
    pool: Arc<Pool>,
    /// The incarnation whose file is to be closed afterwards; none where it was open before.
    opened: Option<u64>,
    place: Option<OwnedSemaphorePermit>,
}

/// Waits for a place to look into a file in passing.
pub(super) async fn visit(pool: &Arc<Pool>, slot: &Arc<Slot>) -> Box<dyn Visit> {
    let place = pool.visits.place().await;
    close_left(pool).await;
    let is_opened = pool.visits.enter(slot.incarnation, slot, || slot.is_closed());
    let opened = is_opened.then_some(slot.incarnation);
    Box::new(SqliteVisit { pool: pool.clone(), opened, place })
}

async fn close_left(pool: &Pool) {
    for slot in pool.visits.left() {
        // One that somebody works with meanwhile is looked at again later.
        if pool.close_unused(&slot).await {
            pool.visits.closed(slot.incarnation);
        }
    }
}

#[async_trait]
impl Visit for SqliteVisit {
    async fn end(mut self: Box<Self>) {
        // Kept until the file is closed, so that no more are open than there are places.
        let _place = self.place.take();
        let pool = self.pool.clone();
        drop(self);
        close_left(&pool).await;
    }
}

impl Drop for SqliteVisit {
    fn drop(&mut self) {
        if let Some(incarnation) = self.opened {
            self.pool.visits.leave(incarnation);
        }
    }
}
