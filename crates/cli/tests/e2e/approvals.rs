//! Approvals through the real daemon: a command waits, an admin answers, nobody else can.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;

const CONFIG: &str = "agents:\n  a: {default: true, tools: coding, approvals: {timeout: 10m}}\n  b: {tools: coding}\n";

fn ask(home: &Home, command: &str) -> String {
    let message = format!("call terminal {}", serde_json::json!({ "command": command }));
    insula(home, &["chat", "--agent", "a", "-m", &message]).ok().stdout
}

/// Waits until one call waits; its id.
fn waiting(home: &Home) -> String {
    eventually("a call that waits", || {
        let all = json(home, &["approvals", "list"]);
        Some(all[0]["id"].as_str()?.to_owned())
    })
}

#[test]
fn a_dangerous_command_waits_for_an_admin() {
    let home = configured(CONFIG);
    let _daemon = start_still(&home);
    ask(&home, "mkdir build && echo x > build/file");
    std::thread::scope(|threads| {
        let denied = threads.spawn(|| ask(&home, "rm -r build"));
        let id = waiting(&home);
        insula(&home, &["approvals", "deny", &id, "--reason", "we need it"]).ok();
        let said = denied.join().unwrap();
        assert!(said.contains("an admin denied it: we need it"), "{said}");
    });
    assert!(home.has("agents/a/workspace/build/file"));
    std::thread::scope(|threads| {
        let approved = threads.spawn(|| ask(&home, "rm -r build"));
        let id = waiting(&home);
        assert!(home.has("agents/a/workspace/build/file"));
        insula(&home, &["approvals", "approve", &id]).ok();
        approved.join().unwrap();
    });
    assert!(!home.has("agents/a/workspace/build/file"));
    assert_eq!(json(&home, &["approvals", "list", "a"]), serde_json::json!([]));
    let said = ask(&home, "sudo rm -rf /");
    assert!(said.contains("nobody can allow that"), "{said}");
}

#[test]
fn who_has_no_terminal_is_told_what_waits_and_how_to_answer() {
    let home = configured(CONFIG);
    let _daemon = start_still(&home);
    let message = format!("call terminal {}", serde_json::json!({ "command": "rm -r build" }));
    for more in [&[][..], &["--json"]] {
        let args = [&["chat", "--agent", "a", "-m", &message][..], more].concat();
        std::thread::scope(|threads| {
            let asked = threads.spawn(|| insula(&home, &args).ok());
            let id = waiting(&home);
            insula(&home, &["approvals", "deny", &id]).ok();
            let told = asked.join().unwrap();
            let how = format!("`insula approvals approve {id}`");
            assert!(told.stderr.contains("rm -r build") && told.stderr.contains(&how), "{told:?}");
            assert!(told.stderr.contains("approval: denied"), "{told:?}");
            assert!(!told.stdout.contains(&how), "{told:?}");
        });
    }
}

#[test]
fn a_grant_is_listed_and_revoked_with_and_without_a_daemon() {
    let home = configured(CONFIG);
    let daemon = start_still(&home);
    assert_eq!(json(&home, &["approvals", "grants", "a"]), serde_json::json!([]));
    let grant = |folder: &str| {
        let home = &home;
        ask(home, &format!("mkdir {folder}"));
        std::thread::scope(|threads| {
            let command = format!("rm -r {folder}");
            let asked = threads.spawn(move || ask(home, &command));
            let id = waiting(home);
            insula(home, &["approvals", "approve", &id, "--always"]).ok();
            asked.join().unwrap();
            id
        })
    };
    let (one, two) = (grant("one"), grant("two"));
    let all = json(&home, &["approvals", "grants", "a"]);
    assert_eq!(all.as_array().unwrap().len(), 2, "{all:#}");
    let first = all.as_array().unwrap().iter().find(|it| it["id"] == *one).unwrap();
    assert_eq!(
        (&first["what"], &first["scope"]),
        (&"where its programs begin\ncommand:\n| rm -r one".into(), &"always".into())
    );
    let text = insula(&home, &["approvals", "grants", "a"]).ok().stdout;
    assert!(text.contains("rm -r two") && text.contains("cli:local"), "{text}");
    let missing = insula(&home, &["approvals", "revoke", "b", &one]);
    assert_eq!(missing.code, Some(1));
    insula(&home, &["approvals", "revoke", "a", &one]).ok();
    std::thread::scope(|threads| {
        let asked = threads.spawn(|| ask(&home, "rm -r one"));
        let id = waiting(&home);
        insula(&home, &["approvals", "deny", &id]).ok();
        asked.join().unwrap();
    });
    daemon.terminate().unwrap();
    insula(&home, &["approvals", "revoke", "a", &two]).ok();
    assert_eq!(json(&home, &["approvals", "grants", "a"]), serde_json::json!([]));
    let revoked = kinds(&home, "a").into_iter().filter(|kind| kind == "approval.revoked");
    assert_eq!(revoked.count(), 2);
    assert_chains_hold(&home);
}

