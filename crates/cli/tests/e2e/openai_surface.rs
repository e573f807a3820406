//! What else OpenAI's clients expect of `/v1`: where errors are, pages of other origins, files,
//! the form of a reply, and responses that are erased or referred to.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and fail by panicking"
)]

use crate::provider::*;
use crate::support::*;
use insula_testkit::{Daemon, Home};
use serde_json::{Value, json};

const COMPLETIONS: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const PAGE: &str = "https://chat.example.org";

fn served(settings: &str) -> (Home, Daemon, String) {
    let agents = "agents:\n  a: {default: true, tools: minimal}\n  b: {tools: [todo]}\n";
    let home = configured(&format!("{settings}{agents}"));
    let daemon = start_still(&home);
    let (_, token) = token_for(&home, "a");
    (home, daemon, token)
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let name = format!("{name}: ");
    answer.head.lines().find_map(|line| {
        let (head, rest) = line.split_at_checked(name.len())?;
        head.eq_ignore_ascii_case(&name).then_some(rest)
    })
}

#[test]
fn an_error_says_which_part_of_the_request_it_is_about() {
    let (_home, daemon, token) = served("");
    let chat = |key: &str, value: Value| {
        let mut body = ask("a", "say hi");
        body[key] = value;
        (COMPLETIONS, body)
    };
    let response = |key: &str, value: Value| {
        let mut body = json!({ "model": "a", "input": "say hi" });
        body[key] = value;
        (RESPONSES, body)
    };
    for ((path, body), param) in [
        (chat("model", json!("x")), "model"),
        (chat("model", json!(7)), "model"),
        (chat("messages", json!("hi")), "messages"),
        (
            chat("messages", json!([{ "role": "user", "content": [{ "type": "video" }] }])),
            "messages[0].content[0]",
        ),
        (chat("stream", json!("yes")), "stream"),
        (chat("n", json!(2)), "n"),
        (chat("logprobs", json!(true)), "logprobs"),
        (chat("functions", json!([{}])), "functions"),
        (chat("response_format", json!({ "type": "grammar" })), "response_format"),
        (chat("stop", json!([""])), "stop"),
        (response("input", json!([])), "input"),
        (
            response("input", json!([{ "type": "message", "role": "x", "content": "y" }])),
            "input[0].role",
        ),
        (response("background", json!(true)), "background"),
        (response("text", json!({ "format": { "type": "grammar" } })), "text.format"),
        (response("tools", json!([{ "type": "web_search" }])), "tools[0]"),
    ] {
        let answer = post(&daemon, &token, path, &[], &body);
        let error = answer.json()["error"].clone();
        assert_eq!(error["param"], param, "{body}: {error}");
        assert_eq!(error["type"], "invalid_request_error", "{error}");
    }
}

#[test]
fn no_page_of_another_origin_may_ask_unless_it_is_listed() {
    let (_home, daemon, token) = served("");
    let bearer = format!("Authorization: Bearer {token}");
    let origin = format!("Origin: {PAGE}");
    let asked = send(daemon.listen(), "GET", "/v1/models", &[&bearer, &origin], "");
    assert_eq!(asked.status, 403, "{asked:?}");
    let question = ["Access-Control-Request-Method: POST", &origin];
    let answer = send(daemon.listen(), "OPTIONS", COMPLETIONS, &question, "");
    assert_eq!(answer.status, 403, "{answer:?}");
    assert!(!answer.head.to_lowercase().contains("access-control"), "{answer:?}");
}

#[test]
fn a_listed_page_may_ask_v1_with_a_token_and_nothing_else() {
    let (_home, daemon, token) = served(&format!("api: {{cors: [\"{PAGE}\"]}}\n"));
    let bearer = format!("Authorization: Bearer {token}");
    let origin = format!("Origin: {PAGE}");
    let question = [
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: authorization, content-type, x-stainless-lang, cookie",
        &origin,
    ];
    let may = send(daemon.listen(), "OPTIONS", COMPLETIONS, &question, "");
    assert_eq!(may.status, 204, "{may:?}");
    assert_eq!(header(&may, "access-control-allow-origin"), Some(PAGE));
    let allowed = "authorization, content-type, x-stainless-lang";
    assert_eq!(header(&may, "access-control-allow-headers"), Some(allowed));
    assert!(header(&may, "access-control-allow-methods").unwrap().contains("DELETE"));
    assert_eq!(header(&may, "vary"), Some("origin"));
    let headers = [bearer.as_str(), &origin, "Content-Type: application/json"];
    let body = ask("a", "say hi").to_string();
    let reply = send(daemon.listen(), "POST", COMPLETIONS, &headers, &body);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(header(&reply, "access-control-allow-origin"), Some(PAGE));
    // Without a token it is told so, and can read that.
    let stranger = send(daemon.listen(), "POST", COMPLETIONS, &headers[1..], &body);
    assert_eq!(stranger.status, 401);
    assert_eq!(header(&stranger, "access-control-allow-origin"), Some(PAGE));
    for answer in [&may, &reply, &stranger] {
        assert_eq!(header(answer, "access-control-allow-credentials"), None);
    }
    // What manages the daemon is for no page, and no other page is welcome.
    let managed = send(daemon.listen(), "GET", "/api/agents", &[&bearer, &origin], "");
    assert_eq!(managed.status, 403, "{managed:?}");
    for other in ["http://chat.example.org", "https://chat.example.org.evil.example", "null"] {
        let origin = format!("Origin: {other}");
        let answer = send(daemon.listen(), "GET", "/v1/models", &[&bearer, &origin], "");
        assert_eq!(answer.status, 403, "{other}: {answer:?}");
        assert_eq!(header(&answer, "access-control-allow-origin"), None, "{other}");
    }
    // By a name that is not ours, a listed page reaches nothing either.
    let rebound = [bearer.as_str(), &origin, "Host: evil.example"];
    assert_eq!(send(daemon.listen(), "GET", "/v1/models", &rebound, "").status, 403);
}

