//! What an operator sees of an agent's servers, and may do with them.

use super::opener::AgentOpener;
use super::prompts::PromptReport;
use super::settle::{approve, refresh};
use crate::Capabilities;
use insula_config::mcp::{McpServer, McpWay};
use insula_domain::{AgentId, IntegrityProfile};
use insula_mcp::{Facts, Patience, Pinned, Standing, TOOLS_MAX, full_name};
use insula_registry::context::AgentContext;
use insula_registry::context::{is_shown, resources_tool};
use insula_registry::daemon::Actor;
use insula_registry::error::RuntimeError;
use std::time::Duration;

/// How many digits of a description's mark are shown.
const MARK_LEN: usize = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerReport {
    pub name: String,
    /// `stdio` or `http`.
    pub transport: &'static str,
    /// How it stands.
    pub facts: Facts,
    /// What keeps its tools from being known, or it from being used.
    pub trouble: Option<String>,
    /// Whether its tools are known.
    pub is_known: bool,
    pub tools: Vec<ToolReport>,
    /// Whether it has resources.
    pub has_resources: bool,
    /// What the agent reads them with, where it may.
    pub resources_tool: Option<String>,
    /// What people can choose.
    pub prompts: Vec<PromptReport>,
}

/// One tool of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolReport {
    /// What the server calls it.
    pub tool: String,
    /// What a model calls it; nothing where none could.
    pub name: Option<String>,
    /// Whether the model is shown it.
    pub is_shown: bool,
    /// Why, or why not.
    pub why: String,
    /// Whether the server says that it changes nothing: an operator who is to approve that sees it
    /// before it counts.
    pub claims_to_read: bool,
    /// Whether that is believed of it, here and now.
    pub is_taken_to_read: bool,
    /// Tells its description from another one.
    pub mark: String,
    /// The beginning of its description.
    pub description: String,
}

/// What a test of a server brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tested {
    /// The server, after it.
    pub server: ServerReport,
    /// How long it took to connect and to list the tools.
    pub took: Duration,
    /// What went wrong, and what the server said about it.
    pub error: Option<String>,
    /// Which grants it may have missed.
    pub hints: Vec<String>,
}

impl Capabilities {
    /// The MCP servers of an agent, and what is known of their tools. Starts nothing.
    pub fn mcp_servers(&self, id: &AgentId) -> Result<Vec<ServerReport>, RuntimeError> {
        let agent = self.registry.context_of(id)?;
        Ok(agent.mcp.servers.iter().map(|server| self.server_report(&agent, server)).collect())
    }

    /// Connects to a server and asks for its tools, whatever went wrong before.
    pub async fn mcp_test(&self, id: &AgentId, server: &str) -> Result<Tested, RuntimeError> {
        let agent = self.registry.context_of(id)?;
        let config = named(&agent, server)?;
        let clock = &self.world.clock;
        let start = clock.elapsed();
        let error = refresh(self, &agent, config, Patience::Insists).await.err();
        let took = clock.elapsed().saturating_sub(start);
        let agent = self.registry.context_of(id)?;
        let config = named(&agent, server)?;
        let report = self.server_report(&agent, config);
        // What went wrong last is this, with what the server said: it is told once.
        let trouble = report.trouble.as_ref();
        let error = error.map(|error| match trouble.filter(|it| it.starts_with(&error)) {
            Some(fuller) => fuller.clone(),
            None => error,
        });
        let hints = match &error {
            Some(said) => {
                AgentOpener { caps: self, agent: &agent, server: config }.hints(said).await
            }
            None => Vec::new(),
        };
        Ok(Tested { server: report, took, error, hints })
    }

    /// Ends the connection to a server, and with it the program behind it, and connects anew.
    pub async fn mcp_restart(&self, id: &AgentId, server: &str) -> Result<Tested, RuntimeError> {
        let agent = self.registry.context_of(id)?;
        let config = named(&agent, server)?;
        self.programs.servers.close_one(id, &config.name);
        tracing::info!(agent = %id, server, "an MCP server is started anew, by its operator's word");
        self.mcp_test(id, server).await
    }

