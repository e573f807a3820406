//! What programs leave for the daemon to stumble over: a folder that becomes a link between a
//! check and its use, a pipe, devices by name, a page that sends elsewhere.

use super::arena::{Arena, Level};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside;
use crate::ground::Ground;
use crate::machine;
use crate::puppet::Call;
use crate::{control, hold};
use anyhow::Result;
use serde_json::json;
use std::time::Duration;

/// How long the daemon may take over something that a program left.
const PROMPT: Duration = Duration::from_secs(20);

/// Lets a folder and a link to another's folder change places, as fast as it can.
const SWAP: &str = r#"
import ctypes, os, platform
libc = ctypes.CDLL(None)
number = 276 if platform.machine() == "aarch64" else 316
os.makedirs("race", exist_ok=True)
open("race/secret.txt", "w").write("its own words")
os.symlink(os.environ["THEIRS"], "race-link")
print("ready", flush=True)
while True:
    libc.syscall(ctypes.c_long(number), -100, b"race", -100, b"race-link", 2)
"#;

/// Calls on a file that is now one's own and now another's. No two are the same: a turn that makes
/// the same call again and again to the same end is stopped, and with it the race.
fn tries() -> Vec<Call> {
    let path = "race/secret.txt";
    let mut calls = vec![];
    for n in 1..=30 {
        let pattern = format!("CANARY|never {n}");
        let (planted, new) = (format!("mine {n}"), format!("m{n}"));
        let patch =
            json!({ "mode": "replace", "path": path, "old_string": "C", "new_string": new });
        calls.push(Call::new("read_file", json!({ "path": path, "limit": 100 + n })));
        calls.push(Call::new("search_files", json!({ "pattern": pattern, "path": "race" })));
        calls.push(Call::new("write_file", json!({ "path": "race/planted", "content": planted })));
        calls.push(Call::new("patch", patch));
    }
    calls
}

fn missing(ground: &Ground) -> Result<Option<Verdict>> {
    Ok(Arena::of(ground)?.missing.clone().map(Verdict::NotRun))
}

fn a_folder_that_becomes_a_link(ground: &Ground) -> Outcome {
    if let Some(verdict) = missing(ground)? {
        return Ok(verdict);
    }
    let arena = Arena::of(ground)?;
    let script = ground.path("agents/shell/workspace/swap.py")?;
    machine::write(&script, SWAP.as_bytes())?;
    beside::set_mode(&script, 0o644)?;
    let theirs = ground.path("agents/b/workspace")?;
    let command = format!("THEIRS={} exec python3 -I swap.py", theirs.display());
    let wish = json!({ "command": command, "background": true });
    let started = ground.call("shell", "race", "terminal", wish)?;
    let id = started.split_whitespace().find(|word| {
        word.starts_with('p')
            && word[1..].trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().is_ok()
    });
    let id = id.unwrap_or("p1").trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned();
    machine::eventually("it is ready", || {
        let log = ground.call(
            "shell",
            "race",
            "process",
            json!({ "action": "log", "session_id": id }),
        )?;
        anyhow::ensure!(!log.contains("exit"), "{started} {log}");
        Ok(log.contains("ready").then_some(()))
    })?;
    let told = ground.calls("shell", "race", tries())?;
    ground.call("shell", "race", "process", json!({ "action": "kill", "session_id": id }))?;
    let leaked = told.iter().find(|said| said.contains(&arena.canary));
    hold!(leaked.is_none(), "the other's file was read: {leaked:?}");
    let planted = machine::names(&theirs);
    hold!(!planted.contains(&"planted".to_owned()), "a file was planted: {planted:?}");
    let (own, refused) = (
        told.iter().filter(|said| said.contains("its own words")).count(),
        told.iter().filter(|said| said.contains("refused")).count(),
    );
    // Both sides of the race were met, or it was none.
    control!(own > 0 && refused > 0, "{own} were its own, {refused} refused: {told:?}");
    Ok(Verdict::Held)
}

