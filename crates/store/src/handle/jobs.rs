//! Reading jobs and their runs.

use crate::error::Result;
use crate::handle::agent::AgentStore;
use crate::job::{JobRow, JobRun};
use insula_world::Timestamp;

impl AgentStore {
    /// The jobs that were added, and how far those of the configuration have come, by name.
    pub async fn jobs(&self) -> Result<Vec<JobRow>> {
        self.backend().jobs().await
    }

    /// The runs that are under way, the oldest first.
    pub async fn job_runs_open(&self) -> Result<Vec<JobRun>> {
        self.backend().job_runs_open().await
    }

    /// The newest runs of a job, the newest first, at most `limit`.
    pub async fn job_runs(&self, job: &str, limit: usize) -> Result<Vec<JobRun>> {
        self.backend().job_runs(job, limit).await
    }

    /// The runs of a job for moments from one to before another, the newest first; as many as are
    /// kept of a job at most.
    pub async fn job_runs_within(
        &self,
        job: &str,
        moments: (Timestamp, Timestamp),
    ) -> Result<Vec<JobRun>> {
        self.backend().job_runs_within(job, moments).await
    }
}