    /// Notes that an operator has looked at tools that are new or described otherwise than
    /// before: all of a server's, or one. Those it concerned, by the server's names.
    pub async fn mcp_approve(
        &self,
        id: &AgentId,
        server: &str,
        tool: Option<&str>,
        actor: &Actor,
    ) -> Result<Vec<String>, RuntimeError> {
        let agent = self.registry.context_of(id)?;
        let config = named(&agent, server)?;
        // People know a tool by either name.
        let pins = agent.mcp.pins(config);
        let tool = tool.map(|tool| {
            let known = pins.iter().flat_map(|pins| pins.tools.keys());
            let mut same = known.filter(|own| full_name(server, own).as_deref() == Some(tool));
            same.next().map_or(tool, String::as_str)
        });
        if let (Some(tool), Some(pins)) = (tool, pins)
            && !pins.tools.contains_key(tool)
        {
            let (agent, server, tool) = (id.clone(), server.into(), shown(tool).into());
            return Err(RuntimeError::NoSuchServerTool { agent, server, tool });
        }
        let approved = approve(self, &agent, config, tool, actor).await;
        approved.map_err(RuntimeError::Invalid)
    }

    fn server_report(&self, agent: &AgentContext, server: &McpServer) -> ServerReport {
        let known = self.programs.servers.known(&agent.id, &server.name);
        let facts = known.map(|known| known.facts_now()).unwrap_or_default();
        let pins = agent.mcp.pins(server);
        let tools = pins.iter().flat_map(|pins| &pins.tools);
        let prompts = agent.mcp.prompts(server);
        let too_many = || {
            let what = "it offers more tools than the first";
            facts.has_too_many.then(|| format!("{what} {TOOLS_MAX}, which are taken"))
        };
        let nameless = || super::nameless(facts.nameless);
        let trouble = agent.mcp.trouble().or_else(|| facts.trouble.clone());
        ServerReport {
            name: server.name.to_string(),
            transport: match server.way {
                McpWay::Program { .. } => "stdio",
                McpWay::Http { .. } => "http",
            },
            trouble: trouble.or_else(too_many).or_else(nameless),
            facts,
            is_known: pins.is_some(),
            has_resources: pins.is_some_and(|pins| pins.resources),
            resources_tool: pins
                .and_then(|pins| resources_tool(server, pins))
                .filter(|name| agent.tools().verdict(name).is_in()),
            prompts: match super::prompts::is_offered(agent, server) {
                true => {
                    prompts.map(|(name, it)| super::prompts::report(server, name, it)).collect()
                }
                false => Vec::new(),
            },
            tools: tools.map(|(tool, pinned)| describe(agent, server, tool, pinned)).collect(),
        }
    }
}

fn named<'a>(agent: &'a AgentContext, server: &str) -> Result<&'a McpServer, RuntimeError> {
    agent.mcp.server(server).ok_or_else(|| {
        let (agent, server) = (agent.id.clone(), shown(server).into());
        RuntimeError::NoSuchServer { agent, server }
    })
}

fn describe(agent: &AgentContext, server: &McpServer, tool: &str, pinned: &Pinned) -> ToolReport {
    let name = full_name(&server.name, tool);
    let verdict = name.as_deref().map(|name| agent.tools().verdict(name));
    let is_in = verdict.as_ref().is_some_and(insula_domain::ToolVerdict::is_in);
    let stands = is_shown(server, pinned);
    let why = match (&pinned.standing, &verdict) {
        (Standing::Unfit(why), _) => format!("can't be used: {why}"),
        _ if !pinned.offered => "the server does not have it any more".to_owned(),
        (Standing::Suspect(why), _) => format!("hidden: its description has {why}"),
        (Standing::New, _) if !stands => "waits for approval: it is new".to_owned(),
        (Standing::Changed, _) if !stands => {
            "waits for approval: it is described otherwise than before".to_owned()
        }
        _ if !server.uses(tool) => "left out by `tools` of the server".to_owned(),
        (_, Some(verdict)) => verdict.to_string(),
        (_, None) => "no model could call it".to_owned(),
    };
    ToolReport {
        tool: tool.to_owned(),
        name,
        is_shown: stands && is_in && server.uses(tool),
        why,
        claims_to_read: pinned.claims_to_read(),
        is_taken_to_read: pinned.only_reads()
            && agent.boundary.integrity.profile != IntegrityProfile::Strict,
        mark: pinned.mark().to_hex()[..MARK_LEN].to_owned(),
        description: pinned
            .description
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(200)
            .collect(),
    }
}

/// A name as an error repeats it.
fn shown(name: &str) -> String {
    name.chars().take(100).flat_map(char::escape_debug).collect()
}
