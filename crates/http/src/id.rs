//! The agent a path names, as text: what can't be an id is an agent that does not exist.

use crate::error::ApiError;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;

/// The `{id}` of a path. Need not be one of ours, nor an id at all.
pub struct Id(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = RawPathParams::from_request_parts(parts, state).await.ok();
        let id = params.iter().flatten().find(|(name, _)| *name == "id");
        // Bytes that are no text name nobody either.
        id.map(|(_, id)| Self(id.to_owned())).ok_or_else(|| ApiError::no_agent("\u{fffd}"))
    }
}
