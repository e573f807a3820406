//! Errors as answers: a status, what happened, and what to do.

use crate::body::{BODY_LEN_MAX, TooSlow};
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use insula_config::render;
use insula_domain::AgentId;
use insula_registry::RuntimeError;
use insula_store::StoreError;
use insula_turns::SubmitError;
use insula_vault::VaultError;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// What is refused because there is not enough of something at the moment.
const SCARCE: [&str; 2] = ["too_many_connections", "too_many_bodies"];

/// When to ask again for it.
const RETRY_SECONDS: &str = "1";

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorDetail,
}

/// What went wrong, for people and programs.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorDetail {
    /// A word for programs.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
    /// The findings of a configuration that was not applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub report: Option<Value>,
}

/// An error on its way out.
#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    body: ErrorBody,
}

impl ApiError {
    /// An error with a status, a word and a sentence.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, body: ErrorBody { error: ErrorDetail { code, message, report: None } } }
    }

    /// The request itself is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    /// The body is longer than any may be.
    pub fn body_too_large() -> Self {
        let message = format!("the body is longer than {BODY_LEN_MAX} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
    }

    /// The body took too long.
    pub fn body_too_slow(why: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", why.to_string())
    }

    /// There is no engine here: a command looks at a home in which no daemon runs.
    pub fn no_daemon() -> Self {
        let message = "no daemon runs; `insula up` starts it";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "no_daemon", message)
    }

    /// The status it is answered with.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Its word for programs.
    pub fn code(&self) -> &'static str {
        self.body.error.code
    }

    /// The same error for somebody who may know about this agent only.
    pub fn about(mut self, id: &AgentId) -> Self {
        if let Some(report) = &mut self.body.error.report {
            keep_findings_of(id, report);
            self.body.error.message =
                "the configuration was not applied; the admin of this daemon can see why".into();
        }
        self
    }

    /// What went wrong, for an answer of another shape.
    pub fn message(&self) -> String {
        self.body.error.message.clone()
    }

    /// There is no such agent, or not for you: the same answer.
    pub fn no_agent(id: &str) -> Self {
        RuntimeError::NoSuchAgent(id.into()).into()
    }
}

impl From<JsonRejection> for ApiError {
    /// What is wrong with a body, in words about the body.
    fn from(rejection: JsonRejection) -> Self {
        let status = rejection.status();
        let source = |error: &dyn std::error::Error| {
            let mut innermost = error.to_string();
            let mut next = error.source();
            while let Some(error) = next {
                innermost = error.to_string();
                next = error.source();
            }
            innermost
        };
        let message = match &rejection {
            JsonRejection::JsonDataError(error) => match source(error) {
                text if text.contains("expected struct") => {
                    "the body must be a JSON object".to_owned()
                }
                text => format!("the body does not fit: {text}"),
            },
            JsonRejection::JsonSyntaxError(error) => {
                format!("the body is not JSON: {}", source(error))
            }
            JsonRejection::MissingJsonContentType(_) => {
                "send the body as `Content-Type: application/json`".to_owned()
            }
            _ if status == StatusCode::PAYLOAD_TOO_LARGE => return Self::body_too_large(),
            other if is_too_slow(other) => {
                return Self::body_too_slow(TooSlow);
            }
            _ => "the body could not be read".to_owned(),
        };
        // A body that is JSON and does not fit is as wrong as one that is not.
        let status = if status == StatusCode::UNPROCESSABLE_ENTITY {
            StatusCode::BAD_REQUEST
        } else {
            status
        };
        Self::new(status, "invalid", message)
    }
}

fn is_too_slow(rejection: &JsonRejection) -> bool {
    let mut next: Option<&dyn std::error::Error> = Some(rejection);
    while let Some(error) = next {
        if error.is::<TooSlow>() {
            return true;
        }
        next = error.source();
    }
    false
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> Self {
        let inner = std::error::Error::source(&rejection).map(ToString::to_string);
        Self::invalid(format!("the query does not fit: {}", inner.unwrap_or_default()))
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let is_scarce = SCARCE.contains(&self.body.error.code);
        let answer = (self.status, Json(self.body));
        if self.status == StatusCode::UNAUTHORIZED {
            return ([(header::WWW_AUTHENTICATE, "Bearer")], answer).into_response();
        }
        if is_scarce {
            return ([(header::RETRY_AFTER, RETRY_SECONDS)], answer).into_response();
        }
        answer.into_response()
    }
}

