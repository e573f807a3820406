//! Secrets: set, list, remove. A value comes in a body and never goes out again, not even in
//! an answer that says what was wrong with it.

use crate::Surface;
use crate::error::{ApiError, ErrorBody};
use crate::id::Id;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use insula_domain::AgentId;
use insula_registry::Actor;
use insula_vault::{Owner, SECRET_BYTES_MAX, Secret, SecretEntry, SecretName, SecretNameError};
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
    fn of(owner: &Owner, entry: &SecretEntry) -> Self {
        let agent = match owner {
            Owner::Agent(id) => Some(id.to_string()),
            Owner::Daemon => None,
        };
        Self { agent, name: entry.name.to_string(), set: entry.modified.to_string() }
    }
}

/// The name of a path. Bytes that are no text are no name either.
fn one(path: Result<Path<String>, PathRejection>) -> Result<String, ApiError> {
    path.map(|Path(name)| name).map_err(|_| ApiError::invalid(SecretNameError.to_string()))
}

/// Agent and name of a path. Bytes that are no text name nobody.
fn both(path: Result<Path<(String, String)>, PathRejection>) -> Result<(String, String), ApiError> {
    path.map(|Path(both)| both).map_err(|_| ApiError::no_agent("\u{fffd}"))
}

fn owner(agent: &str) -> Result<Owner, ApiError> {
    AgentId::new(agent).map(Owner::Agent).map_err(|_| ApiError::no_agent(agent))
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

async fn names(surface: &Surface, owner: &Owner) -> Result<Json<Vec<SecretView>>, ApiError> {
    let entries = surface.house.list_secrets(owner).await?;
    Ok(Json(entries.iter().map(|entry| SecretView::of(owner, entry)).collect()))
}

async fn put(
    surface: &Surface,
    owner: &Owner,
    name: &str,
    body: Result<Json<SetSecret>, JsonRejection>,
) -> Result<StatusCode, ApiError> {
    // Whose it is comes first: what is not there has nothing else that could be wrong.
    surface.house.list_secrets(owner).await?;
    let (name, value) = (named(name)?, value(body)?);
    surface.house.set_secret(owner, &name, value, &Actor::CommandLine).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn drop_one(surface: &Surface, owner: &Owner, name: &str) -> Result<StatusCode, ApiError> {
    surface.house.list_secrets(owner).await?;
    surface.house.remove_secret(owner, &named(name)?, &Actor::CommandLine).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Every secret of every namespace, by name.
#[utoipa::path(get, path = "/api/secrets", responses((status = 200, body = [SecretView])), security(("token" = [])))]
pub async fn list_all(State(surface): State<Surface>) -> Result<Json<Vec<SecretView>>, ApiError> {
    let all = surface.house.list_all_secrets().await?;
    Ok(Json(all.iter().map(|(owner, entry)| SecretView::of(owner, entry)).collect()))
}

/// The daemon's secrets, by name.
#[utoipa::path(get, path = "/api/daemon/secrets", responses((status = 200, body = [SecretView])), security(("token" = [])))]
pub async fn list_daemon(
    State(surface): State<Surface>,
) -> Result<Json<Vec<SecretView>>, ApiError> {
    names(&surface, &Owner::Daemon).await
}

/// Sets a secret of the daemon: for its channels and shared providers.
#[utoipa::path(put, path = "/api/daemon/secrets/{name}", params(("name" = String, Path)), request_body = SetSecret,
    responses((status = 204), (status = 400, body = ErrorBody)), security(("token" = [])))]
pub async fn set_daemon(
    State(surface): State<Surface>,
    name: Result<Path<String>, PathRejection>,
    body: Result<Json<SetSecret>, JsonRejection>,
) -> Result<StatusCode, ApiError> {
    put(&surface, &Owner::Daemon, &one(name)?, body).await
}

/// Removes a secret of the daemon.
#[utoipa::path(delete, path = "/api/daemon/secrets/{name}", params(("name" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn remove_daemon(
    State(surface): State<Surface>,
    name: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    drop_one(&surface, &Owner::Daemon, &one(name)?).await
}

/// An agent's secrets, by name.
#[utoipa::path(get, path = "/api/agents/{id}/secrets", params(("id" = String, Path)),
    responses((status = 200, body = [SecretView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(
    State(surface): State<Surface>,
    Id(id): Id,
) -> Result<Json<Vec<SecretView>>, ApiError> {
    names(&surface, &owner(&id)?).await
}

/// Sets a secret of an agent.
#[utoipa::path(put, path = "/api/agents/{id}/secrets/{name}", params(("id" = String, Path), ("name" = String, Path)), request_body = SetSecret,
    responses((status = 204), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn set(
    State(surface): State<Surface>,
    path: Result<Path<(String, String)>, PathRejection>,
    body: Result<Json<SetSecret>, JsonRejection>,
) -> Result<StatusCode, ApiError> {
    let (id, name) = both(path)?;
    put(&surface, &owner(&id)?, &name, body).await
}

/// Removes a secret of an agent.
#[utoipa::path(delete, path = "/api/agents/{id}/secrets/{name}", params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn remove(
    State(surface): State<Surface>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    let (id, name) = both(path)?;
    drop_one(&surface, &owner(&id)?, &name).await
}
