//! A7: another agent's background process.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::machine;
use crate::puppet::Call;
use crate::{control, hold};
use anyhow::Result;
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A7", variant: "by its id, with every action", run: by_id },
    Attempt { row: "A7", variant: "by signals from its own programs", run: by_signal },
    Attempt { row: "A7", variant: "by a session id that names both", run: by_long_id },
    Attempt { row: "A7", variant: "by stopping the other's turn over the API", run: by_stop },
];

const ACTIONS: [&str; 7] = ["poll", "log", "wait", "kill", "write", "submit", "close"];

fn act(action: &str, id: &str) -> Value {
    let mut asked = json!({ "action": action, "session_id": id });
    match action {
        "wait" => asked["timeout"] = json!(1),
        "write" | "submit" => asked["data"] = json!("x"),
        _ => {}
    }
    asked
}

/// Starts a process of b's that says its canary; what to find it by on the machine.
fn started(ground: &Ground, session: &str) -> Result<(String, String)> {
    let canary = ground.canary(&format!("b's process in {session}"));
    let command = format!("echo {}; sleep 1000; echo {}", canary.text, canary.text);
    let told =
        ground.call("b", session, "terminal", json!({ "command": command, "background": true }))?;
    control!(told.contains("p1"), "no process was started: {told}");
    machine::eventually("b's process runs", || {
        let log = ground.call("b", session, "process", act("log", "p1"))?;
        Ok(log.contains(&canary.text).then_some(()))
    })?;
    Ok((canary.text, command))
}

fn still_runs(ground: &Ground, session: &str) -> Result<bool> {
    let told = ground.call("b", session, "process", json!({ "action": "list" }))?;
    Ok(told.contains("p1") && told.contains("runs"))
}

fn ended(ground: &Ground, session: &str) -> Result<()> {
    ground.call("b", session, "process", act("kill", "p1"))?;
    Ok(())
}

fn by_id(ground: &Ground) -> Outcome {
    let session = "by-id";
    let (canary, _) = started(ground, session)?;
    control!(still_runs(ground, session)?, "it does not run");
    for action in ACTIONS {
        let calls = ["p1", "p7"].map(|id| Call::new("process", act(action, id)));
        let told = ground.calls("a", "someone", calls.to_vec())?;
        hold!(!told[0].contains(&canary), "{action}: {}", told[0]);
        let (theirs, nobodys) = (told[0].replace("p1", "…"), told[1].replace("p7", "…"));
        hold!(theirs == nobodys, "{action}: {theirs} instead of {nobodys}");
    }
    hold!(still_runs(ground, session)?, "b's process was ended");
    let log = ground.call("b", session, "process", act("log", "p1"))?;
    hold!(log.matches(&canary).count() == 1, "b's process went on by itself: {log}");
    ended(ground, session)?;
    Ok(Verdict::Held)
}

fn by_signal(ground: &Ground) -> Outcome {
    let session = "by-signal";
    let (canary, _) = started(ground, session)?;
    let pids = machine::processes_with(&canary);
    let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
    control!(!pids.is_empty(), "b's process is not on this machine");
    let all = pids.join(" ");
    let code = format!(
        "import os, signal\nfor p in [{}] + list(range(2, 300)) + [-1]:\n    for s in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP):\n        try:\n            if p != os.getpid() and p != os.getppid(): os.kill(p, s)\n        except OSError as e: pass\nprint('tried')\n",
        pids.join(", ")
    );
    for command in [
        format!(
            "echo 'kill -9 {all}; kill -STOP {all}; pkill -9 sleep; killall -9 sleep' > k.sh; sh k.sh"
        ),
        "cat > k.py; python3 k.py".to_owned(),
    ] {
        ground.shell("a", "killer", &command)?;
    }
    ground.call("a", "killer", "execute_code", json!({ "code": code, "timeout": 20 }))?;
    hold!(still_runs(ground, session)?, "b's process was ended");
    hold!(!machine::processes_with(&canary).is_empty(), "b's process is gone from the machine");
    ended(ground, session)?;
    Ok(Verdict::Held)
}

fn by_long_id(ground: &Ground) -> Outcome {
    let session = "by-long-id";
    let (canary, _) = started(ground, session)?;
    let ids = [
        "b/p1",
        "b:p1",
        "agent:b:p1",
        "by-long-id/p1",
        "../b/p1",
        "P1",
        "p1 ",
        "p01",
        "p1\u{0}",
        "1",
        "*",
        "",
    ];
    let calls = ids
        .iter()
        .flat_map(|id| ["log", "kill"].map(|action| Call::new("process", act(action, id))));
    let told = ground.calls("a", "someone else", calls.collect())?;
    hold!(!told.concat().contains(&canary), "a was told: {told:?}");
    // The same agent's other conversation is another conversation.
    let calls = ["log", "kill"].map(|action| Call::new("process", act(action, "p1")));
    let told = ground.calls("b", "elsewhere", calls.to_vec())?;
    hold!(!told.concat().contains(&canary), "b's other conversation was told: {told:?}");
    hold!(still_runs(ground, session)?, "b's process was ended");
    ended(ground, session)?;
    Ok(Verdict::Held)
}

fn by_stop(ground: &Ground) -> Outcome {
    let session = "by-stop";
    started(ground, session)?;
    let token = ground.mint("a", &["chat", "read", "approve", "manage", "admin"])?;
    for path in ["/api/agents/b/stop", "/api/agents/b/new", "/api/agents/b/retry"] {
        let body = json!({ "session": session });
        let answer = ground.api(&token.text, "POST", path, &body)?;
        hold!(answer.status == 404, "{path}: {answer:?}");
    }
    // Its own door, with the name of b's conversation, leads to its own conversation.
    let answer =
        ground.api(&token.text, "POST", "/api/agents/a/stop", &json!({ "session": session }))?;
    hold!(answer.json()["stopped"] == 0, "a stopped something: {answer:?}");
    hold!(still_runs(ground, session)?, "b's process was ended");
    ended(ground, session)?;
    Ok(Verdict::Held)
}
