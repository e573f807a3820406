//! The daemon's helper, tried on a script that behaves as told.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use insula_testkit::{Daemon, Home, run};
use std::os::unix::process::ExitStatusExt as _;

const FAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake-insula.sh");

fn home(behave: &str) -> Home {
    Home::with([("behave", behave), ("code", "0")]).unwrap()
}

#[test]
fn a_daemon_is_ready_when_it_says_so_and_ends_when_asked() {
    for behave in ["serve", "late"] {
        let home = home(behave);
        let daemon = Daemon::start(FAKE, home.path()).unwrap();
        assert_eq!(daemon.listen().to_string(), "127.0.0.1:4711");
        assert!(daemon.log().contains("ready on"));
        assert_eq!(daemon.terminate().unwrap().code(), Some(0));
    }
}

#[test]
fn a_file_left_by_an_earlier_daemon_is_not_believed() {
    let home = home("crash");
    home.write("run/daemon.json", r#"{"pid": 1, "listen": "127.0.0.1:1"}"#).unwrap();
    let error = Daemon::start(FAKE, home.path()).err().unwrap().to_string();
    assert!(error.contains("it ended before it was ready"), "{error}");
    assert!(error.contains("error: no such thing"), "{error}");
}

#[test]
fn a_kill_leaves_no_time_for_a_handler() {
    let home = home("serve");
    let daemon = Daemon::start(FAKE, home.path()).unwrap();
    assert_eq!(daemon.kill9().unwrap().signal(), Some(9));
}

#[test]
fn a_hang_up_is_delivered() {
    let home = home("serve");
    let daemon = Daemon::start(FAKE, home.path()).unwrap();
    daemon.hang_up().unwrap();
    assert_eq!(daemon.wait_for_line("reloaded").unwrap(), "reloaded");
}

#[test]
fn a_command_leaves_its_code_and_both_outputs() {
    let home = home("serve");
    let output = run(FAKE, home.path(), &["agents", "list", "--json"]).ok();
    assert_eq!(output.json()["args"], "agents list --json");
    assert_eq!(output.stderr, "a word on stderr\n");
    home.write("code", "2").unwrap();
    assert_eq!(run(FAKE, home.path(), &["check"]).code, Some(2));
}
