//! What a model was shown, told by the command line and the API: byte for byte what its provider
//! was sent, to whoever may read, and no secret in it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Upstream, model, run_with_input, upstream};
use insula_world::World;
use serde_json::{Value, json};

const KEY: &str = "key-of-the-provider-0f9e";
const CODE: &str = "the-code-of-the-door-4711";

#[test]
fn a_request_is_told_as_it_was_sent_and_what_is_a_secret_since_is_left_out() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let world = World::real().unwrap();
    let script = |_: &upstream::Seen, _: usize| model::says("fine");
    let server = runtime.block_on(Upstream::start(&world, script)).unwrap();
    let url = server.url("/v1");
    let home = configured(&format!(
        "model: up/some/model\nproviders: {{up: {{kind: openai, base_url: \"{url}\", api_key: \"{KEY}\"}}}}\nagents: {{a: {{tools: minimal}}, b: {{}}}}\n"
    ));
    let daemon = start_still(&home);
    let message = format!("hello, \"you\"; {CODE}");
    insula(&home, &["chat", "--agent", "a", "-m", &message]).ok();
    let sent = String::from_utf8(server.seen()[0].body.clone()).unwrap();
    let listed = json(&home, &["turns", "show", "a", "1", "--shown"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed:#}");
    let told = json(&home, &["turns", "show", "a", "1", "--shown", "1"]);
    for (key, value) in listed[0].as_object().unwrap() {
        assert_eq!(told[key], *value, "{key}");
    }
    assert_eq!(
        (&told["call"], &told["provider"], &told["model"], &told["bytes"]),
        (&json!(1), &json!("up"), &json!("some/model"), &json!(sent.len()))
    );
    assert_eq!(told["sha256"].as_str().unwrap().len(), 64);
    assert_eq!((&told["verified"], &told["why"]), (&json!(true), &Value::Null), "{told:#}");
    assert_eq!(told["body"], json!(sent));
    assert!(!told.to_string().contains(KEY), "headers are no part of it");
    let parts = told["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().filter_map(|part| part["name"].as_str()).collect();
    assert_eq!(names, ["settings", "soul", "preamble", "place", "tools"]);
    assert!(parts[0]["text"].as_str().unwrap().contains("minimal"), "{parts:?}");
    assert!(parts[1].get("text").is_none() && parts[1]["bytes"].as_u64() > Some(0), "{parts:?}");
    let shown = insula(&home, &["turns", "show", "a", "1", "--shown", "1"]).ok().stdout;
    assert!(shown.contains("yes: what stands below is what was sent"), "{shown}");
    assert!(shown.contains("some/model") && shown.contains(CODE), "{shown}");
    let shown = insula(&home, &["turns", "show", "a", "1", "--shown"]).ok().stdout;
    assert!(shown.contains("up/some/model"), "{shown}");
    for nothing in [["1", "9"], ["9", "1"]] {
        let output = insula(&home, &["turns", "show", "a", nothing[0], "--shown", nothing[1]]);
        assert_eq!(output.code, Some(1), "{output:?}");
    }

    let path = "/api/agents/a/turns/1/shown/1";
    let who = |args: &[&str]| -> String {
        let made = json(&home, &[&["token", "create"][..], args].concat());
        format!("Authorization: Bearer {}", made["token"].as_str().unwrap())
    };
    let asks = |bearer: &str, path: &str| send(daemon.listen(), "GET", path, &[bearer], "");
    assert_eq!(asks(&who(&["--agent", "a", "--verb", "chat"]), path).status, 403);
    assert_eq!(asks(&who(&["--agent", "b", "--verb", "read"]), path).status, 404);
    let reader = who(&["--agent", "a", "--verb", "read"]);
    let turns = asks(&reader, "/api/agents/a/turns").json();
    let named = format!("/api/agents/a/turns/{}/shown/1", turns[0]["id"].as_str().unwrap());
    assert_eq!(asks(&reader, &named).json()["body"], json!(sent));

    run_with_input(INSULA, home.path(), &["secret", "set", "a", "DOOR"], CODE).ok();
    let told = json(&home, &["turns", "show", "a", "1", "--shown", "1"]);
    assert!(!told.to_string().contains(CODE), "{told:#}");
    assert_eq!(told["verified"], false);
    assert_eq!(told["why"], "something in it is a secret now, and is left out");
}
