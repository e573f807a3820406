//! Part E of the gauntlet: every attempt to get out that the sandbox is tested with, made by an
//! agent's program, and shown to get through where the operator took the walls down.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and sockets and fail by panicking"
)]

use super::arena::{Arena, CANARY, Level, several};
use super::at_both_levels;
use insula_testkit::attempts::{GOT_THROUGH, NO_CONTROL, NOT_FOR_AGENTS, ORDINARY, PRELUDE};
use serde_json::{Value, json};

struct Attempt {
    group: &'static str,
    name: &'static str,
    /// It gets through where there are no walls.
    unconfined: bool,
    script: &'static str,
}

macro_rules! table {
    ($($group:ident { $($name:ident $(($flag:ident))? : $script:expr;)* })*) => {
        &[$($(Attempt {
            group: stringify!($group),
            name: stringify!($name),
            unconfined: false $(|| !stringify!($flag).is_empty())?,
            script: $script,
        },)*)*]
    };
}

const ATTEMPTS: &[Attempt] = insula_testkit::attempts!(table);

/// The one attempt that would end the shell around it, as it may, before it could tell.
const ENDS_ITS_SHELL: &str = "every_process_signalled";

/// What runs an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// As it is, by `execute_code`.
    Code,
    /// From a file that `write_file` made, by `terminal`.
    File,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Held,
    /// The gate did not even let it begin.
    AtTheGate,
    Broken(String),
    NotRun(String),
}

fn judge(said: &str) -> Verdict {
    let ended = said.contains("[exit status") || said.contains("[ended");
    if said.contains(CANARY) || said.contains(&format!("[exit status {GOT_THROUGH}]")) {
        Verdict::Broken(said.to_owned())
    } else if said.starts_with("refused: ") && said.contains("nobody can allow that") {
        Verdict::AtTheGate
    } else if !ended && said.lines().any(|line| line.starts_with("held")) {
        Verdict::Held
    } else {
        Verdict::NotRun(said.to_owned())
    }
}

impl Arena {
    fn attempt(&self, agent: &str, attempt: &Attempt, way: Way) -> Verdict {
        let first = match way {
            Way::Code => "3",
            // The shell of `terminal` has one more, to tell where it ended.
            Way::File => "4",
        };
        let aims = self.variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let aims = aims.chain([("FIRST_DESCRIPTOR".to_owned(), first.to_owned())]);
        let aims = Value::Object(aims.map(|(name, value)| (name, value.into())).collect());
        let program = format!("{PRELUDE}\nE = {aims}\n{}\n", attempt.script);
        let session = format!("{}-{way:?}", attempt.name);
        let results = match way {
            Way::Code => {
                let run = ("execute_code".to_owned(), json!({ "code": program }));
                self.stage.calls(agent, &session, vec![run])
            }
            Way::File => {
                let path = format!("attempts/{}.py", attempt.name);
                let deaf = if attempt.name == ENDS_ITS_SHELL { "trap '' TERM; " } else { "" };
                let command = format!("{deaf}python3 -I {path}");
                let write = json!({ "path": path, "content": program });
                let write = ("write_file".to_owned(), write);
                let run = ("terminal".to_owned(), json!({ "command": command }));
                self.stage.calls(agent, &session, vec![write, run])
            }
        };
        judge(results.last().unwrap())
    }
}

/// Makes every attempt of some groups; each has to be made, and none may get through.
fn make(level: Level, groups: &[&str]) {
    let arena = Arena::new(level);
    let all: Vec<(usize, &Attempt)> = ATTEMPTS
        .iter()
        .enumerate()
        .filter(|(_, attempt)| groups.contains(&attempt.group))
        .filter(|(_, attempt)| NOT_FOR_AGENTS.iter().all(|(name, _)| *name != attempt.name))
        .collect();
    let verdicts = several(&all, |(number, attempt)| {
        let agent = if attempt.group == "beside_a_proxy" { "proxied" } else { "a" };
        // Either way at one level, and the other way at the other.
        let as_code = (number % 2 == 0) == (level == Level::Root);
        if as_code {
            match arena.attempt(agent, attempt, Way::Code) {
                // The gate is no wall: what it does not read gets past it.
                Verdict::AtTheGate => {
                    println!("{}: refused at the gate", attempt.name);
                    arena.attempt(agent, attempt, Way::File)
                }
                verdict => verdict,
            }
        } else {
            arena.attempt(agent, attempt, Way::File)
        }
    });
    let mut failures = Vec::new();
    for ((_, attempt), verdict) in all.iter().zip(verdicts) {
        println!("{}: {verdict:?}", attempt.name);
        if verdict != Verdict::Held {
            failures.push(format!("{}: {verdict:?}", attempt.name));
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), all.len(), failures.join("\n"));
    arena.assert_undisturbed();
}

fn files(level: Level) {
    make(level, &["files"]);
}

fn processes_and_talk(level: Level) {
    make(level, &["processes", "talk"]);
}

fn network_and_exhaustion(level: Level) {
    make(level, &["network", "beside_a_proxy", "exhaustion"]);
}

fn the_kernel(level: Level) {
    make(level, &["kernel"]);
}

/// The same attempts get through without walls: what held them is the walls.
fn without_walls_they_get_through(level: Level) {
    let arena = Arena::new(level);
    let sample: Vec<&Attempt> = ATTEMPTS
        .iter()
        .filter(|attempt| match level {
            Level::Root => attempt.unconfined && !NO_CONTROL.contains(&attempt.name),
            Level::Ordinary => ORDINARY.contains(&attempt.name),
        })
        .collect();
    assert!(sample.len() >= 20, "{}", sample.len());
    let verdicts = several(&sample, |attempt| arena.attempt("open", attempt, Way::File));
    let mut failures = Vec::new();
    for (attempt, verdict) in sample.iter().zip(verdicts) {
        if !matches!(verdict, Verdict::Broken(_)) {
            failures.push(format!("{}: {verdict:?}", attempt.name));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        sample.len(),
        failures.join("\n")
    );
}

at_both_levels!(
    files,
    processes_and_talk,
    network_and_exhaustion,
    the_kernel,
    without_walls_they_get_through,
);

#[test]
fn every_attempt_is_made_here_or_listed_with_the_reason() {
    let made = ["files", "processes", "talk", "network", "beside_a_proxy", "exhaustion", "kernel"];
    let others = ATTEMPTS.iter().filter(|attempt| !made.contains(&attempt.group));
    assert_eq!(others.map(|attempt| attempt.name).collect::<Vec<_>>(), [""; 0]);
    for (name, reason) in NOT_FOR_AGENTS {
        println!("NOT RUN: {name}: {reason}");
        assert!(ATTEMPTS.iter().any(|attempt| attempt.name == name), "{name}");
    }
    assert!(ATTEMPTS.len() - NOT_FOR_AGENTS.len() >= 90);
}
