//! `insula sessions`: what an agent's conversations look like from outside.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::standin::StandIn;
use crate::support::*;
use crate::terminal::Person;
use serde_json::{Value, json};

fn session(id: u64, title: &str) -> Value {
    json!({ "id": id, "key": "coder/cli/…", "title": title, "scope": "chat:terminal",
        "label": null, "messages": 2, "started": "2026-11-15T02:00:00.000Z",
        "used": "2026-11-15T02:12:27.004Z", "ended": id == 1 })
}

fn daemon() -> StandIn {
    StandIn::start(|asked, reply| {
        match asked.line.as_str() {
        "GET /api/agents/coder/sessions?limit=50" => {
            let long = "a title \u{1b}[31mthat goes on ".repeat(10);
            reply.json(200, &json!([session(2, "second"), session(1, &long)]));
        }
        "GET /api/agents/coder/sessions?limit=1&before=2" => {
            reply.json(200, &json!([session(1, "first")]));
        }
        "GET /api/agents/family/sessions?limit=50" => reply.json(200, &json!([])),
        "GET /api/agents/coder/sessions/2?limit=50&before=9" => reply.json(
            200,
            &json!({ "session": session(2, "second"), "messages": [
                { "seq": 1, "role": "user", "at": "2026-11-15T02:00:00.000Z", "principal": "cli:local", "text": "do \u{1b}[2Jit", "tools": [] },
                { "seq": 2, "role": "assistant", "at": "2026-11-15T02:00:01.000Z", "principal": null, "text": "**done**", "tools": ["todo"] },
            ] }),
        ),
        "GET /api/agents/coder/sessions/search?q=two%20words&limit=20&scope=chat%3Aterminal" => {
            reply.json(200, &json!([{ "session": 2, "seq": 1, "at": "2026-11-15T02:00:00.000Z",
                "role": "user", "scope": "chat:terminal", "text": "two\nwords\u{7}" }]));
        }
        "DELETE /api/agents/coder/sessions/2" => reply.json(204, &Value::Null),
        _ => {
            let message = format!("unexpected: {}", asked.line);
            reply.json(404, &json!({ "error": { "code": "not_found", "message": message } }));
        }
    }
    })
}

