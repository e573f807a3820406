//! Errors in OpenAI's shape.

use crate::caller::Stranger;
use crate::error::ApiError;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use insula_store::StoreError;
use insula_turns::SubmitError;
use insula_turns::budget::BudgetRefusal;
use serde_json::{Value, json};

/// An error on its way to an OpenAI client.
#[derive(Debug)]
pub struct OpenAiError {
    status: StatusCode,
    kind: &'static str,
    code: &'static str,
    message: String,
    /// Which part of the request it is about.
    param: Option<String>,
    over: Option<Box<BudgetRefusal>>,
}

impl From<OpenAiError> for ApiError {
    /// The same in the shape of `/api`, with its place in the text.
    fn from(OpenAiError { status, code, message, param, .. }: OpenAiError) -> Self {
        let message = match param {
            Some(param) => format!("{param}: {message}"),
            None => message,
        };
        Self::new(status, code, message)
    }
}

impl OpenAiError {
    fn new(
        status: StatusCode,
        kind: &'static str,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self { status, kind, code, message: message.into(), param: None, over: None }
    }

    /// The same, about a part of the request, such as `messages[2].content`.
    #[must_use]
    pub fn at(self, param: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..self }
    }

    /// There is no such agent, or not for you: the same answer.
    pub fn no_model(model: &str) -> Self {
        let model = plain(model);
        let message = format!("the model `{model}` does not exist or you do not have access to it");
        Self::new(StatusCode::NOT_FOUND, "invalid_request_error", "model_not_found", message)
            .at("model")
    }

    /// The request itself is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", "invalid_request", message)
    }

    /// A part of the request is wrong.
    pub fn invalid_at(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::invalid(message).at(param)
    }

    /// What a body is, does not fit: where, and why.
    pub fn unfit(param: &str, why: &str) -> Self {
        let error = Self::invalid(format!("the body does not fit: {why}"));
        let within = Some(param).filter(|param| !param.is_empty() && *param != ".");
        // What is missing has no place of its own yet: it is where it should be.
        let missing = why.strip_prefix("missing field `").and_then(|rest| rest.split_once('`'));
        match (within, missing) {
            (Some(within), Some((name, _))) => error.at(format!("{within}.{name}")),
            (None, Some((name, _))) => error.at(name),
            (Some(within), None) => error.at(within),
            (None, None) => error,
        }
    }

    /// The turn did not end with a reply.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, "api_error", "turn_failed", message)
    }

    /// The token was revoked, or lost this agent, while its bearer waited.
    pub fn revoked() -> Self {
        let message = "this token may not use this model any longer";
        Self::new(StatusCode::UNAUTHORIZED, "invalid_request_error", "token_revoked", message)
    }

    /// There is no such response, or it is somebody else's: the same answer.
    pub fn no_response(id: &str) -> Self {
        let message = format!("response `{}` not found", plain(id));
        Self::new(StatusCode::NOT_FOUND, "invalid_request_error", "response_not_found", message)
    }

    /// The response stands in a session that its caller named.
    pub fn in_session(id: &str) -> Self {
        let message = format!(
            "response `{}` stands in a session that X-Insula-Session named, which goes on; an admin can erase that",
            plain(id)
        );
        Self::new(StatusCode::CONFLICT, "invalid_request_error", "in_session", message)
    }

    /// There is no such item, or it is somebody else's: the same answer.
    pub fn no_item(id: &str, param: String) -> Self {
        let message = format!("item `{}` not found", plain(id));
        Self::new(StatusCode::NOT_FOUND, "invalid_request_error", "item_not_found", message)
            .at(param)
    }

    /// A budget leaves no room.
    pub fn over_budget(refusal: BudgetRefusal) -> Self {
        let status = StatusCode::TOO_MANY_REQUESTS;
        let error = Self::new(status, "rate_limit_error", "budget_exceeded", refusal.to_string());
        Self { over: Some(Box::new(refusal)), ..error }
    }

    /// What went wrong, as OpenAI's clients read it.
    pub fn body(&self) -> Value {
        let Self { kind, code, message, param, over, .. } = self;
        let mut body =
            json!({ "error": { "message": message, "type": kind, "param": param, "code": code } });
        if let Some(over) = over {
            body["error"]["budget"] = json!({
                "level": over.level.as_str(),
                "dimension": over.dimension.as_str(),
                "resets": over.resets.map(|at| at.to_string()),
            });
        }
        body
    }

    /// What went wrong: a word for programs and a sentence for people.
    pub fn said(&self) -> (&'static str, &str) {
        (self.code, &self.message)
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
            SubmitError::NotWaiting { .. } => Self::invalid(message),
            SubmitError::Budget(refusal) => Self::over_budget(refusal),
            SubmitError::Store(StoreError::TooLong { .. }) => Self::invalid(message),
            SubmitError::Store(StoreError::OtherRequest) => {
                let (status, kind) = (StatusCode::UNPROCESSABLE_ENTITY, "invalid_request_error");
                Self::new(status, kind, "idempotency_key_reused", message)
            }
            SubmitError::Store(StoreError::Overloaded { .. }) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", "busy", message)
            }
            SubmitError::Store(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", "store", message)
            }
        }
    }
}

impl From<ApiError> for OpenAiError {
    fn from(error: ApiError) -> Self {
        let kind = match error.status() {
            status if status.is_server_error() => "api_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            _ => "invalid_request_error",
        };
        let code = match error.code() {
            "invalid" => "invalid_request",
            code => code,
        };
        Self::new(error.status(), kind, code, error.message())
    }
}

/// A text of the caller's, short enough to be said back.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        let mut answer = (self.status, Json(self.body())).into_response();
        let headers = answer.headers_mut();
        match self.status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::SERVICE_UNAVAILABLE if self.code != "no_daemon" => {
                headers.insert(header::RETRY_AFTER, 1.into());
            }
            StatusCode::TOO_MANY_REQUESTS => {
                let wait = self.over.as_ref().map_or(Some(1), |over| over.retry_seconds());
                if let Some(seconds) = wait {
                    headers.insert(header::RETRY_AFTER, seconds.into());
                }
                if self.over.is_some_and(|over| over.is_of_the_day()) {
                    headers.insert("x-should-retry", HeaderValue::from_static("false"));
                }
            }
            // A turn that failed was a whole turn, with what it did. OpenAI's clients would
            // ask again by themselves unless they are told not to.
            StatusCode::BAD_GATEWAY => {
                headers.insert("x-should-retry", HeaderValue::from_static("false"));
            }
            _ => {}
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_named_also_where_it_is_missing() {
        for (path, why, expected) in [
            (".", "missing field `model`", json!("model")),
            ("messages[2]", "missing field `role` at line 1", json!("messages[2].role")),
            ("n", "invalid type: string, expected u32", json!("n")),
            (".", "something else", Value::Null),
        ] {
            let body = OpenAiError::unfit(path, why).body();
            assert_eq!(body["error"]["param"], expected, "{path} {why}");
        }
    }
}
