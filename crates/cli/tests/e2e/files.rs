//! Files through the real daemon: agents that read, write, patch and search, what they are
//! refused, and who shares what. A3, A12 and B10 of the gauntlet, for the file tools.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;
use insula_testkit::upstream::{Upstream, answer};
use insula_world::World;
use serde_json::{Value, json};

/// The answer to one tool call, by the practice model.
fn tool(home: &Home, agent: &str, session: &str, name: &str, arguments: Value) -> String {
    let message = format!("call {name} {arguments}");
    insula(home, &["chat", "--agent", agent, "--session", session, "-m", &message]).ok().stdout
}

/// What a scripted model asks for, one call after the other; then it is done.
fn script() -> Vec<(&'static str, Value)> {
    vec![
        ("write_file", json!({"path": "notes/a.md", "content": "one\ntwo\n"})),
        ("read_file", json!({"path": "notes/a.md"})),
        (
            "patch",
            json!({"mode": "replace", "path": "notes/a.md", "old_string": "two", "new_string": "2"}),
        ),
        ("search_files", json!({"pattern": "^2$"})),
        ("read_file", json!({"path": "../../b/workspace/secret"})),
        ("read_file", json!({"path": "/etc/passwd"})),
        ("write_file", json!({"path": "../agent.yaml", "content": "tools: full"})),
        ("write_file", json!({"path": "theirs", "content": "x"})),
        ("search_files", json!({"pattern": "canary", "path": "/"})),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scripted_model_works_in_its_folder_and_nowhere_else() {
    let world = World::real().unwrap();
    let upstream = Upstream::start(&world, |_, number| {
        let message = match script().into_iter().nth(number) {
            Some((name, arguments)) => {
                json!({ "role": "assistant", "content": null, "tool_calls": [{
                    "id": format!("c{number}"), "type": "function",
                    "function": { "name": name, "arguments": arguments.to_string() },
                }]})
            }
            None => json!({ "role": "assistant", "content": "done" }),
        };
        let body = json!({ "choices": [{ "message": message, "finish_reason": "stop" }] });
        vec![answer(200, &[("content-type", "application/json")], &body.to_string())]
    });
    let upstream = upstream.await.unwrap();
    let config = format!(
        "providers: {{far: {{kind: openai, base_url: \"{}\"}}}}\nagents:\n  a: {{model: far/one, tools: [group:files], default: true}}\n  b: {{tools: [group:files]}}\n",
        upstream.url("/v1")
    );
    let home = home([("config.yaml", config.as_str()), ("agents/b/workspace/secret", "canary")]);
    std::fs::create_dir_all(home.path().join("agents/a/workspace")).unwrap();
    let theirs = home.path().join("agents/b/workspace/secret");
    std::os::unix::fs::symlink(theirs, home.path().join("agents/a/workspace/theirs")).unwrap();
    let daemon = start_still(&home);
    let said = insula(&home, &["chat", "-m", "go"]).ok().stdout;
    assert_eq!(said, "done\n");
    assert_eq!(home.read("agents/a/workspace/notes/a.md").unwrap(), "one\n2\n");
    assert_eq!(home.read("agents/b/workspace/secret").unwrap(), "canary");
    assert!(!home.has("agents/a/agent.yaml"));
    // What the model was told: the last request carries every result.
    let last = upstream.seen().last().unwrap().json();
    let told: Vec<&str> = last["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(told.len(), script().len());
    assert_eq!(told[1], "     1|one\n     2|two\n");
    assert_eq!(told[3], "notes/a.md:2:2\n");
    assert!(told[4..].iter().all(|text| text.starts_with("refused: ")), "{:#?}", &told[4..]);
    assert!(!last.to_string().contains("canary\""), "nothing of the other agent's");
    // Audited: what was called, about which path, with which verdict; never content.
    let records = json(&home, &["audit", "tail", "a", "-n", "100"]).to_string();
    assert!(records.contains("notes/a.md") && !records.contains("one\\\\ntwo"), "{records}");
    let calls = json(&home, &["audit", "tail", "a", "-n", "100"]);
    let of = |verdict: &str| {
        let all = calls.as_array().unwrap().iter();
        all.filter(|it| {
            it["kind"] == "tool.call" && it.to_string().contains(&format!("\"{verdict}\""))
        })
        .count()
    };
    assert_eq!((of("done"), of("refused")), (4, 5), "{calls:#}");
    daemon.kill9().unwrap();
}

#[test]
fn with_a_scope_each_conversation_has_its_folder_and_the_common_one_to_read() {
    let shared = tempfile::tempdir().unwrap();
    std::fs::write(shared.path().join("book"), "pages\n").unwrap();
    let config = format!(
        "agents:\n  a: {{default: true, tools: [group:files], workspace: {{scope: chat}}, files: {{shared: [{{path: {}, mode: ro}}]}}}}\n  b: {{tools: [group:files]}}\n",
        shared.path().display()
    );
    let home = home([("config.yaml", config.as_str()), ("agents/a/workspace/common", "for all\n")]);
    let _daemon = start_still(&home);
    let write = json!({"path": "mine", "content": "kitchen words"});
    let made = tool(&home, "a", "kitchen", "write_file", write.clone());
    assert!(made.contains("made mine"), "{made}");
    let read =
        |session: &str, path: &str| tool(&home, "a", session, "read_file", json!({"path": path}));
    assert!(read("kitchen", "mine").contains("kitchen words"));
    assert!(read("garden", "mine").contains("does not exist"));
    let common = home.path().join("agents/a/workspace/common").display().to_string();
    assert!(read("garden", &common).contains("for all"));
    let over = tool(&home, "a", "garden", "write_file", json!({"path": common, "content": "x"}));
    assert!(over.contains("may only read"), "{over}");
    // One conversation's folder is nothing that another could name.
    let folders = home.path().join("agents/a/conversations");
    let names: Vec<_> = std::fs::read_dir(&folders).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    for folder in &names {
        let path = folder.join("workspace/mine").display().to_string();
        let answer = read("attic", &path);
        assert!(answer.contains("refused") && !answer.contains("kitchen words"), "{answer}");
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(&names[0]).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o700);
    let book = shared.path().join("book").display().to_string();
    assert!(read("attic", &book).contains("pages"));
    let over = tool(&home, "a", "attic", "write_file", json!({"path": book, "content": "x"}));
    assert!(over.contains("may only read"), "{over}");
    let none = tool(&home, "b", "attic", "read_file", json!({"path": book}));
    assert!(none.contains("outside of the folders"), "{none}");
    // On one desk, what is written in one conversation is there in the next.
    tool(&home, "b", "one", "write_file", write);
    assert!(tool(&home, "b", "two", "read_file", json!({"path": "mine"})).contains("kitchen"));
    let stale = tool(&home, "b", "three", "write_file", json!({"path": "mine", "content": "x"}));
    assert!(stale.contains("you have not read it"), "{stale}");
}

#[test]
fn an_idle_agent_holds_no_descriptor_of_its_folders() {
    let home = configured("agents: {a: {default: true, tools: [group:files]}}\n");
    let daemon = start_still(&home);
    tool(&home, "a", "s", "write_file", json!({"path": "f", "content": "x"}));
    let folder = home.path().join("agents/a/workspace");
    eventually("its folders are closed", || {
        let open = std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap();
        let mut links = open.filter_map(|it| std::fs::read_link(it.ok()?.path()).ok());
        (!links.any(|link| link.starts_with(&folder))).then_some(())
    });
}