#[test]
fn over_the_api_only_a_token_that_may_approve_answers() {
    let home = configured(CONFIG);
    let daemon = start_still(&home);
    let token = |agent: &str, verb: &str| {
        let made = json(&home, &["token", "create", "--agent", agent, "--verb", verb]);
        made["token"].as_str().unwrap().to_owned()
    };
    let listen = daemon.listen();
    let as_token = |token: &str, method: &str, path: &str, body: &str| {
        let bearer = format!("Authorization: Bearer {token}");
        send(listen, method, path, &[&bearer, "Content-Type: application/json"], body)
    };
    let asker = token("a", "chat");
    let command = serde_json::json!({ "command": "rm -r build" });
    let message = serde_json::json!({
        "model": "a",
        "messages": [{ "role": "user", "content": format!("call terminal {command}") }],
    });
    std::thread::scope(|threads| {
        let asked = threads
            .spawn(|| as_token(&asker, "POST", "/v1/chat/completions", &message.to_string()));
        let id = waiting(&home);
        let path = format!("/api/agents/a/approvals/{id}");
        let yes = r#"{"decision": "approve"}"#;
        // Who asked, and every other verb that is not the one.
        for other in [&asker, &token("a", "read"), &token("a", "manage"), &token("a", "chat")] {
            assert_eq!(as_token(other, "POST", &path, yes).status, 403);
            assert_eq!(as_token(other, "GET", "/api/agents/a/approvals", "").status, 403);
            assert_eq!(as_token(other, "GET", "/api/agents/a/grants", "").status, 403);
        }
        // Nobody, and somebody else's.
        assert_eq!(as_token("nobody", "POST", &path, yes).status, 401);
        let foreign = token("b", "approve");
        let told = |agent: &str, approval: &str| {
            let path = format!("/api/agents/{agent}/approvals/{approval}");
            let answer = as_token(&foreign, "POST", &path, yes);
            let head = answer.head.lines().filter(|line| !line.to_lowercase().starts_with("date:"));
            let head = head.collect::<Vec<_>>().join("\n");
            (
                answer.status,
                head,
                answer.body.replace(&format!("`{agent}`"), "`…`").replace(approval, "…"),
            )
        };
        assert_eq!(told("a", &id), told("x", &id));
        assert_eq!(told("a", &id).0, 404);
        // The other agent's own door does not lead to this question either.
        assert_eq!(told("b", &id), told("b", &"0".repeat(id.len())));
        let words = r#"{"decision": "yes"}"#;
        assert_eq!(as_token(&token("a", "approve"), "POST", &path, words).status, 400);
        assert_eq!(waiting(&home), id, "it still waits");
        assert_eq!(as_token(&token("a", "approve"), "POST", &path, yes).status, 200);
        assert_eq!(asked.join().unwrap().status, 200);
    });
}

