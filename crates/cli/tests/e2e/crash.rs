//! Kills at moments nobody chose: whatever was acknowledged is there afterwards, every chain
//! holds, and the next start needs no help.
//!
//! A few dozen kills here; `scripts/kill-campaign` runs as many as it is told.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and threads, and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Moments that differ from kill to kill and not from run to run.
struct Moments(u64);

impl Moments {
    fn next(&mut self, below: u64) -> u64 {
        // Knuth's multiplier; the high bits are good enough to choose a moment.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn within_ms(&mut self, below: u64) -> Duration {
        // In tenths, since a start has steps shorter than a millisecond.
        Duration::from_micros(self.next(below * 10) * 100)
    }
}

/// What must hold of any home that a daemon just started in.
fn assert_sound(home: &Home, when: &str) {
    assert_chains_hold(home);
    for (id, row) in agents(home) {
        assert!(
            ["ready", "paused"].contains(&row["state"].as_str().unwrap()),
            "{when}: {id}: {row}"
        );
    }
    let leftovers = everything_below(&home.path().join("agents"));
    let is_leftover = |path: &&PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
    };
    let leftovers: Vec<_> = leftovers.iter().filter(is_leftover).collect();
    assert!(leftovers.is_empty(), "{when}: {leftovers:?}");
}

/// Kills starts: of a new home, and then of the same one.
fn kill_starts(kills: u64, seed: u64) {
    let mut moments = Moments(seed);
    let mut home = Home::empty().unwrap();
    for kill in 0..kills {
        if kill % 4 == 0 {
            home = Home::empty().unwrap();
        }
        let starting = Daemon::spawn(INSULA, home.path(), &[]).unwrap();
        starting.kill9_after(moments.within_ms(120)).unwrap();
        if kill % 4 == 3 {
            let daemon = start(&home);
            assert_eq!(agents(&home).len(), 3, "the first start is complete");
            assert!(generations(&home).values().all(|generation| *generation == 1));
            for id in ["main", "coder", "family"] {
                assert!(home.has(&format!("agents/{id}/SOUL.md")), "{id}");
            }
            assert_sound(&home, &format!("after start {kill}"));
            assert_eq!(daemon.terminate().unwrap().code(), Some(0));
        }
    }
}

/// Kills a daemon while files change under it and it applies them.
fn kill_reloads(kills: u64, seed: u64) {
    const AGENTS: u64 = 20;
    let mut moments = Moments(seed);
    let home = Home::empty().unwrap();
    for number in 0..AGENTS {
        home.write(&format!("agents/a{number}/agent.yaml"), "tools: minimal\n").unwrap();
    }
    home.write("config.yaml", "store: {open_max: 4}\n").unwrap();
    let mut known: BTreeMap<String, u64> = BTreeMap::new();
    for kill in 0..kills {
        let daemon = start(&home);
        let stop = AtomicBool::new(false);
        let moment = moments.within_ms(300);
        thread::scope(|scope| {
            let editor = scope.spawn(|| {
                for round in 0.. {
                    for number in 0..AGENTS {
                        if stop.load(Ordering::SeqCst) {
                            return;
                        }
                        let soul = format!("kill {kill}, round {round}");
                        home.replace(&format!("agents/a{number}/SOUL.md"), soul).unwrap();
                        if number % 5 == 0 {
                            // A daemon that is gone answers nothing, or the command works alone.
                            let _ = insula(&home, &["reload"]);
                        }
                    }
                }
            });
            daemon.kill9_after(moment).unwrap();
            stop.store(true, Ordering::SeqCst);
            editor.join().unwrap();
        });
        let daemon = start(&home);
        let now = generations(&home);
        for (id, generation) in &known {
            assert!(
                now[id] >= *generation,
                "kill {kill}: {id} went back from {generation}: {now:?}"
            );
        }
        for number in [0, AGENTS - 1] {
            let soul = home.read(&format!("agents/a{number}/SOUL.md")).unwrap_or_default();
            let context = json(&home, &["context", "show", &format!("a{number}")]);
            let held = context["identity"]["soul"].as_str().unwrap();
            assert!(
                soul.is_empty() || held == soul,
                "kill {kill}: a{number} holds {held:?}, not {soul:?}"
            );
        }
        assert_sound(&home, &format!("after reload {kill}"));
        known = now;
        daemon.kill9().unwrap();
    }
}

/// What the test knows of an agent: only what was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Known {
    Ready,
    Paused,
    Absent,
}

