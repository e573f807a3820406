//! I5, people and chats: who loses a place, and whose chat is led elsewhere, while their work is
//! under way.

use super::states::{ADA, SOON, SceneState, reload};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::puppet::{Act, Call, Script};
use crate::{beside, hold, machine};
use anyhow::Result;
use insula_testkit::telegram::{Draft, Trouble, User, Where};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;

fn ann() -> User {
    User::new(42, "Ann")
}

fn config(ground: &Ground) -> Result<String> {
    Ok(ground.own::<SceneState>()?.config.clone())
}

fn without_ann(ground: &Ground) -> Result<String> {
    Ok(config(ground)?.replace("'telegram:42'", "'telegram:43'"))
}

fn led_elsewhere(ground: &Ground) -> Result<String> {
    let config = config(ground)?;
    anyhow::ensure!(config.contains("{agent: door, telegram"), "no such binding: {config}");
    Ok(config.replace("{agent: door, telegram", "{agent: next, telegram"))
}

fn without_account(ground: &Ground) -> Result<String> {
    let config = config(ground)?;
    anyhow::ensure!(config.contains("ada: {"), "no such account: {config}");
    Ok(config.replacen("ada: {", "ada: {enabled: false, ", 1))
}

fn write(name: &str) -> Act {
    Act::Call(vec![Call::new("write_file", json!({ "path": name, "content": "x" }))])
}

fn was_asked(ground: &Ground, tag: &str) -> Result<()> {
    machine::eventually("the model is asked", || {
        Ok((!ground.puppets.with_tag(tag).is_empty()).then_some(()))
    })
}

fn was_heard(ground: &Ground) -> Result<()> {
    machine::eventually("it was heard", || Ok((ground.telegram()?.pending(ADA) == 0).then_some(())))
}

/// One turn is with its model and would write next, another waits behind it; then `after` holds.
fn under_way(ground: &Ground, name: &str, after: &str) -> Outcome {
    reload(ground, &config(ground)?)?;
    let go = Arc::new(Notify::new());
    let (late, queued) = (format!("late-{name}.txt"), format!("queued-{name}.txt"));
    let held = Act::Hold(go.clone(), Box::new(write(&late)));
    let first = ground.puppets.learn(Script::steps(vec![held]));
    let second = ground.puppets.learn(Script::steps(vec![write(&queued)]));
    ground.say(Where::Dm(ADA), &ann(), &format!("one {first}"))?;
    was_asked(ground, &first)?;
    ground.say(Where::Dm(ADA), &ann(), &format!("two {second}"))?;
    was_heard(ground)?;
    reload(ground, after)?;
    go.notify_one();
    let workspace = "agents/door/workspace";
    let did = || {
        let names = [&late, &queued].into_iter();
        names.clone().find(|it| ground.has(&format!("{workspace}/{it}"))).cloned()
    };
    let did = beside::within(SOON * 5, did);
    reload(ground, &config(ground)?)?;
    hold!(did.is_none(), "it was done all the same: {did:?}");
    hold!(ground.puppets.with_tag(&second).is_empty(), "a model heard what had waited");
    Ok(Verdict::Held)
}

fn shut_out(ground: &Ground) -> Outcome {
    under_way(ground, "shut-out", &without_ann(ground)?)
}

fn disconnected(ground: &Ground) -> Outcome {
    under_way(ground, "disconnected", &without_account(ground)?)
}

fn disconnected_with_a_program(ground: &Ground) -> Outcome {
    in_the_background(ground, &without_account(ground)?)
}

fn led_away(ground: &Ground) -> Outcome {
    under_way(ground, "led-away", &led_elsewhere(ground)?)
}

/// Words wait behind a file that is slow to come.
fn behind_a_file(ground: &Ground, name: &str, after: &str) -> Outcome {
    reload(ground, &config(ground)?)?;
    let go = Arc::new(Notify::new());
    let telegram = ground.telegram()?;
    telegram.trouble(ADA, "getFile", Trouble::Wait(go.clone()));
    let asked = telegram.asked_for("getFile").len();
    let [first, second] = [(); 2]
        .map(|()| ground.puppets.learn(Script::steps(vec![write(&format!("file-{name}.txt"))])));
    let file = Draft::new(&ann(), &format!("look {first}"));
    telegram.say(Where::Dm(ADA), &file.document("slow.txt", "text/plain", b"words"));
    machine::eventually("the file is asked for", || {
        Ok((telegram.asked_for("getFile").len() > asked).then_some(()))
    })?;
    ground.say(Where::Dm(ADA), &ann(), &format!("and then {second}"))?;
    was_heard(ground)?;
    reload(ground, after)?;
    go.notify_one();
    let heard = || {
        let mut tags = [&first, &second].into_iter();
        tags.find(|it| !ground.puppets.with_tag(it).is_empty()).cloned()
    };
    let heard = beside::within(SOON * 5, heard);
    reload(ground, &config(ground)?)?;
    hold!(heard.is_none(), "a model heard what had waited behind the file");
    Ok(Verdict::Held)
}