#[test]
fn a_yes_to_what_is_written_to_a_process_is_for_that_process_and_for_once() {
    let home = configured(CONFIG);
    let _daemon = start_still(&home);
    let call = |session: &str, tool: &str, arguments: serde_json::Value| {
        let message = format!("call {tool} {arguments}");
        insula(&home, &["chat", "--agent", "a", "--session", session, "-m", &message]).ok().stdout
    };
    call("c0", "terminal", serde_json::json!({ "command": "mkdir scratch precious" }));
    for (session, folder) in [("c1", "scratch"), ("c2", "precious")] {
        let file = serde_json::json!({ "command": format!("echo x > {folder}/file") });
        call(session, "terminal", file);
        let shell = serde_json::json!({ "command": "bash", "background": true, "workdir": folder });
        let said = call(session, "terminal", shell);
        assert!(said.contains("p1"), "{said}");
    }
    let remove = serde_json::json!({ "action": "submit", "session_id": "p1", "data": "rm -rf ./*; cd ../precious" });
    let asked = |session: &str, answer: &[&str]| {
        std::thread::scope(|threads| {
            let asking = threads.spawn(|| call(session, "process", remove.clone()));
            let id = waiting(&home);
            let what = json(&home, &["approvals", "list"])[0]["what"].as_str().unwrap().to_owned();
            let args = [&["approvals", answer[0], &id][..], &answer[1..]].concat();
            let told = insula(&home, &args).ok().stdout;
            (what, told, asking.join().unwrap())
        })
    };
    let (what, told, said) = asked("c1", &["approve", "--always"]);
    let begin = format!(
        "in \"{}\"\nwritten, this once, to a process that began there as:\n| bash\naction:\n| submit\ndata:\n| rm -rf",
        home.path().join("agents/a/workspace/scratch").canonicalize().unwrap().display()
    );
    assert!(what.starts_with(&begin), "{what}");
    assert!(told.contains(", once; what is written to a process is asked each time"), "{told}");
    assert!(said.contains("wrote"), "{said}");
    eventually("it is done", || (!home.has("agents/a/workspace/scratch/file")).then_some(()));
    assert_eq!(json(&home, &["approvals", "grants", "a"]), serde_json::json!([]));
    // The same words again in that shell, which is elsewhere by now, and in another of its name.
    for session in ["c1", "c2"] {
        let (_, _, said) = asked(session, &["deny"]);
        assert!(said.contains("an admin denied it"), "{said}");
    }
    let (_, told, _) = asked("c1", &["deny"]);
    assert!(told.contains("denied"), "{told}");
    assert!(home.has("agents/a/workspace/precious/file"));
    assert_eq!(json(&home, &["approvals", "grants", "a"]), serde_json::json!([]));
}

#[test]
fn what_is_written_to_a_shell_is_a_command_and_to_other_programs_text() {
    let home = configured(CONFIG);
    let _daemon = start_still(&home);
    let call = |tool: &str, arguments: serde_json::Value| {
        insula(&home, &["chat", "-m", &format!("call {tool} {arguments}")]).ok().stdout
    };
    let start = |command: &str| {
        call("terminal", serde_json::json!({ "command": command, "background": true }))
    };
    let submit = |id: &str, data: &str| {
        call("process", serde_json::json!({ "action": "submit", "session_id": id, "data": data }))
    };
    assert!(start("cat").contains("p1"));
    assert!(start("sh").contains("p2"));
    let said = submit("p1", "rm -rf build");
    assert!(said.contains("wrote 13 bytes"), "{said}");
    std::thread::scope(|threads| {
        let asked = threads.spawn(|| {
            let arguments = serde_json::json!({ "action": "submit", "session_id": "p2", "data": "rm -rf build" });
            insula(&home, &["chat", "-m", &format!("call process {arguments}")]).ok().stdout
        });
        let id = waiting(&home);
        insula(&home, &["approvals", "deny", &id]).ok();
        assert!(asked.join().unwrap().contains("an admin denied it"));
    });
    assert!(submit("p2", "echo harmless").contains("wrote 14 bytes"));
}
