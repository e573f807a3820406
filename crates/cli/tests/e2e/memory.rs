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
    assert_eq!(post("memory/forget", json!({ "scope": scope("one") })).status, 403);

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

#[test]
fn an_operator_sees_and_erases_what_is_switched_off_edited_by_hand_or_stuck_in_a_file() {
    let home = configured(CONFIG);
    let daemon = start(&home);
    let made = crate::support::json(&home, &["token", "create", "--agent", "main"]);
    let token = made["token"].as_str().unwrap().to_owned();
    let scope = format!("chat:api:{}:one", made["id"].as_str().unwrap());
    say(&daemon, &token, "one", "remember that the cat is called Tomkin");

    // A command is done, and nothing is said to the model.
    let shown = insula(&home, &["chat", "-m", "/memory"]).ok().stdout;
    assert!(shown.contains("nothing is remembered here"), "{shown}");
    insula(&home, &["chat", "-m", "remember that tea is at five"]).ok();
    let shown = insula(&home, &["chat", "-m", "/memory"]).ok().stdout;
    assert!(shown.contains("1. [memory] tea is at five"), "{shown}");
    let told = crate::support::json(&home, &["chat", "-m", "/forget tea"]);
    assert_eq!((&told["forgotten"], &told["unfinished"]), (&json!(1), &json!(false)));
    assert!(insula(&home, &["chat", "-m", "/help"]).ok().stdout.contains("/forget"));
    let wrong = insula(&home, &["chat", "-m", "/memroy"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("did you mean `/memory`"), "{wrong:?}");
    let sessions = crate::support::json(&home, &["sessions", "search", "main", "memory"]);
    assert!(!sessions.to_string().contains("/memory"), "{sessions}");
    daemon.terminate().unwrap();

    // Off, and without a daemon: all of it is there, and what was written into the file since.
    home.write("config.yaml", CONFIG.replace("memory: true", "memory: false")).unwrap();
    let folder = format!("agents/main/memories/contexts/{}", scope.replace(':', "="));
    let file = home.path().join(&folder).join("MEMORY.md");
    home.write(&format!("{folder}/MEMORY.md"), "the cat is called Tomkin\n§\nby hand\n").unwrap();
    let listed = crate::support::json(&home, &["memory", "list", "main", "--scope", &scope]);
    let of = |text: &str| (scope.clone(), text.to_owned());
    assert_eq!(texts(&listed), [of("the cat is called Tomkin"), of("by hand")]);
    assert_eq!(listed[1]["id"], Value::Null);
    assert_eq!(listed[1]["provenance"]["source"], "external edit");
    let exported = insula(&home, &["memory", "export", "main"]).ok().stdout;
    assert!(exported.contains("by hand") && exported.contains("Tomkin"), "{exported}");

    // What names no scope is an error, and says what is meant.
    for (wrong, code, says) in [
        ("custom:org:acme", 2, "did you mean `custom:org%3Aacme`"),
        ("chta:api:x:one", 2, "not a scope"),
        ("chat:api:x:nobody", 1, "nothing was ever remembered in"),
    ] {
        for command in [
            &["memory", "list", "main", "--scope", wrong][..],
            &["memory", "forget", "main", "--yes", "--scope", wrong][..],
            &["memory", "search", "main", "cat", "--scope", wrong][..],
        ] {
            let output = insula(&home, command);
            assert_eq!(output.code, Some(code), "{command:?}: {output:?}");
            assert!(output.stderr.contains(says), "{command:?}: {output:?}");
        }
    }
    for wrong in [["--user", "12345"], ["--session", "999"]] {
        let output = insula(&home, &[&["memory", "forget", "main", "--yes"][..], &wrong].concat());
        assert_ne!(output.code, Some(0), "{output:?}");
    }

    // A folder where the file should be: forgotten as far as it goes, and said where not.
    std::fs::rename(&file, file.with_extension("aside")).unwrap();
    std::fs::create_dir(&file).unwrap();
    let forget = ["memory", "forget", "main", "--scope", &scope, "--yes"];
    let output = insula(&home, &forget);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stdout.contains(&format!("{folder}/MEMORY.md is not a file")), "{output:?}");
    assert!(!output.stdout.contains(home.path().to_str().unwrap()), "{output:?}");
    std::fs::remove_dir(&file).unwrap();
    std::fs::rename(file.with_extension("aside"), &file).unwrap();
    let again = insula(&home, &forget).ok();
    assert!(again.stdout.contains("forgot 1 of main"), "{again:?}");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("Tomkin"));
    let empty = insula(&home, &["memory", "list", "main", "--scope", &scope]).ok().stdout;
    assert!(empty.contains("nothing is remembered in"), "{empty}");
    let empty = insula(&home, &forget).ok().stdout;
    assert!(empty.contains("nothing of main was there to forget"), "{empty}");
    assert_chains_hold(&home);
}

#[test]
fn a_file_that_can_not_be_used_is_told_of_wherever_its_entries_would_stand() {
    let home = configured(CONFIG);
    home.write("agents/main/memories/MEMORY.md", b"good").unwrap();
    home.write("agents/main/memories/USER.md", b"\xff\xfe").unwrap();
    for with_daemon in [false, true] {
        let _daemon = with_daemon.then(|| start_still(&home));
        for command in [&["list", "main"][..], &["search", "main", "good"], &["export", "main"]] {
            let args: Vec<&str> = ["memory"].iter().chain(command).copied().collect();
            let told = insula(&home, &args).ok();
            let warning = "warning: agents/main/memories/USER.md is not UTF-8 text";
            assert!(told.stderr.contains(warning), "{args:?}: {}", told.stderr);
        }
        let listed = insula(&home, &["memory", "list", "main", "--json"]).ok();
        assert_eq!(listed.json().as_array().unwrap().len(), 1, "{}", listed.stdout);
    }
    home.write("agents/main/memories/USER.md", b"fine").unwrap();
    assert_eq!(insula(&home, &["memory", "list", "main"]).ok().stderr, "");
}

#[test]
fn the_log_has_nothing_of_what_is_remembered() {
    let home = configured(CONFIG);
    let daemon = start_still(&home);
    let token = crate::support::json(&home, &["token", "create", "--agent", "main"]);
    let token = token["token"].as_str().unwrap();
    say(&daemon, token, "one", "remember that the word is Qx7canary");
    for wrong in [
        r#"{"action": "remove", "target": "memory", "old_text": "nothing like it"}"#,
        r#"{"action": "replace", "target": "memory", "old_text": "Qx7", "content": ""}"#,
        r#"{"action": "add", "target": "user", "content": "LONG"}"#,
    ] {
        let wrong = wrong.replace("LONG", &"Qx7canary ".repeat(300));
        say(&daemon, token, "one", &format!("call memory {wrong}"));
    }
    // The model was told, with the entries there are; whoever reads the log was not.
    let found = holders(&home, "no entry of `memory` contains");
    assert!(!found.is_empty(), "the model was told nothing");
    assert!(!daemon.log().contains("Qx7canary"), "{}", daemon.log());
}
