//! Tells whoever listens that something changed.
//!
//! Listeners are woken in the order in which they began to wait: turns that end because of one
//! change end in an order that a replayed run has again. A `watch` of tokio's wakes its receivers
//! in a random one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

/// Something that changes now and then.
#[derive(Default)]
pub struct Signal(Arc<Shared>);

#[derive(Default)]
struct Shared {
    version: AtomicU64,
    bell: Notify,
}

impl Signal {
    /// Wakes everybody who listens.
    pub fn send(&self) {
        self.0.version.fetch_add(1, Ordering::SeqCst);
        self.0.bell.notify_waiters();
    }

    /// Hears of every change from now on.
    pub fn listen(&self) -> Changes {
        Changes { seen: self.0.version.load(Ordering::SeqCst), shared: self.0.clone() }
    }
}

/// Hears of changes. Several that come at once are one.
#[derive(Clone)]
pub struct Changes {
    shared: Arc<Shared>,
    seen: u64,
}

impl Changes {
    /// Waits for a change that was not seen yet.
    pub async fn changed(&mut self) {
        loop {
            let told = self.shared.bell.notified();
            let now = self.shared.version.load(Ordering::SeqCst);
            if now != self.seen {
                self.seen = now;
                return;
            }
            told.await;
        }
    }

    /// Takes all changes so far as seen.
    pub fn mark_unchanged(&mut self) {
        self.seen = self.shared.version.load(Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use super::*;
    use std::sync::Mutex;

    #[tokio::test]
    async fn rule_10_listeners_are_woken_in_the_order_in_which_they_began_to_wait() {
        let (signal, woken) = (Signal::default(), Arc::new(Mutex::new(Vec::new())));
        let waiting = Arc::new(AtomicU64::new(0));
        let listen = |number: usize| {
            let (mut changes, woken, waiting) = (signal.listen(), woken.clone(), waiting.clone());
            tokio::spawn(async move {
                waiting.fetch_add(1, Ordering::SeqCst);
                changes.changed().await;
                woken.lock().unwrap().push(number);
            })
        };
        let tasks: Vec<_> = (0..100).map(listen).collect();
        while waiting.load(Ordering::SeqCst) < 100 {
            tokio::task::yield_now().await;
        }
        signal.send();
        for task in tasks {
            task.await.unwrap();
        }
        assert!(woken.lock().unwrap().is_sorted());
    }

    #[tokio::test]
    async fn a_change_before_the_wait_is_not_lost_and_one_that_was_seen_is_not_told_again() {
        let signal = Signal::default();
        let mut changes = signal.listen();
        signal.send();
        signal.send();
        changes.changed().await;
        {
            let mut again = std::pin::pin!(changes.changed());
            assert!(futures_util::poll!(again.as_mut()).is_pending());
            signal.send();
            again.await;
        }
        signal.send();
        changes.mark_unchanged();
        assert!(futures_util::poll!(std::pin::pin!(changes.changed())).is_pending());
    }
}
