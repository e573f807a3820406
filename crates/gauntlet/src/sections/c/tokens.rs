//! C7: a token of one agent on every route there is.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside;
use crate::ground::Ground;
use crate::machine::{self, Answer};
use crate::puppet::Script;
use crate::{control, hold};
use anyhow::Result;
use serde_json::{Value, json};

/// Every route that the daemon describes, with its methods.
pub(super) fn routes(ground: &Ground) -> Result<Vec<(String, String)>> {
    let document = ground.admin("GET", "/api/openapi.json", &Value::Null)?.json();
    let paths = document["paths"].as_object().cloned().unwrap_or_default();
    let mut all = vec![];
    for (path, methods) in paths {
        for method in methods.as_object().into_iter().flat_map(|it| it.keys()) {
            all.push((method.to_uppercase(), path.clone()));
        }
    }
    anyhow::ensure!(all.len() > 40, "only {} routes are described", all.len());
    Ok(all)
}

/// A path with something in every place; the agent's id in its own.
pub(super) fn filled(path: &str, agent: &str) -> String {
    let mut path = path.replace("/api/agents/{id}", &format!("/api/agents/{agent}"));
    while let (Some(from), Some(to)) = (path.find('{'), path.find('}')) {
        path.replace_range(from..=to, "1");
    }
    path
}

/// A body that a route could take.
fn body(path: &str, agent: &str) -> Value {
    if path.ends_with("/approvals/{approval}") {
        return json!({ "decision": "approve" });
    }
    json!({ "text": "hello", "message": "hello", "session": "s", "model": agent, "id": agent,
        "code": "AAAAAAAA", "value": "x", "target": "1", "scope": "global" })
}

fn told(ground: &Ground, token: &str, method: &str, path: &str, agent: &str) -> Result<Answer> {
    ground.api(token, method, &filled(path, agent), &body(path, agent))
}

/// Another's routes answer as those of an agent that does not exist.
fn routes_of_another(ground: &Ground, verb: &str) -> Outcome {
    let token = ground.mint("a", &[verb])?.text;
    let before = ground.puppets.count();
    let (mut tried, mut unknown) = (0, 0);
    for (method, path) in routes(ground)? {
        if !path.starts_with("/api/agents/{id}") {
            continue;
        }
        tried += 1;
        // Of one length, so that even the length of the answer is comparable.
        let foreign = told(ground, &token, &method, &path, "b")?;
        let absent = told(ground, &token, &method, &path, "x")?;
        let plain =
            |answer: &Answer, id: &str| answer.comparable().replace(&format!("`{id}`"), "`…`");
        // What only the admin of the daemon may is refused for every agent alike.
        hold!([403, 404].contains(&foreign.status), "{method} {path}: {foreign:?}");
        unknown += usize::from(foreign.status == 404);
        hold!(
            plain(&foreign, "b") == plain(&absent, "x"),
            "{method} {path}: {foreign:?} {absent:?}"
        );
    }
    control!(tried > 30, "only {tried} routes are about agents");
    hold!(unknown * 2 > tried, "only {unknown} of {tried} routes answer as if b did not exist");
    hold!(ground.puppets.count() == before, "a model was asked");
    let state = ground.cli_json(&["agents", "show", "b"])?;
    hold!(state["state"] == "ready", "b was changed: {state}");
    Ok(Verdict::Held)
}

/// What any token may ask: it is answered with what is the caller's.
const OF_ONES_OWN: [&str; 11] = [
    "/api/calendar",
    "/api/costs",
    "/api/inbox",
    "/api/inbox/answered",
    "/api/inbox/grants",
    "/api/map",
    "/api/me",
    "/api/now",
    "/api/sessions",
    "/api/sign-in",
    "/api/tools",
];

/// What concerns all agents is refused, and does nothing.
fn routes_of_the_daemon(ground: &Ground, verb: &str) -> Outcome {
    let token = ground.mint("a", &[verb])?.text;
    let open = ["/healthz", "/readyz", "/metrics"];
    let tokens = ground.cli_json(&["token", "list"])?;
    for (method, path) in routes(ground)? {
        let own = path.starts_with("/api/agents/{id}") || path.starts_with("/v1") || path == "/mcp";
        if own || open.contains(&path.as_str()) || path.starts_with("/hooks") || path == "/chat/ws"
        {
            continue;
        }
        let nobody = told(ground, "insula_a_b", &method, &path, "a")?;
        // The door hears out whoever stands before it, and gives nothing for nothing.
        let is_door = path == "/api/sign-in" && [204, 400].contains(&nobody.status);
        hold!(is_door || nobody.status == 401, "{method} {path} without a token: {nobody:?}");
        if path == "/api/events" {
            // It has no end; I2 listens to it.
            continue;
        }
        let answer = told(ground, &token, &method, &path, "a")?;
        // Whoever is on no board has an empty list of them.
        let is_empty = path == "/api/boards" && answer.status == 200 && answer.body == "[]";
        // What tells of all that is the caller's tells of nothing else; a token signs in as itself.
        let is_own = OF_ONES_OWN.contains(&path.as_str()) && !answer.body.contains("\"b\"");
        let is_refused = [401, 403, 404].contains(&answer.status);
        hold!(is_empty || is_own || is_refused, "{method} {path}: {answer:?}");
    }
    let after = ground.cli_json(&["token", "list"])?;
    hold!(after == tokens, "the tokens were changed: {tokens} {after}");
    Ok(Verdict::Held)
}

