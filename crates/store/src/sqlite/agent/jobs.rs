//! Jobs and their runs, through an agent's slot in the pool.

use super::SqliteAgent;
use crate::backend::JobBackend;
use crate::error::Result;
use crate::job::{JobRow, JobRun};
use crate::sqlite::jobs;
use async_trait::async_trait;
use insula_world::Timestamp;

#[async_trait]
impl JobBackend for SqliteAgent {
    async fn jobs(&self) -> Result<Vec<JobRow>> {
        self.read(jobs::all).await
    }

    async fn job_runs_open(&self) -> Result<Vec<JobRun>> {
        self.read(jobs::open).await
    }

    async fn job_runs(&self, job: &str, limit: usize) -> Result<Vec<JobRun>> {
        let job = job.to_owned();
        self.read(move |sql| jobs::runs(sql, &job, limit)).await
    }

    async fn job_runs_within(
        &self,
        job: &str,
        moments: (Timestamp, Timestamp),
    ) -> Result<Vec<JobRun>> {
        let job = job.to_owned();
        self.read(move |sql| jobs::runs_within(sql, &job, moments)).await
    }
}
