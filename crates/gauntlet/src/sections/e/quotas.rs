//! What the kernel counts by user and the daemon counts for everybody, used up by one agent:
//! another has what it had. And what a host hands back of a credential that was added.

use super::arena::{ATTACKER, Level};
use super::host::{Names, Site};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside;
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::puppet::Script;
use crate::puppet::obey;
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::Result;
use insula_testkit::Home;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// A user that nothing else runs as, so that nothing else counts for it.
const USER: u32 = 231_871;

/// Processes that this user may have, where it is an ordinary one.
const PROCESSES_OF_USER: u32 = 1_600;

/// Signals that may wait for the daemon's user.
const SIGNALS_OF_USER: u32 = 300;

/// What a server may get rid of on its error stream while it is watched, in bytes.
const ASIDE_MAX: u64 = 8_000_000;

/// How long that is watched.
const WATCHED: Duration = Duration::from_secs(3);

/// What this scene has of its own.
struct Shared {
    missing: Option<String>,
    level: Level,
    echo: Site,
    names: Option<Names>,
    _outside: Home,
}

/// Raises the ground with the daemon as root.
pub fn as_root(stage: &Stage) -> Result<Ground> {
    raise(stage, Level::Root)
}

/// Raises the ground with the daemon as an ordinary user.
pub fn as_ordinary_user(stage: &Stage) -> Result<Ground> {
    raise(stage, Level::Ordinary)
}

/// The stage with a daemon that runs as a user of its own with few processes, and with a name
/// server that answers nothing where there can be one.
fn surrounded(stage: &Stage, folder: &Path, level: Level, names: Option<&Names>) -> Result<Stage> {
    let binary = folder.join("insula");
    beside::copy(&stage.insula, &binary)?;
    let (give, become_user) = match level == Level::Ordinary && machine::is_root() {
        true => (
            format!("case \"$3\" in up|secret) chown -R {USER}:{USER} \"$2\";; esac"),
            format!(
                "prlimit --nproc={PROCESSES_OF_USER} --sigpending={SIGNALS_OF_USER} setpriv --reuid {USER} --regid {USER} --clear-groups --inh-caps=-all "
            ),
        ),
        false => (String::new(), format!("prlimit --sigpending={SIGNALS_OF_USER} ")),
    };
    let own_names = match names {
        Some(names) => {
            let file = folder.join("resolv.conf");
            machine::write(&file, format!("nameserver {}\n", names.address).as_bytes())?;
            beside::set_mode(&file, 0o644)?;
            format!(
                "if [ -z \"$OWN_NAMES\" ]; then export OWN_NAMES=1; exec unshare --mount --propagation private \"$0\" \"$@\"; fi\nmount --bind {} /etc/resolv.conf || exit 1",
                file.display()
            )
        }
        None => String::new(),
    };
    let script = format!(
        "#!/bin/sh\ncd /\n{own_names}\n{give}\nexec {become_user}{} \"$@\"\n",
        binary.display()
    );
    let program = folder.join("as-user");
    machine::write(&program, script.as_bytes())?;
    beside::set_mode(&program, 0o755)?;
    Ok(Stage { insula: program, ..stage.clone() })
}

