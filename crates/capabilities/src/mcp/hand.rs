//! The hand by which a tool of an MCP server is called.

use super::opener::AgentOpener;
use super::settle::refresh;
use crate::Capabilities;
use async_trait::async_trait;
use insula_config::mcp::McpServer;
use insula_mcp::{CallOutcome, Patience};
use insula_registry::context::AgentContext;
use insula_registry::context::is_shown;
use insula_tools::{HandError, Servers, ToolError, words_of};
use serde_json::Value;

/// The servers of one agent, for one call.
pub struct AgentServers<'c> {
    pub caps: &'c Capabilities,
    pub agent: &'c AgentContext,
}

impl AgentServers<'_> {
    /// Looks whether a server that was just started still says of a tool what it said when it
    /// was pinned. A turn shows its model what was; what it calls has to be that.
    async fn check(&self, config: &McpServer, tool: &str) -> Result<(), ToolError> {
        let connections = &self.caps.programs.servers;
        let name = &config.name;
        let is_known = connections.known(&self.agent.id, name).is_some_and(|it| {
            it.facts_now().is_connected && !connections.is_stale(&self.agent.id, name)
        });
        if is_known {
            return Ok(());
        }
        let failed =
            |why: String| ToolError::Hand(HandError(format!("MCP server `{name}`: {why}")));
        // Some of why may be what the server had to say.
        let pins = refresh(self.caps, self.agent, config, Patience::Usual).await;
        let pins = pins.map_err(|why| ToolError::Pieces(vec![words_of(name, why)]))?;
        match pins.tools.get(tool) {
            Some(pinned) if is_shown(config, pinned) => Ok(()),
            Some(pinned) if pinned.offered => Err(ToolError::Refused(format!(
                "the MCP server `{name}` describes this tool otherwise than when it was last looked at; an operator has to look at it (`insula mcp list {}`); go on without it",
                self.agent.id
            ))),
            _ => Err(failed("it does not have this tool any more".to_owned())),
        }
    }
}

#[async_trait]
impl Servers for AgentServers<'_> {
    async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: &Value,
    ) -> Result<CallOutcome, ToolError> {
        let failed =
            |why: String| ToolError::Hand(HandError(format!("MCP server `{server}`: {why}")));
        let config = self.agent.mcp.server(server);
        let config = config.ok_or_else(|| failed("it is not configured".to_owned()))?;
        self.check(config, tool).await?;
        let connection = self.caps.programs.servers.get(self.caps, self.agent, config);
        let connection = connection.map_err(|why| failed(why.to_owned()))?;
        let opener = AgentOpener { caps: self.caps, agent: self.agent, server: config };
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let called = connection.call(&opener, tool, arguments).await;
        called.map_err(|error| {
            tracing::warn!(agent = %self.agent.id, server, "a call of an MCP server failed");
            match error.quotes() {
                true => ToolError::Pieces(vec![words_of(server, error.to_string())]),
                false => failed(error.to_string()),
            }
        })
    }
}
