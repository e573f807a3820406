//! `send_message` through the real daemon: closed unless granted, explained, and written down.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;
use serde_json::{Value, json};

const CONFIG: &str = "
channels: {telegram: {accounts: {main: {token: '${secret:BOT}', base_url: 'http://127.0.0.1:9'}}}}
agents:
  main: {default: true}
  named: {tools: {also_allow: [send_message]}}
  closed: {tools: {also_allow: [send_message]}, send: {to: ['telegram:main:-100']}}
  open: {tools: {also_allow: [send_message]}, send: {to: ['telegram:main:-100'], flows: [{from: 'cli:local:*', to: 'telegram:main:-100'}]}}
";

fn send(home: &Home, agent: &str) -> String {
    let call = json!({ "target": "telegram:main:-100", "message": "the canary" });
    let message = format!("call send_message {call}");
    insula(home, &["chat", "--agent", agent, "-m", &message]).ok().stdout
}

fn rule(home: &Home, agent: &str) -> (bool, String) {
    let tools = crate::support::json(home, &["tools", agent]);
    let tools = tools.as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "send_message").unwrap();
    (tool["exposed"].as_bool().unwrap(), tool["rule"].as_str().unwrap().to_owned())
}

/// The audit's word on each attempt.
fn attempts(home: &Home, agent: &str) -> Vec<Value> {
    let records = crate::support::json(home, &["audit", "tail", agent, "-n", "100"]);
    let records = records.as_array().unwrap().iter();
    records.filter(|it| it["kind"] == "message.send").map(|it| it["content"].clone()).collect()
}

#[test]
fn b05_nothing_is_sent_without_a_grant_and_all_attempts_are_on_record() {
    let home = configured(CONFIG);
    let _daemon = start_still(&home);
    for (agent, exposed, why) in [
        ("main", false, "needs a grant by name"),
        ("named", false, "no place to send to; `send.to` names some"),
        ("closed", true, "named in `also_allow`"),
    ] {
        assert_eq!(rule(&home, agent), (exposed, why.to_owned()), "{agent}");
    }
    // Whoever does not have it can't call it, and nothing is tried.
    assert!(!send(&home, "named").contains("on its way"));
    assert!(attempts(&home, "named").is_empty());
    let said = send(&home, "closed");
    assert!(said.contains("not everyone in `telegram:main:-100` may read"), "{said}");
    let attempts_closed = attempts(&home, "closed");
    assert_eq!(attempts_closed.len(), 1);
    let content = attempts_closed[0].to_string();
    for words in ["refused", "wider audience", "telegram:main:-100", "cli:local:"] {
        assert!(content.contains(words), "{words}: {content}");
    }
    assert!(!content.contains("canary"), "{content}");
    let said = send(&home, "open");
    assert!(said.contains("on its way to telegram:main:-100"), "{said}");
    let content = attempts(&home, "open")[0].to_string();
    assert!(content.contains("sent") && content.contains("granted"), "{content}");
    // What an operator sees of it.
    let context = crate::support::json(&home, &["context", "show", "open"]);
    let messages = &context["boundary"]["messages"];
    assert_eq!(messages["to"], json!(["telegram:main:-100"]));
    assert_eq!(messages["flows"][0]["from"], "cli:local:*");
}
