//! The hand of the tools of MCP servers. Which servers there are, and how they are reached, is
//! decided where the hand is made.

use crate::output::ToolError;
use async_trait::async_trait;
use insula_mcp::CallOutcome;
use serde_json::Value;

/// What comes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAnswer {
    /// It is done.
    Done(CallOutcome),
    /// It waits for whoever it is made for: a question to them, in words.
    Asks(String),
}

/// The MCP servers of one agent.
#[async_trait]
pub trait Servers: Send + Sync {
    /// Calls a tool by the name its server gives it, or goes on with such a call that waited for
    /// an answer.
    async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: &Value,
    ) -> Result<ServerAnswer, ToolError>;

    /// Lists the resources of a server, and templates of such.
    async fn resources(&self, server: &str) -> Result<CallOutcome, ToolError>;

    /// Reads a resource of a server.
    async fn read(&self, server: &str, uri: &str) -> Result<CallOutcome, ToolError>;
}
