//! A11 and A8: what was taken away reaches what waits, runs and was allowed before.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::puppet::{Act, Call, Script, obey};
use crate::stage::Stage;
use crate::{beside, control, hold, machine};
use anyhow::Result;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt {
        row: "A11",
        variant: "its tool is taken away while a turn is queued",
        run: queued_without_tool,
    },
    Attempt {
        row: "A11",
        variant: "its tool is taken away while a turn runs",
        run: running_without_tool,
    },
    Attempt { row: "A11", variant: "paused while a turn is queued", run: queued_when_paused },
    Attempt {
        row: "A11",
        variant: "its token is revoked while a turn is queued",
        run: queued_without_token,
    },
    Attempt {
        row: "A11",
        variant: "paused while a program runs in the foreground",
        run: foreground_when_paused,
    },
    Attempt {
        row: "A11",
        variant: "its shell is taken away while a program runs in the foreground",
        run: foreground_without_tool,
    },
    Attempt {
        row: "A11",
        variant: "its shell is taken away while a call waits for a yes",
        run: waiting_without_tool,
    },
    Attempt {
        row: "A11",
        variant: "a shared folder is taken away while a turn runs",
        run: running_without_folder,
    },
    Attempt {
        row: "A8",
        variant: "a grant for a folder, and the folder is removed",
        run: folder_removed,
    },
    Attempt {
        row: "A8",
        variant: "a grant for a folder, and a link takes its place",
        run: folder_replaced,
    },
    Attempt {
        row: "A8",
        variant: "a grant for a named folder, and a link takes its place",
        run: workdir_replaced,
    },
    Attempt {
        row: "A14",
        variant: "a request for one turn, continued while it runs",
        run: one_off_continued,
    },
];

/// How long something that is to end may take to end.
const SOON: Duration = Duration::from_secs(15);

/// One agent for each attempt, since each is left with less.
pub fn withdrawn(stage: &Stage) -> Result<Ground> {
    let open = "tools: coding, approvals: {mode: 'off'}";
    let asks = "tools: coding, approvals: {timeout: 4s}";
    let slow = "tools: coding, approvals: {timeout: 10m}";
    let shared = format!("{open}, files: {{shared: [{{path: '{{outside}}/shared', mode: rw}}]}}");
    let plan = ["queued", "running", "paused", "revoked", "halted", "shell", "once"]
        .iter()
        .fold(Plan::new(), |plan, id| plan.agent(id, open));
    let plan = plan.agent("waits", slow).agent("shared", &shared);
    let plan = ["removed", "linked", "named"].iter().fold(plan, |plan, id| plan.agent(id, asks));
    Ground::raise(stage, plan)
}

fn done(ground: &Ground, method: &str, path: &str) -> Result<()> {
    let answer = ground.admin(method, path, &Value::Null)?;
    anyhow::ensure!(answer.status < 300, "{method} {path}: {answer:?}");
    Ok(())
}

/// Changes the line of one agent, and has it applied.
fn edited(ground: &Ground, agent: &str, from: &str, to: &str) -> Result<()> {
    let before = ground.text("config.yaml");
    let line = |line: &str| match line.starts_with(&format!("  {agent}: ")) {
        true => line.replace(from, to),
        false => line.to_owned(),
    };
    let after: Vec<String> = before.lines().map(line).collect();
    anyhow::ensure!(before.lines().ne(after.iter()), "the configuration does not say {from}");
    ground.home().replace("config.yaml", after.join("\n") + "\n")?;
    done(ground, "POST", "/api/reload")
}

fn without_shell(ground: &Ground, agent: &str) -> Result<()> {
    edited(ground, agent, "tools: coding", "tools: [todo]")
}

fn made(ground: &Ground, agent: &str, file: &str) -> bool {
    ground.has(&format!("agents/{agent}/workspace/{file}"))
}

/// Turns of an agent that were accepted and are not over.
pub fn open_turns(ground: &Ground, agent: &str) -> Result<usize> {
    // Its fifth column says how a turn stands, and 0 is accepted.
    let is_open = |row: &&String| row.split('|').nth(4) == Some("0");
    Ok(ground.table(agent, "turn")?.iter().filter(is_open).count())
}

