//! The daemon as something a machine runs: told to stop and to begin anew, watched by what started
//! it, described by a unit, and copied by accident.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and processes, and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Home, run_bare};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

const ONE: &str = "agents: {a: {model: [rehearsal/rehearsal]}}\n";

fn says(home: &Home, words: &str) -> String {
    insula(home, &["chat", "--agent", "a", "--session", "s", "-m", words]).ok().stdout
}

#[test]
fn a_daemon_that_is_told_to_stop_is_gone_when_the_command_ends() {
    let home = configured(ONE);
    let told = insula(&home, &["stop"]).ok().stdout;
    assert!(told.contains("no daemon runs"), "{told}");
    let daemon = start_still(&home);
    let told = json(&home, &["stop"]);
    assert_eq!((&told["stopped"], &told["pid"]), (&true.into(), &daemon.pid().into()));
    assert_eq!(insula(&home, &["status"]).code, Some(1));
    assert!(!home.path().join("run/daemon.json").exists());
    drop(start_still(&home));
}

#[test]
fn a_daemon_that_begins_anew_is_the_same_process_and_goes_on_with_its_conversations() {
    let home = configured(ONE);
    let refused = insula(&home, &["restart"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("insula up"), "{refused:?}");
    let daemon = start_still(&home);
    says(&home, "one");
    let before = token(&home);
    let told = json(&home, &["restart"]);
    assert_eq!(told["pid"], daemon.pid(), "{told}");
    assert_ne!(token(&home), before, "another start");
    says(&home, "two");
    let sessions = json(&home, &["sessions", "list", "a"]);
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
    assert_chains_hold(&home);
    // Once more, by what the first one left behind.
    json(&home, &["restart"]);
    says(&home, "three");
    assert!(daemon.terminate().unwrap().success());
}

#[test]
fn a_daemon_of_another_version_is_not_killed_by_a_restart() {
    let home = configured(ONE);
    let daemon = start_still(&home);
    let file = home.path().join("run/daemon.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"restarts\":true", "\"restarts\":false")).unwrap();
    let refused = insula(&home, &["restart"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("insula stop"), "{refused:?}");
    says(&home, "still there");
    drop(daemon);
}

#[test]
fn what_started_the_daemon_hears_that_it_is_ready_lives_begins_anew_and_ends() {
    let home = configured(ONE);
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(100))).unwrap();
    let hears = |wanted: &str| {
        loop {
            let mut bytes = [0; 4096];
            let count = socket.recv(&mut bytes).unwrap_or_else(|_| panic!("never {wanted}"));
            let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
            if text.lines().any(|line| line == wanted) {
                return text;
            }
        }
    };
    let mut child = Command::new(INSULA)
        .arg("--home")
        .arg(home.path())
        .args(["up", "--listen", "127.0.0.1:0", "--no-watch"])
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "300000")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ready = hears("READY=1");
    assert!(ready.contains("STATUS=http://127.0.0.1:") && ready.contains("1 agents"), "{ready}");
    hears("WATCHDOG=1");
    hears("WATCHDOG=1");
    json(&home, &["restart"]);
    // Never that it stops: what started it would then wait for its end, and kill it.
    let again = hears("RELOADING=1");
    assert!(again.contains("MONOTONIC_USEC="), "{again}");
    hears("READY=1");
    json(&home, &["stop"]);
    hears("STOPPING=1");
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_unit_is_one_that_systemd_understands() {
    let home = Home::empty().unwrap();
    for more in [&[][..], &["--system", "--user", "daemon"]] {
        let words: Vec<&str> =
            ["service", "install", "--print"].iter().chain(more).copied().collect();
        let unit = insula(&home, &words).ok().stdout;
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("insula.service");
        std::fs::write(&path, &unit).unwrap();
        let verified = Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .arg(&path)
            .output()
            .expect("systemd-analyze, of Debian's package systemd");
        let told = String::from_utf8_lossy(&verified.stderr);
        let ours = told.lines().filter(|line| line.contains("insula.service")).collect::<Vec<_>>();
        assert!(verified.status.success() && ours.is_empty(), "{told}\n{unit}");
    }
}

#[test]
fn what_is_no_service_of_ours_is_refused() {
    let home = Home::empty().unwrap();
    let refused = |words: &[&str], code: i32, why: &str| {
        let output = insula(&home, words);
        assert_eq!(output.code, Some(code), "{output:?}");
        assert!(output.stderr.contains(why), "{output:?}");
    };
    refused(&["service", "install", "--name", "../x", "--print"], 2, "is no name for a service");
    refused(&["service", "install", "--name=-x", "--print"], 2, "is no name for a service");
    refused(&["service", "install", "--user", "x", "--print"], 2, "--system");
    refused(&["service", "install", "--system", "--user", "a b", "--print"], 1, "can't be written");
    let place = tempfile::tempdir().unwrap();
    let unit = place.path().join("systemd/user/insula.service");
    std::fs::create_dir_all(unit.parent().unwrap()).unwrap();
    std::fs::write(&unit, "[Service]\nExecStart=/bin/true\n").unwrap();
    let variables = [("XDG_CONFIG_HOME", place.path().to_str().unwrap())];
    let path = home.path().to_str().unwrap().to_owned();
    let output = run_bare(INSULA, &variables, &["--home", &path, "service", "uninstall"]);
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("was not written by"), "{output:?}");
    assert!(unit.exists());
}

#[test]
fn a_home_that_was_copied_says_so_and_one_that_was_moved_does_not() {
    let home = configured(ONE);
    drop(start_still(&home));
    let copy = Home::empty().unwrap();
    let copied = Command::new("cp")
        .args(["-a", "--"])
        .arg(home.path().join("."))
        .arg(copy.path())
        .status()
        .unwrap();
    assert!(copied.success());
    let daemon = start_still(&copy);
    assert!(daemon.log().contains("is a copy of"), "{}", daemon.log());
    assert!(!daemon.log().contains("where a daemon runs"));
    drop(daemon);
    // Said once: from then on it is a home of its own.
    let daemon = start_still(&copy);
    assert!(!daemon.log().contains("is a copy of"), "{}", daemon.log());
    let third = Home::empty().unwrap();
    let copied = Command::new("cp")
        .args(["-a", "--"])
        .arg(copy.path().join("."))
        .arg(third.path())
        .status()
        .unwrap();
    assert!(copied.success());
    let other = start_still(&third);
    assert!(other.log().contains("where a daemon runs now"), "{}", other.log());
    drop((daemon, other));
}
