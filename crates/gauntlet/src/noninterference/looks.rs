//! What whoever has the token of the agent that is watched can read, all of it: every route that
//! answers at once, and what the lists lead to.

use super::cast;
use super::observe::Observed;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, header};
use serde_json::Value;
use tower::ServiceExt as _;

/// Names of agents that may or may not be there answer alike.
const LOOKS: [&str; 48] = [
    "/api/agents",
    "/api/agents/b",
    "/api/agents/b/context",
    "/api/agents/b/tools",
    "/api/agents/b/mcp",
    "/api/agents/b/approvals",
    "/api/agents/b/grants",
    "/api/agents/b/files/foreign",
    "/api/agents/b/deliveries",
    "/api/agents/b/pairing",
    "/api/agents/b/sessions",
    "/api/agents/b/sessions/search?q=garden",
    "/api/agents/b/conversations",
    "/api/agents/b/turns",
    "/api/agents/b/skills",
    "/api/agents/b/skills-verify",
    "/api/agents/b/memory",
    "/api/agents/b/memory/search?q=tea",
    "/api/agents/b/memory/recall?q=tea",
    "/api/agents/b/memory/troubles",
    "/api/agents/b/memory/verify",
    "/api/agents/b/secrets",
    "/api/agents/b/audit",
    "/api/agents/b/audit/verify",
    "/api/agents/b/usage",
    "/api/agents/b/jobs",
    "/api/agents/b/jobs/tick/runs",
    "/api/jobs",
    "/api/boards",
    "/api/boards/plot-b/cards",
    "/api/boards/commons/cards",
    "/api/agents/alpha",
    "/api/agents/alpha/jobs",
    "/api/agents/ghost/sessions",
    "/api/agents/a/audit",
    "/api/approvals",
    "/api/me",
    "/api/map",
    "/api/now",
    "/api/inbox",
    "/api/inbox/answered",
    "/api/inbox/grants",
    "/api/sessions",
    "/api/calendar",
    "/api/costs",
    "/api/tools",
    "/v1/models",
    "/v1/models/alpha",
];

/// What is the admin's to read: nothing of it comes through.
const REFUSED: [&str; 18] = [
    "/api/accounts",
    "/api/applied",
    "/api/audit",
    "/api/audit/chains",
    "/api/audit/verify",
    "/api/config/files/insula.yaml",
    "/api/config/schema",
    "/api/config/templates",
    "/api/daemon/secrets",
    "/api/doctor",
    "/api/gauntlet",
    "/api/pairing",
    "/api/platforms",
    "/api/secrets",
    "/api/sessions/search?q=garden",
    "/api/status",
    "/api/tokens",
    "/api/usage",
];

/// Of what a list begins with: the list, where the name stands, and what is looked at by it.
const FOLLOWED: [(&str, &str, &[&str]); 6] = [
    (
        "/api/agents/b/sessions",
        "/0/id",
        &[
            "/api/agents/b/sessions/{}",
            "/api/agents/b/sessions/{}/parts",
            "/api/agents/b/sessions/{}/files/1/0",
        ],
    ),
    ("/api/agents/b/turns", "/0/id", &["/api/agents/b/turns/{}", "/api/agents/b/turns/{}/shown"]),
    (
        "/api/agents/b/conversations",
        "/0/id",
        &["/api/agents/b/conversations/{}", "/api/agents/b/conversations/{}/files/1/0"],
    ),
    ("/api/agents/b/memory", "/0/id", &["/api/agents/b/memory/{}"]),
    ("/api/agents/b/jobs", "/0/name", &["/api/agents/b/jobs/{}"]),
    ("/api/boards/commons/cards", "/0/id", &["/api/boards/commons/cards/{}"]),
];

/// What a path answers, as it is noted.
pub async fn get(router: &Router, token: &str, path: &str) -> String {
    let (status, text) = ask(router, token, path).await;
    format!("{path}: {status} {text}")
}