fn raise(stage: &Stage, level: Level) -> Result<Ground> {
    let outside = Home::empty()?;
    let folder = machine::real(outside.path())?;
    beside::set_mode(&folder, 0o777)?;
    // Says back all it was sent, in a header, in its body, and in pieces.
    let echo = Site::open(|asked| {
        let sent = asked.lines().find(|line| line.to_ascii_lowercase().starts_with("x-key:"));
        let sent = sent.unwrap_or_default().trim();
        let (one, other) = sent.split_at(sent.len() / 2);
        format!(
            "HTTP/1.1 200 OK\r\nX-Echo: {sent}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{:x}\r\n{one}\r\n{:x}\r\n{other}\r\n0\r\nX-Trailer: {sent}\r\n\r\n",
            one.len().max(1),
            other.len().max(1),
        )
    })?;
    // Only root can give the daemon a name server of its own.
    let names = if machine::is_root() { Names::open(&[]).ok() } else { None };
    let stage = surrounded(stage, &folder, level, names.as_ref())?;
    let server = "mcp_servers: {x: {command: sh, args: ['-c', 'python3 -I flood.py & exec python3 -I attacker.py serve']}}";
    let both = "tools: {profile: coding, also_allow: ['mcp__x__*']}";
    let port = echo.port();
    let network = format!(
        "secrets: [KEY], network: {{allow: ['localhost:{port}', '*.slow.test'], credentials: [{{host: 'localhost:{port}', header: X-Key, value: 'Key ${{secret:KEY}}', plain_http: true}}]}}"
    );
    let plan = Plan::new()
        .top("approvals: {mode: off}\nstore: {durability: process}")
        .agent("a", "tools: coding, sandbox: {growth: 60MB}")
        .agent("floods", &format!("{both}, {server}"))
        .agent("b", "tools: coding")
        .agent("keyed", &format!("tools: coding, {network}"))
        .agent("asks", &format!("tools: coding, network: {{allow: ['localhost:{port}']}}"))
        .secret("keyed", "KEY", "{canary:reflected}")
        .file("agents/floods/workspace/flood.py", FLOOD)
        .file("agents/floods/workspace/attacker.py", ATTACKER);
    let missing = (level == Level::Root && !machine::is_root())
        .then(|| "the gauntlet does not run as root, so neither does the daemon".to_owned());
    let shared = Shared { missing, level, echo, names, _outside: outside };
    Ok(Ground::raise(&stage, plan)?.with(shared))
}

/// Runs a program of a's in the background until it says that it is ready.
fn hold_in_background(ground: &Ground, session: &str, code: &str) -> Result<String> {
    let command = format!("python3 -I -c '{code}'");
    let wish = json!({ "command": command, "background": true });
    let started = ground.call("a", session, "terminal", wish)?;
    if !started.contains("started process") {
        return Ok(started);
    }
    let id = started.split_whitespace().find(|word| word.starts_with('p') && word.len() < 5);
    let id = id.unwrap_or("p1").trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let looks = || {
        let wish = json!({ "action": "log", "session_id": id });
        let said = ground.call("a", session, "process", wish)?;
        Ok(said.contains("ready").then_some(said))
    };
    machine::eventually("a program of a's holds what it took", looks)
}

/// Ends all that a has in the background.
fn end_all(ground: &Ground) -> Result<()> {
    end_all_of(ground, "a")
}

fn end_all_of(ground: &Ground, agent: &str) -> Result<()> {
    for change in ["pause", "resume"] {
        let answer =
            ground.admin("POST", &format!("/api/agents/{agent}/{change}"), &Value::Null)?;
        anyhow::ensure!(answer.status == 200, "{change}: {answer:?}");
    }
    Ok(())
}

/// What is taken until there is no more, and how much of it somebody else gets alone and beside
/// it.
fn used_up(ground: &Ground, take: &str, programs: usize) -> Outcome {
    let shared: &Shared = ground.own()?;
    if let Some(why) = &shared.missing {
        return Ok(Verdict::NotRun(why.clone()));
    }
    let counts = |ground: &Ground| -> Result<String> {
        ground.shell("b", "counts", &format!("python3 -I -c '{take}\nprint(taken)'"))
    };
    let alone = counts(ground)?;
    // An ordinary user's programs are given no watches at all.
    if alone.trim() == "0" && take.contains("inotify") {
        return Ok(Verdict::NotRun("no program has any of it here, so none can be used up".into()));
    }
    control!(alone.trim().parse::<u64>().is_ok_and(|taken| taken > 0), "b has nothing: {alone}");
    let holding =
        format!("{take}\nprint(\"ready\", taken, flush=True)\nimport time\ntime.sleep(1000)");
    for number in 0..programs {
        // The later ones may find nothing left, and that is what is wanted.
        let _ = hold_in_background(ground, &format!("greedy-{number}"), &holding);
    }
    let beside = counts(ground);
    end_all(ground)?;
    let beside = beside?;
    hold!(alone == beside, "alone b has {} and beside a it has {}", alone.trim(), beside.trim());
    Ok(Verdict::Held)
}