fn chat_on_another(ground: &Ground) -> Outcome {
    routes_of_another(ground, "chat")
}

fn read_on_another(ground: &Ground) -> Outcome {
    routes_of_another(ground, "read")
}

fn approve_on_another(ground: &Ground) -> Outcome {
    routes_of_another(ground, "approve")
}

fn manage_on_another(ground: &Ground) -> Outcome {
    routes_of_another(ground, "manage")
}

fn admin_on_another(ground: &Ground) -> Outcome {
    routes_of_another(ground, "admin")
}

fn chat_on_the_daemon(ground: &Ground) -> Outcome {
    routes_of_the_daemon(ground, "chat")
}

fn admin_on_the_daemon(ground: &Ground) -> Outcome {
    routes_of_the_daemon(ground, "admin")
}

fn as_a_model(ground: &Ground) -> Outcome {
    let token = ground.token("a")?.text.clone();
    let own = ground.turn_with(&token, "a", "own", "", Script::say("here"))?;
    control!(own.reply == "here", "its own agent does not answer: {:?}", own.answer);
    let listed = ground.api(&token, "GET", "/v1/models", &Value::Null)?;
    control!(listed.body.contains("\"a\""), "{listed:?}");
    hold!(!listed.body.contains("\"b\""), "b is among the models: {listed:?}");
    let before = ground.prompts_of("b").len();
    for path in ["/v1/chat/completions", "/v1/responses"] {
        for stream in [false, true] {
            let ask = |model: &str| {
                let body = json!({ "model": model, "stream": stream, "input": "hi", "messages": [{ "role": "user", "content": "hi" }] });
                ground.api(&token, "POST", path, &body)
            };
            let (foreign, absent) = (ask("b")?, ask("x")?);
            let plain = |answer: &Answer, id: &str| {
                answer
                    .comparable()
                    .replace(&format!("`{id}`"), "`…`")
                    .replace(&format!("\"{id}\""), "\"…\"")
            };
            hold!(plain(&foreign, "b") == plain(&absent, "x"), "{path}: {foreign:?} {absent:?}");
            hold!(foreign.status == 404, "{path}: {foreign:?}");
        }
    }
    let one = |id: &str| ground.api(&token, "GET", &format!("/v1/models/{id}"), &Value::Null);
    hold!(one("b")?.status == one("x")?.status && one("b")?.status == 404, "{:?}", one("b")?);
    hold!(ground.prompts_of("b").len() == before, "the model of b was asked");
    Ok(Verdict::Held)
}

fn a_response_of_another(ground: &Ground) -> Outcome {
    let ask = |token: &str, body: &Value| ground.api(token, "POST", "/v1/responses", body);
    let (one, other) = (ground.token("a")?.text.clone(), ground.token("b")?.text.clone());
    let tag = ground.puppets.learn(Script::say("the word of b is heliotrope"));
    let made = ask(&other, &json!({ "model": "b", "input": format!("say it {tag}") }))?;
    let id = made.json()["id"].as_str().unwrap_or_default().to_owned();
    control!(made.status == 200 && !id.is_empty(), "{made:?}");
    let own = ground.api(&other, "GET", &format!("/v1/responses/{id}"), &Value::Null)?;
    control!(own.body.contains("heliotrope"), "its owner can't read it: {own:?}");
    let foreign = ground.api(&one, "GET", &format!("/v1/responses/{id}"), &Value::Null)?;
    hold!(foreign.status == 404 && !foreign.body.contains("heliotrope"), "{foreign:?}");
    let body = json!({ "model": "a", "input": "go on", "previous_response_id": id });
    let continued = ask(&one, &body)?;
    hold!(continued.status == 404, "it continues another's: {continued:?}");
    // Another token of the same agent is another conversation, too.
    let third = ground.mint("b", &["chat"])?.text;
    let foreign = ground.api(&third, "GET", &format!("/v1/responses/{id}"), &Value::Null)?;
    hold!(foreign.status == 404, "another token of b reads it: {foreign:?}");
    Ok(Verdict::Held)
}

