//! C18: one token, or somebody without any, holds all there is: connections, memory.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside::{self, Reading, Stream};
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::puppet::Script;
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::Result;
use serde_json::{Value, json};
use std::io::Write as _;

/// More connections than a daemon has places.
const MANY: usize = 1_100;

/// Descriptors that are left to everything else.
const SPARE: u64 = 200;

/// Requests whose bodies never end, and how much is sent of each.
const BODIES: usize = 24;
const BODY_LEN: usize = 16 * 1024 * 1024;

/// What so many bodies may add to the daemon, in KB: half of what they are.
const GROWTH_KB_MAX: u64 = 192 * 1024;

/// Two agents, and nothing that is flushed for the power.
pub fn crowded(stage: &Stage) -> Result<Ground> {
    let plan = Plan::new()
        .top("approvals: {opaque: allow}\nstore: {durability: process}")
        .agent("a", "tools: coding, memory: true")
        .agent("b", "tools: coding, memory: true");
    Ground::raise(stage, plan)
}

/// Whether as many connections can be opened here.
fn lacks_descriptors() -> Option<Verdict> {
    let max = beside::open_files_max();
    (max < MANY as u64 + SPARE)
        .then(|| Verdict::NotRun(format!("this process may open {max} files only")))
}

/// Whether the operator and another agent are served while something is held.
fn others_are_served(ground: &Ground, what: &str) -> Outcome {
    let told = ground.cli(&["status"]);
    hold!(told.code == Some(0), "beside {what} a command of the operator fails: {told:?}");
    let told = ground.cli(&["chat", "--agent", "a", "-m", "hello"]);
    hold!(told.code == Some(0), "beside {what} the operator can't talk to an agent: {told:?}");
    let turn = ground.turn("a", "beside the crowd", Script::say("still here"));
    let Ok(turn) = turn else {
        return Ok(Verdict::Broken(format!("beside {what} another agent's token gets no answer")));
    };
    hold!(turn.reply == "still here", "beside {what} another agent does not answer: {turn:?}");
    Ok(Verdict::Held)
}

fn streams_of_one_token(ground: &Ground) -> Outcome {
    if let Some(verdict) = lacks_descriptors() {
        return Ok(verdict);
    }
    let (to, token) = (ground.listen()?, ground.mint("b", &["read", "chat"])?.text);
    let open = || Reading::open(to, &token, "GET", "/api/agents/b/events", "");
    let mut first = open()?;
    control!(first.until("listening").is_ok(), "no stream of events can be had");
    let held: Vec<Reading> = (0..MANY).filter_map(|_| open().ok()).collect();
    control!(held.len() > 900, "only {} streams could be opened", held.len());
    others_are_served(ground, "the streams of one token")
}

fn requests_at_rest(ground: &Ground) -> Outcome {
    if let Some(verdict) = lacks_descriptors() {
        return Ok(verdict);
    }
    let (to, token) = (ground.listen()?, ground.mint("b", &["chat"])?.text);
    let head =
        format!("GET /v1/models HTTP/1.1\r\nHost: {to}\r\nAuthorization: Bearer {token}\r\n\r\n");
    let open = || {
        let mut stream = machine::connect(to)?;
        stream.write_all(head.as_bytes())?;
        anyhow::Ok(stream)
    };
    let held: Vec<Stream> = (0..MANY).filter_map(|_| open().ok()).collect();
    control!(held.len() > 900, "only {} connections could be opened", held.len());
    others_are_served(ground, "answered requests of one token")
}

fn silent_strangers(ground: &Ground) -> Outcome {
    if let Some(verdict) = lacks_descriptors() {
        return Ok(verdict);
    }
    let held = beside::silent(ground.listen()?, MANY);
    control!(held.len() > 900, "only {} connections could be opened", held.len());
    others_are_served(ground, "silent connections")
}

