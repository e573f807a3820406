//! A tool of an MCP server, as its agent has it: described as it was pinned, called over the
//! hand of the agent's servers. Beside them, a tool of ours for the server's resources.

use crate::printed::report;
use crate::servers::ServerAnswer;
use crate::shell::Printed;
use crate::{
    Cleared, Hands, Output, Piece, QuotedSource, SUBJECT_CHARS_MAX, Tool, ToolError, arguments,
};
use async_trait::async_trait;
use insula_domain::{Source, SourceKind};
use insula_mcp::CallOutcome;
use serde::Deserialize;
use serde_json::Value;

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
        match hands.servers()?.call(&self.server, &self.tool, arguments).await? {
            ServerAnswer::Done(outcome) => answered(hands, &self.server, outcome).await,
            ServerAnswer::Asks(question) => Ok(Output::AskFor { question }),
        }
    }
}

/// What a model is shown of a server's answer.
async fn answered(
    hands: &Hands<'_>,
    server: &str,
    outcome: CallOutcome,
) -> Result<Output, ToolError> {
    let CallOutcome { text, pictures, is_error, dropped } = outcome;
    let head = text.into_bytes();
    let printed = Printed { total: head.len() as u64 + dropped, head, tail: Vec::new() };
    let said = report(hands.files, &printed, None, QuotedSource::Foreign).await;
    let text = if said.is_empty() { "(nothing)\n".to_owned() } else { said };
    let pieces = vec![words_of(server, text)];
    match is_error {
        true => Err(ToolError::Pieces(pieces)),
        false if pictures.is_empty() => Ok(Output::Pieces(pieces)),
        false => Ok(Output::WithPictures { pieces, pictures }),
    }
}

/// What the tool for a server's resources is called, among the tools of that server.
pub const RESOURCES: &str = "resources";

/// The resources of one server, as a tool beside that server's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpResources {
    /// What the model calls it.
    pub name: String,
    pub server: String,
    description: String,
}

impl McpResources {
    pub fn new(name: String, server: &str) -> Self {
        let description = format!(
            "Resources of the MCP server {server}: without `uri`, a list of them and of templates for addresses; with `uri`, what stands there."
        );
        Self { name, server: server.to_owned(), description }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    uri: Option<String>,
}

#[async_trait]
impl Tool for McpResources {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> &str {
        r#"{"type":"object","properties":{"uri":{"type":"string"}},"additionalProperties":false}"#
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        let uri = arguments.get("uri")?.as_str()?;
        Some(uri.chars().take(SUBJECT_CHARS_MAX).collect())
    }

    fn source(&self, _shown: &str) -> Option<Source> {
        Some(Source::new(SourceKind::Mcp, &format!("{}/{RESOURCES}", self.server)))
    }

    /// What the protocol calls reading is that for whoever takes a server at its word.
    fn only_reads(&self) -> bool {
        true
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let Arguments { uri } = arguments(value)?;
        let servers = hands.servers()?;
        let outcome = match uri.as_deref().map(str::trim).filter(|uri| !uri.is_empty()) {
            Some(uri) => servers.read(&self.server, uri).await?,
            None => servers.resources(&self.server).await?,
        };
        answered(hands, &self.server, outcome).await
    }
}

/// What a server says, whether it did what it was asked or not.
pub fn words_of(server: &str, text: String) -> Piece {
    Piece::Foreign { source: format!("the MCP server {server}"), text }
}

#[cfg(test)]
#[path = "mcp_tests.rs"]
mod mcp_tests;