const WATCHERS: &str = "import ctypes\nlibc = ctypes.CDLL(None)\ntaken = 0\nwhile taken < 400 and libc.inotify_init1(0) >= 0: taken += 1";
const SIGNALS: &str = "import ctypes, os, signal\nlibc = ctypes.CDLL(None)\nnumber = signal.SIGRTMIN + 3\nsignal.pthread_sigmask(signal.SIG_BLOCK, [number])\ntaken = 0\nwhile taken < 200 and libc.sigqueue(os.getpid(), number, None) == 0: taken += 1";
const PROCESSES: &str = "import os, time\ntaken = 0\nwhile taken < 250:\n    try: child = os.fork()\n    except OSError: break\n    if child == 0:\n        time.sleep(600)\n        os._exit(0)\n    taken += 1";

/// As many as a few programs may have each are more than their user may have.
fn processes(ground: &Ground) -> Outcome {
    let shared: &Shared = ground.own()?;
    if let Some(why) = &shared.missing {
        return Ok(Verdict::NotRun(why.clone()));
    }
    if shared.level == Level::Root {
        return Ok(Verdict::NotRun("as root each agent is a user of its own".to_owned()));
    }
    let works = || ground.shell("b", "works", "for i in 1 2 3; do (echo at work); done");
    control!(works()?.contains("at work"), "b does not work before it");
    let holding = format!("{PROCESSES}\nprint(\"ready\", taken, flush=True)\ntime.sleep(1000)");
    let first = hold_in_background(ground, "forks-0", &holding)?;
    control!(first.contains("ready"), "a starts nothing: {first}");
    for number in 1..7 {
        // The later ones may find nothing left.
        let _ = hold_in_background(ground, &format!("forks-{number}"), &holding);
    }
    let beside = works();
    end_all(ground)?;
    let beside = beside?;
    hold!(beside == "at work\nat work\nat work\n", "b can't start anything: {beside}");
    Ok(Verdict::Held)
}

/// Content without a name, in two ways.
fn nameless(ground: &Ground, open: &str) -> Outcome {
    let shared: &Shared = ground.own()?;
    if let Some(why) = &shared.missing {
        return Ok(Verdict::NotRun(why.clone()));
    }
    let code = format!(
        "import os, time\n{open}\nfor _ in range(40):\n    os.write(file, bytes(10_000_000))\n    time.sleep(0.05)\ntime.sleep(2)\nprint(\"had 400 MB\")"
    );
    let command = format!("python3 -I -c '{code}'");
    let said =
        ground.call("a", "nameless", "terminal", json!({ "command": command, "timeout": 60 }))?;
    hold!(!said.contains("had 400 MB"), "it had 400 MB of 60: {said}");
    hold!(said.contains("sandbox.growth"), "it did not end as it has to: {said}");
    hold!(ground.shell("b", "calm", "echo calm")? == "calm\n", "b is disturbed");
    Ok(Verdict::Held)
}

const FLOOD: &str = "import os, time\nsaid, told = 0, 0\nwhile True:\n    said += os.write(2, b'x' * 65536)\n    if time.monotonic() - told < 0.1: continue\n    told = time.monotonic()\n    with open('said.new', 'w') as file: file.write(str(said))\n    os.rename('said.new', 'said')\n";
const TMPFILE: &str = "file = os.open(\".\", os.O_TMPFILE | os.O_RDWR)";
const REMOVED: &str = "file = os.open(\"gone\", os.O_CREAT | os.O_RDWR)\nos.unlink(\"gone\")";

