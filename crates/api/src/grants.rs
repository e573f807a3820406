//! Grants over HTTP: what an agent was allowed for longer than once, and taking it back.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, kept};
use crate::numbers::{Number, Numbers};
use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use insula_domain::AgentId;
use insula_registry::AgentContext;
use insula_store::{Grant, StoreError};
use insula_turns::approvals::grants;
use serde::Serialize;
use utoipa::ToSchema;

/// One invocation that runs without a question.
#[derive(Debug, Serialize, ToSchema)]
pub struct GrantView {
    id: String,
    agent: String,
    /// `session` or `always`.
    scope: &'static str,
    /// The session it holds in; null where it holds in all.
    #[schema(value_type = Option<Object>)]
    session: Option<Number>,
    /// The tool it is for.
    tool: String,
    /// What it allows; empty once the session it was asked in is forgotten.
    what: String,
    /// The rule by which it needed an answer.
    rule: String,
    granted_by: String,
    granted_at: String,
}

impl GrantView {
    fn of(agent: &AgentId, numbers: &Numbers, grant: Grant) -> Self {
        Self {
            scope: grants::reach(&grant).as_str(),
            id: grant.id.into(),
            agent: agent.to_string(),
            session: grant.session.map(|session| numbers.session(session)),
            tool: grant.tool.into(),
            what: grant.what,
            rule: grant.rule.into(),
            granted_by: grant.by.to_string(),
            granted_at: grant.at.to_string(),
        }
    }
}

/// What one agent was allowed for longer than once, the newest first.
#[utoipa::path(get, path = "/api/agents/{id}/grants", params(("id" = String, Path)),
    responses((status = 200, body = [GrantView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<Vec<GrantView>>, ApiError> {
    let agent = kept(&api, &id)?;
    Ok(Json(of(&caller, &agent).await?))
}

/// What an agent was allowed for longer than once, as this caller sees it.
pub(crate) async fn of(
    caller: &Caller,
    agent: &AgentContext,
) -> Result<Vec<GrantView>, StoreError> {
    let found = grants::list(agent).await?;
    let numbers = Numbers::of(caller, &agent.store);
    let views = found.into_iter().map(|grant| GrantView::of(&agent.id, &numbers, grant));
    Ok(views.collect())
}

/// Takes a grant back: the next such call asks again.
#[utoipa::path(delete, path = "/api/agents/{id}/grants/{grant}",
    params(("id" = String, Path), ("grant" = String, Path)),
    responses((status = 204), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)),
    security(("token" = [])))]
pub async fn revoke(
    State(api): State<Api>,
    caller: Caller,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    let Path((id, grant)) = path.map_err(|_| ApiError::no_agent("\u{fffd}"))?;
    let agent = kept(&api, &id)?;
    grants::revoke((&api.access, &api.trail), &agent, &grant, &caller.actor()).await?;
    Ok(StatusCode::NO_CONTENT)
}