impl From<RuntimeError> for ApiError {
    fn from(error: RuntimeError) -> Self {
        let (status, code) = match &error {
            RuntimeError::NoSuchAgent(_) => (StatusCode::NOT_FOUND, "no_such_agent"),
            RuntimeError::NoSuchSkill(_) => (StatusCode::NOT_FOUND, "no_such_skill"),
            RuntimeError::NoSuchServer { .. } => (StatusCode::NOT_FOUND, "no_such_server"),
            RuntimeError::NoSuchServerTool { .. } => (StatusCode::NOT_FOUND, "no_such_tool"),
            RuntimeError::Broken { .. } => (StatusCode::CONFLICT, "wrong_state"),
            RuntimeError::NoSuchToken(_) => (StatusCode::NOT_FOUND, "no_such_token"),
            RuntimeError::NoSuchSecret { .. } => (StatusCode::NOT_FOUND, "no_such_secret"),
            RuntimeError::WrongState { .. } => (StatusCode::CONFLICT, "wrong_state"),
            RuntimeError::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid"),
            RuntimeError::Configuration(_) => (StatusCode::UNPROCESSABLE_ENTITY, "configuration"),
            RuntimeError::HomeInUse(_) => (StatusCode::CONFLICT, "home_in_use"),
            RuntimeError::File { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "file"),
            RuntimeError::Store(StoreError::TooLong { .. }) => (StatusCode::BAD_REQUEST, "invalid"),
            RuntimeError::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "store"),
            RuntimeError::Vault(
                VaultError::Empty { .. } | VaultError::TooLong { .. } | VaultError::TooMany { .. },
            ) => (StatusCode::BAD_REQUEST, "invalid"),
            RuntimeError::Vault(_) => (StatusCode::INTERNAL_SERVER_ERROR, "vault"),
        };
        let mut answer = Self::new(status, code, error.to_string());
        if let RuntimeError::Configuration(report) = &error {
            answer.body.error.report = Some(render::json(report));
        }
        answer
    }
}

impl From<SubmitError> for ApiError {
    fn from(error: SubmitError) -> Self {
        let (status, code) = match &error {
            SubmitError::Busy { .. } => (StatusCode::TOO_MANY_REQUESTS, "busy"),
            SubmitError::Budget(_) => (StatusCode::TOO_MANY_REQUESTS, "budget_exceeded"),
            SubmitError::Known { .. } => (StatusCode::CONFLICT, "known_request"),
            SubmitError::UnderWay { .. } => (StatusCode::CONFLICT, "under_way"),
            SubmitError::NotWaiting { .. } => (StatusCode::CONFLICT, "not_waiting"),
            SubmitError::Store(StoreError::OtherRequest) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused")
            }
            SubmitError::Store(StoreError::TooLong { .. }) => (StatusCode::BAD_REQUEST, "invalid"),
            SubmitError::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "store"),
        };
        Self::new(status, code, error.to_string())
    }
}

impl From<insula_store::StoreError> for ApiError {
    fn from(error: insula_store::StoreError) -> Self {
        RuntimeError::from(error).into()
    }
}

/// Takes out of a report what is not about this agent, and lines, which move with what others
/// wrote.
pub fn keep_findings_of(id: &AgentId, report: &mut Value) {
    for list in report.as_object_mut().into_iter().flat_map(|report| report.values_mut()) {
        if let Value::Array(findings) = list {
            findings.retain(|found| found["agent"] == id.as_str());
            for found in findings.iter_mut().filter_map(Value::as_object_mut) {
                found.retain(|key, _| key != "line" && key != "column");
            }
        }
    }
}
