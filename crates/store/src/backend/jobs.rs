//! What a backend must provide of jobs.

use crate::error::Result;
use crate::job::{JobRow, JobRun};
use async_trait::async_trait;
use insula_world::Timestamp;

/// The part of a backend that keeps jobs; see [`AgentStore`](crate::AgentStore) for what each
/// method means.
#[async_trait]
pub trait JobBackend: Send + Sync {
    /// Every job.
    async fn jobs(&self) -> Result<Vec<JobRow>>;

    /// The runs that are under way.
    async fn job_runs_open(&self) -> Result<Vec<JobRun>>;

    /// The newest runs of a job.
    async fn job_runs(&self, job: &str, limit: usize) -> Result<Vec<JobRun>>;

    /// The runs of a job for moments from one to before another.
    async fn job_runs_within(
        &self,
        job: &str,
        moments: (Timestamp, Timestamp),
    ) -> Result<Vec<JobRun>>;
}
