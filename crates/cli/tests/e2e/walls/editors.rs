//! Five conversations of one agent that edit the same files at the same time.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and sockets and fail by panicking"
)]

use super::arena::{HostSetup, Level, Stage};
use super::at_both_levels;
use super::puppet::Call;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Barrier};

const SESSIONS: usize = 5;
const FILES: usize = 20;

fn file(number: usize) -> String {
    format!("shared-{number:02}.txt")
}

/// What a conversation adds to each file.
fn line(session: usize) -> String {
    format!("line of session {session}")
}

/// One conversation: reads every file, and once all have, adds its line to each. What is
/// refused it reads again, and tries again.
struct Editor {
    session: usize,
    all_have_read: Arc<Barrier>,
    /// What each call that was made was about, in the order of their results.
    made: Vec<Doing>,
    /// What was read of each file that is still to be changed.
    seen: BTreeMap<usize, Option<String>>,
    refused: usize,
    met: bool,
}

#[derive(Clone, Copy)]
enum Doing {
    Reading(usize),
    Writing(usize),
}

impl Editor {
    fn new(session: usize, all_have_read: Arc<Barrier>) -> Self {
        let seen = (0..FILES).map(|number| (number, None)).collect();
        Self { session, all_have_read, made: Vec::new(), seen, refused: 0, met: false }
    }

    /// Takes down what came of the calls since.
    fn note(&mut self, results: &[String]) {
        let made = std::mem::take(&mut self.made);
        for (doing, said) in made.iter().zip(&results[results.len() - made.len()..]) {
            match *doing {
                Doing::Reading(number) => {
                    // Numbered, as the tool shows them.
                    let lines = said.lines().filter_map(|line| line.split_once('|'));
                    let text: String = lines.map(|(_, line)| format!("{line}\n")).collect();
                    assert!(text.starts_with("begin\n"), "{said}");
                    self.seen.insert(number, Some(text));
                }
                Doing::Writing(number) if said.starts_with("refused: ") => {
                    assert!(said.contains("read"), "it does not say what to do: {said}");
                    self.refused += 1;
                    self.seen.insert(number, None);
                }
                Doing::Writing(number) => {
                    self.seen.remove(&number);
                }
            }
        }
    }

    fn next(&mut self, results: &[String]) -> Vec<Call> {
        self.note(results);
        // Each begins with another file, so that they meet everywhere.
        let mut numbers: Vec<usize> = self.seen.keys().copied().collect();
        let turn_by = self.session * numbers.len() / SESSIONS;
        numbers.rotate_left(turn_by);
        let unread: Vec<usize> =
            numbers.iter().copied().filter(|number| self.seen[number].is_none()).collect();
        if !unread.is_empty() {
            self.made = unread.iter().map(|number| Doing::Reading(*number)).collect();
            let read = |number| ("read_file".to_owned(), json!({ "path": file(number) }));
            return unread.into_iter().map(read).collect();
        }
        if !std::mem::replace(&mut self.met, true) {
            self.all_have_read.wait();
        }
        self.made = numbers.iter().map(|number| Doing::Writing(*number)).collect();
        numbers.into_iter().map(|number| self.change(number)).collect()
    }

    fn change(&self, number: usize) -> Call {
        let text = self.seen[&number].clone().unwrap();
        let line = line(self.session);
        if (self.session + number).is_multiple_of(2) {
            let content = format!("{text}{line}\n");
            return ("write_file".to_owned(), json!({ "path": file(number), "content": content }));
        }
        let last = text.lines().last().unwrap();
        let new = format!("{last}\n{line}");
        let patch = json!({ "mode": "replace", "path": file(number), "old_string": last, "new_string": new });
        ("patch".to_owned(), patch)
    }
}

fn no_update_is_lost(level: Level) {
    let config = "agents:\n  a: {default: true, tools: coding}\n";
    let host = HostSetup::new(level, config);
    for number in 0..FILES {
        host.home.write(&format!("agents/a/workspace/{}", file(number)), "begin\n").unwrap();
    }
    host.give(host.home.path());
    let stage = Stage::open(host, &["a"]);
    let barrier = Arc::new(Barrier::new(SESSIONS));
    let refused = std::thread::scope(|threads| {
        let turns: Vec<_> = (0..SESSIONS)
            .map(|session| {
                let (stage, barrier) = (&stage, barrier.clone());
                threads.spawn(move || {
                    let editor = Arc::new(std::sync::Mutex::new(Editor::new(session, barrier)));
                    let plays = editor.clone();
                    stage.play("a", &format!("s{session}"), move |results| {
                        plays.lock().unwrap().next(results)
                    });
                    let editor = editor.lock().unwrap();
                    assert!(editor.seen.is_empty(), "session {session} left {:?}", editor.seen);
                    editor.refused
                })
            })
            .collect();
        turns.into_iter().map(|turn| turn.join().unwrap()).sum::<usize>()
    });
    for number in 0..FILES {
        let text = stage.host.home.read(&format!("agents/a/workspace/{}", file(number))).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.remove(0), "begin");
        lines.sort_unstable();
        let all: Vec<String> = (0..SESSIONS).map(line).collect();
        assert_eq!(lines, all, "{}: an update was lost", file(number));
    }
    // All had read all before anyone wrote: of each file only one first write was not stale.
    println!("{refused} stale writes were refused");
    assert!(refused >= FILES * (SESSIONS - 1), "{refused}");
}

at_both_levels!(no_update_is_lost);
