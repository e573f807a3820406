//! What a caller may ask of which route: each names a verb and an agent, and a token has to cover
//! both.

use crate::caller::Caller;
use crate::error::ApiError;
use crate::front::RequestSlot;
use crate::id::Id;
use crate::refusal::{not_found, refused_for_good};
use axum::extract::{MatchedPath, OriginalUri, Request};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use insula_domain::AgentId;
use insula_registry::tokens::Verb;

/// What a token must let its bearer do with an agent for this request about it; `None` where
/// only the admin of all will do. Routes that are not listed are the admin's.
fn verb(method: &Method, path: &str) -> Option<Verb> {
    let rest = path.strip_prefix("/api/agents/{id}")?;
    // A part of a longer path, as one session, goes by the first word.
    let what = rest.trim_start_matches('/').split('/').next()?;
    let reads = method == Method::GET || method == Method::HEAD;
    match what {
        "" | "context" | "tools" | "mcp" | "audit" | "sessions" | "usage" | "events" | "skills"
        | "skills-verify" | "memory" | "turns" | "jobs"
            if reads =>
        {
            Some(Verb::Read)
        }
        "messages" | "stop" | "retry" | "new" | "remembered" | "forget" | "editor"
        | "conversation"
            if method == Method::POST =>
        {
            Some(Verb::Chat)
        }
        "approvals" if reads || method == Method::POST => Some(Verb::Approve),
        "grants" | "files" if reads || method == Method::DELETE => Some(Verb::Approve),
        "pairing" => Some(Verb::Approve),
        "conversations" if reads => Some(Verb::Chat),
        "turns" if method == Method::POST => Some(Verb::Manage),
        "pause" | "resume" | "reload" | "restart" if method == Method::POST => Some(Verb::Manage),
        // Which chat it is can be made up by whoever asks, unlike in the chat itself.
        "home" if method == Method::DELETE => Some(Verb::Manage),
        "deliveries" if reads => Some(Verb::Read),
        "skills" | "deliveries" | "jobs" => Some(Verb::Manage),
        _ => None,
    }
}

/// Whether a route is about boards.
fn is_about_boards(path: &str) -> bool {
    path == "/api/boards" || path.starts_with("/api/boards/")
}

/// Whether a route answers a token that sees one scope: those that say of each thing which scope it
/// is of, and leave out all but one. To such a token nothing else is there.
fn answers_in_scope(method: &Method, path: &str) -> bool {
    let reads = method == Method::GET || method == Method::HEAD;
    let rest = path.strip_prefix("/api/agents/{id}");
    let listed = [
        "/audit",
        "/audit/export",
        "/audit/key",
        "/sessions",
        "/sessions/search",
        "/sessions/{session}",
        "/memory",
        "/memory/search",
    ];
    reads && rest.is_some_and(|rest| listed.contains(&rest))
}