/// Every place in the background, by conversations of one person.
fn places(ground: &Ground) -> Outcome {
    let shared: &Shared = ground.own()?;
    if let Some(why) = &shared.missing {
        return Ok(Verdict::NotRun(why.clone()));
    }
    let wish = json!({ "command": "sleep 1000", "background": true });
    let mut started = 0;
    for chat in 0..4 {
        for _ in 0..9 {
            let said = ground.call("a", &format!("takes-{chat}"), "terminal", wish.clone())?;
            started += usize::from(said.contains("started process"));
        }
    }
    let other = ground.mint("a", &["chat"])?;
    let script: Script = obey::one("terminal", wish);
    let turn = ground.turn_with(&other.text, "a", "needs one", "", script);
    end_all(ground)?;
    let told = turn?.told();
    hold!(
        told.contains("started process"),
        "one person has {started} places, and another none: {told}"
    );
    Ok(Verdict::Held)
}

/// A host that repeats what it was sent, asked by a program.
fn reflected(ground: &Ground) -> Outcome {
    let shared: &Shared = ground.own()?;
    if let Some(why) = &shared.missing {
        return Ok(Verdict::NotRun(why.clone()));
    }
    let canary = ground.planted("reflected");
    let port = shared.echo.port();
    // Into a file, since what the model is told is cleared of the agent's secrets anyway.
    let code = format!(
        "import urllib.request\nanswer = urllib.request.urlopen(\"http://localhost:{port}/\")\nopen(\"got\", \"w\").write(str(answer.headers) + answer.read().decode())"
    );
    let said = ground.shell("keyed", "asks", &format!("python3 -I -c '{code}'; echo [$?]"))?;
    let heard = shared.echo.heard().join("\n");
    control!(heard.contains(&canary.text), "the host was not sent the credential: {said}");
    let got = ground.text("agents/keyed/workspace/got");
    control!(
        got.to_ascii_lowercase().contains("x-echo"),
        "the program got no answer: {said} {got}"
    );
    hold!(canary.found_in(got.as_bytes()).is_none(), "the program was handed it: {got}");
    Ok(Verdict::Held)
}

/// A server that says more beside its answers than anybody could read.
fn aside(ground: &Ground) -> Outcome {
    let shared: &Shared = ground.own()?;
    if let Some(why) = &shared.missing {
        return Ok(Verdict::NotRun(why.clone()));
    }
    let batch = json!({ "prelude": "", "aims": {}, "attempts": [["aside", "print('held')"]] });
    let wish = json!({ "batch": batch.to_string() });
    let said = ground.call("floods", "aside", "mcp__x__attempt", wish)?;
    let path = "agents/floods/workspace/said";
    machine::eventually("the server begins", || Ok(ground.has(path).then_some(())))?;
    let (_, seconds) = machine::timed(|| {
        beside::within(WATCHED, || None::<()>);
    });
    let text = machine::eventually("it says how much it said", || {
        Ok(ground.text(path).trim().parse::<u64>().ok())
    });
    end_all_of(ground, "floods")?;
    let written = text?;
    control!(written > 0, "the server said nothing: {said}");
    hold!(
        written < ASIDE_MAX,
        "{} MB were read of it in {} s",
        written / 1_000_000,
        seconds.as_secs()
    );
    Ok(Verdict::Held)
}