fn unfinished_bodies(ground: &Ground) -> Outcome {
    let (to, token) = (ground.listen()?, ground.mint("b", &["chat"])?.text);
    let pid = ground.pid()?;
    let before = beside::memory_kb(pid).unwrap_or(0);
    control!(before > 0, "what the daemon takes up can't be seen");
    let piece = vec![b' '; 256 * 1024];
    let held: Vec<Stream> = (0..BODIES)
        .filter_map(|_| {
            let mut stream = machine::connect(to).ok()?;
            let head = format!("POST /v1/chat/completions HTTP/1.1\r\nHost: {to}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {BODY_LEN}\r\n\r\n");
            stream.write_all(head.as_bytes()).ok()?;
            // All but the end. Who is refused meanwhile stops.
            for _ in 0..BODY_LEN / piece.len() - 1 {
                if stream.write_all(&piece).is_err() {
                    break;
                }
            }
            Some(stream)
        })
        .collect();
    control!(held.len() == BODIES, "only {} requests could be begun", held.len());
    let after = beside::memory_kb(pid).unwrap_or(0);
    let grown = after.saturating_sub(before);
    hold!(
        grown < GROWTH_KB_MAX,
        "{BODIES} unfinished bodies of one token hold {} MB",
        grown / 1024
    );
    others_are_served(ground, "unfinished bodies of one token")
}

fn the_socket_from_inside(ground: &Ground) -> Outcome {
    let path = ground.path("run/cli.sock")?;
    if !machine::is_there(&path) {
        return Ok(Verdict::NotRun("this daemon has no socket for its command line".to_owned()));
    }
    let path = path.display();
    let program = format!(
        "import socket\ntry:\n    s = socket.socket(socket.AF_UNIX)\n    s.connect(\"{path}\")\n    print(\"it is open\")\nexcept OSError as e:\n    print(\"it is shut\", e.errno)\n"
    );
    // From a file: code on a command line would be asked about first.
    let file = json!({ "path": "probe.py", "content": program });
    ground.call("b", "at the socket", "write_file", file)?;
    let told = ground.shell("b", "at the socket", "python3 probe.py")?;
    hold!(!told.contains("it is open"), "a program of an agent reaches the command line's socket");
    control!(told.contains("it is shut"), "it was not tried: {told}");
    Ok(Verdict::Held)
}

fn a_list_of_zeros(ground: &Ground) -> Outcome {
    let (pid, token) = (ground.pid()?, ground.mint("b", &["chat"])?.text);
    let before = beside::memory_kb(pid).unwrap_or(0);
    let zeros = "0,".repeat(7_000_000);
    let body = format!(r#"{{"model": "b", "messages": [], "tools": [{zeros}0]}}"#);
    let bearer = format!("Authorization: Bearer {token}");
    let headers = [bearer.as_str(), "Content-Type: application/json"];
    let answer =
        machine::request(ground.listen()?, "POST", "/v1/chat/completions", &headers, &body)?;
    hold!(answer.status == 413, "millions of values are taken in: {}", answer.status);
    let grown = beside::memory_kb(pid).unwrap_or(0).saturating_sub(before);
    hold!(grown < GROWTH_KB_MAX, "one request leaves {} MB behind", grown / 1024);
    let own = ground.api(&token, "GET", "/v1/models", &Value::Null)?;
    control!(own.status == 200, "{own:?}");
    Ok(Verdict::Held)
}

/// C18.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "C18", variant: "streams of one token", run: streams_of_one_token },
    Attempt { row: "C18", variant: "answered requests of one token", run: requests_at_rest },
    Attempt { row: "C18", variant: "silent strangers", run: silent_strangers },
    Attempt { row: "C18", variant: "unfinished bodies of one token", run: unfinished_bodies },
    Attempt { row: "C18", variant: "a body of millions of values", run: a_list_of_zeros },
    Attempt {
        row: "C18",
        variant: "the socket of commands, from a program",
        run: the_socket_from_inside,
    },
];
