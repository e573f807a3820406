//! Programs gone wild: each ends, leaves nothing behind, and an agent beside it goes on.

use super::arena::{ATTACKER, Level, surrounded};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside;
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::Result;
use insula_testkit::Home;
use serde_json::{Value, json};

/// Low enough to be reached quickly.
const LIMITS: &str = "sandbox: {memory: 200MB, processes: 40, file_size: 80MB, growth: 60MB, new_files: 3000, output: 100KB, wall_clock: 60s, cpu_time: 2s, descriptors: 64}";

/// The longest that a model is told of a flood, in bytes.
const TOLD_MAX: usize = 60_000;

/// What this scene has of its own.
struct Wild {
    missing: Option<String>,
    /// In every command line, to tell this daemon's from another's.
    mark: String,
    _outside: Home,
}

/// A program, its time, and the words that say how it ended.
struct Program {
    command: &'static str,
    /// How long it may run.
    seconds: u64,
    ends: &'static str,
    /// Command lines of which nothing may be left.
    leaves: &'static [&'static str],
}

/// Raises the ground with the daemon as root.
pub fn as_root(stage: &Stage) -> Result<Ground> {
    raise(stage, Level::Root)
}

/// Raises the ground with the daemon as an ordinary user.
pub fn as_ordinary_user(stage: &Stage) -> Result<Ground> {
    raise(stage, Level::Ordinary)
}

fn raise(stage: &Stage, level: Level) -> Result<Ground> {
    let outside = Home::empty()?;
    let folder = machine::real(outside.path())?;
    beside::set_mode(&folder, 0o777)?;
    let random = stage.random(&["wild", &folder.display().to_string()]);
    let digits = random.bytes().fold(0_u64, |sum, byte| (sum * 31 + u64::from(byte)) % 900_000);
    let stage = surrounded(stage, &folder, level, "CANARY", None)?;
    let server = "mcp_servers: {x: {command: python3, args: ['-I', attacker.py, serve]}}";
    let both = "tools: {profile: coding, also_allow: ['mcp__x__*']}";
    let plan = Plan::new()
        .top("approvals: {mode: off}\nstore: {durability: process}")
        .agent("a", &format!("{both}, {LIMITS}, {server}"))
        .agent("b", "tools: coding")
        .file("agents/a/workspace/attacker.py", ATTACKER);
    let missing = (level == Level::Root && !machine::is_root())
        .then(|| "the gauntlet does not run as root, so neither does the daemon".to_owned());
    let wild = Wild { missing, mark: (1_000_000 + digits).to_string(), _outside: outside };
    Ok(Ground::raise(&stage, plan)?.with(wild))
}

/// One turn of the neighbour's; whether it went as it always does.
fn neighbour_works(ground: &Ground) -> Result<bool> {
    Ok(ground.shell("b", "calm", "echo calm")? == "calm\n")
}

/// What is left of programs with these command lines.
fn left(lines: &[&str], mark: &str) -> Option<String> {
    let lines: Vec<String> = lines.iter().map(|line| line.replace("MARK", mark)).collect();
    let gone = || lines.iter().all(|line| beside::process(line).is_none()).then_some(());
    match beside::within(machine::PATIENCE, gone) {
        Some(()) => None,
        None => Some(lines.join(", ")),
    }
}

fn by_shell(ground: &Ground, program: &Program) -> Outcome {
    let wild: &Wild = ground.own()?;
    if let Some(why) = &wild.missing {
        return Ok(Verdict::NotRun(why.clone()));
    }
    control!(neighbour_works(ground)?, "the neighbour does not work before it");
    let command = program.command.replace("MARK", &wild.mark);
    let wish = json!({ "command": command, "timeout": program.seconds });
    let (said, worked) =
        machine::both(|| ground.call("a", "wild", "terminal", wish), || neighbour_works(ground))?;
    let (said, worked) = (said?, worked?);
    let end: String = said.chars().rev().take(300).collect::<Vec<_>>().into_iter().rev().collect();
    hold!(said.contains(program.ends), "it did not end as it has to: {end}");
    hold!(said.len() < TOLD_MAX, "the model was told {} bytes", said.len());
    hold!(worked, "the neighbour was disturbed meanwhile");
    if let Some(left) = left(program.leaves, &wild.mark) {
        return Ok(Verdict::Broken(format!("still there: {left}")));
    }
    hold!(neighbour_works(ground)?, "the neighbour is disturbed after it");
    let again = ground.shell("a", "after", "echo again")?;
    hold!(again == "again\n", "its own agent can't go on: {again}");
    Ok(Verdict::Held)
}

