//! The management API as programs see it: its description, its errors, its shapes.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Where routes are added: the front and the owner of agents.
const ROUTERS: [&str; 2] =
    [include_str!("../../../http/src/lib.rs"), include_str!("../../../api/src/lib.rs")];

fn served() -> (Home, Daemon) {
    let home = configured("agents: {main: {default: true}, broken: {tolls: 1}}\n");
    let daemon = start_still(&home);
    (home, daemon)
}

/// Method and path of everything the description describes.
fn documented(daemon: &Daemon) -> BTreeSet<(String, String)> {
    let document = get(daemon, "/api/openapi.json");
    assert_eq!(document.status, 200);
    let document = document.json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
    let mut found = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            found.insert((method.to_uppercase(), path.clone()));
        }
    }
    found
}

/// Method and path of every line of a router that adds one.
fn routed() -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let parts = ROUTERS.iter().flat_map(|router| {
        let (_, body) = router.split_once("pub fn router").unwrap();
        let (api, top) = body.split_once("    Router::new()").unwrap();
        [("/api", api), ("", top)]
    });
    for (prefix, routes) in parts {
        for route in routes.split(".route(").skip(1) {
            // What does not fit into a line stands in several, up to a bracket of its own.
            let (route, _) = match route.starts_with('"') {
                true => route.split_once('\n').unwrap(),
                false => route.split_once("\n        )").unwrap(),
            };
            let (path, handlers) = route.trim_start()[1..].split_once('"').unwrap();
            for method in ["get", "post", "put", "patch", "delete"] {
                if handlers.contains(&format!("{method}(")) {
                    let route = (method.to_uppercase(), format!("{prefix}{path}"));
                    assert!(found.insert(route), "twice: {method} {prefix}{path}");
                }
            }
        }
    }
    found
}

fn error(code: &str, message: &str) -> Value {
    json!({ "error": { "code": code, "message": message } })
}

#[test]
fn the_description_and_the_router_name_the_same_paths() {
    let (home, daemon) = served();
    let documented = documented(&daemon);
    let mut routed = routed();
    assert!(routed.remove(&("GET".into(), "/api/openapi.json".into())), "{routed:#?}");
    assert_eq!(documented, routed);
    for (method, path) in documented {
        // It has no end; that it is there is seen where it is heard.
        if path == "/api/events" {
            continue;
        }
        // Nobody of this name: what is routed says so, what is not says something else.
        let called = path.replace("{id}", "nobody");
        let answer = call(&daemon, &home, &method, &called, "{}");
        let code = serde_json::from_str::<Value>(&answer.body);
        let code = code.map(|body| body["error"]["code"].clone()).unwrap_or_default();
        if path.contains("{id}") {
            let missing = match path.as_str() {
                it if it.contains("tokens") => "no_such_token",
                it if it.contains("responses") => "response_not_found",
                it if it.contains("models") => "model_not_found",
                _ => "no_such_agent",
            };
            assert_eq!((answer.status, code), (404, json!(missing)), "{method} {path}");
        } else if path.contains("{board}") {
            assert_eq!((answer.status, code), (404, json!("no_such_board")), "{method} {path}");
        } else if path.starts_with("/hooks/") {
            // No such account: as if the secret were wrong.
            assert_eq!((answer.status, code), (401, json!("unauthorized")), "{method} {path}");
        } else {
            assert!(![404, 405, 401].contains(&answer.status), "{method} {path}: {answer:?}");
        }
    }
}

#[test]
fn what_is_nowhere_is_404_and_says_so_in_json() {
    let (home, daemon) = served();
    for path in ["/api", "/api/", "/api/agents/", "/api/agents/main/nothing", "//"] {
        let answer = call(&daemon, &home, "GET", path, "");
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
        assert_eq!(answer.json(), error("not_found", &format!("nothing is at {path}")));
    }
    let answer = call(&daemon, &home, "GET", "/v1/nothing", "");
    let expected = json!({ "message": "nothing is at /v1/nothing", "type": "invalid_request_error", "param": null, "code": "not_found" });
    assert_eq!((answer.status, &answer.json()["error"]), (404, &expected));
}

#[test]
fn a_wrong_method_is_405_and_says_so_in_json() {
    let (home, daemon) = served();
    for (method, path) in [("POST", "/healthz"), ("DELETE", "/metrics"), ("PUT", "/api/agents")] {
        let answer = call(&daemon, &home, method, path, "");
        assert_eq!(answer.status, 405, "{method} {path}: {answer:?}");
        assert_eq!(answer.json()["error"]["code"], "wrong_method");
    }
}

#[test]
fn an_agent_that_is_not_here_and_a_name_no_agent_can_have_look_alike() {
    let (home, daemon) = served();
    let long = "a".repeat(10_000);
    let names = [
        "nobody",
        "..%2f",
        "..%2f..%2fetc%2fpasswd",
        "Main",
        "MAIN",
        "main%00",
        "main%20",
        "%2e%2e",
        "m%C3%A4in",
        "%ff",
        "-main",
        "a.b",
        long.as_str(),
        "*",
        "%25",
        "main;x",
        "null",
    ];
    for (method, rest) in [
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("POST", "/archive"),
        ("POST", "/reload"),
        ("GET", "/context"),
        ("GET", "/tools"),
        ("GET", "/audit"),
        ("GET", "/audit/verify"),
    ] {
        for name in names {
            let answer = call(&daemon, &home, method, &format!("/api/agents/{name}{rest}"), "");
            let body = answer.json();
            assert_eq!(answer.status, 404, "{method} {name}{rest}: {answer:?}");
            let message = body["error"]["message"].as_str().unwrap();
            assert_eq!(body, error("no_such_agent", message), "{method} {name}{rest}");
            assert!(message.starts_with("no agent `") && message.ends_with("` here"), "{message}");
        }
    }
    assert_eq!(state(&home, "main"), "ready");
}

