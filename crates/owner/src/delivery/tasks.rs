//! The tasks of the way out, so that whoever ends it can wait for them.

use std::future::Future;
use tokio::sync::watch;

/// How many tasks run.
pub(super) struct Tasks(watch::Sender<usize>);

impl Default for Tasks {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Tasks {
    /// Runs something beside whoever calls.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.send_modify(|count| *count += 1);
        let running = Running(self.0.clone());
        tokio::spawn(async move {
            let _running = running;
            work.await;
        });
    }

    /// Waits until none runs.
    pub(super) async fn wait(&self) {
        // It can't be closed: `self` holds it.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// Counts a task out when dropped; also by a panic.
struct Running(watch::Sender<usize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