fn a_pipe_for_the_daemon(ground: &Ground) -> Outcome {
    if let Some(verdict) = missing(ground)? {
        return Ok(verdict);
    }
    // Programs can't make one; a folder that was there before the agent may have one.
    let pipe = ground.path("agents/shell/workspace/a-pipe")?;
    beside::make_pipe(&pipe)?;
    let calls = vec![
        Call::new("read_file", json!({ "path": "a-pipe" })),
        Call::new("search_files", json!({ "pattern": "x", "path": "." })),
        Call::new("write_file", json!({ "path": "a-pipe", "content": "x" })),
        Call::new(
            "patch",
            json!({ "mode": "replace", "path": "a-pipe", "old_string": "x", "new_string": "y" }),
        ),
    ];
    let (told, took) = machine::timed(|| ground.calls("shell", "pipe", calls));
    hold!(took < PROMPT, "the daemon waited for {took:?}");
    let told = told?;
    machine::remove(&pipe)?;
    hold!(!told[0].contains('|'), "it was read: {told:?}");
    Ok(Verdict::Held)
}

fn devices_by_name(ground: &Ground) -> Outcome {
    if let Some(verdict) = missing(ground)? {
        return Ok(verdict);
    }
    let names =
        ["/dev/zero", "/dev/urandom", "/dev/full", "/proc/kmsg", "/proc/self/mem", "/dev/tty"];
    let links: Vec<String> =
        names.iter().enumerate().map(|(at, name)| format!("ln -s {name} device-{at}")).collect();
    ground.shell("shell", "devices", &links.join("; "))?;
    let read = |path: &str| Call::new("read_file", json!({ "path": path }));
    let mut calls: Vec<Call> = (0..names.len()).map(|at| read(&format!("device-{at}"))).collect();
    calls.extend(names.map(read));
    let (told, took) = machine::timed(|| ground.calls("shell", "devices", calls));
    hold!(took < PROMPT, "the daemon read for {took:?}");
    for said in told? {
        let refused = said.starts_with("refused") || said.contains("does not exist");
        hold!(refused, "a device was read: {}", said.chars().take(200).collect::<String>());
    }
    Ok(Verdict::Held)
}

fn a_page_that_sends_elsewhere(ground: &Ground) -> Outcome {
    if let Some(verdict) = missing(ground)? {
        return Ok(verdict);
    }
    let arena = Arena::of(ground)?;
    let page = |path: &str| {
        let urls = [format!("http://localhost:{}{path}", arena.granted.port())];
        ground.call("proxied", "pages", "web_extract", json!({ "urls": urls }))
    };
    let own = page("/")?;
    control!(own.contains("granted"), "what was granted is not read: {own}");
    let before = arena.inside.heard().len();
    let told = page("/away")?;
    hold!(!told.contains(&arena.canary), "the private page was read: {told}");
    hold!(arena.inside.heard().len() == before, "the private site was asked");
    Ok(Verdict::Held)
}

fn programs_of_two_agents(ground: &Ground) -> Outcome {
    if let Some(verdict) = missing(ground)? {
        return Ok(verdict);
    }
    if Arena::of(ground)?.level == Level::Ordinary {
        let why = "an ordinary user has no other users that programs could run as";
        return Ok(Verdict::NotRun(why.to_owned()));
    }
    let owner = |agent: &str| -> Result<Option<u32>> {
        ground.shell(agent, "own", "touch made-by-a-program")?;
        let path = format!("agents/{agent}/workspace/made-by-a-program");
        Ok(beside::owner(&ground.path(&path)?))
    };
    let (one, other) = (owner("shell")?, owner("proxied")?);
    control!(one.is_some() && other.is_some(), "nothing was made");
    hold!(one != other, "programs of two agents are one user, {one:?}");
    hold!(one != Some(0) && other != Some(0), "programs are root");
    Ok(Verdict::Held)
}

macro_rules! races {
    ($who:literal) => {
        &[
            Attempt {
                row: "E1",
                variant: concat!("a folder that becomes a link between check and use (", $who, ")"),
                run: a_folder_that_becomes_a_link,
            },
            Attempt {
                row: "E1",
                variant: concat!("a pipe left for the daemon to read (", $who, ")"),
                run: a_pipe_for_the_daemon,
            },
            Attempt {
                row: "E1",
                variant: concat!("devices left for the daemon to read (", $who, ")"),
                run: devices_by_name,
            },
            Attempt {
                row: "E4",
                variant: concat!("a page that sends the daemon's own fetch inside (", $who, ")"),
                run: a_page_that_sends_elsewhere,
            },
            Attempt {
                row: "E2",
                variant: concat!("programs of two agents as one user (", $who, ")"),
                run: programs_of_two_agents,
            },
        ]
    };
}

/// Where the daemon is root.
pub const AS_ROOT: &[Attempt] = races!("root");
/// Where the daemon is an ordinary user.
pub const AS_USER: &[Attempt] = races!("user");
