//! Who reaches what: accounts, the rules that lead to agents, and what each agent reaches, as it
//! holds now. Why, and for whom, is asked of `explain`.

use crate::Server;
use axum::Json;
use axum::extract::{OriginalUri, State};
use axum::response::{IntoResponse as _, Response};
use insula_api::{Caller, ErrorBody, not_found};
use insula_domain::AgentId;
use insula_registry::tokens::Verb;
use insula_registry::{AgentContext, AgentEntry};
use serde::Serialize;
use utoipa::ToSchema;

/// Who reaches what.
#[derive(Debug, Serialize, ToSchema)]
pub struct Map {
    /// Connections to platforms; the admin's to know.
    accounts: Vec<MapAccount>,
    /// The rules that lead to the agents, in the order of the file.
    bindings: Vec<MapBinding>,
    agents: Vec<MapAgent>,
}

/// A connection to a platform.
#[derive(Debug, Serialize, ToSchema)]
pub struct MapAccount {
    platform: &'static str,
    account: String,
    state: &'static str,
    reason: Option<String>,
}

/// A rule that leads to an agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct MapBinding {
    /// Which messages.
    rule: String,
    platform: &'static str,
    account: Option<String>,
    agent: String,
    tier: &'static str,
    /// Where it stands; the admin's to know.
    place: Option<String>,
    /// Why it refuses, where it does.
    refusal: Option<String>,
}

/// What an agent reaches.
#[derive(Debug, Serialize, ToSchema)]
pub struct MapAgent {
    id: String,
    state: &'static str,
    generation: u64,
    isolation: Option<&'static str>,
    /// How memory is kept apart; null where there is none.
    scope: Option<String>,
    tools: Vec<String>,
    files: Vec<MapFile>,
    hosts: Vec<String>,
    /// By name.
    secrets: Vec<String>,
    mcp: Vec<String>,
    links: Vec<MapLink>,
    boards: Vec<String>,
    models: Vec<String>,
}

/// A folder that is shared with an agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct MapFile {
    path: String,
    mode: &'static str,
}

/// A link to another agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct MapLink {
    to: String,
    #[serde(rename = "as")]
    kind: &'static str,
}

impl MapAgent {
    fn of(
        id: &AgentId,
        entry: &AgentEntry,
        boards: Vec<String>,
        knows: &dyn Fn(&AgentId) -> bool,
    ) -> Self {
        let context = entry.state.context();
        let all = |of: &dyn Fn(&AgentContext) -> Vec<String>| {
            context.map(|it| of(it)).unwrap_or_default()
        };
        let files = context.into_iter().flat_map(|it| it.boundary.files.shared.iter());
        let links = context.into_iter().flat_map(|it| it.boundary.links.iter());
        Self {
            id: id.to_string(),
            state: entry.state.as_str(),
            generation: entry.generation.0,
            isolation: context.map(|it| it.boundary.isolation.as_str()),
            scope: context
                .filter(|it| it.memory.is_some())
                .map(|it| it.conversations.scope.as_str().to_owned()),
            tools: all(&|it| {
                let own = it.toolbox.names().map(str::to_owned);
                it.tools()
                    .exposed()
                    .filter(|tool| it.runs(tool))
                    .map(str::to_owned)
                    .chain(own)
                    .collect()
            }),
            files: files
                .map(|it| MapFile { path: it.path.to_string(), mode: it.mode.as_str() })
                .collect(),
            hosts: all(&|it| {
                it.boundary.network.lists().iter().flatten().map(ToString::to_string).collect()
            }),
            secrets: all(&|it| it.boundary.secrets.iter().map(ToString::to_string).collect()),
            mcp: all(&|it| it.mcp.servers.iter().map(|server| server.name.to_string()).collect()),
            // Whom one may know nothing of is not named.
            links: links
                .filter(|it| knows(&it.to))
                .map(|it| MapLink { to: it.to.to_string(), kind: it.kind.as_str() })
                .collect(),
            boards,
            models: all(&|it| it.models.models.iter().map(ToString::to_string).collect()),
        }
    }
}

/// Who reaches what, as it holds now, as far as whoever asks may read it.
#[utoipa::path(get, path = "/api/map", responses((status = 200, body = Map), (status = 401, body = ErrorBody)), security(("token" = [])))]
pub async fn map(State(server): State<Server>, caller: Caller, original: OriginalUri) -> Response {
    let is_admin = match &caller {
        Caller::Local => true,
        Caller::Token(token) if token.scope().is_some() => return not_found(original).await,
        Caller::Token(_) => false,
    };
    let knows = |id: &AgentId| caller.may(id, Verb::Read);
    let snapshot = server.registry.snapshot();
    let accounts = server.platforms.accounts(&server.front).into_iter().filter(|_| is_admin);
    let accounts = accounts.map(|it| MapAccount {
        platform: it.platform.as_str(),
        account: it.account.to_string(),
        state: it.state.as_str(),
        reason: it.reason,
    });
    let bindings = snapshot.router.bindings().iter().enumerate();
    let bindings = bindings.filter(|(_, it)| knows(&it.agent)).map(|(at, it)| MapBinding {
        rule: it.matches.to_string(),
        platform: it.matches.platform.as_str(),
        account: it.matches.account.as_ref().map(ToString::to_string),
        agent: it.agent.to_string(),
        tier: it.matches.tier().as_str(),
        // Lines move with what others wrote.
        place: snapshot.binding_places.get(at).filter(|_| is_admin).cloned(),
        refusal: it.refusal.as_deref().map(Into::into),
    });
    let boards = |id: &AgentId| {
        let all = snapshot.daemon.boards.values();
        all.filter(|it| it.agents.contains_key(id)).map(|it| it.name.to_string()).collect()
    };
    let agents = caller.own(&snapshot.agents, Verb::Read);
    let agents = agents.map(|(id, entry)| MapAgent::of(id, entry, boards(id), &knows));
    let map = Map {
        accounts: accounts.collect(),
        bindings: bindings.collect(),
        agents: agents.collect(),
    };
    Json(map).into_response()
}