fn shell(command: &str) -> Call {
    Call::new("terminal", json!({ "command": command }))
}

/// A turn that waits behind another one, of which `meanwhile` happens: what it did.
fn queued(
    ground: &Ground,
    agent: &str,
    meanwhile: impl FnOnce() -> Result<()>,
) -> Result<(bool, String)> {
    let go = Arc::new(Notify::new());
    let first = Script::steps(vec![Act::Hold(go.clone(), Box::new(Act::Say("first".into())))]);
    let second = obey::at_once(vec![shell("echo x > queued")]);
    let before = ground.puppets.count();
    let ((), told) = machine::both(
        // Whether its sender hears of it is not what is tried.
        || drop(ground.turn(agent, "one", first)),
        || -> Result<String> {
            ground.wait("the first turn runs", ground.puppets.until(before + 1))?;
            let (turn, other) = machine::both(
                || ground.turn(agent, "one", second),
                || -> Result<()> {
                    machine::eventually("the second turn is queued", || {
                        Ok((open_turns(ground, agent)? == 2).then_some(()))
                    })?;
                    let done = meanwhile();
                    go.notify_one();
                    done
                },
            )?;
            other?;
            Ok(turn.map_or_else(|error| error.to_string(), |turn| format!("{:?}", turn.answer)))
        },
    )?;
    let told = told?;
    machine::eventually("no turn is under way", || {
        Ok((open_turns(ground, agent)? == 0).then_some(()))
    })?;
    Ok((made(ground, agent, "queued"), told))
}

fn works(ground: &Ground, agent: &str) -> Result<()> {
    ground.shell(agent, "control", "echo x > control")?;
    anyhow::ensure!(made(ground, agent, "control"), "the control failed: it has no shell");
    Ok(())
}

fn queued_without_tool(ground: &Ground) -> Outcome {
    works(ground, "queued")?;
    let (did, told) = queued(ground, "queued", || without_shell(ground, "queued"))?;
    hold!(!did, "a queued turn used a tool that its agent had lost: {told}");
    Ok(Verdict::Held)
}

fn queued_when_paused(ground: &Ground) -> Outcome {
    works(ground, "paused")?;
    let (did, told) =
        queued(ground, "paused", || done(ground, "POST", "/api/agents/paused/pause"))?;
    hold!(!did, "a queued turn of a paused agent ran: {told}");
    hold!(told.contains("paused"), "who waited was not told why: {told}");
    Ok(Verdict::Held)
}

fn queued_without_token(ground: &Ground) -> Outcome {
    works(ground, "revoked")?;
    let token = ground.token("revoked")?.id.clone();
    let (did, told) =
        queued(ground, "revoked", || done(ground, "DELETE", &format!("/api/tokens/{token}")))?;
    hold!(!did, "a queued turn of a revoked token ran: {told}");
    Ok(Verdict::Held)
}

fn running_without_tool(ground: &Ground) -> Outcome {
    let go = Arc::new(Notify::new());
    let then = Act::Call(vec![shell("echo x > late")]);
    let script = Script::steps(vec![
        Act::Call(vec![shell("echo x > early")]),
        Act::Hold(go.clone(), Box::new(then)),
    ]);
    let before = ground.puppets.count();
    let (turn, other) = machine::both(
        || ground.turn("running", "one", script),
        || {
            ground.wait("the turn is in its middle", ground.puppets.until(before + 2))?;
            let done = without_shell(ground, "running");
            go.notify_one();
            done
        },
    )?;
    other?;
    let turn = turn?;
    control!(made(ground, "running", "early"), "it never had a shell: {}", turn.told());
    hold!(!made(ground, "running", "late"), "it ran what it may not: {}", turn.told());
    Ok(Verdict::Held)
}

