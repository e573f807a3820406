//! Where blocking storage work runs.

use tokio::sync::oneshot;

/// One piece of storage work.
pub type Job = Box<dyn FnOnce() + Send>;

/// Runs storage work away from the event loop, or inline where a test wants no threads.
pub trait StorageExecutor: Send + Sync {
    /// Runs `job` once, now or later.
    fn execute(&self, job: Job);
}

/// Storage work was dropped before it finished: it panicked, or the program is ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("storage work was interrupted before it finished")]
pub struct StorageStopped;

impl dyn StorageExecutor {
    /// Runs `work` and waits for what it returns. Work that has begun runs to its end even
    /// if the waiting future is dropped, so a commit is never torn by a cancelled turn.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StorageStopped> {
        let (done, result) = oneshot::channel();
        self.execute(Box::new(move || {
            // Nobody waiting is not an error: the work itself is what mattered.
            let _ = done.send(work());
        }));
        result.await.map_err(|_| StorageStopped)
    }
}