/// Kills a daemon while agents are added, paused and deleted.
fn kill_storms(kills: u64, seed: u64) {
    let mut moments = Moments(seed);
    let home = configured("agents: {main: {default: true}}\n");
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    let mut name = 0;
    for kill in 0..kills {
        let daemon = start(&home);
        let stop = AtomicBool::new(false);
        let moment = moments.within_ms(200);
        // The one command that was cut off may have been done, or not.
        let mut in_doubt = None;
        thread::scope(|scope| {
            let storm = scope.spawn(|| {
                loop {
                    name += 1;
                    let id = format!("s{name}");
                    let old = format!("s{}", name - 2);
                    let steps: [(&[&str], &str, Known); 3] = [
                        (&["agents", "add", &id], &id, Known::Ready),
                        (&["agents", "pause", &id], &id, Known::Paused),
                        (&["agents", "delete", &old, "--yes"], &old, Known::Absent),
                    ];
                    for (command, id, becomes) in steps {
                        if stop.load(Ordering::SeqCst) {
                            return;
                        }
                        if becomes == Known::Absent
                            && known.get(id).is_none_or(|k| *k == Known::Absent)
                        {
                            continue;
                        }
                        if insula(&home, command).code == Some(0) {
                            known.insert(id.to_owned(), becomes);
                        } else {
                            in_doubt = Some(id.to_owned());
                            return;
                        }
                    }
                }
            });
            daemon.kill9_after(moment).unwrap();
            stop.store(true, Ordering::SeqCst);
            storm.join().unwrap();
        });
        let daemon = start(&home);
        let now = agents(&home);
        for (id, expected) in &mut known {
            let is = match now.get(id).map(|row| row["state"].as_str().unwrap()) {
                Some("ready") => Known::Ready,
                Some("paused") => Known::Paused,
                Some(other) => panic!("kill {kill}: {id} is {other}"),
                None => Known::Absent,
            };
            if in_doubt.as_ref() == Some(id) {
                *expected = is;
            }
            assert_eq!(is, *expected, "kill {kill}: {id}");
            let folder = home.path().join("agents").join(id);
            let left = everything_below(&folder);
            assert_eq!(folder.exists(), is != Known::Absent, "kill {kill}: {id}: {left:?}");
        }
        assert_sound(&home, &format!("after storm {kill}"));
        if let Some(id) = in_doubt.filter(|id| !known.contains_key(id)) {
            known.insert(
                id.clone(),
                if now.contains_key(&id) { Known::Ready } else { Known::Absent },
            );
        }
        daemon.terminate().unwrap();
    }
    assert!(
        known.values().any(|known| *known == Known::Paused),
        "nothing was acknowledged: {known:?}"
    );
}

#[test]
fn a_start_that_is_killed_leaves_a_home_that_starts() {
    kill_starts(12, 1);
}

#[test]
fn a_reload_that_is_killed_is_done_or_not_and_never_half() {
    kill_reloads(6, 2);
}

#[test]
fn what_was_acknowledged_before_a_kill_is_there_after_it() {
    kill_storms(8, 3);
}

#[test]
fn a_command_after_a_kill_works_beside_another_one() {
    // The file a killed daemon leaves names an address; nobody may look for it there.
    let home = configured("agents: {a: {}, b: {}}\n");
    start(&home).kill9().unwrap();
    assert!(home.has("run/daemon.json"));
    thread::scope(|scope| {
        for id in ["a", "b"] {
            let home = &home;
            scope.spawn(move || {
                for verb in ["pause", "resume", "archive", "resume", "pause"] {
                    insula(home, &["agents", verb, id]).ok();
                }
            });
        }
    });
    for id in ["a", "b"] {
        assert_eq!(state(&home, id), "paused");
    }
    assert_chains_hold(&home);
}

#[test]
fn a_daemon_starts_while_commands_come_and_go() {
    let home = configured("agents: {a: {}, b: {}}\n");
    insula(&home, &["agents", "list"]).ok();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                // One that meets a daemon in the moment it stops is told so, and no more.
                let output = insula(&home, &["agents", "list"]);
                let told = output.code == Some(1) && output.stderr.contains("does not answer");
                assert!(output.code == Some(0) || told, "{output:?}");
            }
        });
        for _ in 0..5 {
            assert_eq!(start(&home).terminate().unwrap().code(), Some(0));
        }
        stop.store(true, Ordering::SeqCst);
    });
}

/// `scripts/kill-campaign N` runs this.
#[test]
#[ignore = "takes as long as it is told; run it with scripts/kill-campaign"]
fn campaign() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let kills = number("INSULA_KILLS").expect("INSULA_KILLS says how many");
    let seed = number("INSULA_SEED").unwrap_or(1);
    kill_starts(kills / 3, seed);
    kill_reloads(kills / 3, seed.wrapping_add(1));
    kill_storms(kills - kills / 3 * 2, seed.wrapping_add(2));
}
