//! A tool of an MCP server, as its agent has it: described as it was pinned, called over the
//! hand of the agent's servers.

use crate::printed::report;
use crate::shell::Printed;
use crate::{Cleared, Hands, Output, Piece, QuotedSource, Tool, ToolError};
use async_trait::async_trait;
use insula_domain::{Source, SourceKind};
use insula_mcp::CallOutcome;

/// One tool of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpTool {
    /// What the model calls it.
    pub name: String,
    pub server: String,
    /// What the server calls it.
    pub tool: String,
    /// What the server says that it is for.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: String,
    /// Whether its server says that it changes nothing, as it was pinned.
    pub only_reads: bool,
}

#[async_trait]
impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> &str {
        &self.parameters
    }

    fn source(&self, _shown: &str) -> Option<Source> {
        Some(Source::new(SourceKind::Mcp, &format!("{}/{}", self.server, self.tool)))
    }

    fn only_reads(&self) -> bool {
        self.only_reads
    }

    async fn run(&self, hands: &Hands<'_>, arguments: &Cleared) -> Result<Output, ToolError> {
        let CallOutcome { text, is_error, dropped } =
            hands.servers()?.call(&self.server, &self.tool, arguments).await?;
        let head = text.into_bytes();
        let printed = Printed { total: head.len() as u64 + dropped, head, tail: Vec::new() };
        let said = report(hands.files, &printed, None, QuotedSource::Foreign).await;
        let text = if said.is_empty() { "(nothing)\n".to_owned() } else { said };
        let said = words_of(&self.server, text);
        match is_error {
            false => Ok(Output::Pieces(vec![said])),
            true => Err(ToolError::Pieces(vec![said])),
        }
    }
}

/// What a server says, whether it did what it was asked or not.
pub fn words_of(server: &str, text: String) -> Piece {
    Piece::Foreign { source: format!("the MCP server {server}"), text }
}

#[cfg(test)]
#[path = "mcp_tests.rs"]
mod mcp_tests;
