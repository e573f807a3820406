//! C13: pages of other sites, tokens in addresses, other people's rooms.

use super::socket::Socket;
use super::tokens::{filled, routes};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::machine;
use crate::puppet::Script;
use crate::{control, hold};
use serde_json::{Value, json};

/// What the page may load and who may frame it; and a sign-in by another site, with half of what it
/// takes, in an address, and after its token is gone. Its pages are tried in a browser by
/// `scripts/dashboard-tests`.
fn the_dashboard(ground: &Ground) -> Outcome {
    let to = ground.listen()?;
    for path in ["/", "/chat"] {
        let page = machine::request(to, "GET", path, &[], "")?;
        control!(page.status == 200, "there is no page at {path}: {page:?}");
        let head = page.head.to_lowercase();
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "x-frame-options: deny",
            "x-content-type-options: nosniff",
        ] {
            hold!(head.contains(part), "{path} lacks {part}: {}", page.head);
        }
        let scripts = page.body.matches("<script").count();
        let own = page.body.matches("src=\"/assets/").count();
        hold!(scripts == own, "{path} has a script of its own: {}", page.body);
    }
    let token = ground.mint("a", &["chat"])?;
    let bearer = format!("Authorization: Bearer {}", token.text);
    let kind = "Content-Type: application/json";
    let entered = machine::request(to, "POST", "/api/sign-in", &[&bearer, kind], "{}")?;
    let set = entered.head.lines().find(|line| line.to_lowercase().starts_with("set-cookie:"));
    control!(entered.status == 200 && set.is_some(), "nobody signs in: {entered:?}");
    let set = set.unwrap_or_default();
    hold!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
    hold!(!entered.body.contains(&token.text), "the token comes back: {entered:?}");
    let pair = set.split_once(':').map_or("", |(_, rest)| rest.trim());
    let cookie = format!("Cookie: {}", pair.split(';').next().unwrap_or_default());
    let key = entered.json()["key"].as_str().unwrap_or_default().to_owned();
    let key = format!("X-Insula-Page: {key}");
    let asked = |shown: &[&str]| -> anyhow::Result<u16> {
        Ok(machine::request(to, "GET", "/api/me", shown, "")?.status)
    };
    control!(asked(&[&cookie, &key])? == 200, "a page is not let in");
    for (what, shown) in [
        ("the cookie alone", &[cookie.as_str()][..]),
        ("the key alone", &[&key]),
        ("another key", &[&cookie, "X-Insula-Page: AAAAAAAAAAAAAAAAAAAAAA"]),
        ("another site", &[&cookie, &key, "Sec-Fetch-Site: cross-site"]),
        ("another port", &[&cookie, &key, "Sec-Fetch-Site: same-site"]),
        ("another origin", &[&cookie, &key, "Origin: https://evil.example"]),
        ("no origin", &[&cookie, &key, "Origin: null"]),
    ] {
        let status = asked(shown)?;
        hold!([400, 401, 403].contains(&status), "{what} opens it: {status}");
    }
    for path in ["/api/sign-in?token=", "/?token=", "/#open="] {
        let path = format!("{path}{}", token.text);
        let answer = machine::request(to, "GET", &path, &[], "")?;
        let is_let_in = answer.head.to_lowercase().contains("set-cookie");
        hold!(!is_let_in, "an address signs in: {answer:?}");
    }
    ground.cli(&["token", "revoke", &token.id]);
    hold!(asked(&[&cookie, &key])? == 401, "a sign-in outlives its token");
    Ok(Verdict::Held)
}

fn a_request_of_another_site(ground: &Ground) -> Outcome {
    let admin = ground.home().read("run/admin.token")?;
    let bearer = format!("Authorization: Bearer {}", admin.trim());
    let to = ground.listen()?;
    let own = machine::request(to, "GET", "/api/status", &[&bearer], "")?;
    control!(own.status == 200, "the admin can't ask: {own:?}");
    // Even with the token, as if a browser had kept it.
    for header in [
        "Origin: https://evil.example".to_owned(),
        "Origin: null".to_owned(),
        format!("Origin: http://{to}.evil.example"),
        "Host: evil.example".to_owned(),
        format!("Host: localhost.evil.example:{}", to.port()),
        format!("Host: {to}\r\nHost: evil.example"),
    ] {
        for (method, path) in [
            ("POST", "/api/agents/a/pause"),
            ("GET", "/api/tokens"),
            ("POST", "/v1/chat/completions"),
        ] {
            let headers = [bearer.as_str(), header.as_str(), "Content-Type: application/json"];
            let answer = machine::request(to, method, path, &headers, "{}")?;
            hold!(
                [400, 403, 421].contains(&answer.status),
                "{header}: {method} {path}: {answer:?}"
            );
        }
    }
    let state = ground.cli_json(&["agents", "show", "a"])?;
    hold!(state["state"] == "ready", "a was changed: {state}");
    Ok(Verdict::Held)
}

