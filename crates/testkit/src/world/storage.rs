//! Storage that runs where it is asked for, so that its order is the order of the asking.

use insula_world::StorageExecutor;
use insula_world::storage::Job;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs every job at once, on the caller's thread.
pub struct InlineStorage;

impl StorageExecutor for InlineStorage {
    fn execute(&self, job: Job) {
        // On the real executor a panic ends one job and not its caller; the same here. The
        // caller learns of it because the job's answer never comes.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_runs_inline_and_a_panic_is_an_error() {
        let storage: &dyn StorageExecutor = &InlineStorage;
        let here = std::thread::current().id();
        assert_eq!(storage.run(|| std::thread::current().id()).await, Ok(here));
        assert!(storage.run(|| panic!("broken work")).await.is_err());
        assert_eq!(storage.run(|| 7).await, Ok(7));
    }
}
