//! Credentials at the network's edge, through the real daemon and a real server: the host sees
//! the header, and the program, the model, the transcript and the records do not.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Home, run_with_input};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

const SECRET: &str = "hidden-91c2b7aa0d5e4f63a1b8";

/// A server on loopback that tells what it was sent, and sends it back.
fn echo() -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let len = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..len]).into_owned();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\nConnection: close\r\n");
            let _ = stream.write_all(format!("{head}\r\n{request}").as_bytes());
            if tell.send(request).is_err() {
                return;
            }
        }
    });
    (port, told)
}

fn sh(home: &Home, agent: &str, command: &str) -> String {
    let message = format!("call terminal {}", serde_json::json!({ "command": command }));
    insula(home, &["chat", "--agent", agent, "-m", &message]).ok().stdout
}

fn set(home: &Home, agent: &str) {
    let args = ["secret", "set", agent, "KEY"];
    run_with_input(INSULA, home.path(), &args, format!("{SECRET}\n")).ok();
}

#[test]
fn rule_12_the_host_sees_a_credential_and_nobody_else_does() {
    let ((port, told), (other, of_other)) = (echo(), echo());
    let allow = format!("allow: [\"127.0.0.1:{port}\", \"127.0.0.1:{other}\"]");
    let credential = format!(
        "{{host: \"127.0.0.1:{port}\", header: Authorization, value: \"Bearer ${{secret:KEY}}\", plain_http: true}}"
    );
    let home = configured(&format!(
        "approvals: {{mode: off}}\ndefaults: {{integrity: off}}\nagents:\n  a: {{default: true, tools: coding, secrets: [KEY], network: {{{allow}, credentials: [{credential}]}}}}\n  b: {{tools: coding, network: {{{allow}}}}}\n"
    ));
    let daemon = start_still(&home);
    let early = sh(&home, "a", "true");
    assert!(early.contains("`network.credentials`") && early.contains("KEY"), "{early}");
    set(&home, "a");
    // Its own header is replaced, and what the host sends back is redacted.
    let mine = format!("curl -sS -H 'Authorization: mine' http://127.0.0.1:{port}/; env");
    let said = sh(&home, "a", &mine);
    let seen = told.recv().unwrap().to_lowercase();
    assert!(seen.contains(&format!("authorization: bearer {SECRET}")), "{seen}");
    assert!(!seen.contains("mine"), "{seen}");
    assert!(!said.contains(SECRET) && said.contains("[secret]"), "{said}");
    // It goes to its own host and is its agent's own.
    sh(&home, "a", &format!("curl -sS http://127.0.0.1:{other}/"));
    assert!(!of_other.recv().unwrap().contains(SECRET));
    sh(&home, "b", &format!("curl -sS http://127.0.0.1:{port}/"));
    assert!(!told.recv().unwrap().contains(SECRET));
    let shown = insula(&home, &["context", "show", "a", "--json"]).ok().stdout;
    assert!(shown.contains("authorization") && !shown.contains(SECRET), "{shown}");
    // Programs could not have had it, and nothing keeps it.
    sh(&home, "a", "env > all; cat /proc/*/environ /proc/*/cmdline >> all 2>/dev/null");
    assert!(!daemon.log().contains(SECRET));
    daemon.terminate().unwrap();
    assert_eq!(holders(&home, SECRET), [""; 0].map(std::path::PathBuf::from));
}

#[test]
fn a_credential_is_not_sent_in_the_clear_unless_that_was_written() {
    let (port, told) = echo();
    let home = configured(&format!(
        "approvals: {{mode: off}}\nagents:\n  a: {{default: true, tools: coding, secrets: [KEY], network: {{allow: [\"127.0.0.1:{port}\"], credentials: [{{host: \"127.0.0.1:{port}\", header: X-Key, value: \"${{secret:KEY}}\"}}]}}}}\n"
    ));
    set(&home, "a");
    let _daemon = start_still(&home);
    sh(&home, "a", &format!("curl -sS http://127.0.0.1:{port}/"));
    let seen = told.recv().unwrap().to_lowercase();
    assert!(!seen.contains("x-key") && !seen.contains(SECRET), "{seen}");
}
