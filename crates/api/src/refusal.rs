//! Refusals that no handler makes, in the shape that callers of their path read.

use crate::error::ApiError;
use crate::v1::OpenAiError;
use axum::extract::OriginalUri;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// An error in the shape that callers of this path read: OpenAI's under `/v1`.
pub fn shaped(path: &str, error: ApiError) -> Response {
    if path == "/v1" || path.starts_with("/v1/") {
        return OpenAiError::from(error).into_response();
    }
    error.into_response()
}

/// The same, after which the connection is closed: what is left of the request is nobody's next
/// one.
pub fn refused_for_good(path: &str, error: ApiError) -> Response {
    let mut answer = shaped(path, error);
    answer.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    answer
}

/// What a path of ours answers to a method it does not have.
pub async fn wrong_method(method: Method, OriginalUri(uri): OriginalUri) -> Response {
    let message = format!("{} does not answer {method}", uri.path());
    shaped(uri.path(), ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", message))
}

/// What every path answers that is none of ours.
pub async fn not_found(OriginalUri(uri): OriginalUri) -> Response {
    let message = format!("nothing is at {}", uri.path());
    shaped(uri.path(), ApiError::new(StatusCode::NOT_FOUND, "not_found", message))
}
