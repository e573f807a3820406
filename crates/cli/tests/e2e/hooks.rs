//! Hooks through the real daemon: programs in the sandbox, servers on sockets, and failures
//! that deny.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and sockets, and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;

fn todo(home: &Home, agent: &str) -> String {
    let call = json!({ "todos": [{ "id": "1", "content": "original" }] });
    let message = format!("call todo {call}");
    insula(home, &["chat", "--agent", agent, "-m", &message]).ok().stdout
}

#[test]
fn a_program_guards_its_agent_and_cannot_be_changed_by_it() {
    let guard = "#!/bin/sh\nIN=$(cat)\ntouch ./made 2>/dev/null\ncase $IN in\n*original*) echo '{\"decision\": \"block\", \"reason\": \"seen by '$PWD'\"}';;\nesac\n";
    let config = "
agents:
  a: {default: true, tools: coding, approvals: {mode: 'off'}, hooks: {pre_tool_call: [{matcher: todo, command: 'sh ./guard.sh', timeout: 30s}]}}
  b: {tools: [todo]}
  crash: {tools: [todo], hooks: {pre_tool_call: [{command: 'echo oh dear >&2; exit 3', timeout: 30s}]}}
  hang: {tools: [todo], hooks: {pre_tool_call: [{command: 'sleep 600', timeout: 500ms}]}}
  nonsense: {tools: [todo], hooks: {pre_tool_call: [{command: 'echo sure', timeout: 30s}]}}
  lax: {tools: [todo], hooks: {pre_tool_call: [{command: 'exit 3', timeout: 30s, on_failure: allow}]}}
";
    let home = home([("config.yaml", config), ("agents/a/hooks/guard.sh", guard)]);
    let _daemon = start_still(&home);
    let said = todo(&home, "a");
    assert!(said.contains("seen by") && said.contains("agents/a/hooks"), "{said}");
    assert!(!home.has("agents/a/hooks/made"));
    let call = json!({ "command": "echo 'exit 0' > ../hooks/guard.sh; rm -f ../hooks/guard.sh" });
    insula(&home, &["chat", "--agent", "a", "-m", &format!("call terminal {call}")]).ok();
    assert_eq!(
        std::fs::read_to_string(home.path().join("agents/a/hooks/guard.sh")).unwrap(),
        guard
    );
    assert!(todo(&home, "b").contains("original"));
    for agent in ["crash", "hang", "nonsense"] {
        let said = todo(&home, agent);
        assert!(said.contains("a hook of this agent failed"), "{agent}: {said}");
        let context = json(&home, &["context", "show", agent]);
        assert_eq!(context["hooks"]["failures"], 1, "{context}");
    }
    let crashed = json(&home, &["context", "show", "crash"]);
    let last = crashed["hooks"]["last_failure"].as_str().unwrap();
    assert!(last.contains("ended with 3: oh dear"), "{last}");
    let said = todo(&home, "lax");
    assert!(said.contains("original") && !said.contains("refused"), "{said}");
}

#[test]
fn the_doctor_tells_of_hooks_that_failed() {
    let hook = "pre_tool_call: [{expr: \"metadata.gone == 'x'\"}]";
    let home = configured(&format!("agents:\n  a: {{tools: [todo], hooks: {{{hook}}}}}\n"));
    let _daemon = start_still(&home);
    assert!(todo(&home, "a").contains("a hook of this agent failed"));
    let doctor = insula(&home, &["doctor", "--json"]).stdout;
    assert!(doctor.contains("a: failed once, last pre_tool_call at config.yaml"), "{doctor}");
}

/// A server that says `answer` to whatever it is told, and passes on what that was.
fn server(answer: &'static str) -> (String, mpsc::Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = Vec::new();
            let mut piece = [0; 4096];
            let body = loop {
                let Ok(count) = stream.read(&mut piece) else { return };
                request.extend_from_slice(&piece[..count]);
                let text = String::from_utf8_lossy(&request);
                let Some((_, body)) = text.split_once("\r\n\r\n") else { continue };
                if let Ok(body) = serde_json::from_str::<Value>(body) {
                    break body;
                }
            };
            let _ = tell.send(body);
            let length = answer.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{answer}"
            );
        }
    });
    (url, told)
}

#[test]
fn a_server_guards_and_only_its_own_host_is_granted() {
    let (url, told) = server(r#"{"decision": "block", "reason": "the server says no"}"#);
    let config = format!(
        "agents:\n  a: {{default: true, tools: coding, hooks: {{pre_tool_call: [{{http: '{url}', timeout: 30s, matcher: todo}}]}}}}\n"
    );
    let home = configured(&config);
    let _daemon = start_still(&home);
    let said = todo(&home, "a");
    assert!(said.contains("the server says no"), "{said}");
    let told = told.recv().unwrap();
    assert_eq!(told["agent_id"], "a");
    assert_eq!(told["tool_input"]["todos"][0]["content"], "original");
    // The hook's host is not the agent's.
    let context = json(&home, &["context", "show", "a"]);
    assert_eq!(context["boundary"]["network"], json!([]));
}
