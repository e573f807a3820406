//! Programs gone wild, beside an agent that goes on with its work.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and sockets and fail by panicking"
)]

use super::arena::{HostSetup, Level, Stage, process};
use super::at_both_levels;
use crate::support::*;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};

/// Each with its time and the words that say how it ended. `MARK` tells one daemon's from
/// another's.
const WILD: [(&str, &str, u64, &str); 9] = [
    (
        "a flood of output",
        "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo at the end",
        60,
        "at the end",
    ),
    ("a flood without end", "yes MARK", 2, "ran longer than 2 s"),
    (
        "a fork bomb",
        "echo 'import os\nwhile True:\n    try: os.fork()\n    except OSError: pass' > bomb.py; python3 bomb.py MARK",
        2,
        "ran longer than 2 s",
    ),
    ("a memory hog", "python3 -c 'x = bytearray(10 ** 9)'", 60, "[exit status 1]"),
    (
        "a family of memory hogs",
        "python3 -c 'import os, time\nfor _ in range(3): os.fork()\nx = bytearray(10 ** 8)\ntime.sleep(60)' MARK",
        5,
        "[",
    ),
    (
        "a process that ignores signals",
        "trap '' TERM INT HUP QUIT; while :; do sleep MARK; done",
        2,
        "ran longer than 2 s",
    ),
    (
        "a daemonised grandchild",
        "(setsid sh -c 'trap \"\" TERM HUP; sleep MARK' >/dev/null 2>&1 </dev/null &); echo away",
        60,
        "away",
    ),
    ("a file without end", "yes > endless", 60, "80 MB"),
    ("a loop without end", "python3 -c 'while True: pass' MARK", 60, "processor time"),
];

fn wild_programs_end_and_nobody_else_notices(level: Level) {
    let limits = "sandbox: {memory: 200MB, processes: 40, file_size: 80MB, output: 100KB, wall_clock: 60s, cpu_time: 2s}";
    let host = HostSetup::new(
        level,
        &format!(
            "approvals: {{mode: off}}\nagents:\n  a: {{default: true, tools: coding, {limits}}}\n  b: {{tools: coding}}\n"
        ),
    );
    let mark = format!("1{}", host.puppet.port);
    let stage = Stage::open(host, &["a", "b"]);
    let over = AtomicBool::new(false);
    let (answers, turns) = std::thread::scope(|threads| {
        let calm = threads.spawn(|| {
            let mut turns = 0;
            while !over.load(Ordering::Relaxed) || turns == 0 {
                let said = stage.sh("b", "calm", &format!("echo turn {turns}"));
                assert_eq!(said, format!("turn {turns}\n"));
                turns += 1;
            }
            turns
        });
        let answers = WILD.map(|(name, command, seconds, _)| {
            let command = command.replace("MARK", &mark);
            let wish = json!({ "command": command, "timeout": seconds });
            stage.call("a", name, "terminal", wish)
        });
        over.store(true, Ordering::Relaxed);
        (answers, calm.join().unwrap())
    });
    for ((name, _, _, expected), said) in WILD.iter().zip(answers) {
        let end: String =
            said.chars().rev().take(300).collect::<Vec<_>>().into_iter().rev().collect();
        println!("{name}: {end}");
        assert!(said.contains(expected), "{name}: {end}");
        assert!(said.len() < 60_000, "{name}: {} bytes", said.len());
    }
    println!("{turns} turns beside them");
    // Nothing of it is left.
    for words in [format!("sleep {mark}"), format!("yes {mark}"), format!("python3 bomb.py {mark}")]
    {
        eventually(&format!("the end of `{words}`"), || process(&words).is_none().then_some(()));
    }
    let endless = stage.host.home.path().join("agents/a/workspace/endless");
    assert!(std::fs::metadata(endless).unwrap().len() <= 80_000_000);
    assert_eq!(stage.sh("a", "after", "echo again"), "again\n");
}

at_both_levels!(wild_programs_end_and_nobody_else_notices);
