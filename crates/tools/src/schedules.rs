//! The hand by which a tool reaches what the agent does by the clock.

use crate::ToolError;
use async_trait::async_trait;
use serde_json::{Map, Value};

/// Jobs of the agent, as far as they are those of whoever the turn is for.
#[async_trait]
pub trait Schedules: Send + Sync {
    /// The jobs, a line each.
    async fn list(&self) -> Result<String, ToolError>;

    /// Adds a job; what became of it, and when it runs.
    async fn add(
        &self,
        name: Option<&str>,
        settings: Map<String, Value>,
    ) -> Result<String, ToolError>;

    /// Does something with one.
    async fn change(&self, job: &str, change: JobChange) -> Result<String, ToolError>;
}

/// What can be done with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobChange {
    Pause,
    Resume,
    Remove,
    Run,
}