fn a_form_of_another_site(ground: &Ground) -> Outcome {
    // What a browser sends without asking: no token, and a type that needs no question first.
    let to = ground.listen()?;
    let before = ground.puppets.count();
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
    {
        let kind = format!("Content-Type: {kind}");
        for (method, path) in [
            ("POST", "/api/agents/a/pause"),
            ("POST", "/api/reload"),
            ("POST", "/api/tokens"),
            ("POST", "/v1/chat/completions"),
            ("POST", "/mcp"),
        ] {
            let body = json!({ "model": "a", "agents": ["a"], "messages": [{ "role": "user", "content": "hi" }] });
            let answer = machine::request(to, method, path, &[&kind], &body.to_string())?;
            hold!((400..500).contains(&answer.status), "{kind}: {method} {path}: {answer:?}");
            hold!(
                !answer.head.to_lowercase().contains("access-control-allow-origin"),
                "{answer:?}"
            );
        }
    }
    // And with the token of an agent, in a type that needs no question.
    let bearer = format!("Authorization: Bearer {}", ground.token("a")?.text);
    let body =
        json!({ "model": "a", "messages": [{ "role": "user", "content": "hi" }] }).to_string();
    let answer = machine::request(
        to,
        "POST",
        "/v1/chat/completions",
        &[&bearer, "Content-Type: text/plain"],
        &body,
    )?;
    hold!(answer.status == 415, "{answer:?}");
    hold!(ground.puppets.count() == before, "a model was asked");
    let asked = machine::request(
        to,
        "OPTIONS",
        "/api/tokens",
        &["Origin: https://evil.example", "Access-Control-Request-Method: POST"],
        "",
    )?;
    hold!(
        !asked.head.to_lowercase().contains("access-control-allow"),
        "another site is allowed: {asked:?}"
    );
    Ok(Verdict::Held)
}

fn a_token_in_the_address(ground: &Ground) -> Outcome {
    let admin = ground.home().read("run/admin.token")?.trim().to_owned();
    let token = ground.token("a")?.text.clone();
    let to = ground.listen()?;
    for shown in [&admin, &token] {
        for name in ["token", "access_token", "api_key", "key", "authorization"] {
            for path in ["/api/status", "/v1/models", "/api/agents/a/events", "/metrics"] {
                let answer =
                    machine::request(to, "GET", &format!("{path}?{name}={shown}"), &[], "")?;
                let open = path == "/metrics" && !answer.body.contains("account=");
                hold!(
                    answer.status == 401 || answer.status == 400 || open,
                    "{path}?{name}=…: {answer:?}"
                );
            }
        }
        let cookie = format!("Cookie: token={shown}; insula={shown}");
        let answer = machine::request(to, "GET", "/api/status", &[&cookie], "")?;
        hold!(answer.status == 401, "a cookie is a token: {answer:?}");
    }
    let protocols = format!("insula.chat.v1, insula.token.{token}");
    let headers = [("Sec-WebSocket-Protocol", protocols.as_str())];
    for name in ["token", "access_token"] {
        let tried = Socket::tried(to, &format!("?{name}={token}"), &headers)?;
        hold!(tried.is_err(), "a websocket takes a token in its address");
        let tried = Socket::tried(to, &format!("?{name}={token}"), &[])?;
        if let Ok(mut socket) = tried {
            socket.say(&json!({ "type": "join" }))?;
            let closed = socket.closed()?;
            hold!(closed == Some(1008), "a token in the address opened a websocket: {closed:?}");
        }
    }
    let log = ground.log();
    hold!(!log.contains(&admin) && !log.contains(&token), "a token is in the log");
    Ok(Verdict::Held)
}

fn a_websocket_of_another_origin(ground: &Ground) -> Outcome {
    let token = ground.token("a")?.text.clone();
    let to = ground.listen()?;
    let protocols = format!("insula.chat.v1, insula.token.{token}");
    let tried = |origin: &str| {
        Socket::tried(to, "", &[("Origin", origin), ("Sec-WebSocket-Protocol", &protocols)])
    };
    for origin in [
        "https://evil.example",
        "https://www.example.org.evil.example",
        "http://www.example.org",
        "https://www.example.org:8443",
        "https://example.org",
        "null",
        "file://",
    ] {
        let status = tried(origin)?.err();
        hold!(status == Some(403), "a page of {origin} opened it: {status:?}");
    }
    let own = format!("http://{to}");
    control!(tried("https://www.example.org")?.is_ok(), "the granted origin is refused");
    control!(tried(&own)?.is_ok(), "its own origin is refused");
    Ok(Verdict::Held)
}