/// A program that goes on until it is let go: whether it was ended by `meanwhile`.
fn foreground(
    ground: &Ground,
    agent: &str,
    meanwhile: impl FnOnce() -> Result<()>,
) -> Result<bool> {
    let mark = format!("mark-{}", ground.canary("a program").text);
    let program =
        format!(": {mark}; touch begun; while [ ! -e let-go ]; do sleep 0.05; done; touch ended");
    let script = Script::steps(vec![Act::Call(vec![shell(&program)])]);
    let ((), ended) = machine::both(
        || drop(ground.turn(agent, "one", script)),
        || -> Result<bool> {
            machine::eventually("the program runs", || {
                Ok(made(ground, agent, "begun").then_some(()))
            })?;
            let done = meanwhile();
            let is_gone = || machine::processes_with(&mark).is_empty().then_some(());
            let ended = done.is_ok() && beside::within(SOON, is_gone).is_some();
            let folder = ground.path(&format!("agents/{agent}/workspace"))?;
            machine::write(&folder.join("let-go"), b"")?;
            done.map(|()| ended)
        },
    )?;
    Ok(ended? && !made(ground, agent, "ended"))
}

fn foreground_when_paused(ground: &Ground) -> Outcome {
    let ended = foreground(ground, "halted", || done(ground, "POST", "/api/agents/halted/pause"))?;
    hold!(ended, "a program of a paused agent went on");
    Ok(Verdict::Held)
}

fn foreground_without_tool(ground: &Ground) -> Outcome {
    let ended = foreground(ground, "shell", || without_shell(ground, "shell"))?;
    hold!(ended, "a program went on though its agent has no shell any more");
    Ok(Verdict::Held)
}

fn waiting_without_tool(ground: &Ground) -> Outcome {
    ground.shell("waits", "prepares", "mkdir -p folder && echo x > folder/file")?;
    control!(made(ground, "waits", "folder/file"), "nothing was prepared");
    let ask = obey::one("terminal", json!({ "command": "rm -r folder" }));
    let (turn, answered) = machine::both(
        || ground.turn("waits", "one", ask),
        || {
            let id = machine::eventually("a call waits", || {
                let all = ground.admin("GET", "/api/agents/waits/approvals", &Value::Null)?;
                Ok(all.json()[0]["id"].as_str().map(str::to_owned))
            })?;
            without_shell(ground, "waits")?;
            let path = format!("/api/agents/waits/approvals/{id}");
            ground.admin("POST", &path, &json!({ "decision": "approve" }))
        },
    )?;
    let (turn, answered) = (turn?, answered?);
    control!(answered.status == 200, "the yes was not taken: {answered:?}");
    hold!(made(ground, "waits", "folder/file"), "it ran what it may not: {}", turn.told());
    Ok(Verdict::Held)
}

fn running_without_folder(ground: &Ground) -> Outcome {
    let folder = machine::real(ground.outside.path())?.join("shared");
    // Where the daemon is root, programs write only to what belongs to their user.
    let write = |name: &str| {
        let path = folder.join(name).display().to_string();
        Call::new("write_file", json!({ "path": path, "content": "x" }))
    };
    let go = Arc::new(Notify::new());
    let script = Script::steps(vec![
        Act::Call(vec![write("early")]),
        Act::Hold(go.clone(), Box::new(Act::Call(vec![write("late")]))),
    ]);
    let before = ground.puppets.count();
    let (turn, other) = machine::both(
        || ground.turn("shared", "one", script),
        || {
            ground.wait("the turn is in its middle", ground.puppets.until(before + 2))?;
            let done =
                edited(ground, "shared", ", files: {shared", ", metadata: {x: y}, files: {shared")
                    .and_then(|()| edited(ground, "shared", "mode: rw", "mode: ro"));
            go.notify_one();
            done
        },
    )?;
    other?;
    let turn = turn?;
    control!(machine::is_there(&folder.join("early")), "it never could: {}", turn.told());
    hold!(!machine::is_there(&folder.join("late")), "it wrote there: {}", turn.told());
    Ok(Verdict::Held)
}

