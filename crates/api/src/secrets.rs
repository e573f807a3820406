//! Secrets of agents: set, list, remove; and how the daemon's are. A value comes in a body and
//! never goes out again, not even in an answer that says what was wrong with it.

use crate::Api;
use crate::error::{ApiError, ErrorBody};
use crate::id::Id;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use insula_domain::AgentId;
use insula_registry::{Actor, Daemon};
use insula_vault::{SECRET_BYTES_MAX, Secret, SecretEntry, SecretName, SecretOwner};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A value to keep.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSecret {
    value: String,
}

/// A secret, by name.
#[derive(Debug, Serialize, ToSchema)]
pub struct SecretView {
    /// Whose it is; null for the daemon's.
    agent: Option<String>,
    name: String,
    /// When its value was last set.
    set: String,
}

impl SecretView {
    /// The secret of this entry.
    pub fn of(owner: &SecretOwner, entry: &SecretEntry) -> Self {
        let agent = match owner {
            SecretOwner::Agent(id) => Some(id.to_string()),
            SecretOwner::Daemon => None,
        };
        Self { agent, name: entry.name.to_string(), set: entry.modified.to_string() }
    }
}

/// Agent and name of a path. Bytes that are no text name nobody.
fn both(path: Result<Path<(String, String)>, PathRejection>) -> Result<(String, String), ApiError> {
    path.map(|Path(both)| both).map_err(|_| ApiError::no_agent("\u{fffd}"))
}

fn owner(agent: &str) -> Result<SecretOwner, ApiError> {
    AgentId::new(agent).map(SecretOwner::Agent).map_err(|_| ApiError::no_agent(agent))
}

fn named(name: &str) -> Result<SecretName, ApiError> {
    SecretName::new(name).map_err(|error| ApiError::invalid(error.to_string()))
}

/// The value of a body. What is wrong with a body is not quoted: it may be the value.
fn value(body: Result<Json<SetSecret>, JsonRejection>) -> Result<Secret, ApiError> {
    match body {
        Ok(Json(SetSecret { value })) => Ok(Secret::new(value)),
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let message = format!("a value has at most {SECRET_BYTES_MAX} bytes");
            Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid", message))
        }
        Err(_) => Err(ApiError::invalid(
            "send `{\"value\": \"…\"}` as `Content-Type: application/json`, the value as text",
        )),
    }
}

/// The secrets of an owner, by name.
pub async fn names(
    daemon: &Daemon,
    owner: &SecretOwner,
) -> Result<Json<Vec<SecretView>>, ApiError> {
    let entries = daemon.list_secrets(owner).await?;
    Ok(Json(entries.iter().map(|entry| SecretView::of(owner, entry)).collect()))
}

/// Sets a secret of an owner.
pub async fn put(
    daemon: &Daemon,
    owner: &SecretOwner,
    name: &str,
    body: Result<Json<SetSecret>, JsonRejection>,
) -> Result<StatusCode, ApiError> {
    // Whose it is comes first: what is not there has nothing else that could be wrong.
    daemon.list_secrets(owner).await?;
    let (name, value) = (named(name)?, value(body)?);
    daemon.set_secret(owner, &name, value, &Actor::CommandLine).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a secret of an owner.
pub async fn drop_one(
    daemon: &Daemon,
    owner: &SecretOwner,
    name: &str,
) -> Result<StatusCode, ApiError> {
    daemon.list_secrets(owner).await?;
    daemon.remove_secret(owner, &named(name)?, &Actor::CommandLine).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// An agent's secrets, by name.
#[utoipa::path(get, path = "/api/agents/{id}/secrets", params(("id" = String, Path)),
    responses((status = 200, body = [SecretView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(State(api): State<Api>, Id(id): Id) -> Result<Json<Vec<SecretView>>, ApiError> {
    names(&api.daemon, &owner(&id)?).await
}

/// Sets a secret of an agent.
#[utoipa::path(put, path = "/api/agents/{id}/secrets/{name}", params(("id" = String, Path), ("name" = String, Path)), request_body = SetSecret,
    responses((status = 204), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn set(
    State(api): State<Api>,
    path: Result<Path<(String, String)>, PathRejection>,
    body: Result<Json<SetSecret>, JsonRejection>,
) -> Result<StatusCode, ApiError> {
    let (id, name) = both(path)?;
    put(&api.daemon, &owner(&id)?, &name, body).await
}

/// Removes a secret of an agent.
#[utoipa::path(delete, path = "/api/agents/{id}/secrets/{name}", params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn remove(
    State(api): State<Api>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    let (id, name) = both(path)?;
    drop_one(&api.daemon, &owner(&id)?, &name).await
}
