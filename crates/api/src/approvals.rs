//! Approvals over HTTP: what waits, and answering it.

use crate::Api;
use crate::caller::Caller;
use crate::each::{ask_each, serving};
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, kept};
use crate::numbers::{Number, Numbers};
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use insula_domain::AgentId;
use insula_registry::AgentContext;
use insula_store::Approval;
use insula_turns::approvals::{AnswerError, ApprovalAnswer, ApprovalDuration};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// A call that waits for an answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApprovalView {
    id: String,
    agent: String,
    /// The tool it would use.
    tool: String,
    /// What it would do.
    what: String,
    /// The rule by which it needs an answer.
    rule: String,
    /// Who began the turn.
    asked_by: String,
    #[schema(value_type = Object)]
    session: Number,
    #[schema(value_type = Object)]
    turn: Number,
    asked_at: String,
    /// When silence becomes a no.
    expires_at: String,
}

impl ApprovalView {
    pub(crate) fn of(agent: &AgentId, numbers: &Numbers, approval: Approval) -> Self {
        Self {
            id: approval.id.into(),
            agent: agent.to_string(),
            tool: approval.tool.into(),
            what: approval.what,
            rule: approval.rule.into(),
            asked_by: approval.principal.to_string(),
            session: numbers.session(approval.session),
            turn: numbers.turn(approval.turn),
            asked_at: approval.asked_at.to_string(),
            expires_at: approval.expires_at.to_string(),
        }
    }
}

/// An answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// `approve` or `deny`.
    pub(crate) decision: String,
    /// For how long it is allowed: `once`, `session` or `always`; `once` where nothing is said.
    pub(crate) scope: Option<String>,
    /// Why not, which the agent is told.
    pub(crate) reason: Option<String>,
}

impl Decide {
    fn answer(self) -> Result<ApprovalAnswer, ApiError> {
        let scope = self.scope.as_deref().unwrap_or(ApprovalDuration::Once.as_str());
        let reach = ApprovalDuration::parse(scope).ok_or_else(|| {
            let message = format!("`{}` is no scope: once, session, always", scope.escape_debug());
            ApiError::invalid(message)
        })?;
        match self.decision.as_str() {
            "approve" => Ok(ApprovalAnswer::Approve(reach)),
            "deny" => {
                Ok(ApprovalAnswer::Deny(self.reason.filter(|reason| !reason.trim().is_empty())))
            }
            other => {
                let message = format!("`{}` is no decision: approve, deny", other.escape_debug());
                Err(ApiError::invalid(message))
            }
        }
    }
}

/// An answer that counted.
#[derive(Debug, Serialize, ToSchema)]
pub struct Decided {
    id: String,
    agent: String,
    /// `approved` or `denied`.
    outcome: &'static str,
    /// For how long it is allowed.
    scope: Option<&'static str>,
}

impl From<AnswerError> for ApiError {
    fn from(error: AnswerError) -> Self {
        let (status, code) = match &error {
            AnswerError::NotWaiting(_) => (StatusCode::NOT_FOUND, "no_such_approval"),
            AnswerError::NoGrant(_) => (StatusCode::NOT_FOUND, "no_such_grant"),
            AnswerError::NotAdmin(_) => (StatusCode::FORBIDDEN, "forbidden"),
            AnswerError::Separation => (StatusCode::FORBIDDEN, "separation"),
            AnswerError::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "store"),
        };
        Self::new(status, code, error.to_string())
    }
}

/// What waits at an agent.
pub(crate) async fn waiting(
    api: &Api,
    caller: &Caller,
    agent: &AgentContext,
) -> Result<Vec<ApprovalView>, ApiError> {
    // Without a daemon no turn runs, so nothing waits.
    let Some(engine) = &api.engine else { return Ok(Vec::new()) };
    let waiting = engine.approvals().list(agent).await?;
    let numbers = Numbers::of(caller, &agent.store);
    Ok(waiting.into_iter().map(|it| ApprovalView::of(&agent.id, &numbers, it)).collect())
}

/// What waits for an answer at one agent, the oldest first.
#[utoipa::path(get, path = "/api/agents/{id}/approvals", params(("id" = String, Path)),
    responses((status = 200, body = [ApprovalView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<Vec<ApprovalView>>, ApiError> {
    let agent = kept(&api, &id)?;
    Ok(Json(waiting(&api, &caller, &agent).await?))
}

/// What waits for an answer at any agent.
#[utoipa::path(get, path = "/api/approvals", responses((status = 200, body = [ApprovalView])), security(("token" = [])))]
pub async fn list_all(
    State(api): State<Api>,
    caller: Caller,
) -> Result<Json<Vec<ApprovalView>>, ApiError> {
    let Some(engine) = &api.engine else { return Ok(Json(Vec::new())) };
    // Agents at rest are left at rest: only those with a question are opened.
    let asking = engine.approvals().asking();
    let mut agents = serving(&api.registry);
    agents.retain(|agent| asking.contains(&agent.id));
    let of_each = async |agent: Arc<AgentContext>| waiting(&api, &caller, &agent).await;
    let all = ask_each(agents, of_each).await?;
    Ok(Json(all.into_iter().flatten().collect()))
}

/// Answers what waits.
#[utoipa::path(post, path = "/api/agents/{id}/approvals/{approval}",
    params(("id" = String, Path), ("approval" = String, Path)), request_body = Decide,
    responses((status = 200, body = Decided), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)),
    security(("token" = [])))]
pub async fn decide(
    State(api): State<Api>,
    caller: Caller,
    path: Result<Path<(String, String)>, PathRejection>,
    body: Result<Json<Decide>, JsonRejection>,
) -> Result<Json<Decided>, ApiError> {
    let Path((id, approval)) = path.map_err(|_| ApiError::no_agent("\u{fffd}"))?;
    let agent = kept(&api, &id)?;
    let Json(asked) = body?;
    decided(&api, &caller, &agent, &approval, asked).await.map(Json)
}

/// Answers what waits at an agent under this id.
pub(crate) async fn decided(
    api: &Api,
    caller: &Caller,
    agent: &AgentContext,
    approval: &str,
    asked: Decide,
) -> Result<Decided, ApiError> {
    let answer = asked.answer()?;
    let engine = api.engine.as_ref().ok_or_else(ApiError::no_daemon)?;
    let done = engine.approvals().answer(agent, approval, answer, &caller.actor()).await?;
    // What it came to, which may be less than was asked for.
    let scope = done.reach.map(ApprovalDuration::as_str);
    let outcome = if scope.is_some() { "approved" } else { "denied" };
    Ok(Decided { id: done.approval.id.into(), agent: agent.id.to_string(), outcome, scope })
}