#[test]
fn files_are_read_or_refused_in_words() {
    let provider = Provider::start(|_| vec![says("read")]);
    let home = provider.home();
    let daemon = start_still(&home);
    let (_, token) = token_for(&home, "a");
    let with = |part: Value| {
        json!({ "model": "a", "messages": [{ "role": "user",
            "content": [{ "type": "text", "text": "what is it?" }, part] }] })
    };
    // "the moon is made of cheese"
    let data = "data:text/plain;base64,dGhlIG1vb24gaXMgbWFkZSBvZiBjaGVlc2U=";
    let file = json!({ "type": "file", "file": { "filename": "moon.txt", "file_data": data } });
    let answer = post(&daemon, &token, COMPLETIONS, &[], &with(file));
    assert_eq!(answer.status, 200, "{answer:?}");
    let input = json!([{ "role": "user", "content": [
        { "type": "input_text", "text": "what is it?" },
        { "type": "input_file", "filename": "moon.txt", "file_data": data },
    ] }]);
    let body = json!({ "model": "a", "input": input });
    assert_eq!(post(&daemon, &token, RESPONSES, &[], &body).status, 200);
    for request in provider.seen.lock().unwrap().iter() {
        let said = request["messages"].to_string();
        assert!(said.contains("the moon is made of cheese") && said.contains("moon.txt"), "{said}");
    }
    let turns = json(&home, &["turns", "list", "a"]);
    assert!(turns.to_string().contains("attachment:moon.txt"), "{turns:#}");
    for (part, word) in [
        (
            json!({ "type": "input_audio", "input_audio": { "data": "AAAA", "format": "wav" } }),
            "audio",
        ),
        (json!({ "type": "file", "file": { "file_id": "file-1" } }), "file_data"),
    ] {
        let answer = post(&daemon, &token, COMPLETIONS, &[], &with(part));
        let error = answer.json()["error"].clone();
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(error["param"].as_str().unwrap().starts_with("messages[0].content[1]"), "{error}");
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
}

#[test]
fn a_document_is_kept_for_an_agent_that_can_read_it_and_refused_for_one_that_can_not() {
    let provider = Provider::start(|_| vec![says("read")]);
    let home = configured(&format!(
        "providers: {{far: {{kind: openai, base_url: \"{}\"}}}}\nagents:\n  a: {{default: true, model: far/one, tools: [terminal]}}\n  b: {{model: far/one, tools: [todo]}}\n",
        provider.url
    ));
    let daemon = start_still(&home);
    let made = json(&home, &["token", "create", "--agent", "a", "--agent", "b"]);
    let token = made["token"].as_str().unwrap();
    // `%PDF-1.7` and a byte that no text has.
    let data = "data:application/pdf;base64,JVBERi0xLjcA/w==";
    let content = json!([
        { "type": "text", "text": "what is it?" },
        { "type": "file", "file": { "filename": "paper.pdf", "file_data": data } },
    ]);
    let body = |agent: &str| json!({ "model": agent, "messages": [{ "role": "user", "content": content }] });
    let answer = post(&daemon, token, COMPLETIONS, &[], &body("a"));
    assert_eq!(answer.status, 200, "{answer:?}");
    let said = provider.seen.lock().unwrap()[0]["messages"].to_string();
    assert!(said.contains("paper.pdf") && said.contains(".pdf⟧"), "{said}");
    let refused = post(&daemon, token, COMPLETIONS, &[], &body("b"));
    assert_eq!(refused.status, 400, "{refused:?}");
    assert_eq!(refused.json()["error"]["param"], "messages[0].content[1]");
}

#[test]
fn the_form_of_a_reply_is_passed_on() {
    let provider = Provider::start(|_| vec![says("{}")]);
    let home = provider.home();
    let daemon = start_still(&home);
    let (_, token) = token_for(&home, "a");
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let format = json!({ "type": "json_schema",
        "json_schema": { "name": "n", "schema": schema, "strict": true } });
    let mut body = ask("a", "hi");
    body["response_format"] = format.clone();
    body["stop"] = json!(["END", "###"]);
    assert_eq!(post(&daemon, &token, COMPLETIONS, &[], &body).status, 200);
    let flat = json!({ "type": "json_schema", "name": "n", "schema": schema, "strict": true });
    let body = json!({ "model": "a", "input": "hi", "text": { "format": flat } });
    let answer = post(&daemon, &token, RESPONSES, &[], &body);
    assert_eq!(answer.json()["text"]["format"], flat);
    let mut plain = ask("a", "hi");
    plain["response_format"] = json!({ "type": "json_object" });
    plain["stop"] = json!("END");
    assert_eq!(post(&daemon, &token, COMPLETIONS, &[], &plain).status, 200);
    assert_eq!(post(&daemon, &token, COMPLETIONS, &[], &ask("a", "hi")).status, 200);
    let seen = provider.seen.lock().unwrap();
    assert_eq!((&seen[0]["response_format"], &seen[0]["stop"]), (&format, &json!(["END", "###"])));
    assert_eq!(seen[1]["response_format"], format);
    assert_eq!(seen[2]["response_format"], json!({ "type": "json_object" }));
    assert_eq!(seen[2]["stop"], json!(["END"]));
    assert!(seen[3]["response_format"].is_null() && seen[3]["stop"].is_null(), "{}", seen[3]);
}

#[test]
fn a_response_is_erased_with_its_conversation() {
    let (home, daemon, token) = served("");
    let bearer = format!("Authorization: Bearer {token}");
    let respond = |body: Value| post(&daemon, &token, RESPONSES, &[], &body).json();
    let at = |id: &Value, method: &str, bearer: &str| {
        let path = format!("{RESPONSES}/{}", id.as_str().unwrap());
        send(daemon.listen(), method, &path, &[bearer], "")
    };
    let first = respond(json!({ "model": "a", "input": "todo feed the cat" }));
    let id = &first["id"];
    // Nobody else can.
    let (_, other) = token_for(&home, "a");
    let other = format!("Authorization: Bearer {other}");
    assert_eq!(at(id, "DELETE", &other).status, 404);
    assert_eq!(at(id, "GET", &bearer).status, 200);
    let gone = at(id, "DELETE", &bearer);
    assert_eq!(gone.status, 200, "{gone:?}");
    assert_eq!(gone.json(), json!({ "id": id, "object": "response", "deleted": true }));
    for method in ["GET", "DELETE"] {
        assert_eq!(at(id, method, &bearer).status, 404, "{method}");
    }
    let next = json!({ "model": "a", "input": "call todo {}", "previous_response_id": id });
    assert_eq!(post(&daemon, &token, RESPONSES, &[], &next).status, 404);
    let found = json(&home, &["sessions", "search", "a", "cat"]);
    assert_eq!(found, json!([]));
    // A session that has a name of its caller's is more than a response.
    let session = ["X-Insula-Session: kitchen"];
    let kept =
        post(&daemon, &token, RESPONSES, &session, &json!({ "model": "a", "input": "say hi" }));
    let kept = kept.json()["id"].clone();
    assert_eq!(at(&kept, "DELETE", &bearer).status, 409);
    assert_eq!(at(&kept, "GET", &bearer).status, 200);
}

#[test]
fn what_was_said_before_can_be_referred_to() {
    let provider = Provider::start(|number| vec![says(&format!("answer {number}"))]);
    let home = provider.home();
    let daemon = start_still(&home);
    let (_, token) = token_for(&home, "a");
    let respond = |token: &str, body: Value| post(&daemon, token, RESPONSES, &[], &body);
    let first = respond(&token, json!({ "model": "a", "input": "hi" })).json();
    let message = first["output"][0]["id"].clone();
    let input = |item: Value| json!([{ "role": "user", "content": "hi" }, item, { "role": "user", "content": "and?" }]);
    for item in [json!({ "type": "item_reference", "id": message }), json!({ "id": message })] {
        let answer = respond(&token, json!({ "model": "a", "input": input(item) }));
        assert_eq!(answer.status, 200, "{answer:?}");
        let seen = provider.seen.lock().unwrap().last().unwrap()["messages"].clone();
        assert_eq!(seen[2], json!({ "role": "assistant", "content": "answer 0" }), "{seen:#}");
    }
    // In the conversation itself it is known already.
    let item = json!({ "type": "item_reference", "id": message });
    let next = json!({ "model": "a", "previous_response_id": first["id"],
        "input": [item, { "role": "user", "content": "more" }] });
    assert_eq!(respond(&token, next).status, 200);
    // Somebody else's is one that does not exist.
    let (_, other) = token_for(&home, "a");
    let told = |token: &str, id: &str| {
        let item = json!({ "type": "item_reference", "id": id });
        let answer = respond(token, json!({ "model": "a", "input": input(item) }));
        (answer.status, answer.body.replace(id, "…"))
    };
    let made_up = format!("msg_{}", "0".repeat(50));
    let missing = told(&token, &made_up);
    assert_eq!(missing.0, 404, "{missing:?}");
    assert_eq!(told(&other, message.as_str().unwrap()), missing);
}
