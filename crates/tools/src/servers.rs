//! The hand of the tools of MCP servers. Which servers there are, and how they are reached, is
//! decided where the hand is made.

use crate::output::ToolError;
use async_trait::async_trait;
use insula_mcp::CallOutcome;
use serde_json::Value;

/// The MCP servers of one agent.
#[async_trait]
pub trait Servers: Send + Sync {
    /// Calls a tool by the name its server gives it.
    async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: &Value,
    ) -> Result<CallOutcome, ToolError>;
}
