//! What an agent has of its MCP servers beside tools, through the real daemon: resources, prompts
//! that people type, and questions of a server to them. And git in granted folders.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;
use serde_json::Value;
use std::path::Path;

/// A home where `a` and `b` have a server of the same name, and `c` has none.
fn home_of_three(more: &str) -> Home {
    let agent = |own: &str| {
        format!(
            "{{mcp_servers: {{x: {{command: python3, args: [server.py, beside], env: {{OWN: {own}}}}}}}{more}}}"
        )
    };
    let home = configured(&format!(
        "defaults: {{integrity: off}}\nagents:\n  a: {}\n  b: {}\n  c: {{tools: full}}\n",
        agent("canary-a"),
        agent("canary-b")
    ));
    for agent in ["a", "b"] {
        let path = format!("agents/{agent}/workspace/server.py");
        home.write(&path, include_str!("mcp_server.py")).unwrap();
    }
    home
}

fn say(home: &Home, agent: &str, session: &str, message: &str) -> String {
    insula(home, &["chat", "--agent", agent, "--session", session, "-m", message]).ok().stdout
}

#[test]
fn resources_and_prompts_are_of_the_agents_own_server_and_nobody_elses() {
    let home = home_of_three("");
    let daemon = start_still(&home);
    for (agent, own, other) in [("a", "canary-a", "canary-b"), ("b", "canary-b", "canary-a")] {
        let listed = say(&home, agent, "one", "call mcp__x__resources {}");
        assert!(listed.contains(&format!("own://1 {own}")) && !listed.contains(other), "{listed}");
        let read = say(&home, agent, "one", r#"call mcp__x__resources {"uri": "own://1"}"#);
        assert!(read.contains(&format!("read {own}")) && !read.contains(other), "{read}");
        say(&home, agent, "two", "/x:greet name=Ann");
        let shown = json(&home, &["sessions", "show", agent, "2"]).to_string();
        assert!(shown.contains(&format!("greet {own} Ann")) && !shown.contains(other), "{shown}");
        let wrong = say(&home, agent, "two", "/x:greet who=Ann");
        assert_eq!(wrong.trim(), "/x:greet: there is no argument `who`; it takes `name`");
    }
    // To an agent without the server they are words, and a tool that is not there.
    let words = say(&home, "c", "one", "/x:greet name=Ann");
    assert!(!words.contains("canary") && words.contains("rehearsal"), "{words}");
    let none = say(&home, "c", "one", "call mcp__x__resources {}");
    assert!(!none.contains("canary"), "{none}");
    let help = |agent: &str| say(&home, agent, "one", "/help");
    assert!(help("a").contains("/x:greet") && !help("c").contains("/x:greet"));
    let servers = json(&home, &["mcp", "list", "a"]);
    assert_eq!(servers[0]["resources"], true);
    assert_eq!(servers[0]["resources_tool"], "mcp__x__resources");
    let shown = insula(&home, &["mcp", "list", "a"]).ok().stdout;
    let told = "x has resources, which the agent reads with mcp__x__resources";
    assert!(shown.contains(told), "{shown}");
    assert_eq!(servers[0]["prompts"][0]["command"], "/x:greet");
    assert_eq!(json(&home, &["mcp", "list", "c"]), Value::Array(vec![]));
    drop(daemon);
    assert_chains_hold(&home);
}

#[test]
fn a_question_of_a_server_is_answered_by_the_next_message() {
    let home = home_of_three("");
    let daemon = start_still(&home);
    let question = say(&home, "a", "one", r#"call mcp__x__booking {"text": ""}"#);
    assert!(
        question.starts_with("The MCP server `x` asks, to go on with `booking`:"),
        "{question}"
    );
    // Neither in another conversation nor to another agent.
    for (agent, session) in [("a", "two"), ("b", "one")] {
        let said = say(&home, agent, session, "7");
        assert!(!said.contains("accept"), "{said}");
    }
    let again = say(&home, "a", "one", "0");
    assert!(again.contains("`guests` is 1 at least"), "{again}");
    let done = say(&home, "a", "one", "4");
    assert!(done.contains(r#"{"action": "accept", "content": {"guests": 4}}"#), "{done}");
    let question = say(&home, "a", "three", r#"call mcp__x__booking {"text": ""}"#);
    assert!(question.contains("How many?"), "{question}");
    let declined = say(&home, "a", "three", "decline");
    assert!(declined.contains(r#"{"action": "decline"}"#), "{declined}");
    drop(daemon);
    assert_chains_hold(&home);
}

/// A repository with one commit.
fn repository(at: &Path) {
    std::fs::create_dir_all(at).unwrap();
    for args in [
        &["init", "-q"][..],
        &[
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@x",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "first-commit",
        ],
    ] {
        let mut command = std::process::Command::new("git");
        command.current_dir(at).env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", at);
        assert!(command.args(args).status().unwrap().success());
    }
}

#[test]
fn git_works_in_granted_folders_whoever_they_belong_to_and_nowhere_else() {
    let shared = insula_testkit::Home::with([("readme", "x")]).unwrap();
    let (whole, below) = (shared.path().join("whole"), shared.path().join("more/below"));
    repository(&whole);
    repository(&below);
    // Git takes every folder for somebody else's.
    let other = "GIT_TEST_ASSUME_DIFFERENT_OWNER: \"1\"";
    let (whole, more) = (whole.canonicalize().unwrap(), shared.path().join("more"));
    let more = more.canonicalize().unwrap();
    let granted = format!(
        ", files: {{shared: [{{path: {}, mode: ro}}, {{path: {}, mode: ro}}]}}, env: {{{other}}}",
        whole.display(),
        more.display()
    );
    let home = home_of_three(&granted);
    let config = home.read("config.yaml").unwrap();
    home.write("config.yaml", config.replace("env: {OWN", &format!("env: {{{other}, OWN")))
        .unwrap();
    let daemon = start_still(&home);
    let below = more.join("below");
    for repository in [&whole, &below] {
        let log = format!("git -C {} log --oneline", repository.display());
        let said = say(&home, "a", "one", &format!("run {log}"));
        assert!(said.contains("first-commit"), "{said}");
        let text = serde_json::json!({ "text": repository });
        let said = say(&home, "a", "one", &format!("call mcp__x__git {text}"));
        assert!(said.contains("first-commit"), "{said}");
    }
    let own = "run git init -q /tmp/own; git -C /tmp/own status";
    let said = say(&home, "a", "one", own);
    assert!(said.contains("dubious ownership"), "what was not granted is not trusted: {said}");
    drop(daemon);
}