fn by_server(ground: &Ground, script: &str, leaves: &[&str]) -> Outcome {
    let wild: &Wild = ground.own()?;
    if let Some(why) = &wild.missing {
        return Ok(Verdict::NotRun(why.clone()));
    }
    control!(neighbour_works(ground)?, "the neighbour does not work before it");
    let script = script.replace("MARK", &wild.mark);
    let batch = json!({ "prelude": "import os, sys, time, signal", "aims": {}, "attempts": [["wild", script]] });
    let wish = json!({ "batch": batch.to_string() });
    let (said, worked) = machine::both(
        || ground.call("a", "wild", "mcp__x__attempt", wish),
        || neighbour_works(ground),
    )?;
    let (said, worked) = (said?, worked?);
    hold!(!said.contains("GOT THROUGH"), "it got what it wanted: {said}");
    hold!(said.len() < TOLD_MAX, "the model was told {} bytes", said.len());
    hold!(worked, "the neighbour was disturbed meanwhile");
    // Its server ends with the pause of its agent, and all that it started.
    for change in ["pause", "resume"] {
        let answer = ground.admin("POST", &format!("/api/agents/a/{change}"), &Value::Null)?;
        control!(answer.status == 200, "{change}: {answer:?}");
    }
    if let Some(left) = left(leaves, &wild.mark) {
        return Ok(Verdict::Broken(format!("still there: {left}")));
    }
    hold!(neighbour_works(ground)?, "the neighbour is disturbed after it");
    Ok(Verdict::Held)
}

/// How much is in the folder of the wild one.
fn taken(ground: &Ground) -> Result<(u64, usize)> {
    let files = machine::files_below(&ground.path("agents/a/workspace")?);
    Ok((files.iter().map(|path| beside::length(path)).sum(), files.len()))
}

fn bounded(ground: &Ground, command: &'static str, bytes_max: u64, files_max: usize) -> Outcome {
    let program = Program { command, seconds: 60, ends: "[", leaves: &[] };
    let verdict = by_shell(ground, &program)?;
    // What it closed is counted too, by whoever may not look into it.
    ground.shell("a", "opens", "chmod -R u+rwx .")?;
    let (bytes, files) = taken(ground)?;
    ground.shell("a", "tidy", "rm -rf many filler")?;
    hold!(bytes < bytes_max, "{bytes} bytes were written");
    hold!(files < files_max, "{files} files were made");
    Ok(verdict)
}

/// Attempts of both kinds of daemons: a name, and what is done.
macro_rules! programs {
    ($who:literal) => {
        &[
            Attempt {
                row: "E6",
                variant: concat!("a flood of output (shell tool, ", $who, ")"),
                run: |ground| by_shell(ground, &FLOOD),
            },
            Attempt {
                row: "E6",
                variant: concat!("a flood without end (shell tool, ", $who, ")"),
                run: |ground| by_shell(ground, &ENDLESS),
            },
            Attempt {
                row: "E6",
                variant: concat!("a fork bomb (shell tool, ", $who, ")"),
                run: |ground| by_shell(ground, &BOMB),
            },
            Attempt {
                row: "E6",
                variant: concat!("1 GiB of memory (shell tool, ", $who, ")"),
                run: |ground| by_shell(ground, &HOG),
            },
            Attempt {
                row: "E6",
                variant: concat!("a family of memory hogs (shell tool, ", $who, ")"),
                run: |ground| by_shell(ground, &HOGS),
            },
            Attempt {
                row: "E6",
                variant: concat!("a process that ignores SIGTERM (shell tool, ", $who, ")"),
                run: |ground| by_shell(ground, &DEAF),
            },
            Attempt {
                row: "E6",
                variant: concat!("a daemonised grandchild (shell tool, ", $who, ")"),
                run: |ground| by_shell(ground, &GRANDCHILD),
            },
            Attempt {
                row: "E6",
                variant: concat!("a loop without end (shell tool, ", $who, ")"),
                run: |ground| by_shell(ground, &LOOP),
            },
            Attempt {
                row: "E6",
                variant: concat!("a file without end (shell tool, ", $who, ")"),
                run: |ground| {
                    bounded(ground, "mkdir -p filler; yes > filler/endless", 100_000_000, 1_000)
                },
            },
            Attempt {
                row: "E6",
                variant: concat!("the disk filled by many files (shell tool, ", $who, ")"),
                run: |ground| bounded(ground, FILLED, 400_000_000, 1_000),
            },
            Attempt {
                row: "E6",
                variant: concat!("the disk filled below deep folders (shell tool, ", $who, ")"),
                run: |ground| bounded(ground, DEEP, 290_000_000, 1_000),
            },
            Attempt {
                row: "E6",
                variant: concat!("the disk filled in a closed folder (shell tool, ", $who, ")"),
                run: |ground| bounded(ground, CLOSED, 290_000_000, 1_000),
            },
            Attempt {
                row: "E1",
                variant: concat!("a million small files (shell tool, ", $who, ")"),
                run: |ground| bounded(ground, MILLION, 400_000_000, 500_000),
            },
            Attempt {
                row: "E6",
                variant: concat!("a fork bomb (MCP server, ", $who, ")"),
                run: |ground| by_server(ground, SERVER_BOMB, &["sleep MARK"]),
            },
            Attempt {
                row: "E6",
                variant: concat!("1 GiB of memory (MCP server, ", $who, ")"),
                run: |ground| by_server(ground, SERVER_HOG, &[]),
            },
            Attempt {
                row: "E6",
                variant: concat!(
                    "a daemonised grandchild that ignores SIGTERM (MCP server, ",
                    $who,
                    ")"
                ),
                run: |ground| by_server(ground, SERVER_GRANDCHILD, &["sleep MARK"]),
            },
            Attempt {
                row: "E6",
                variant: concat!("a flood of output (MCP server, ", $who, ")"),
                run: |ground| by_server(ground, SERVER_FLOOD, &[]),
            },
            Attempt {
                row: "E6",
                variant: concat!("descriptors without end (MCP server, ", $who, ")"),
                run: |ground| by_server(ground, SERVER_DESCRIPTORS, &[]),
            },
        ]
    };
}

