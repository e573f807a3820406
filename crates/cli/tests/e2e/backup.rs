//! Backups from outside: made while people talk, restored elsewhere, and told from what is none.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, sockets and threads, and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home, Output, run_with_input};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const PASSPHRASE: &str = "four words of mine";

/// Agents that are talked to at once.
const AGENTS: [&str; 3] = ["ann", "bob", "cid"];

fn config() -> String {
    let agents = AGENTS.map(|id| format!("  {id}: {{memory: true, model: rehearsal/practice}}\n"));
    format!("agents:\n{}", agents.concat())
}

fn sealed(home: &Home, args: &[&str], passphrase: &str) -> Output {
    run_with_input(INSULA, home.path(), args, format!("{passphrase}\n"))
}

fn backup(home: &Home, file: &Path) -> Value {
    sealed(home, &["backup", file.to_str().unwrap(), "--json"], PASSPHRASE).ok().json()
}

/// A home that is not there yet, below another folder.
fn elsewhere(folder: &Home) -> PathBuf {
    folder.path().join("elsewhere")
}

/// One turn over the API.
fn say(daemon: &Daemon, token: &str, agent: &str, text: &str) -> bool {
    let body = json!({ "model": agent, "messages": [{ "role": "user", "content": text }] });
    let token = format!("Authorization: Bearer {token}");
    let headers = [token.as_str(), "X-Insula-Session: talk", "Content-Type: application/json"];
    send(daemon.listen(), "POST", "/v1/chat/completions", &headers, &body.to_string()).status == 200
}

fn now_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

fn made_token(home: &Home, agent: &str) -> String {
    let made = crate::support::json(home, &["token", "create", "--agent", agent]);
    made["token"].as_str().unwrap().to_owned()
}

/// What an agent was told, from its database.
fn heard(home: &Path, agent: &str) -> String {
    let file = home.join("agents").join(agent).join("agent.db");
    let sql = rusqlite::Connection::open(file).unwrap();
    let mut statement = sql.prepare("SELECT parts FROM message").unwrap();
    let rows = statement.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    rows.map(|row| text(row.unwrap())).collect::<Vec<_>>().join("\n")
}

#[test]
fn whatever_was_acknowledged_before_its_moment_is_in_a_backup_made_under_load() {
    let home = configured(&config());
    let folder = Home::empty().unwrap();
    let daemon = start_still(&home);
    let tokens = AGENTS.map(|id| made_token(&home, id));
    insula(&home, &["memory", "list", "ann"]).ok();
    assert!(say(&daemon, &tokens[0], "ann", "remember that the cat is called Tomkin"));
    run_with_input(INSULA, home.path(), &["secret", "set", "ann", "KEY"], "s3cr3t-of-ann-0123")
        .ok();

    let (stop, acknowledged) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let file = folder.path().join("home.backup");
    let (before, made) = thread::scope(|scope| {
        for (agent, token) in AGENTS.iter().zip(&tokens) {
            let (daemon, stop, acknowledged) = (&daemon, &stop, &acknowledged);
            scope.spawn(move || {
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let text = format!("word {number} for {agent}.");
                    assert!(say(daemon, token, agent, &text));
                    acknowledged.lock().unwrap().push((*agent, text, now_ms()));
                }
            });
        }
        let enough = || {
            let said = acknowledged.lock().unwrap();
            AGENTS.iter().all(|id| said.iter().filter(|(agent, ..)| agent == id).count() > 3)
        };
        while !enough() {
            thread::yield_now();
        }
        let before = acknowledged.lock().unwrap().len();
        let made = backup(&home, &file);
        let counted = acknowledged.lock().unwrap().len();
        // They went on talking while it was made.
        while acknowledged.lock().unwrap().len() < counted + 3 {
            thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
        (before, made)
    });
    daemon.kill9().unwrap();
    assert_eq!(made["databases"], AGENTS.len() + 1, "{made}");
    assert!(!home.has("run/backup/databases"));

    let checked =
        sealed(&folder, &["restore", "--check", file.to_str().unwrap(), "--json"], PASSPHRASE);
    let checked = checked.ok().json();
    assert_eq!((&checked["ok"], &checked["restored"]), (&json!(true), &json!(false)), "{checked}");

    let target = elsewhere(&folder);
    let args = ["restore", file.to_str().unwrap(), "--json"];
    let restored = run_with_input(INSULA, &target, &args, PASSPHRASE).ok().json();
    assert_eq!(restored["ok"], true, "{restored}");
    let moment: insula_world::Timestamp = made["as_of"].as_str().unwrap().parse().unwrap();
    let acknowledged = acknowledged.into_inner().unwrap();
    let due = acknowledged.iter().filter(|(.., at)| *at < moment.as_millis()).collect::<Vec<_>>();
    assert!(due.len() >= before, "{} of {before}", due.len());
    for (agent, text, _) in due {
        assert!(heard(&target, agent).contains(text.as_str()), "{agent} was not told {text}");
    }
    // The original is out of the way, as after a loss.
    drop(home);
    let daemon = Daemon::start_with(INSULA, &target, &["--no-watch"]).unwrap();
    let verified = insula_testkit::run(INSULA, &target, &["audit", "verify", "--json"]).ok().json();
    assert!(!verified.to_string().contains("\"ok\":false"), "{verified}");
    for (agent, token) in AGENTS.iter().zip(&tokens) {
        assert!(say(&daemon, token, agent, "are you there?"), "{agent}");
    }
    let listed = insula_testkit::run(INSULA, &target, &["memory", "list", "ann", "--json"]).ok();
    assert!(listed.stdout.contains("Tomkin"), "{}", listed.stdout);
    let secrets = insula_testkit::run(INSULA, &target, &["secret", "list", "ann", "--json"]).ok();
    assert!(secrets.stdout.contains("KEY"), "{}", secrets.stdout);
    drop(daemon);
}

