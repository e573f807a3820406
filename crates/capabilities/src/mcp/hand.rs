//! The hand by which a tool of an MCP server is called.

use super::opener::AgentOpener;
use super::settle::refresh;
use super::waiting::{Person, RunningCall, Went};
use crate::Capabilities;
use async_trait::async_trait;
use insula_config::mcp::McpServer;
use insula_mcp::{CallOutcome, Patience, Server, ServerError};
use insula_registry::context::AgentContext;
use insula_registry::context::is_shown;
use insula_tools::{HandError, ServerAnswer, Servers, ToolError, words_of};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

/// The servers of one agent, for one call.
pub struct AgentServers<'c> {
    pub caps: &'c Capabilities,
    pub agent: &'c Arc<AgentContext>,
    /// Whom a server may ask: whoever the turn is for, where they can answer.
    pub person: Option<Person>,
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
        // Some of why may be what the server had to say.
        let pins = refresh(self.caps, self.agent, config, Patience::Usual).await;
        let pins = pins.map_err(|why| ToolError::Pieces(vec![words_of(name, why)]))?;
        match pins.tools.get(tool) {
            Some(pinned) if is_shown(config, pinned) => Ok(()),
            Some(pinned) if pinned.offered => Err(ToolError::Refused(format!(
                "the MCP server `{name}` describes this tool otherwise than when it was last looked at; an operator has to look at it (`insula mcp list {}`); go on without it",
                self.agent.id
            ))),
            _ => Err(failed(name, "it does not have this tool any more")),
        }
    }

    fn config(&self, server: &str) -> Result<&McpServer, ToolError> {
        self.agent.mcp.server(server).ok_or_else(|| failed(server, "it is not configured"))
    }

    fn connection(&self, config: &McpServer) -> Result<Arc<Server>, ToolError> {
        let connection = self.caps.programs.servers.get(self.caps, self.agent, config);
        connection.map_err(|why| failed(&config.name, why))
    }

    /// What a server brought, or what went wrong.
    fn brought(
        &self,
        server: &str,
        brought: Result<CallOutcome, ServerError>,
    ) -> Result<CallOutcome, ToolError> {
        brought.map_err(|error| {
            tracing::warn!(agent = %self.agent.id, server, "a call of an MCP server failed");
            match error.quotes() {
                true => ToolError::Pieces(vec![words_of(server, error.to_string())]),
                false => failed(server, &error.to_string()),
            }
        })
    }

    /// Makes a call that may outlive this turn, while its person thinks about an answer.
    fn begin(
        &self,
        config: &McpServer,
        connection: Arc<Server>,
        call: (&str, &Value),
    ) -> RunningCall {
        let (questions, asked) = mpsc::channel(1);
        let (caps, agent, config) = (self.caps.clone(), self.agent.clone(), config.clone());
        let tool = call.0.to_owned();
        let arguments = call.1.as_object().cloned().unwrap_or_default();
        let done = tokio::spawn(async move {
            let opener = AgentOpener { caps: &caps, agent: &agent, server: &config };
            connection.call(&opener, &tool, arguments, Some(questions)).await
        });
        RunningCall { done: AbortOnDropHandle::new(done), asked }
    }

    /// Waits until a call is done, or asks its person.
    async fn until(
        &self,
        mut running: RunningCall,
        person: &Person,
        (server, tool, arguments): (&str, &str, &Value),
    ) -> Result<ServerAnswer, ToolError> {
        let asked = tokio::select! {
            biased;
            done = &mut running.done => {
                let gone = |_| Err(ServerError::Closed("the call met a fault".to_owned()));
                return self.brought(server, done.unwrap_or_else(gone)).map(ServerAnswer::Done);
            }
            Some(asked) = running.asked.recv() => asked,
        };
        let call = (server, tool, arguments);
        let question = self.caps.have_wait(&self.agent.id, person, call, (asked, running));
        Ok(ServerAnswer::Asks(question))
    }
}

fn failed(server: &str, why: &str) -> ToolError {
    ToolError::Hand(HandError(format!("MCP server `{server}`: {why}")))
}

#[async_trait]
impl Servers for AgentServers<'_> {
    async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: &Value,
    ) -> Result<ServerAnswer, ToolError> {
        let call = (server, tool, arguments);
        if let Some(person) = &self.person {
            match self.caps.answer_waiting(&self.agent.id, person, call) {
                Some(Went::On(running)) => return self.until(running, person, call).await,
                Some(Went::Asks(question)) => return Ok(ServerAnswer::Asks(question)),
                Some(Went::GivenUp(running, told)) => {
                    // What it still brings is for nobody, but its connection is free only then.
                    drop(running.done.await);
                    return Ok(ServerAnswer::Asks(told));
                }
                None => {}
            }
        }
        let config = self.config(server)?;
        self.check(config, tool).await?;
        let connection = self.connection(config)?;
        if let Some(person) = &self.person {
            let running = self.begin(config, connection, (tool, arguments));
            return self.until(running, person, call).await;
        }
        let opener = AgentOpener { caps: self.caps, agent: self.agent, server: config };
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let called = connection.call(&opener, tool, arguments, None).await;
        self.brought(server, called).map(ServerAnswer::Done)
    }

    async fn resources(&self, server: &str) -> Result<CallOutcome, ToolError> {
        let config = self.config(server)?;
        let opener = AgentOpener { caps: self.caps, agent: self.agent, server: config };
        let listed = self.connection(config)?.resources(&opener).await;
        self.brought(server, listed)
    }

    async fn read(&self, server: &str, uri: &str) -> Result<CallOutcome, ToolError> {
        let config = self.config(server)?;
        let opener = AgentOpener { caps: self.caps, agent: self.agent, server: config };
        let read = self.connection(config)?.read(&opener, uri).await;
        self.brought(server, read)
    }
}
