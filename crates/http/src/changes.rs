//! Whether whoever comes over HTTP may change anything at all: `api.changes`. What is no change is
//! listed here, so that a new route is one.

use crate::Server;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use insula_api::{ApiError, Caller};

/// Stands beside what the command line of this machine asks by its own socket.
#[derive(Debug, Clone, Copy)]
pub struct ByCommandLine;

/// Whether a request changes what an operator set up, by its path.
fn is_change(method: &Method, path: &str) -> bool {
    if method == Method::GET || method == Method::HEAD {
        return false;
    }
    let Some(rest) = path.strip_prefix("/api/") else { return false };
    let parts: Vec<&str> = rest.split('/').collect();
    match parts.as_slice() {
        // Coming in, looking, and what people do on boards.
        ["sign-in" | "boards" | "route", ..] => false,
        ["config", what, ..] => !["check", "edit", "templates"].contains(what),
        // Talking, and answering what is asked.
        ["agents", _, what, ..] => ![
            "messages",
            "stop",
            "retry",
            "new",
            "remembered",
            "forget",
            "editor",
            "conversation",
            "approvals",
            "turns",
            "explain",
        ]
        .contains(what),
        _ => true,
    }
}

/// Refuses changes where the operator wants none to come this way. Whoever is nobody is told so
/// first.
pub async fn refuse(State(server): State<Server>, request: Request, next: Next) -> Response {
    let extensions = request.extensions();
    let may = server.listening.is_none()
        || server.registry.snapshot().daemon.api.changes
        || extensions.get::<ByCommandLine>().is_some();
    let is_somebody = match extensions.get::<Caller>() {
        Some(Caller::Token(token)) => token.scope().is_none(),
        Some(Caller::Local) => true,
        None => false,
    };
    if may || !is_somebody || !is_change(request.method(), request.uri().path()) {
        return next.run(request).await;
    }
    let message = "nothing is changed over HTTP here: `api.changes` is false in config.yaml; use the command line on the machine";
    ApiError::new(StatusCode::FORBIDDEN, "changes_off", message).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_operator_set_up_is_changed_by_everything_that_is_not_listed() {
        for (method, path, expected) in [
            (Method::GET, "/api/tokens", false),
            (Method::POST, "/api/tokens", true),
            (Method::PUT, "/api/config/files", true),
            (Method::POST, "/api/config/check", false),
            (Method::POST, "/api/agents", true),
            (Method::POST, "/api/agents/a/pause", true),
            (Method::DELETE, "/api/agents/a", true),
            (Method::POST, "/api/agents/a/messages", false),
            (Method::POST, "/api/agents/a/turns/1/stop", false),
            (Method::POST, "/api/agents/a/approvals/1", false),
            (Method::POST, "/api/agents/a/something-new", true),
            (Method::POST, "/api/something-new", true),
            (Method::POST, "/api/boards/b/cards", false),
            (Method::POST, "/v1/chat/completions", false),
        ] {
            assert_eq!(is_change(&method, path), expected, "{method} {path}");
        }
    }
}
