//! A10: an agent that uses up all it has uses up nothing of another's.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::puppet::{Act, Call, Script, costly};
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::Result;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Notify;

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A10", variant: "its budget of tokens", run: budget },
    Attempt { row: "A10", variant: "its turns in a minute", run: turns },
    Attempt { row: "A10", variant: "its queue and its places for turns", run: queue },
    Attempt { row: "A10", variant: "its places for children", run: children },
    Attempt { row: "A10", variant: "the disk", run: disk },
    Attempt { row: "A10", variant: "memory", run: memory },
    Attempt { row: "A10", variant: "processes", run: processes },
];

/// A greedy agent, one that spends, one that hurries, and one that only works.
pub fn greedy(stage: &Stage) -> Result<Ground> {
    let open = "approvals: {mode: 'off'}";
    let greedy = format!(
        "{open}, sandbox: {{growth: 20MB, memory: 200MB, processes: 50}}, subagents: {{max_children: 2, max_total: 4}}"
    );
    let plan = Plan::new().agent("a", &greedy).agent("b", open);
    let plan = plan.agent("spends", "tools: minimal, budget: {tokens_per_day: 50000}");
    Ground::raise(stage, plan.agent("hurries", "tools: minimal, budget: {turns_per_minute: 1}"))
}

/// Whether b answers, with its tools.
fn works(ground: &Ground) -> Result<bool> {
    let told = ground.shell("b", "works", "echo at work > work.txt; cat work.txt")?;
    Ok(told.contains("at work"))
}

fn budget(ground: &Ground) -> Outcome {
    let buy = || ground.turn("spends", "s", Script::steps(vec![costly("bought", 49_990)]));
    let (first, last) = (buy()?, buy()?);
    let statuses = (first.answer.status, last.answer.status);
    control!(statuses == (200, 429), "its budget is not used up by one turn: {statuses:?}");
    hold!(works(ground)?, "b does not answer");
    let body = last.answer.body;
    hold!(!body.contains("\"b\"") && !body.contains("`b`"), "the refusal names b: {body}");
    Ok(Verdict::Held)
}

fn turns(ground: &Ground) -> Outcome {
    let mut refused = false;
    for _ in 0..6 {
        refused |= ground.turn("hurries", "s", Script::say("x"))?.answer.status == 429;
    }
    control!(refused, "it is never too much");
    for _ in 0..3 {
        hold!(works(ground)?, "b does not answer");
    }
    Ok(Verdict::Held)
}

fn queue(ground: &Ground) -> Outcome {
    let go = Arc::new(Notify::new());
    let held = Script::live({
        let go = go.clone();
        move |_| Act::Hold(go.clone(), Box::new(Act::Say("at last".to_owned())))
    });
    let tag = ground.puppets.learn(held);
    let token = ground.token("a")?.text.clone();
    let before = ground.puppets.count();
    // More turns than an agent has places for, and more messages than one conversation takes.
    let bearer = format!("Authorization: Bearer {token}");
    let headers = [bearer.as_str(), "Content-Type: application/json"];
    let mut begun = vec![];
    for number in 0..70 {
        let session = if number < 20 { format!("held-{number}") } else { "held-0".to_owned() };
        let body = json!({ "session": session, "text": format!("wait {tag}") }).to_string();
        begun.push(machine::begin(
            ground.listen()?,
            "POST",
            "/api/agents/a/messages",
            &headers,
            &body,
        )?);
    }
    let (sent, refused) = (begun.len(), begun.iter().filter(|it| it.status >= 400).count());
    ground.wait("a's turns are held", ground.puppets.until(before + 10))?;
    let answers = works(ground);
    // Everybody who waits is let go, as often as somebody comes.
    let clock = ground.stage().world.clock.clone();
    ground.stage().runtime.spawn(async move {
        for _ in 0..2_000 {
            go.notify_waiters();
            go.notify_one();
            clock.sleep(std::time::Duration::from_millis(5)).await;
        }
    });
    hold!(answers?, "b does not answer while a has {sent} messages, {refused} refused");
    control!(refused > 0, "a's queue has no end: {sent} messages were taken");
    Ok(Verdict::Held)
}

fn children(ground: &Ground) -> Outcome {
    let go = Arc::new(Notify::new());
    let held = ground.puppets.learn(Script::live({
        let go = go.clone();
        move |_| Act::Hold(go.clone(), Box::new(Act::Say("at last".to_owned())))
    }));
    let quick = ground.puppets.learn(Script::say("child of b is done"));
    let tasks: Vec<_> = (0..4).map(|_| json!({ "goal": format!("wait {held}") })).collect();
    let before = ground.puppets.count();
    let hand = Call::new("delegate_task", json!({ "tasks": tasks }));
    let (a, b) = machine::both(
        || ground.calls("a", "children", vec![hand]),
        || {
            ground.wait("a's places are taken", ground.puppets.until(before + 3))?;
            let told = ground.call(
                "b",
                "children",
                "delegate_task",
                json!({ "goal": format!("do {quick}") }),
            );
            for _ in 0..400 {
                go.notify_one();
                go.notify_waiters();
                let _ = ground.puppets.count();
            }
            let clock = ground.stage().world.clock.clone();
            ground.stage().runtime.spawn(async move {
                for _ in 0..1_000 {
                    go.notify_one();
                    clock.sleep(std::time::Duration::from_millis(5)).await;
                }
            });
            told
        },
    )?;
    let told = b?;
    a?;
    hold!(told.contains("child of b is done"), "b's child did not run: {told}");
    Ok(Verdict::Held)
}

fn disk(ground: &Ground) -> Outcome {
    let told =
        ground.shell("a", "disk", "dd if=/dev/zero of=large bs=1M count=400 2>&1; ls -l large")?;
    hold!(works(ground)?, "b does not answer");
    let size = machine::files_below(&ground.path("agents/a/workspace")?)
        .iter()
        .map(|path| machine::read(path).map_or(0, |bytes| bytes.len()))
        .sum::<usize>();
    ground.home().write("agents/a/workspace/large", "")?;
    hold!(size < 400_000_000, "a wrote {size} bytes: {told}");
    Ok(Verdict::Held)
}

fn memory(ground: &Ground) -> Outcome {
    let code = "kept = []\nfor n in range(2000):\n    kept.append(bytearray(b'x') * 1_000_000)\nprint('had', len(kept), 'MB')\n";
    let told =
        ground.call("a", "memory", "execute_code", json!({ "code": code, "timeout": 30 }))?;
    hold!(!told.contains("had 2000 MB"), "a had all of it: {told}");
    hold!(works(ground)?, "b does not answer");
    Ok(Verdict::Held)
}

fn processes(ground: &Ground) -> Outcome {
    let code = "import os, time\nmade = 0\nfor n in range(5000):\n    try:\n        if os.fork() == 0:\n            time.sleep(20)\n            os._exit(0)\n        made += 1\n    except OSError:\n        break\nprint('made', made)\nos._exit(0)\n";
    let told =
        ground.call("a", "processes", "execute_code", json!({ "code": code, "timeout": 30 }))?;
    hold!(!told.contains("made 5000"), "a made all of them: {told}");
    hold!(works(ground)?, "b does not answer");
    Ok(Verdict::Held)
}