#[test]
fn conversations_are_listed_shown_found_and_forgotten() {
    let daemon = daemon();
    let home = &daemon.home;
    let out = |args: &[&str]| insula(home, args).ok().stdout;
    let listed = out(&["sessions", "list", "coder"]);
    assert!(listed.contains("second") && listed.contains("2026-11-15 02:12"), "{listed}");
    assert!(!listed.contains('\u{1b}'), "{listed:?}");
    assert_eq!(listed.matches("(ended)").count(), 1, "{listed}");
    assert!(out(&["sessions", "list", "coder", "-n", "1", "--before", "2"]).contains("first"));
    assert_eq!(out(&["sessions", "list", "family"]), "no conversations yet\n");
    let shown = out(&["sessions", "show", "coder", "2", "--before", "9"]);
    for text in ["cli:local · 2026-11-15 02:00 · 1\ndo [2Jit\n", "assistant", "**done**\n⚙ todo\n"]
    {
        assert!(shown.contains(text), "{text:?} is not in {shown:?}");
    }
    let found = out(&["sessions", "search", "coder", "two", "words", "--scope", "chat:terminal"]);
    assert!(found.contains("two words") && !found.contains('\u{7}'), "{found:?}");
    let kept = insula(home, &["sessions", "forget", "coder", "2"]);
    assert_eq!(kept.code, Some(2), "{kept:?}");
    assert_eq!(out(&["sessions", "forget", "coder", "2", "--yes"]), "forgot 2 of coder\n");
    let missing = insula(home, &["sessions", "show", "coder", "5"]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
}

#[test]
fn programs_get_what_the_daemon_says() {
    let daemon = daemon();
    let list = json(&daemon.home, &["sessions", "list", "coder"]);
    assert_eq!(list[0], session(2, "second"));
    let shown = json(&daemon.home, &["sessions", "show", "coder", "2", "--before", "9"]);
    assert_eq!(shown["messages"][1]["tools"], json!(["todo"]));
    let gone = json(&daemon.home, &["sessions", "forget", "coder", "2", "--yes"]);
    assert_eq!(gone, json!({ "id": "2", "forgotten": true }));
}

#[test]
fn tables_fit_the_terminal() {
    let daemon = daemon();
    let person = Person::runs(&daemon.home, &[], &["sessions", "list", "coder"]);
    let (code, seen) = person.leaves();
    assert_eq!(code, Some(0));
    assert_eq!(seen.lines().filter(|line| line.contains("2026-11-15")).count(), 2, "{seen}");
    assert!(seen.lines().all(|line| line.chars().count() <= 80), "{seen}");
}

#[test]
fn a_turn_is_found_by_the_name_that_its_chat_was_told() {
    let home = configured("agents:\n  a: {}\n");
    let _daemon = start_still(&home);
    insula(&home, &["chat", "--agent", "a", "--session", "one", "-m", "hello"]).ok();
    let read = |id: &str| crate::support::json(&home, &["sessions", "show", "a", id]);
    let whole = read("1");
    assert_eq!((&whole["turn"], &whole["messages"][0]["turn"]), (&Value::Null, &json!(1)));
    let name = whole["messages"][0]["turn_name"].as_str().unwrap().to_owned();
    assert_eq!(name.len(), 16, "{name}");
    let found = read(&name);
    assert_eq!((&found["turn"]["name"], &found["turn"]["number"]), (&json!(name), &json!(1)));
    assert_eq!(
        (&found["turn"]["status"], &found["turn"]["error"]),
        (&json!("replied"), &Value::Null)
    );
    assert_eq!(found["messages"], whole["messages"]);
    let shown = insula(&home, &["sessions", "show", "a", &name]).ok().stdout;
    assert!(shown.contains(&format!("{name} (1)")), "{shown}");
    // It shows, and erases nothing: that takes the conversation's own name.
    let kept = insula(&home, &["sessions", "forget", "a", &name, "--yes"]);
    assert_ne!(kept.code, Some(0), "{kept:?}");
}

#[test]
fn an_operator_finds_words_in_the_conversations_of_all_agents() {
    let home = configured("agents:\n  a: {default: true}\n  b: {}\n");
    let daemon = start_still(&home);
    insula(&home, &["chat", "--agent", "a", "-m", "the canary of a"]).ok();
    insula(&home, &["chat", "--agent", "b", "-m", "the canary of b"]).ok();
    let found = json(&home, &["sessions", "search", "--all", "canary"]);
    let agents: std::collections::BTreeSet<&str> =
        found.as_array().unwrap().iter().map(|it| it["agent"].as_str().unwrap()).collect();
    assert_eq!(agents.into_iter().collect::<Vec<_>>(), ["a", "b"], "{found}");
    let table = insula(&home, &["sessions", "search", "--all", "canary"]).ok().stdout;
    assert!(table.lines().next().unwrap().trim().starts_with("AGENT"), "{table}");
    let one = json(&home, &["sessions", "search", "a", "canary"]);
    assert!(!one.to_string().contains("of b"), "{one}");
    assert_eq!(insula(&home, &["sessions", "search", "a"]).code, Some(2));
    // A token of one agent's has no such thing.
    let made = json(&home, &["token", "create", "--agent", "a", "--verb", "read"]);
    let bearer = format!("Authorization: Bearer {}", made["token"].as_str().unwrap());
    let answer = send(daemon.listen(), "GET", "/api/sessions/search?q=canary", &[&bearer], "");
    assert_eq!(answer.status, 403, "{}", answer.body);
}

/// One turn over the API, in the session of this name.
fn say(daemon: &insula_testkit::Daemon, token: &str, agent: &str, session: &str, text: &str) {
    let body = json!({ "model": agent, "messages": [{ "role": "user", "content": text }] });
    let (token, session) =
        (format!("Authorization: Bearer {token}"), format!("X-Insula-Session: {session}"));
    let headers = [token.as_str(), session.as_str(), "Content-Type: application/json"];
    let answer = send(daemon.listen(), "POST", "/v1/chat/completions", &headers, &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[test]
fn a_conversation_is_forgotten_when_nothing_happened_in_it_for_as_long_as_it_is_kept() {
    let home = configured(
        "agents:\n  ann: {model: rehearsal/practice, sessions: {keep: 30d}}\n  bob: {model: rehearsal/practice}\n",
    );
    let daemon = start_still(&home);
    for agent in ["ann", "bob"] {
        let made = crate::support::json(&home, &["token", "create", "--agent", agent]);
        let token = made["token"].as_str().unwrap();
        say(&daemon, token, agent, "old", &format!("the oldest words of {agent}"));
        say(&daemon, token, agent, "new", &format!("the newest words of {agent}"));
    }
    drop(daemon);
    for agent in ["ann", "bob"] {
        let file = home.path().join("agents").join(agent).join("agent.db");
        let sql = rusqlite::Connection::open(file).unwrap();
        sql.execute_batch(
            "DROP TRIGGER message_never_changes;
             UPDATE session SET created_at = 1000, touched_at = 1000 WHERE key LIKE '%old%';
             UPDATE message SET at = 1000 WHERE id >> 32 IN
                 (SELECT id FROM session WHERE key LIKE '%old%');",
        )
        .unwrap();
        assert!(sql.changes() > 0);
    }
    let daemon = start_still(&home);
    eventually("the old conversation is forgotten", || {
        kinds(&home, "ann").contains(&"session.forgotten".to_owned()).then_some(())
    });
    drop(daemon);
    let has = |words: &str| !holders(&home, words).is_empty();
    assert!(!has("the oldest words of ann"));
    assert!(has("the newest words of ann"));
    assert!(has("the oldest words of bob"));
    assert_chains_hold(&home);
    let refused = configured("agents:\n  ann: {sessions: {keep: 5m}}\n");
    let checked = insula(&refused, &["check"]);
    assert_eq!(checked.code, Some(2), "{checked:?}");
    assert!(checked.stdout.contains("`1d` to `3650d`"), "{checked:?}");
}