/// All files below a folder, and what is in them.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let found = everything_below(folder).into_iter().filter(|path| path.is_file());
    found
        .map(|path| (path.strip_prefix(folder).unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect()
}

#[test]
fn a_home_without_a_daemon_comes_back_file_by_file() {
    let home = home([
        ("config.yaml", "agents:\n  ann: {model: rehearsal/practice}\n"),
        ("agents/ann/SOUL.md", "You are Ann.\n"),
        ("agents/ann/workspace/notes/a.txt", "a\n"),
    ]);
    insula(&home, &["agents", "list"]).ok();
    let folder = Home::empty().unwrap();
    let file = folder.path().join("home.backup");
    backup(&home, &file);
    let target = elsewhere(&folder);
    run_with_input(INSULA, &target, &["restore", file.to_str().unwrap()], PASSPHRASE).ok();
    let (before, after) = (files(home.path()), files(&target));
    let kept =
        |path: &&PathBuf| !path.starts_with("run") && path.extension().is_none_or(|it| it != "db");
    for path in before.keys().filter(kept) {
        assert_eq!(before[path], after[path], "{}", path.display());
    }
    let strangers: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    assert!(strangers.iter().all(|path| path.starts_with("run")), "{strangers:?}");

    // It says where it came from, as the other is still there.
    let daemon = Daemon::start(INSULA, &target).unwrap();
    assert!(daemon.log().contains("is a copy of"), "{}", daemon.log());
}

#[test]
fn what_is_no_whole_backup_is_refused_and_writes_nothing() {
    let home = configured("agents:\n  ann: {model: rehearsal/practice}\n");
    insula(&home, &["agents", "list"]).ok();
    let folder = Home::empty().unwrap();
    let place = |name: &str| folder.path().join(name);
    let file = place("home.backup");
    backup(&home, &file);
    let whole = fs::read(&file).unwrap();
    fs::write(place("cut"), &whole[..whole.len() - 100]).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    fs::write(place("changed"), changed).unwrap();
    fs::write(place("foreign"), b"something else").unwrap();
    fs::write(place("empty"), b"").unwrap();

    let target = elsewhere(&folder);
    for check in [&[][..], &["--check"]] {
        for (name, passphrase, said) in [
            ("cut", PASSPHRASE, "damaged or cut off"),
            ("changed", PASSPHRASE, "damaged or cut off"),
            ("foreign", PASSPHRASE, "no file that insula packed"),
            ("empty", PASSPHRASE, "it is empty"),
            ("absent", PASSPHRASE, "can't be read"),
            ("home.backup", "another passphrase", "the passphrase does not open"),
        ] {
            let path = place(name);
            let args = [&["restore", path.to_str().unwrap()], check].concat();
            let output = run_with_input(INSULA, &target, &args, passphrase);
            assert_eq!(output.code, Some(1), "{name}: {output:?}");
            assert!(output.stderr.contains(said), "{name}: {}", output.stderr);
            assert!(!target.exists(), "{name} {check:?}");
        }
    }
    // A home that is in use is not written over, with whatever is in it.
    let before = files(home.path());
    let output = sealed(&home, &["restore", file.to_str().unwrap()], PASSPHRASE);
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("is not empty"), "{}", output.stderr);
    assert_eq!(files(home.path()), before);
}

