//! The MCP servers of an agent: how they stand, what is known of their tools, a test of each.

use crate::Api;
use crate::error::{ApiError, ErrorBody};
use crate::id::Id;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use insula_capabilities::mcp::{PromptReport, ServerReport, Tested, ToolReport};
use insula_domain::AgentId;
use insula_registry::Actor;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One server.
#[derive(Debug, Serialize, ToSchema)]
pub struct ServerView {
    name: String,
    /// `stdio` or `http`.
    transport: &'static str,
    /// Whether there is a connection now.
    connected: bool,
    /// How often one was opened since the daemon started, or tried to.
    starts: u64,
    /// Calls it answered since.
    calls: u64,
    /// What it calls itself.
    version: Option<String>,
    protocol: Option<String>,
    /// What went wrong last.
    trouble: Option<String>,
    /// Whether its tools are known: it was asked at least once.
    known: bool,
    tools: Vec<ServerToolView>,
    /// Whether it has resources, which the agent reads by a tool of that name.
    resources: bool,
    /// What the agent reads them with; nothing where it has no such tool.
    resources_tool: Option<String>,
    /// What people who talk to the agent can choose by a command.
    prompts: Vec<ServerPromptView>,
}

/// One prompt of a server.
#[derive(Debug, Serialize, ToSchema)]
pub struct ServerPromptView {
    /// What to type.
    command: String,
    /// What follows it.
    arguments: String,
    description: String,
}

/// One tool of a server.
#[derive(Debug, Serialize, ToSchema)]
pub struct ServerToolView {
    /// What the model calls it.
    name: Option<String>,
    /// What the server calls it.
    tool: String,
    shown: bool,
    why: String,
    /// Whether the server says that it changes nothing. That counts unless it was said later than
    /// first and nobody has approved it.
    reads: bool,
    /// Whether that counts.
    taken_to_read: bool,
    /// Tells its description from another one.
    mark: String,
    description: String,
}

/// What a test brought.
#[derive(Debug, Serialize, ToSchema)]
pub struct TestView {
    ok: bool,
    error: Option<String>,
    /// Which grants it may have missed.
    hints: Vec<String>,
    took_ms: u64,
    server: ServerView,
}

/// What to approve.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveTools {
    /// One tool, by either name; without it all that are new or changed.
    tool: Option<String>,
}

/// What was approved.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApprovedTools {
    approved: Vec<String>,
}

impl From<ServerReport> for ServerView {
    fn from(report: ServerReport) -> Self {
        let ServerReport {
            name,
            transport,
            facts,
            trouble,
            is_known,
            tools,
            has_resources,
            resources_tool,
            prompts,
        } = report;
        let prompt = |PromptReport { command, arguments, description }| ServerPromptView {
            command,
            arguments,
            description,
        };
        Self {
            name,
            transport,
            connected: facts.is_connected,
            starts: facts.starts,
            calls: facts.calls,
            version: facts.says_it_is,
            protocol: facts.protocol,
            trouble,
            known: is_known,
            tools: tools.into_iter().map(Into::into).collect(),
            resources: has_resources,
            resources_tool,
            prompts: prompts.into_iter().map(prompt).collect(),
        }
    }
}

impl From<ToolReport> for ServerToolView {
    fn from(report: ToolReport) -> Self {
        let ToolReport { tool, name, is_shown, why, mark, description, .. } = report;
        let (reads, taken_to_read) = (report.claims_to_read, report.is_taken_to_read);
        Self { name, tool, shown: is_shown, why, reads, taken_to_read, mark, description }
    }
}

fn agent(id: &str) -> Result<AgentId, ApiError> {
    AgentId::new(id).map_err(|_| ApiError::no_agent(id))
}

/// Agent and server of a path. Bytes that are no text name nobody.
fn both(path: Result<Path<(String, String)>, PathRejection>) -> Result<(String, String), ApiError> {
    path.map(|Path(both)| both).map_err(|_| ApiError::no_agent("\u{fffd}"))
}

/// The MCP servers of an agent. Starts nothing.
#[utoipa::path(get, path = "/api/agents/{id}/mcp", params(("id" = String, Path)),
    responses((status = 200, body = [ServerView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(State(api): State<Api>, Id(id): Id) -> Result<Json<Vec<ServerView>>, ApiError> {
    let servers = api.capabilities.mcp_servers(&agent(&id)?)?;
    Ok(Json(servers.into_iter().map(Into::into).collect()))
}

/// Connects to a server and asks for its tools.
#[utoipa::path(post, path = "/api/agents/{id}/mcp/{server}/test", params(("id" = String, Path), ("server" = String, Path)),
    responses((status = 200, body = TestView), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn test(
    State(api): State<Api>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<TestView>, ApiError> {
    let (id, server) = both(path)?;
    let tested = api.capabilities.mcp_test(&agent(&id)?, &server).await?;
    Ok(Json(tested.into()))
}

impl From<Tested> for TestView {
    fn from(Tested { server, took, error, hints }: Tested) -> Self {
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        Self { ok: error.is_none(), error, hints, took_ms, server: server.into() }
    }
}

/// Ends the connection to a server, and the program behind it, and connects anew.
#[utoipa::path(post, path = "/api/agents/{id}/mcp/{server}/restart", params(("id" = String, Path), ("server" = String, Path)),
    responses((status = 200, body = TestView), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn restart(
    State(api): State<Api>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<TestView>, ApiError> {
    let (id, server) = both(path)?;
    let tested = api.capabilities.mcp_restart(&agent(&id)?, &server).await?;
    Ok(Json(tested.into()))
}

/// Lets the model see tools that are new or described otherwise than before.
#[utoipa::path(post, path = "/api/agents/{id}/mcp/{server}/approve", params(("id" = String, Path), ("server" = String, Path)),
    request_body = ApproveTools,
    responses((status = 200, body = ApprovedTools), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn approve(
    State(api): State<Api>,
    path: Result<Path<(String, String)>, PathRejection>,
    body: Result<Json<ApproveTools>, JsonRejection>,
) -> Result<Json<ApprovedTools>, ApiError> {
    let (id, server) = both(path)?;
    let id = agent(&id)?;
    // Whose it is comes first: what is not there has nothing else that could be wrong.
    api.capabilities.mcp_servers(&id)?;
    let Json(ApproveTools { tool }) = body?;
    let actor = Actor::CommandLine;
    let approved = api.capabilities.mcp_approve(&id, &server, tool.as_deref(), &actor).await?;
    Ok(Json(ApprovedTools { approved }))
}
