//! Errors in OpenAI's shape.

use crate::auth::Stranger;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use insula_runtime::turn::SubmitError;
use serde_json::json;

/// An error on its way to an OpenAI client.
#[derive(Debug)]
pub struct OpenAiError {
    status: StatusCode,
    kind: &'static str,
    code: &'static str,
    message: String,
}

impl OpenAiError {
    fn new(
        status: StatusCode,
        kind: &'static str,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self { status, kind, code, message: message.into() }
    }

    /// There is no such agent, or not for you: the same answer.
    pub fn no_model(model: &str) -> Self {
        let shown: String = model.chars().filter(|c| !c.is_control()).take(80).collect();
        let message = format!("the model `{shown}` does not exist or you do not have access to it");
        Self::new(StatusCode::NOT_FOUND, "invalid_request_error", "model_not_found", message)
    }

    /// The request itself is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", "invalid_request", message)
    }

    /// The turn did not end with a reply.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, "api_error", "turn_failed", message)
    }

    /// There is no engine here: a command looks at a home in which no daemon runs.
    pub fn no_daemon() -> Self {
        let message = "no daemon runs; `insula up` starts it";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "api_error", "no_daemon", message)
    }
}

impl From<Stranger> for OpenAiError {
    fn from(Stranger: Stranger) -> Self {
        let message = "show a token of this daemon: Authorization: Bearer …";
        Self::new(StatusCode::UNAUTHORIZED, "invalid_request_error", "invalid_api_key", message)
    }
}

impl From<SubmitError> for OpenAiError {
    fn from(error: SubmitError) -> Self {
        let message = error.to_string();
        match error {
            SubmitError::Busy { .. } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", "busy", message)
            }
            SubmitError::Known { .. } => {
                Self::new(StatusCode::CONFLICT, "invalid_request_error", "known_request", message)
            }
            SubmitError::UnderWay { .. } => {
                Self::new(StatusCode::CONFLICT, "invalid_request_error", "under_way", message)
            }
            SubmitError::Store(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", "store", message)
            }
        }
    }
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        let Self { status, kind, code, message } = self;
        let body =
            json!({ "error": { "message": message, "type": kind, "param": null, "code": code } });
        (status, Json(body)).into_response()
    }
}