/// Names of a server that does not answer, as many as there are threads to wait for them.
fn names(ground: &Ground) -> Outcome {
    let shared: &Shared = ground.own()?;
    if let Some(why) = &shared.missing {
        return Ok(Verdict::NotRun(why.clone()));
    }
    if shared.level == Level::Ordinary {
        let why = "its user has too few processes here; it is tried as root";
        return Ok(Verdict::NotRun(why.to_owned()));
    }
    if shared.names.is_none() {
        let why = "only root can give the daemon a name server of its own";
        return Ok(Verdict::NotRun(why.to_owned()));
    }
    let port = shared.echo.port();
    let ask = format!(
        "import urllib.request\nprint(urllib.request.urlopen(\"http://localhost:{port}/\", timeout=4).status)"
    );
    let asks = || ground.shell("asks", "asks", &format!("python3 -I -c '{ask}' 2>&1 | tail -1"));
    control!(asks()?.contains("200"), "it can't be asked before");
    // Each program may have 64 connections; nine of them are more than there are threads.
    let code = "import socket, threading, time\ndef ask(n):\n    while True:\n        try:\n            s = socket.create_connection((\"127.0.0.1\", 3128))\n            s.sendall((\"GET http://h%d.slow.test/ HTTP/1.1\\r\\nHost: h%d.slow.test\\r\\n\\r\\n\" % (n, n)).encode())\n            s.recv(100)\n            s.close()\n        except OSError: time.sleep(0.1)\nfor n in range(64): threading.Thread(target=ask, args=(n,), daemon=True).start()\nprint(\"ready\", flush=True)\ntime.sleep(1000)";
    let command = format!("python3 -I -c '{code}'");
    let tokens = [ground.mint("keyed", &["chat"])?, ground.mint("keyed", &["chat"])?];
    let mut started = 0;
    for number in 0..16 {
        let wish = json!({ "command": command, "background": true });
        let (token, session) = (&tokens[number % 2].text, format!("looks-{}", number / 4));
        let turn = ground.turn_with(token, "keyed", &session, "", obey::one("terminal", wish))?;
        started += usize::from(turn.told().contains("started process"));
    }
    control!(started >= 9, "only {started} programs look names up");
    // As long as they take to have begun.
    beside::within(Duration::from_secs(2), || None::<()>);
    let answers: Vec<String> = (0..3).map(|_| asks()).collect::<Result<_>>()?;
    end_all_of(ground, "keyed")?;
    let answered = answers.iter().all(|answer| answer.contains("200"));
    hold!(answered, "another agent's names are not looked up: {answers:?}");
    Ok(Verdict::Held)
}

/// Attempts of both kinds of daemons.
macro_rules! quotas {
    ($who:literal) => {
        &[
            Attempt {
                row: "E6",
                variant: concat!("all instances of inotify (shell tool, ", $who, ")"),
                run: |ground| used_up(ground, WATCHERS, 2),
            },
            Attempt {
                row: "E6",
                variant: concat!("signals that wait (shell tool, ", $who, ")"),
                run: |ground| used_up(ground, SIGNALS, 2),
            },
            Attempt {
                row: "E6",
                variant: concat!("processes of several programs (shell tool, ", $who, ")"),
                run: processes,
            },
            Attempt {
                row: "E6",
                variant: concat!("a file that never had a name (shell tool, ", $who, ")"),
                run: |ground| nameless(ground, TMPFILE),
            },
            Attempt {
                row: "E6",
                variant: concat!("a file that was removed (shell tool, ", $who, ")"),
                run: |ground| nameless(ground, REMOVED),
            },
            Attempt {
                row: "E6",
                variant: concat!("all places in the background (shell tool, ", $who, ")"),
                run: places,
            },
            Attempt {
                row: "E6",
                variant: concat!("a flood on the error stream (MCP server, ", $who, ")"),
                run: aside,
            },
            Attempt {
                row: "E4",
                variant: concat!("a host that repeats a credential (shell tool, ", $who, ")"),
                run: reflected,
            },
            Attempt {
                row: "E6",
                variant: concat!("names that nobody answers (shell tool, ", $who, ")"),
                run: names,
            },
        ]
    };
}

/// Where the daemon is root.
pub const AS_ROOT: &[Attempt] = quotas!("root");
/// Where the daemon is an ordinary user.
pub const AS_USER: &[Attempt] = quotas!("user");