#[test]
fn a_body_that_is_no_json_is_refused() {
    let (home, daemon) = served();
    for path in ["/api/agents", "/api/route/explain"] {
        for body in
            ["", "{", "nonsense", "[]", "null", "{\"id\": 7, \"platform\": 7}", "{\"id\": \"x\"}}"]
        {
            let answer = call(&daemon, &home, "POST", path, body);
            assert_eq!(answer.status, 400, "{path} {body}: {answer:?}");
            assert_eq!(answer.json()["error"]["code"], "invalid");
        }
        let answer = {
            let token = format!("Authorization: Bearer {}", token(&home));
            send(daemon.listen(), "POST", path, &[&token, "Content-Type: text/plain"], "{}")
        };
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (415, &json!("invalid")));
    }
    assert_eq!(generations(&home).len(), 2);
}

#[test]
fn unknown_fields_are_refused() {
    let (home, daemon) = served();
    for (path, body) in [
        ("/api/agents", json!({ "id": "x", "admin": true })),
        ("/api/route/explain", json!({ "platform": "telegram", "chat": "1", "agent": "main" })),
    ] {
        let answer = call(&daemon, &home, "POST", path, &body.to_string());
        assert_eq!(answer.status, 400, "{answer:?}");
        let message = answer.json()["error"]["message"].to_string();
        assert!(message.contains("unknown field"), "{message}");
    }
    for query in ["limit=x", "after=-1", "page=2", "limit=1&limit=2"] {
        for path in ["/api/audit", "/api/agents/main/audit"] {
            let answer = call(&daemon, &home, "GET", &format!("{path}?{query}"), "");
            assert_eq!(
                (answer.status, &answer.json()["error"]["code"]),
                (400, &json!("invalid")),
                "{query}"
            );
        }
    }
    assert!(!home.has("agents/x"));
}

#[test]
fn an_agent_without_a_context_is_a_conflict_and_says_why() {
    let (home, daemon) = served();
    for path in ["/api/agents/broken/context", "/api/agents/broken/tools"] {
        let answer = call(&daemon, &home, "GET", path, "");
        let why = "agent `broken` is broken: config.yaml: unknown key `tolls` in agent `broken`; `insula check` shows where";
        assert_eq!((answer.status, answer.json()), (409, error("wrong_state", why)));
    }
}

#[test]
fn a_configuration_that_is_not_applied_comes_back_with_its_findings() {
    let (home, daemon) = served();
    home.write("config.yaml", "agents: {main: {}}\nnonsense: 1\n").unwrap();
    let answer = call(&daemon, &home, "POST", "/api/reload", "");
    assert_eq!(answer.status, 422, "{answer:?}");
    let error = &answer.json()["error"];
    assert_eq!(error["code"], "configuration");
    assert_eq!(error["report"]["ok"], false);
    let found = &error["report"]["errors"][0];
    assert_eq!(
        (&found["file"], &found["line"], &found["column"]),
        (&json!("config.yaml"), &json!(2), &json!(1)),
        "{found:#}"
    );
}

#[test]
fn what_the_command_line_prints_is_what_the_api_answers() {
    let (home, daemon) = served();
    for (path, args) in [
        ("/api/agents", ["agents", "list"].as_slice()),
        ("/api/agents/main", &["agents", "show", "main"]),
        ("/api/agents/main/tools", &["tools", "main"]),
        ("/api/agents/main/context", &["context", "show", "main"]),
        ("/api/agents/main/audit", &["audit", "tail", "main"]),
        ("/api/status", &["status"]),
    ] {
        let mut answered = call(&daemon, &home, "GET", path, "").json();
        if path == "/api/status" {
            // The one thing that is put together of two answers.
            answered["boards"] = call(&daemon, &home, "GET", "/api/boards", "").json();
        }
        assert_eq!(answered, json(&home, args), "{path}");
    }
    daemon.terminate().unwrap();
}

#[test]
fn an_agent_added_over_the_api_is_created_and_one_deleted_has_no_content() {
    let (home, daemon) = served();
    let body = json!({ "id": "new", "tools": "minimal", "memory": true }).to_string();
    let answer = call(&daemon, &home, "POST", "/api/agents", &body);
    assert_eq!((answer.status, answer.json()), (201, agent(&home, "new")));
    let again = call(&daemon, &home, "POST", "/api/agents", &body);
    assert_eq!((again.status, &again.json()["error"]["code"]), (409, &json!("wrong_state")));
    let gone = call(&daemon, &home, "DELETE", "/api/agents/new", "");
    assert_eq!((gone.status, gone.body.as_str()), (204, ""));
    assert_eq!(call(&daemon, &home, "DELETE", "/api/agents/new", "").status, 404);
}
