//! The hand of tools that are read in quarantine.

use crate::output::ToolError;
use async_trait::async_trait;
use serde_json::Value;

/// Reads what somebody else wrote, where nothing can be done with it.
#[async_trait]
pub trait Reader: Send + Sync {
    /// The answer to a question about a text; an error where there is none.
    async fn answer(&self, text: &str, question: &str, shape: &Value) -> Result<Value, ToolError>;
}