fn shut_out_behind_a_file(ground: &Ground) -> Outcome {
    behind_a_file(ground, "shut-out", &without_ann(ground)?)
}

fn led_away_behind_a_file(ground: &Ground) -> Outcome {
    let verdict = behind_a_file(ground, "led-away", &led_elsewhere(ground)?)?;
    let there = ["door", "next"].map(|it| format!("agents/{it}/workspace/file-led-away.txt"));
    hold!(!there.iter().any(|it| ground.has(it)), "it was done by one of the two");
    Ok(verdict)
}

/// A program in the background that somebody began.
fn in_the_background(ground: &Ground, after: &str) -> Outcome {
    reload(ground, &config(ground)?)?;
    let mark = format!("mark-{}", ground.canary("a program of somebody's").text);
    let command = format!(": {mark}; while :; do sleep 0.05; done");
    let wish = json!({ "command": command, "background": true });
    let script = Script::steps(vec![Act::Call(vec![Call::new("terminal", wish)])]);
    ground.tell(Where::Dm(ADA), &ann(), "begin", script)?;
    machine::eventually("the program runs", || {
        Ok((!machine::processes_with(&mark).is_empty()).then_some(()))
    })?;
    reload(ground, after)?;
    let gone = || machine::processes_with(&mark).is_empty().then_some(());
    let ended = beside::within(SOON * 5, gone).is_some();
    reload(ground, &config(ground)?)?;
    if !ended {
        ground.admin("POST", "/api/agents/door/pause", &Value::Null)?;
        ground.admin("POST", "/api/agents/door/resume", &Value::Null)?;
    }
    hold!(ended, "their program goes on");
    Ok(Verdict::Held)
}

fn shut_out_with_a_program(ground: &Ground) -> Outcome {
    in_the_background(ground, &without_ann(ground)?)
}

fn led_away_with_a_program(ground: &Ground) -> Outcome {
    in_the_background(ground, &led_elsewhere(ground)?)
}

/// An admin who is none any longer answers a question that was asked before.
fn former_admin(ground: &Ground) -> Outcome {
    let kept = config(ground)?;
    reload(ground, &kept)?;
    let command = json!({ "command": "mkdir former; rm -r former; touch ran-former" });
    let asks = Act::Call(vec![Call::new("terminal", command)]);
    let tag = ground.puppets.learn(Script::steps(vec![asks]));
    let (ann, root) = (ann(), User::new(1, "Root"));
    ground.say(Where::Dm(ADA), &ann, &format!("please {tag}"))?;
    let list = "/api/agents/door/approvals";
    let id = machine::eventually("a call waits", || {
        let all = ground.admin("GET", list, &Value::Null)?.json();
        Ok(all[0]["id"].as_str().map(str::to_owned))
    })?;
    reload(ground, &kept.replace("'telegram:1'", "'telegram:2'"))?;
    for words in [format!("/approve {id}"), "/approve".to_owned(), "yes".to_owned()] {
        ground.say(Where::Dm(ADA), &root, &words)?;
    }
    was_heard(ground)?;
    let did = || ground.has("agents/door/workspace/ran-former").then_some(());
    let did = beside::within(SOON * 3, did).is_some();
    ground.admin("POST", &format!("{list}/{id}"), &json!({ "decision": "deny" }))?;
    reload(ground, &kept)?;
    hold!(!did, "somebody who was an admin approved it");
    Ok(Verdict::Held)
}

/// I5, beside the probes of [`granted`](super::granted).
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "I5", variant: "somebody shut out while they wait", run: shut_out },
    Attempt { row: "I5", variant: "shut out behind a slow file", run: shut_out_behind_a_file },
    Attempt { row: "I5", variant: "shut out with a program left", run: shut_out_with_a_program },
    Attempt { row: "I5", variant: "a chat led to another agent", run: led_away },
    Attempt { row: "I5", variant: "led elsewhere behind a slow file", run: led_away_behind_a_file },
    Attempt {
        row: "I5",
        variant: "led elsewhere with a program left",
        run: led_away_with_a_program,
    },
    Attempt { row: "I5", variant: "an account that is gone", run: disconnected },
    Attempt {
        row: "I5",
        variant: "an account that is gone, with a program left",
        run: disconnected_with_a_program,
    },
    Attempt { row: "I5", variant: "an admin no longer, who answers", run: former_admin },
];
