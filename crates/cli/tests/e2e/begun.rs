//! Programs in the background end with what they were begun under: the token of who began them, and
//! the secrets they were given.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests look at processes and fail by panicking"
)]

use crate::programs::{gone, runs};
use crate::support::*;
use insula_testkit::{Daemon, Home, run_with_input};
use serde_json::json as value;

const CONFIG: &str = "approvals: {mode: off}\nagents:\n  a: {default: true, tools: coding, secrets: [KEY], env: {KEY: '${secret:KEY}'}}\n  b: {tools: coding}\n";

/// Has an agent run something in the background, for whoever has the token.
fn begin(daemon: &Daemon, token: &str, agent: &str, command: &str) {
    let wish = value!({ "command": command, "background": true });
    let body = value!({
        "model": agent,
        "messages": [{ "role": "user", "content": format!("call terminal {wish}") }],
    });
    let bearer = format!("Authorization: Bearer {token}");
    let headers = [bearer.as_str(), "Content-Type: application/json", "X-Insula-Session: s"];
    let answer = send(daemon.listen(), "POST", "/v1/chat/completions", &headers, &body.to_string());
    assert!(answer.body.contains("started process"), "{}", answer.body);
    eventually(command, || runs(command).then_some(()));
}

fn token(home: &Home) -> (String, String) {
    let made = json(home, &["token", "create", "--agent", "a", "--agent", "b", "--verb", "chat"]);
    (made["id"].as_str().unwrap().to_owned(), made["token"].as_str().unwrap().to_owned())
}

fn set(home: &Home, value: &str) {
    run_with_input(INSULA, home.path(), &["secret", "set", "a", "KEY"], value).ok();
}

#[test]
fn a_program_in_the_background_ends_with_the_token_that_began_it() {
    let home = configured(CONFIG);
    set(&home, "a key of no use");
    let daemon = start_still(&home);
    let ((one, first), (_, second)) = (token(&home), token(&home));
    begin(&daemon, &first, "a", "sleep 87341");
    begin(&daemon, &first, "b", "sleep 87342");
    begin(&daemon, &second, "a", "sleep 87343");
    insula(&home, &["token", "revoke", &one]).ok();
    gone("sleep 87341");
    gone("sleep 87342");
    assert!(runs("sleep 87343"), "that of another goes on");
}

#[test]
fn a_program_ends_with_the_secret_it_was_given() {
    let home = configured(CONFIG);
    set(&home, "a key of no use");
    let daemon = start_still(&home);
    let (_, token) = token(&home);
    begin(&daemon, &token, "a", "sleep 87351");
    begin(&daemon, &token, "b", "sleep 87352");
    // Set to what it is, it is what it was.
    set(&home, "a key of no use");
    assert!(runs("sleep 87351"));
    set(&home, "another key of no use");
    gone("sleep 87351");
    begin(&daemon, &token, "a", "sleep 87353");
    insula(&home, &["secret", "remove", "a", "KEY"]).ok();
    gone("sleep 87353");
    assert!(runs("sleep 87352"), "the other agent was given nothing");
}