async fn ask(router: &Router, token: &str, path: &str) -> (String, String) {
    let request = Request::get(path)
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::HOST, "127.0.0.1")
        .body(Body::empty());
    let Ok(request) = request else { return ("no request".to_owned(), String::new()) };
    let Ok(response) = router.clone().oneshot(request).await;
    let status = response.status();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default();
    (status.to_string(), String::from_utf8_lossy(&bytes).into_owned())
}

/// Looks at everything that the token of the agent that is watched shows, and at its figures.
pub async fn look(observed: &Observed, router: &Router, (token, admin): (&str, &str)) -> String {
    for path in LOOKS.into_iter().chain(REFUSED) {
        let (status, text) = ask(router, token, path).await;
        observed.note("look", format!("{path}: {status} {text}"));
        let led = FOLLOWED.iter().filter(|(list, ..)| *list == path);
        for (_, place, paths) in led {
            let list: Value = serde_json::from_str(&text).unwrap_or_default();
            let name = match list.pointer(place) {
                Some(Value::String(name)) => name.clone(),
                Some(Value::Number(number)) => number.to_string(),
                _ => continue,
            };
            for path in *paths {
                let seen = get(router, token, &path.replace("{}", &name)).await;
                observed.note("look", seen);
            }
        }
    }
    let figures = get(router, admin, "/metrics").await;
    let own = figures.lines().filter(|line| line.contains(&format!("=\"{}", cast::WATCHED)));
    let own: Vec<&str> =
        own.filter(|line| line.contains("=\"b\"") || line.contains("=\"bbot\"")).collect();
    observed.note("metrics", own.join("\n"));
    "looked".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Routes that are not looked at here, and why.
    const PASSED_OVER: [(&str, &str); 17] = [
        ("/api/agents/{id}/events", "does not end; pages.rs listens"),
        ("/api/events", "does not end"),
        ("/api/boards/{board}/events", "does not end"),
        ("/api/gauntlet/events", "does not end"),
        ("/chat/ws", "a socket; pages.rs talks over it"),
        ("/api/agents/{id}/audit/export", "is signed with the time"),
        ("/api/agents/{id}/audit/key", "is the same for all"),
        ("/api/agents/{id}/memory/export", "the admin's"),
        ("/api/agents/{id}/skills/{name}", "the agent has none"),
        ("/api/agents/{id}/turns/{turn}/events", "does not end while its turn goes on"),
        ("/api/agents/{id}/turns/{turn}/shown/{call}", "shown lists the same"),
        ("/api/boards/{board}/cards/{card}/files/{hash}", "the cards have none"),
        ("/v1/responses/{id}", "whoever asked has it"),
        ("/healthz", "the same for all"),
        ("/readyz", "the same for all"),
        ("/metrics", "read with the figures"),
        ("/hooks/{platform}/{account}", "a platform's, with its signature"),
    ];

    /// Whether a path is one of a route, whose parameters are in braces.
    fn is_of(path: &str, route: &str) -> bool {
        let path = path.split('?').next().unwrap_or_default();
        let (path, route): (Vec<_>, Vec<_>) =
            (path.split('/').collect(), route.split('/').collect());
        path.len() == route.len()
            && path.iter().zip(&route).all(|(is, wanted)| wanted.starts_with('{') || is == wanted)
    }

    /// A route that a token of an agent may ask, and that nobody looks at, could show anything.
    #[test]
    fn all_that_answers_is_looked_at() {
        let looked: Vec<&str> = LOOKS
            .into_iter()
            .chain(REFUSED)
            .chain(FOLLOWED.iter().flat_map(|(.., paths)| paths.iter().copied()))
            .collect();
        let document = serde_json::to_value(insula_http::described()).unwrap();
        let routes = document["paths"].as_object().unwrap();
        let reads = routes.iter().filter(|(_, methods)| methods.get("get").is_some());
        let missing: Vec<&String> = reads
            .map(|(route, _)| route)
            .filter(|route| !looked.iter().any(|path| is_of(path, route)))
            .filter(|route| !PASSED_OVER.iter().any(|(passed, _)| passed == route))
            .collect();
        assert!(missing.is_empty(), "{missing:#?}");
    }
}
