//! The agent a path names, as text: what can't be an id is an agent that does not exist.

use crate::error::ApiError;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

/// The `{id}` of a path. Need not be one of ours, nor an id at all.
pub struct Id(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::from_request_parts(parts, state).await;
        // Bytes that are no text name nobody either.
        path.map(|Path(id)| Self(id)).map_err(|_| ApiError::no_agent("\u{fffd}"))
    }
}
