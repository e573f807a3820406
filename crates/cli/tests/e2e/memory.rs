//! Memory from outside: the practice model remembers, people and operators look, share and
//! forget, and files are edited by hand.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use serde_json::{Value, json};

const CONFIG: &str = "agents:\n  main: {default: true, memory: true, model: rehearsal/practice}\n";

/// One turn over the API, in the session of this name.
fn say(daemon: &insula_testkit::Daemon, token: &str, session: &str, text: &str) -> String {
    let body = json!({ "model": "main", "messages": [{ "role": "user", "content": text }] });
    let (token, session) =
        (format!("Authorization: Bearer {token}"), format!("X-Insula-Session: {session}"));
    let headers = [token.as_str(), session.as_str(), "Content-Type: application/json"];
    let answer = send(daemon.listen(), "POST", "/v1/chat/completions", &headers, &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
}

fn texts(listed: &Value) -> Vec<(String, String)> {
    let text = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
    listed.as_array().unwrap().iter().map(|it| (text(it, "scope"), text(it, "text"))).collect()
}

#[test]
fn an_agent_remembers_and_people_decide_what_stays() {
    let home = configured(CONFIG);
    let daemon = start(&home);
    let made = crate::support::json(
        &home,
        &["token", "create", "--agent", "main", "--metadata", "org_id=acme"],
    );
    let token = made["token"].as_str().unwrap().to_owned();
    let account = made["id"].as_str().unwrap().to_owned();
    say(&daemon, &token, "one", "remember that the cat is called Tomkin");
    say(&daemon, &token, "two", "remember that tea is at five");
    let list = || crate::support::json(&home, &["memory", "list", "main"]);
    let listed = list();
    let scope = |chat: &str| format!("chat:api:{account}:{chat}");
    assert_eq!(
        texts(&listed),
        [
            (scope("one"), "the cat is called Tomkin".to_owned()),
            (scope("two"), "tea is at five".to_owned())
        ]
    );
    let first = &listed[0];
    assert_eq!(
        (first["target"].as_str(), first["blocked"].as_bool()),
        (Some("memory"), Some(false))
    );
    assert_eq!(first["provenance"]["source"], "tool");
    assert_eq!(first["provenance"]["principal"], format!("api:{account}"));
    assert_eq!(listed[1]["provenance"]["previous"], first["provenance"]["hash"]);

    // A file edited by hand is taken in before anything else is done.
    let file = format!("agents/main/memories/contexts/chat=api={account}=two/MEMORY.md");
    home.write(&file, "tea is at five\n§\nmilk is at six\n").unwrap();
    let shown = insula(&home, &["memory", "list", "main", "--provenance"]).ok().stdout;
    assert!(shown.contains("milk is at six") && shown.contains("external edit"), "{shown}");
    let found = crate::support::json(&home, &["memory", "search", "main", "milk"]);
    assert_eq!(texts(&found), [(scope("two"), "milk is at six".to_owned())]);

    // People see and forget their own.
    let auth = format!("Authorization: Bearer {token}");
    let post = |what: &str, body: Value| {
        let path = format!("/api/agents/main/{what}");
        let headers = [auth.as_str(), "Content-Type: application/json"];
        send(daemon.listen(), "POST", &path, &headers, &body.to_string())
    };
    let here = post("remembered", json!({ "session": "two" })).json();
    assert_eq!(here["entries"].as_array().map(Vec::len), Some(2), "{here}");
    assert!(!here.to_string().contains("Tomkin"), "{here}");
    let gone = post("forget", json!({ "session": "two", "what": "Tomkin" })).json();
    assert_eq!(gone["forgotten"], 0);
    let gone = post("forget", json!({ "session": "two", "what": "milk" })).json();
    assert_eq!(gone["forgotten"], 1);
    // What is everybody's is the operator's: a token that may chat may not look.
    assert_eq!(post("memory-forget", json!({ "scope": scope("one") })).status, 403);

    // An operator shares, forgets and checks.
    let id = first["id"].to_string();
    let to = scope("two");
    insula(&home, &["memory", "share", "main", &id, "--to", &to]).ok();
    let shared = texts(&list());
    assert!(shared.contains(&(to, "the cat is called Tomkin".to_owned())), "{shared:?}");
    let wrong = insula(&home, &["memory", "forget", "main", "--yes"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    insula(&home, &["memory", "forget", "main", "--fragment", &id, "--yes"]).ok();
    assert!(!list().to_string().contains("Tomkin"), "{}", list());
    let report = crate::support::json(&home, &["memory", "verify", "main"]);
    assert_eq!(report["ok"], true, "{report}");
    let exported = insula(&home, &["memory", "export", "main"]).ok().stdout;
    assert!(exported.contains("tea is at five"), "{exported}");
    daemon.terminate().unwrap();

    // The same without a daemon.
    assert_eq!(texts(&list()), [(scope("two"), "tea is at five".to_owned())]);
    let report = crate::support::json(&home, &["memory", "verify", "main"]);
    assert_eq!(report["ok"], true, "{report}");
    insula(&home, &["memory", "forget", "main", "--scope", &scope("two"), "--yes"]).ok();
    assert_eq!(list(), json!([]));
    assert_chains_hold(&home);
}