fn on_metrics(ground: &Ground) -> Outcome {
    ground.turn("b", "metrics", Script::say("counted"))?;
    let token = ground.mint("a", &["admin"])?.text;
    for answer in [
        ground.api(&token, "GET", "/metrics", &Value::Null)?,
        machine::request(ground.listen()?, "GET", "/metrics", &[], "")?,
    ] {
        control!(answer.body.contains("insula_"), "there are no metrics: {answer:?}");
        for name in ["agent=\"b\"", "agent=\"gone\"", "account=\"ci\"", "account=\"other\""] {
            hold!(!answer.body.contains(name), "{name} is among the metrics");
        }
    }
    let all = ground.admin("GET", "/metrics", &Value::Null)?;
    control!(all.body.contains("account=\"ci\""), "the admin does not see it either");
    Ok(Verdict::Held)
}

fn on_the_stream_of_events(ground: &Ground) -> Outcome {
    let token = ground.mint("a", &["read", "chat"])?.text;
    let path = |agent: &str| format!("/api/agents/{agent}/events");
    let foreign = ground.api(&token, "GET", &path("b"), &Value::Null)?;
    let absent = ground.api(&token, "GET", &path("x"), &Value::Null)?;
    hold!(foreign.status == 404, "{foreign:?}");
    hold!(
        foreign.comparable().replace("`b`", "`…`") == absent.comparable().replace("`x`", "`…`"),
        "{foreign:?}"
    );
    // Its own stream tells of its own turns and of nobody else's.
    let stream = beside::Reading::open(ground.listen()?, &token, "GET", &path("a"), "")?;
    let secret = ground.canary("b's turn").text;
    ground.turn_saying("b", "events", &secret, Script::say(&secret))?;
    ground.turn_saying("a", "events", "", Script::say("the end of a"))?;
    let mut stream = stream;
    let told = stream.until("the end of a")?;
    hold!(!told.contains(&secret), "it tells of b: {told}");
    Ok(Verdict::Held)
}

fn as_an_mcp_client(ground: &Ground) -> Outcome {
    let token = ground.mint("a", &["chat", "read", "approve"])?.text;
    let call = |tool: &str, arguments: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
        ground.api(&token, "POST", "/mcp", &body)
    };
    let before = ground.prompts_of("b").len();
    for (tool, key) in [
        ("talk", "message"),
        ("sessions", "query"),
        ("session", "session"),
        ("approvals", "x"),
        ("approve", "approval"),
    ] {
        let ask = |agent: &str| call(tool, json!({ "agent": agent, key: "1" }));
        let (foreign, absent) = (ask("b")?, ask("x")?);
        let plain = |answer: &Answer, id: &str| {
            answer.body.replace(&format!("`{id}`"), "`…`").replace(&format!("\\\"{id}\\\""), "…")
        };
        hold!(plain(&foreign, "b") == plain(&absent, "x"), "{tool}: {foreign:?} {absent:?}");
    }
    hold!(ground.prompts_of("b").len() == before, "the model of b was asked");
    Ok(Verdict::Held)
}

/// C7.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt {
        row: "C7",
        variant: "a token to chat on every route of another",
        run: chat_on_another,
    },
    Attempt {
        row: "C7",
        variant: "a token to read on every route of another",
        run: read_on_another,
    },
    Attempt {
        row: "C7",
        variant: "a token to approve on every route of another",
        run: approve_on_another,
    },
    Attempt {
        row: "C7",
        variant: "a token to manage on every route of another",
        run: manage_on_another,
    },
    Attempt {
        row: "C7",
        variant: "an agent's admin on every route of another",
        run: admin_on_another,
    },
    Attempt {
        row: "C7",
        variant: "a token to chat on the management API",
        run: chat_on_the_daemon,
    },
    Attempt {
        row: "C7",
        variant: "an agent's admin on the management API",
        run: admin_on_the_daemon,
    },
    Attempt { row: "C7", variant: "another agent as a model", run: as_a_model },
    Attempt { row: "C7", variant: "a response of another", run: a_response_of_another },
    Attempt { row: "C7", variant: "metrics", run: on_metrics },
    Attempt { row: "C7", variant: "the stream of events", run: on_the_stream_of_events },
    Attempt { row: "C7", variant: "as an MCP client", run: as_an_mcp_client },
];