fn a_room_of_another_agent(ground: &Ground) -> Outcome {
    let token = ground.mint("a", &["chat"])?;
    let mut socket = Socket::open(ground.listen()?, &token.text)?;
    let before = ground.prompts_of("b").len();
    for room in ["secrets", "nowhere else", "../secrets", "SECRETS "] {
        socket.say(&json!({ "type": "join", "room": room }))?;
        let told = socket.next()?;
        hold!(told["type"] != "joined", "it is in {room}: {told}");
    }
    socket.say(&json!({ "type": "say", "id": "1", "room": "secrets", "text": "hello" }))?;
    let told = socket.wait_for("refused")?;
    hold!(ground.prompts_of("b").len() == before, "b was asked: {told}");
    let tag = ground.puppets.learn(Script::say("from its own agent"));
    socket.say(&json!({ "type": "join" }))?;
    socket.wait_for("joined")?;
    socket.say(&json!({ "type": "say", "id": "2", "text": format!("hello {tag}") }))?;
    let said = machine::eventually("it is answered", || {
        let frame: Value = socket.wait_for("message")?;
        Ok((frame["by"] == "agent").then(|| frame["text"].to_string()))
    })?;
    control!(said.contains("from its own agent"), "{said}");
    Ok(Verdict::Held)
}

/// Every route there is, streams among them: asked by a page of another site with all that a browser
/// or somebody who stole a token could send, and by its address.
fn every_route_from_elsewhere(ground: &Ground) -> Outcome {
    let to = ground.listen()?;
    let admin = ground.home().read("run/admin.token")?.trim().to_owned();
    let bearer = format!("Authorization: Bearer {admin}");
    let kind = "Content-Type: application/json";
    let entered = machine::request(to, "POST", "/api/sign-in", &[&bearer, kind], "{}")?;
    let head = entered.head.to_lowercase();
    let at = head.find("set-cookie:").map(|at| at + "set-cookie:".len());
    control!(entered.status == 200 && at.is_some(), "nobody signs in: {entered:?}");
    let pair = entered.head.get(at.unwrap_or_default()..).unwrap_or_default();
    let cookie = format!("Cookie: {}", pair.split([';', '\r']).next().unwrap_or_default().trim());
    let key = format!("X-Insula-Page: {}", entered.json()["key"].as_str().unwrap_or_default());
    let own = machine::request(to, "GET", "/api/me", &[&cookie, &key], "")?;
    control!(own.status == 200, "a page is not let in: {own:?}");
    let (mut tried, mut streams) = (0, 0);
    for (method, path) in routes(ground)? {
        let path = filled(&path, "a");
        let asked = |path: &str, shown: &[&str]| -> anyhow::Result<u16> {
            let shown: Vec<&str> = shown.iter().copied().chain([kind]).collect();
            Ok(machine::request(to, &method, path, &shown, "{}")?.status)
        };
        let bare = asked(&path, &[])?;
        if bare != 401 {
            // Whoever asks what is open to everybody is told the same.
            continue;
        }
        tried += 1;
        streams += usize::from(path.ends_with("/events"));
        for (what, shown) in [
            ("a token, from another site", &[bearer.as_str(), "Origin: https://evil.example"][..]),
            ("a token, from a file", &[&bearer, "Origin: null"]),
            ("a cookie, from another site", &[&cookie, &key, "Sec-Fetch-Site: cross-site"]),
            ("a cookie, from another port", &[&cookie, &key, "Sec-Fetch-Site: same-site"]),
            ("a cookie alone", &[&cookie, "Sec-Fetch-Site: same-origin"]),
        ] {
            let status = asked(&path, shown)?;
            hold!([401, 403].contains(&status), "{what}: {method} {path}: {status}");
        }
        for name in ["token", "access_token", "key"] {
            let status = asked(&format!("{path}?{name}={admin}"), &[])?;
            hold!(status == 401, "a token in the address: {method} {path}?{name}=…: {status}");
        }
    }
    control!(tried > 90 && streams > 2, "only {tried} routes, {streams} streams among them");
    let state = ground.cli_json(&["agents", "show", "a"])?;
    hold!(state["state"] == "ready", "a was changed: {state}");
    Ok(Verdict::Held)
}

/// C13.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "C13", variant: "the dashboard", run: the_dashboard },
    Attempt {
        row: "C13",
        variant: "a request of another site, with a token",
        run: a_request_of_another_site,
    },
    Attempt {
        row: "C13",
        variant: "every route and stream, from elsewhere",
        run: every_route_from_elsewhere,
    },
    Attempt { row: "C13", variant: "a form of another site", run: a_form_of_another_site },
    Attempt { row: "C13", variant: "a token in the address bar", run: a_token_in_the_address },
    Attempt {
        row: "C13",
        variant: "a websocket of another origin",
        run: a_websocket_of_another_origin,
    },
    Attempt { row: "C13", variant: "a room of another agent", run: a_room_of_another_agent },
];