/// Asks for a call, says yes for the session, and sees that it was done.
fn granted(ground: &Ground, agent: &str, call: Call) -> Result<()> {
    let (turn, answered) = machine::both(
        || ground.turn(agent, "one", obey::at_once(vec![call])),
        || {
            let list = format!("/api/agents/{agent}/approvals");
            let id = machine::eventually("a call waits", || {
                let all = ground.admin("GET", &list, &Value::Null)?;
                Ok(all.json()[0]["id"].as_str().map(str::to_owned))
            })?;
            let yes = json!({ "decision": "approve", "scope": "session" });
            ground.admin("POST", &format!("{list}/{id}"), &yes)
        },
    )?;
    let (turn, answered) = (turn?, answered?);
    anyhow::ensure!(answered.status == 200, "the yes was not taken: {answered:?}");
    anyhow::ensure!(!made(ground, agent, "scratch/keep"), "it was not done: {}", turn.told());
    Ok(())
}

/// A command is allowed in `scratch`; then `swap` happens, and it is made again.
fn moved(ground: &Ground, agent: &str, call: &Call, swap: &str) -> Outcome {
    ground.shell(agent, "prepares", "mkdir -p scratch/keep keep")?;
    if call.arguments.get("workdir").is_none() {
        ground.shell(agent, "one", "cd scratch")?;
    }
    granted(ground, agent, call.clone())?;
    let told = ground.shell(agent, "one", swap)?;
    control!(!told.contains("refused"), "nothing was swapped: {told}");
    control!(made(ground, agent, "keep"), "the swap itself removed it");
    let turn = ground.turn(agent, "one", obey::at_once(vec![call.clone()]))?;
    hold!(
        made(ground, agent, "keep"),
        "what was allowed in one folder was done in another, unasked: {}",
        turn.told()
    );
    Ok(Verdict::Held)
}

fn folder_removed(ground: &Ground) -> Outcome {
    moved(ground, "removed", &shell("rm -r keep"), "rmdir ../scratch")
}

fn folder_replaced(ground: &Ground) -> Outcome {
    moved(
        ground,
        "linked",
        &shell("rm -r keep"),
        "cd .. && rmdir scratch && ln -s . scratch && cd scratch",
    )
}

fn workdir_replaced(ground: &Ground) -> Outcome {
    let call = Call::new("terminal", json!({ "command": "rm -r keep", "workdir": "scratch" }));
    moved(ground, "named", &call, "rmdir scratch && ln -s . scratch")
}

fn one_off_continued(ground: &Ground) -> Outcome {
    use std::io::{Read as _, Write as _};
    let token = ground.token("once")?.text.clone();
    let go = Arc::new(Notify::new());
    let held = Script::steps(vec![Act::Hold(go.clone(), Box::new(Act::Say("first".into())))]);
    let tag = ground.puppets.learn(held);
    let body = json!({ "model": "once", "store": false, "stream": true, "input": tag }).to_string();
    let mut stream = machine::connect(ground.listen()?)?;
    write!(
        stream,
        "POST /v1/responses HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        ground.listen()?,
        body.len()
    )?;
    let mut heard = Vec::new();
    let id = loop {
        let mut some = [0; 512];
        let count = stream.read(&mut some)?;
        heard.extend_from_slice(&some[..count]);
        let text = String::from_utf8_lossy(&heard);
        let after = text.split_once("\"resp_").map(|(_, after)| after.to_owned());
        if let Some((id, _)) = after.as_deref().and_then(|after| after.split_once('"')) {
            break format!("resp_{id}");
        }
        control!(count > 0, "no response was begun: {text}");
    };
    let next = ground.puppets.learn(Script::say("second"));
    let ask = |id: &str| {
        let body = json!({ "model": "once", "input": next, "previous_response_id": id });
        ground.api(&token, "POST", "/v1/responses", &body)
    };
    let (answer, ()) = machine::both(
        || ask(&id),
        || {
            // Who was let in waits for the first to end.
            let is_queued = || open_turns(ground, "once").is_ok_and(|open| open > 1).then_some(());
            let _ = beside::within(Duration::from_secs(2), is_queued);
            go.notify_one();
        },
    )?;
    let answer = answer?;
    hold!(
        answer.status == 404 && ground.puppets.with_tag(&next).is_empty(),
        "a conversation that is forgotten after its turn was continued: {answer:?}"
    );
    let unknown = ask(&format!("resp_{}", "0".repeat(48)))?;
    control!(unknown.status == 404, "an id that is none answers {unknown:?}");
    Ok(Verdict::Held)
}
