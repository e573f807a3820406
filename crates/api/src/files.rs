//! Files over HTTP: which of an agent's hold words of others, and saying that they do not matter.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, kept};
use crate::integrity::IntegrityView;
use axum::Json;
use axum::extract::{Query, State, rejection::QueryRejection};
use insula_store::ForeignFile;
use insula_turns::foreign;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A file, or a folder with all below it, that holds words of others.
#[derive(Debug, Serialize, ToSchema)]
pub struct ForeignFileView {
    /// In the home of the daemon without a slash at its beginning.
    path: String,
    integrity: IntegrityView,
}

impl From<ForeignFile> for ForeignFileView {
    fn from(file: ForeignFile) -> Self {
        let integrity = IntegrityView::from(&file.integrity);
        Self { path: file.path.into(), integrity }
    }
}

/// Which file is meant.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// As it is listed; all of them where nothing is said.
    path: Option<String>,
}

/// The files of an agent that hold words of others, by path.
#[utoipa::path(get, path = "/api/agents/{id}/files/foreign", params(("id" = String, Path)),
    responses((status = 200, body = [ForeignFileView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(
    State(api): State<Api>,
    Id(id): Id,
) -> Result<Json<Vec<ForeignFileView>>, ApiError> {
    let agent = kept(&api, &id)?;
    let files = agent.store.foreign_files().await?;
    Ok(Json(files.into_iter().map(Into::into).collect()))
}

/// Takes what is in a file, or in all of them, for the agent's own from now on.
#[utoipa::path(delete, path = "/api/agents/{id}/files/foreign",
    params(("id" = String, Path), Which),
    responses((status = 200, body = [ForeignFileView]), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)),
    security(("token" = [])))]
pub async fn trust(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Json<Vec<ForeignFileView>>, ApiError> {
    let Query(which) = which.map_err(|error| ApiError::invalid(error.body_text()))?;
    let agent = kept(&api, &id)?;
    let path = which.path.as_deref();
    let done = foreign::trust((&api.access, &api.trail), &agent, path, &caller.actor()).await?;
    Ok(Json(done.into_iter().map(Into::into).collect()))
}