/// Lets the admin through everywhere, and a token where it covers what is asked. To a token,
/// an agent of somebody else's is one that does not exist, before anything else is looked at.
pub async fn require(
    caller: Result<Caller, ApiError>,
    place: RequestSlot,
    original: OriginalUri,
    matched: MatchedPath,
    id: Result<Id, ApiError>,
    request: Request,
    next: Next,
) -> Response {
    let token = match caller {
        Ok(Caller::Token(token)) => token,
        Ok(Caller::Local) => return next.run(request).await,
        Err(stranger) => return stranger.into_response(),
    };
    if token.scope().is_some() {
        let is_there = answers_in_scope(request.method(), matched.as_str());
        let id = id.ok().and_then(|Id(id)| AgentId::new(&id).ok());
        let known = id.filter(|id| is_there && token.agents.contains(id));
        let Some(id) = known else { return not_found(original).await };
        return match place.about(&id) {
            Ok(()) => next.run(request).await,
            Err(full) => refused_for_good(request.uri().path(), full),
        };
    }
    // What somebody may do on a board is said of them and not of an agent; their desk says it.
    if is_about_boards(matched.as_str()) {
        return next.run(request).await;
    }
    let Some(verb) = verb(request.method(), matched.as_str()) else {
        let message =
            "only the admin of this daemon may; the local token is in run/admin.token of the home";
        return ApiError::new(StatusCode::FORBIDDEN, "forbidden", message).into_response();
    };
    let id = match id {
        Ok(Id(id)) => id,
        Err(missing) => return missing.into_response(),
    };
    match AgentId::new(&id).ok().filter(|id| token.agents.contains(id)) {
        None => ApiError::no_agent(&id).into_response(),
        Some(id) if token.allows(&id, verb) => match place.about(&id) {
            Ok(()) => next.run(request).await,
            Err(full) => refused_for_good(request.uri().path(), full),
        },
        Some(_) => {
            let message = format!("this token lacks the verb `{}`", verb.as_str());
            ApiError::new(StatusCode::FORBIDDEN, "forbidden", message).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_04_a_token_for_a_scope_reads_what_is_listed_and_nothing_else() {
        for path in ["/audit", "/audit/export", "/sessions", "/sessions/{session}", "/memory"] {
            let path = format!("/api/agents/{{id}}{path}");
            assert!(answers_in_scope(&Method::GET, &path), "{path}");
            assert_eq!(verb(&Method::GET, &path), Some(Verb::Read), "{path}");
            for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
                assert!(!answers_in_scope(&method, &path), "{method} {path}");
            }
        }
        for path in [
            "/api/agents/{id}",
            "/api/agents/{id}/audit/verify",
            "/api/agents/{id}/events",
            "/api/agents/{id}/turns",
            "/api/agents/{id}/memory/{fragment}",
            "/api/agents/{id}/memory/export",
            "/api/agents/{id}/memory/recall",
            "/api/agents/{id}/sessions/{session}/parts",
            "/api/agents/{id}/usage",
            "/api/agents",
            "/api/audit",
            "/api/approvals",
        ] {
            assert!(!answers_in_scope(&Method::GET, path), "{path}");
        }
    }

    #[test]
    fn a_route_about_an_agent_needs_the_verb_that_covers_it() {
        let (get, post, delete) = (Method::GET, Method::POST, Method::DELETE);
        for (method, path, expected) in [
            (&get, "/api/agents/{id}", Some(Verb::Read)),
            (&post, "/api/agents/{id}/editor", Some(Verb::Chat)),
            (&post, "/api/agents/{id}/conversation", Some(Verb::Chat)),
            (&post, "/api/agents/{id}/editor/answer", Some(Verb::Chat)),
            (&get, "/api/agents/{id}/editor", None),
            (&get, "/api/agents/{id}/context", Some(Verb::Read)),
            (&get, "/api/agents/{id}/audit/verify", Some(Verb::Read)),
            (&get, "/api/agents/{id}/audit/export", Some(Verb::Read)),
            (&get, "/api/agents/{id}/audit/key", Some(Verb::Read)),
            (&get, "/api/agents/{id}/sessions/{session}", Some(Verb::Read)),
            (&Method::HEAD, "/api/agents/{id}/events", Some(Verb::Read)),
            (&post, "/api/agents/{id}/messages", Some(Verb::Chat)),
            (&post, "/api/agents/{id}/stop", Some(Verb::Chat)),
            (&post, "/api/agents/{id}/remembered", Some(Verb::Chat)),
            (&post, "/api/agents/{id}/forget", Some(Verb::Chat)),
            (&get, "/api/agents/{id}/memory/{fragment}", Some(Verb::Read)),
            (&get, "/api/agents/{id}/memory/search", Some(Verb::Read)),
            (&get, "/api/agents/{id}/memory/recall", Some(Verb::Read)),
            (&get, "/api/agents/{id}/sessions/{session}/parts", Some(Verb::Read)),
            (&get, "/api/agents/{id}/sessions/search", Some(Verb::Read)),
            (&get, "/api/agents/{id}/turns", Some(Verb::Read)),
            (&get, "/api/agents/{id}/turns/{turn}", Some(Verb::Read)),
            (&get, "/api/agents/{id}/turns/{turn}/shown", Some(Verb::Read)),
            (&get, "/api/agents/{id}/turns/{turn}/shown/{call}", Some(Verb::Read)),
            (&delete, "/api/agents/{id}/turns/{turn}", None),
            (&get, "/api/agents/{id}/turns/{turn}/events", Some(Verb::Read)),
            (&post, "/api/agents/{id}/turns/{turn}/stop", Some(Verb::Manage)),
            (&get, "/api/agents/{id}/conversations", Some(Verb::Chat)),
            (&get, "/api/agents/{id}/conversations/{conversation}", Some(Verb::Chat)),
            (&post, "/api/agents/{id}/conversations", None),
            (&post, "/api/agents/{id}/memory/forget", None),
            (&post, "/api/agents/{id}/memory/share", None),
            (&post, "/api/agents/{id}/pause", Some(Verb::Manage)),
            (&post, "/api/agents/{id}/reload", Some(Verb::Manage)),
            (&post, "/api/agents/{id}/restart", Some(Verb::Manage)),
            (&Method::PUT, "/api/agents/{id}/home", None),
            (&delete, "/api/agents/{id}/home", Some(Verb::Manage)),
            (&get, "/api/agents/{id}/approvals", Some(Verb::Approve)),
            (&post, "/api/agents/{id}/approvals/{approval}", Some(Verb::Approve)),
            (&delete, "/api/agents/{id}/approvals/{approval}", None),
            (&get, "/api/approvals", None),
            (&post, "/api/agents/{id}/pairing", Some(Verb::Approve)),
            (&delete, "/api/agents/{id}/pairing/{who}", Some(Verb::Approve)),
            (&get, "/api/pairing", None),
            (&post, "/api/agents/{id}/explain", None),
            (&get, "/api/jobs", None),
            (&get, "/api/agents/{id}/jobs", Some(Verb::Read)),
            (&post, "/api/agents/{id}/jobs", Some(Verb::Manage)),
            (&get, "/api/agents/{id}/jobs/{name}", Some(Verb::Read)),
            (&get, "/api/agents/{id}/jobs/{name}/runs", Some(Verb::Read)),
            (&delete, "/api/agents/{id}/jobs/{name}", Some(Verb::Manage)),
            (&post, "/api/agents/{id}/jobs/{name}/pause", Some(Verb::Manage)),
            (&post, "/api/agents/{id}/jobs/{name}/resume", Some(Verb::Manage)),
            (&post, "/api/agents/{id}/jobs/{name}/run", Some(Verb::Manage)),
            (&get, "/api/agents/{id}/grants", Some(Verb::Approve)),
            (&get, "/api/agents/{id}/files/foreign", Some(Verb::Approve)),
            (&delete, "/api/agents/{id}/files/foreign", Some(Verb::Approve)),
            (&post, "/api/agents/{id}/files/foreign", None),
            (&delete, "/api/agents/{id}/grants/{grant}", Some(Verb::Approve)),
            (&get, "/api/agents/{id}/deliveries", Some(Verb::Read)),
            (&post, "/api/agents/{id}/deliveries/{delivery}/resend", Some(Verb::Manage)),
            (&delete, "/api/agents/{id}/deliveries/{delivery}", Some(Verb::Manage)),
            (&post, "/api/agents/{id}/grants", None),
            (&post, "/api/agents/{id}/archive", None),
            (&delete, "/api/agents/{id}", None),
            (&delete, "/api/agents/{id}/sessions/{session}", None),
            (&get, "/api/agents/{id}/secrets", None),
            (&get, "/api/agents", None),
            (&get, "/api/tokens/{id}", None),
            (&post, "/api/reload", None),
        ] {
            assert_eq!(verb(method, path), expected, "{method} {path}");
        }
    }
}
