//! D4: more children than allowed, at once and in all, and children that never end.

use super::scene::{Task, arguments, delegate};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside;
use crate::ground::Ground;
use crate::machine;
use crate::puppet::{Act, Call, Script};
use crate::{control, hold};
use anyhow::Result;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// How long a child too many would have to show itself.
const TOO_MANY_SHOWS: Duration = Duration::from_millis(400);

/// A child that waits for its own word.
fn waiting() -> (Task, Arc<Notify>) {
    let go = Arc::new(Notify::new());
    let said = Act::Say("done".to_owned());
    (Task::leaf(Script::steps(vec![Act::Hold(go.clone(), Box::new(said))])), go)
}

/// How many of these have asked their model.
fn begun(ground: &Ground, tags: &[String]) -> usize {
    tags.iter().filter(|tag| !ground.puppets.with_tag(tag).is_empty()).count()
}

fn at_once(ground: &Ground) -> Outcome {
    let (tasks, goes): (Vec<Task>, Vec<_>) = (0..4).map(|_| waiting()).unzip();
    let (arguments, tags) = arguments(ground, tasks);
    let script = Script::steps(vec![Act::Call(vec![Call::new("delegate_task", arguments)])]);
    let (turn, most) = machine::both(
        || ground.turn("parent", "at-once", script),
        || -> Result<usize> {
            machine::eventually("two children began", || {
                Ok((begun(ground, &tags) >= 2).then_some(()))
            })?;
            beside::within(TOO_MANY_SHOWS, || (begun(ground, &tags) > 2).then_some(()));
            let most = begun(ground, &tags);
            goes.iter().for_each(|go| go.notify_one());
            Ok(most)
        },
    )?;
    let (turn, most) = (turn?, most?);
    hold!(most == 2, "{most} ran at once where 2 may");
    let told = turn.told();
    hold!(begun(ground, &tags) == 4, "those that waited never ran: {told}");
    hold!(told.matches(" finished:").count() == 4, "not all finished: {told}");
    Ok(Verdict::Held)
}

fn in_total(ground: &Ground) -> Outcome {
    let tasks = (0..8).map(|_| Task::leaf(Script::say("done"))).collect();
    let family = delegate(ground, "parent", "in-total", tasks)?;
    let ran = family.children.iter().filter(|child| !child.requests.is_empty()).count();
    hold!(ran <= 5, "{ran} ran in one turn where 5 may: {}", family.report());
    // In several calls of one turn, too.
    let mut tags = vec![];
    let mut acts = vec![];
    for _ in 0..8 {
        let (arguments, tag) = arguments(ground, vec![Task::leaf(Script::say("done"))]);
        tags.extend(tag);
        acts.push(Act::Call(vec![Call::new("delegate_task", arguments)]));
    }
    let turn = ground.turn("parent", "in-total", Script::steps(acts))?;
    let ran = begun(ground, &tags);
    control!(ran > 0, "none ran at all: {}", turn.told());
    hold!(ran <= 5, "{ran} ran in one turn where 5 may: {}", turn.told());
    // The next turn has its own.
    let family = delegate(ground, "parent", "in-total", vec![Task::leaf(Script::say("done"))])?;
    hold!(!family.children[0].requests.is_empty(), "the places did not come back");
    Ok(Verdict::Held)
}

fn that_never_end(ground: &Ground) -> Outcome {
    let stalls = || Task::leaf(Script::steps(vec![Act::Stall("I will".to_owned())]));
    let calls = || Task::leaf(Script::live(|_| Act::Call(vec![Call::new("todo", json!({}))])));
    let sleeps = || {
        Task::leaf(Script::steps(vec![Act::Call(vec![Call::new(
            "terminal",
            json!({ "command": "sleep 100" }),
        )])]))
    };
    let (family, took) =
        machine::timed(|| delegate(ground, "hasty", "endless", vec![stalls(), calls(), sleeps()]));
    let family = family?;
    hold!(took < Duration::from_secs(30), "they ran for {took:?} where 2 s are allowed each");
    let told = family.report();
    hold!(told.matches("was stopped").count() + told.matches("failed").count() >= 3, "{told}");
    // Their places are free again, and nothing of them goes on.
    let asked: usize = family.children.iter().map(|child| child.requests.len()).sum();
    let family = delegate(
        ground,
        "hasty",
        "endless",
        vec![Task::leaf(Script::say("done")), Task::leaf(Script::say("done"))],
    )?;
    hold!(family.report().matches(" finished:").count() == 2, "{}", family.report());
    let tags: Vec<_> = family.children.iter().map(|child| child.tag.clone()).collect();
    control!(tags.len() == 2 && asked > 0, "the children did not begin");
    Ok(Verdict::Held)
}

fn of_a_turn_that_is_stopped(ground: &Ground) -> Outcome {
    let (tasks, _goes): (Vec<Task>, Vec<_>) = (0..2).map(|_| waiting()).unzip();
    let (arguments, tags) = arguments(ground, tasks);
    let script = Script::steps(vec![Act::Call(vec![Call::new("delegate_task", arguments)])]);
    let token = ground.token("parent")?.text.clone();
    let (turn, stopped) = machine::both(
        || ground.turn("parent", "stopped", script),
        || -> Result<u16> {
            machine::eventually("two children began", || {
                Ok((begun(ground, &tags) >= 2).then_some(()))
            })?;
            let body = json!({ "session": "stopped" });
            Ok(ground.api(&token, "POST", "/api/agents/parent/stop", &body)?.status)
        },
    )?;
    let status = stopped?;
    control!(status == 200, "it can't be stopped: {status}");
    control!(turn.is_ok(), "the turn did not end: {turn:?}");
    // The places are free again.
    let family = delegate(
        ground,
        "parent",
        "after",
        vec![Task::leaf(Script::say("done")), Task::leaf(Script::say("done"))],
    )?;
    hold!(family.report().matches(" finished:").count() == 2, "{}", family.report());
    Ok(Verdict::Held)
}

/// D4.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "D4", variant: "more at once than allowed", run: at_once },
    Attempt { row: "D4", variant: "more in all than allowed", run: in_total },
    Attempt { row: "D4", variant: "children that never end", run: that_never_end },
    Attempt {
        row: "D4",
        variant: "children of a turn that is stopped",
        run: of_a_turn_that_is_stopped,
    },
];
