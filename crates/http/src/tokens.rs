//! Tokens of the API: make, list, revoke.

use crate::Server;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use insula_api::{ApiError, ErrorBody, Id};
use insula_domain::{AgentId, ScopeError};
use insula_registry::Actor;
use insula_registry::daemon::NewToken;
use insula_registry::tokens::{Token, TokenReach, Verb};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use utoipa::ToSchema;

/// What a token is to be for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateToken {
    agents: Vec<String>,
    /// `chat` alone where nothing is said; `read` for one that sees one scope.
    verbs: Option<Vec<String>>,
    note: Option<String>,
    /// The one scope that it sees, such as `chat:telegram:main:5`; it only reads then.
    scope: Option<String>,
    /// Values for hooks and expressions.
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    /// What it takes away from its agents: `tools`, `rules`, `budget` and `model`, as on a
    /// binding; or the same as a text of YAML.
    less: Option<Value>,
}

/// A token with its text, which is shown once.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedToken {
    id: String,
    token: String,
}

/// A token, without the part that is secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenView {
    id: String,
    agents: Vec<String>,
    verbs: Vec<&'static str>,
    /// The one scope that it sees; null for the whole of its agents.
    scope: Option<String>,
    note: Option<String>,
    created: String,
    metadata: BTreeMap<String, String>,
    /// What it takes away from its agents.
    less: Vec<String>,
}

impl TokenView {
    fn of(token: &Token) -> Self {
        Self {
            id: token.id.to_string(),
            agents: token.agents.iter().map(ToString::to_string).collect(),
            verbs: token.verbs.iter().map(|verb| verb.as_str()).collect(),
            scope: token.scope().map(ToString::to_string),
            note: token.note.as_deref().map(Into::into),
            created: token.created.to_string(),
            metadata: token
                .metadata
                .iter()
                .map(|(key, value)| (key.to_string(), value.to_string()))
                .collect(),
            less: token.narrowing.iter().flat_map(|it| it.told()).map(told).collect(),
        }
    }
}

fn told((kind, what): (&str, String)) -> String {
    format!("{kind}: {what}")
}

/// Makes a token for some agents and verbs.
#[utoipa::path(post, path = "/api/tokens", request_body = CreateToken,
    responses((status = 201, body = CreatedToken), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)),
    security(("token" = [])))]
pub async fn create(
    State(server): State<Server>,
    body: Result<Json<CreateToken>, JsonRejection>,
) -> Result<(StatusCode, Json<CreatedToken>), ApiError> {
    let Json(asked) = body?;
    let agents: Result<BTreeSet<AgentId>, ApiError> = asked
        .agents
        .iter()
        .map(|id| AgentId::new(id).map_err(|_| ApiError::no_agent(id)))
        .collect();
    let reach = match &asked.scope {
        None => TokenReach::Whole,
        Some(scope) => TokenReach::Scope(scope.parse().map_err(|error: ScopeError| {
            ApiError::invalid(format!("`{}`: {error}", scope.escape_debug()))
        })?),
    };
    let usual = if reach == TokenReach::Whole { "chat" } else { "read" };
    let verbs = asked.verbs.unwrap_or_else(|| vec![usual.to_owned()]);
    let verbs: Result<BTreeSet<Verb>, ApiError> = verbs
        .iter()
        .map(|verb| {
            let known = Verb::ALL.map(|verb| verb.as_str()).join(", ");
            Verb::parse(verb)
                .ok_or_else(|| ApiError::invalid(format!("`{verb}` is no verb: {known}")))
        })
        .collect();
    let note = asked.note.map(Into::into);
    let metadata = asked.metadata.into_iter().map(|(key, value)| (key.into(), value.into()));
    // JSON is YAML, which is what settings are written in.
    let less = asked.less.and_then(|less| match less {
        Value::Null => None,
        Value::String(text) => Some(text.into()),
        less => Some(less.to_string().into()),
    });
    let new = NewToken {
        reach,
        agents: agents?,
        verbs: verbs?,
        note,
        metadata: metadata.collect(),
        less,
    };
    let made = server.daemon.create_token_with(new, &Actor::CommandLine).await;
    let (token, text) = made?;
    Ok((StatusCode::CREATED, Json(CreatedToken { id: token.id.to_string(), token: text })))
}

/// Every token.
#[utoipa::path(get, path = "/api/tokens", responses((status = 200, body = [TokenView])), security(("token" = [])))]
pub async fn list(State(server): State<Server>) -> Json<Vec<TokenView>> {
    Json(server.tokens.list().iter().map(|token| TokenView::of(token)).collect())
}

/// Revokes a token at once.
#[utoipa::path(delete, path = "/api/tokens/{id}", params(("id" = String, Path)),
    responses((status = 204), (status = 400, body = ErrorBody)), security(("token" = [])))]
pub async fn revoke(State(server): State<Server>, Id(id): Id) -> Result<StatusCode, ApiError> {
    server.daemon.revoke_token(&id, &Actor::CommandLine).await?;
    Ok(StatusCode::NO_CONTENT)
}
