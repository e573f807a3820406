//! Logs of agents: whose lines go where, how many, how long, and what becomes of them.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests look at files")]

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

const MAY: i64 = 1_777_900_000_000;

fn id(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

fn lines(count: usize, at: i64) -> Waiting {
    let line = |number| (Timestamp::from_millis(at), format!("{{\"n\":{number}}}"));
    Waiting { lines: (0..count).map(line).collect(), left_out: 0 }
}

fn home() -> (TempDir, Home) {
    let folder = TempDir::new().unwrap();
    let home = Home::new(folder.path());
    fs::create_dir_all(home.agent(&id("a"))).unwrap();
    (folder, home)
}

#[test]
fn a_day_has_its_file_for_its_owner_alone() {
    let (_folder, home) = home();
    let day_ms = 24 * 60 * 60 * 1_000;
    write(&home, &id("a"), lines(2, MAY)).unwrap();
    write(&home, &id("a"), lines(1, MAY)).unwrap();
    write(&home, &id("a"), lines(1, MAY + day_ms)).unwrap();
    let folder = home.agent(&id("a"));
    assert_eq!(files::days(&folder), ["2026-05-04", "2026-05-05"]);
    let (text, end) = files::read(&folder, "2026-05-04", 0).unwrap();
    assert_eq!((text.lines().count(), end), (3, text.len() as u64));
    let mode = |path: &str| fs::metadata(folder.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("logs"), mode("logs/2026-05-04.jsonl")), (0o700, 0o600));
    let (rest, _) = files::read(&folder, "2026-05-04", end).unwrap();
    assert_eq!(rest, "");
}

#[test]
fn a_line_that_comes_late_brings_no_deleted_agent_back() {
    let (_folder, home) = home();
    fs::remove_dir_all(home.agent(&id("a"))).unwrap();
    write(&home, &id("a"), lines(1, MAY)).unwrap();
    assert!(!home.has_agent_folder(&id("a")));
}

#[test]
fn no_link_is_followed() {
    let (_folder, home) = home();
    let elsewhere = TempDir::new().unwrap();
    let logs = home.agent(&id("a")).join("logs");
    std::os::unix::fs::symlink(elsewhere.path(), &logs).unwrap();
    assert!(write(&home, &id("a"), lines(1, MAY)).is_err());
    assert!(files::days(&home.agent(&id("a"))).is_empty());
    fs::remove_file(&logs).unwrap();
    fs::create_dir(&logs).unwrap();
    let target = elsewhere.path().join("target");
    fs::write(&target, "mine").unwrap();
    std::os::unix::fs::symlink(&target, logs.join("2026-05-04.jsonl")).unwrap();
    assert!(write(&home, &id("a"), lines(1, MAY)).is_err());
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    assert!(files::read(&home.agent(&id("a")), "2026-05-04", 0).is_err());
}

#[test]
fn what_was_left_out_is_counted() {
    let (_folder, home) = home();
    write(&home, &id("a"), Waiting { left_out: 7, ..lines(1, MAY) }).unwrap();
    let (text, _) = files::read(&home.agent(&id("a")), "2026-05-04", 0).unwrap();
    assert!(text.lines().last().unwrap().contains("7 lines are left out"), "{text}");
}

#[test]
fn a_name_is_a_day_or_none_of_ours() {
    for (text, is) in
        [("2026-05-04", true), ("2026-5-4", false), ("..", false), ("2026-05-04x", false)]
    {
        assert_eq!(files::is_day(text), is, "{text}");
    }
}
