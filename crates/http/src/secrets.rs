//! Secrets of the daemon, and a list of everybody's by name.

use crate::Server;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use insula_api::secrets::{SecretView, SetSecret, drop_one, names, put};
use insula_api::{ApiError, ErrorBody};
use insula_vault::{SecretNameError, SecretOwner};

/// The name of a path. Bytes that are no text are no name either.
fn one(path: Result<Path<String>, PathRejection>) -> Result<String, ApiError> {
    path.map(|Path(name)| name).map_err(|_| ApiError::invalid(SecretNameError.to_string()))
}

/// Every secret of every namespace, by name.
#[utoipa::path(get, path = "/api/secrets", responses((status = 200, body = [SecretView])), security(("token" = [])))]
pub async fn list_all(State(server): State<Server>) -> Result<Json<Vec<SecretView>>, ApiError> {
    let all = server.daemon.list_all_secrets().await?;
    Ok(Json(all.iter().map(|(owner, entry)| SecretView::of(owner, entry)).collect()))
}

/// The daemon's secrets, by name.
#[utoipa::path(get, path = "/api/daemon/secrets", responses((status = 200, body = [SecretView])), security(("token" = [])))]
pub async fn list_daemon(State(server): State<Server>) -> Result<Json<Vec<SecretView>>, ApiError> {
    names(&server.daemon, &SecretOwner::Daemon).await
}

/// Sets a secret of the daemon: for its channels and shared providers.
#[utoipa::path(put, path = "/api/daemon/secrets/{name}", params(("name" = String, Path)), request_body = SetSecret,
    responses((status = 204), (status = 400, body = ErrorBody)), security(("token" = [])))]
pub async fn set_daemon(
    State(server): State<Server>,
    name: Result<Path<String>, PathRejection>,
    body: Result<Json<SetSecret>, JsonRejection>,
) -> Result<StatusCode, ApiError> {
    put(&server.daemon, &SecretOwner::Daemon, &one(name)?, body).await
}

/// Removes a secret of the daemon.
#[utoipa::path(delete, path = "/api/daemon/secrets/{name}", params(("name" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn remove_daemon(
    State(server): State<Server>,
    name: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    drop_one(&server.daemon, &SecretOwner::Daemon, &one(name)?).await
}