#[test]
fn a_backup_is_made_whole_or_not_at_all() {
    let home = configured("agents:\n  ann: {model: rehearsal/practice}\n");
    insula(&home, &["agents", "list"]).ok();
    let folder = Home::empty().unwrap();
    let file = folder.path().join("home.backup");
    let path = file.to_str().unwrap();
    let weak = sealed(&home, &["backup", path], "short");
    assert_eq!(weak.code, Some(2), "{weak:?}");
    assert!(weak.stderr.contains("at least 8 characters"), "{}", weak.stderr);
    let inside = home.path().join("home.backup");
    let inside = sealed(&home, &["backup", inside.to_str().unwrap()], PASSPHRASE);
    assert_eq!(inside.code, Some(2), "{inside:?}");
    let nowhere = sealed(&folder, &["backup", path], PASSPHRASE);
    assert!(nowhere.stderr.contains("there is no home"), "{}", nowhere.stderr);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    backup(&home, &file);
    let again = sealed(&home, &["backup", path], PASSPHRASE);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_chain_that_was_broken_before_the_backup_is_told_and_restored_only_if_wanted() {
    let home = configured("agents:\n  ann: {model: rehearsal/practice}\n");
    insula(&home, &["agents", "pause", "ann"]).ok();
    insula(&home, &["agents", "resume", "ann"]).ok();
    let sql = rusqlite::Connection::open(home.path().join("insula.db")).unwrap();
    sql.execute_batch(
        "DROP TRIGGER audit_changes_only_by_erasure;
         UPDATE audit SET actor = 'mallory' WHERE seq = 1;",
    )
    .unwrap();
    drop(sql);
    let folder = Home::empty().unwrap();
    let file = folder.path().join("home.backup");
    backup(&home, &file);
    let path = file.to_str().unwrap();
    let checked = sealed(&folder, &["restore", "--check", path, "--json"], PASSPHRASE);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert_eq!(checked.json()["daemon"]["broken_at"], 1, "{}", checked.stdout);
    let target = elsewhere(&folder);
    let refused = run_with_input(INSULA, &target, &["restore", path], PASSPHRASE);
    assert!(refused.stderr.contains("does not hold"), "{}", refused.stderr);
    assert!(!target.exists());
    let args = ["restore", path, "--accept-broken-audit"];
    run_with_input(INSULA, &target, &args, PASSPHRASE).ok();
    assert!(target.join("config.yaml").is_file());
}

/// Writes over a part of an agent's database, behind its header.
fn damage(home: &Path, agent: &str, from: usize) {
    let file = home.join("agents").join(agent).join("agent.db");
    let mut bytes = fs::read(&file).unwrap();
    bytes[from..].fill(0xa5);
    fs::write(&file, bytes).unwrap();
}

#[test]
fn a_damaged_database_is_told_and_keeps_nobody_else_from_coming_back() {
    // Behind the pages that opening it reads, and so that it can't be opened at all.
    for from in [4096, 20] {
        let home = configured(&config());
        let daemon = start_still(&home);
        for agent in ["ann", "bob"] {
            insula(&home, &["chat", "--agent", agent, "-m", "hello"]).ok();
        }
        daemon.terminate().unwrap();
        damage(home.path(), "ann", from);
        let folder = Home::empty().unwrap();
        let file = folder.path().join("home.backup");
        let made = sealed(&home, &["backup", file.to_str().unwrap(), "--json"], PASSPHRASE);
        assert_eq!(made.code, Some(1), "{made:?}");
        let told = made.json();
        assert_eq!(told["damaged"][0]["whose"], "agent `ann`", "{told}");
        assert_eq!(told["damaged"].as_array().unwrap().len(), 1, "{told}");
        let path = file.to_str().unwrap();
        let checked = sealed(&folder, &["restore", "--check", path, "--json"], PASSPHRASE);
        assert_eq!(checked.code, Some(1), "{checked:?}");
        let found = checked.json();
        assert_eq!(found["damaged"][0]["whose"], "agent `ann`", "{found}");
        let is_fine = |agent: &str| found["agents"][agent]["ok"] == true;
        assert_eq!(["ann", "bob", "cid"].map(is_fine), [false, true, true], "{found}");
        let target = elsewhere(&folder);
        let restored = run_with_input(INSULA, &target, &["restore", path], PASSPHRASE).ok();
        assert!(restored.stderr.contains("agent `ann`"), "{restored:?}");
        drop(home);
        let _daemon = Daemon::start_with(INSULA, &target, &["--no-watch"]).unwrap();
        let say = |agent: &str| {
            insula_testkit::run(INSULA, &target, &["chat", "--agent", agent, "-m", "hello"])
        };
        say("bob").ok();
        let refused = say("ann");
        assert!(refused.stderr.contains("damaged"), "{refused:?}");
    }
}

#[test]
fn agents_that_were_never_talked_to_are_in_a_backup() {
    let home = configured(&config());
    insula(&home, &["agents", "list"]).ok();
    start_still(&home).terminate().unwrap();
    let folder = Home::empty().unwrap();
    let file = folder.path().join("home.backup");
    backup(&home, &file);
    let args = ["restore", "--check", file.to_str().unwrap()];
    let told = sealed(&folder, &args, PASSPHRASE).ok().stdout;
    assert!(told.contains("3 agents"), "{told}");
    let told = sealed(&folder, &[&args[..], &["--json"]].concat(), PASSPHRASE).ok().json();
    assert_eq!(told["agents"].as_object().unwrap().len(), 3, "{told}");
}