const FLOOD: Program = Program {
    command: "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo at the end",
    seconds: 60,
    ends: "at the end",
    leaves: &[],
};
const ENDLESS: Program =
    Program { command: "yes MARK", seconds: 2, ends: "ran longer than 2 s", leaves: &["yes MARK"] };
const BOMB: Program = Program {
    command: "echo 'import os\nwhile True:\n    try: os.fork()\n    except OSError: pass' > bomb.py; python3 bomb.py MARK",
    seconds: 2,
    ends: "ran longer than 2 s",
    leaves: &["python3 bomb.py MARK"],
};
const HOG: Program = Program {
    command: "python3 -c 'x = bytearray(1 << 30); print(\"had it\", len(x))'",
    seconds: 60,
    ends: "[exit status 1]",
    leaves: &[],
};
const HOGS: Program = Program {
    command: "python3 -c 'import os, time\nfor _ in range(3): os.fork()\nx = bytearray(10 ** 8)\ntime.sleep(60)' MARK",
    seconds: 3,
    ends: "[",
    leaves: &[],
};
const DEAF: Program = Program {
    command: "trap '' TERM INT HUP QUIT; while :; do sleep MARK; done",
    seconds: 2,
    ends: "ran longer than 2 s",
    leaves: &["sleep MARK"],
};
const GRANDCHILD: Program = Program {
    command: "(setsid sh -c 'trap \"\" TERM HUP; sleep MARK' >/dev/null 2>&1 </dev/null &); echo away",
    seconds: 60,
    ends: "away",
    leaves: &["sleep MARK"],
};
const LOOP: Program = Program {
    command: "python3 -c 'while True: pass' MARK",
    seconds: 60,
    ends: "processor time",
    leaves: &["python3 -c while True: pass MARK"],
};
const FILLED: &str = "mkdir -p filler; i=0; while [ $i -lt 20 ]; do head -c 20000000 /dev/zero > filler/$i || exit 1; i=$((i+1)); sleep 0.02; done; echo [filled";
const MILLION: &str = "mkdir -p many; python3 -c 'for n in range(10 ** 6): open(\"many/%d\" % n, \"w\").close()'; echo [made";

const DEEP: &str = "python3 -c '
import os, time
os.mkdir(\"filler\"); os.chdir(\"filler\")
for _ in range(300): os.mkdir(\"d\"); os.chdir(\"d\")
for n in range(30): open(str(n), \"wb\").write(b\"x\" * 10 ** 7); time.sleep(0.1)
'; echo [filled";
const CLOSED: &str = "python3 -c '
import os, time
os.makedirs(\"filler/shut\"); os.chdir(\"filler/shut\"); os.chmod(\"..\", 0)
for n in range(30): open(str(n), \"wb\").write(b\"x\" * 10 ** 7); time.sleep(0.1)
'; echo [filled";

const SERVER_BOMB: &str = "import subprocess\nsubprocess.Popen(['sleep', 'MARK'])\nuntil = time.monotonic() + 2\nwhile time.monotonic() < until:\n    try: os.fork()\n    except OSError: pass\nos._exit(0)";
const SERVER_HOG: &str =
    "x = bytearray(1 << 30)\nfor at in range(0, len(x), 4096): x[at] = 1\nprint('GOT THROUGH')";
const SERVER_GRANDCHILD: &str = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nif os.fork() == 0:\n    os.setsid()\n    null = os.open('/dev/null', os.O_RDWR)\n    for number in (0, 1, 2): os.dup2(null, number)\n    os.execvp('sleep', ['sleep', 'MARK'])\nos._exit(0)";
const SERVER_FLOOD: &str = "for _ in range(1000): sys.stdout.write('x' * 100000)";
const SERVER_DESCRIPTORS: &str = "kept = []\nwhile True:\n    try: kept.append(open('/dev/null'))\n    except OSError as error: print('held', error); break\n    if len(kept) > 5000: print('GOT THROUGH'); break";

/// Where the daemon is root.
pub const AS_ROOT: &[Attempt] = programs!("root");
/// Where the daemon is an ordinary user.
pub const AS_USER: &[Attempt] = programs!("user");
