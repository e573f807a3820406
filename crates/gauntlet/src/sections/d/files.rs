//! D5: a file that somebody else changed since it was read.

use super::scene::{Task, arguments, delegate};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::machine;
use crate::puppet::{Act, Call, Script};
use crate::{control, hold};
use anyhow::Result;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Notify;

fn read(path: &str) -> Act {
    Act::Call(vec![Call::new("read_file", json!({ "path": path }))])
}

fn write(path: &str, content: &str) -> Act {
    Act::Call(vec![Call::new("write_file", json!({ "path": path, "content": content }))])
}

fn patch(path: &str, from: &str, to: &str) -> Act {
    let arguments =
        json!({ "mode": "replace", "path": path, "old_string": from, "new_string": to });
    Act::Call(vec![Call::new("patch", arguments)])
}

/// Waits until the script of a tag was asked so often.
fn asked(ground: &Ground, tag: &str, times: usize) -> Result<()> {
    machine::eventually("a child went on", || {
        Ok((ground.puppets.with_tag(tag).len() >= times).then_some(()))
    })
}

/// A child reads, `meanwhile` happens, the child makes its change; what it was told of that.
fn after(
    ground: &Ground,
    (file, change): (&str, Act),
    meanwhile: impl FnOnce() -> Result<()>,
) -> Result<String> {
    let workspace = format!("agents/deep/workspace/{file}");
    let path = ground.path(&workspace)?;
    machine::write(&path, b"first\n")?;
    crate::beside::set_mode(&path, 0o666)?;
    let go = Arc::new(Notify::new());
    let script = Script::steps(vec![read(file), Act::Hold(go.clone(), Box::new(change))]);
    let (arguments, tags) = arguments(ground, vec![Task::leaf(script)]);
    let parent = Script::steps(vec![Act::Call(vec![Call::new("delegate_task", arguments)])]);
    let (turn, done) = machine::both(
        || ground.turn("deep", &format!("stale-{file}"), parent),
        || -> Result<()> {
            asked(ground, &tags[0], 2)?;
            let done = meanwhile();
            go.notify_one();
            done
        },
    )?;
    done?;
    let turn = turn?;
    let child = ground.so_far(&tags[0]);
    anyhow::ensure!(child.results.len() == 2, "the child made other calls: {}", turn.told());
    Ok(child.results[1].clone())
}

fn is_told_what_to_do(said: &str) -> bool {
    said.starts_with("refused") && said.contains("read")
}

fn by_nobody(ground: &Ground) -> Outcome {
    let said = after(ground, ("calm.txt", write("calm.txt", "second\n")), || Ok(()))?;
    let text = ground.text("agents/deep/workspace/calm.txt");
    control!(text == "second\n", "a file that nobody changed can't be written: {said}");
    // A file that it never read.
    let path = ground.path("agents/deep/workspace/unread.txt")?;
    machine::write(&path, b"first\n")?;
    let task = Task::leaf(Script::steps(vec![write("unread.txt", "mine\n")]));
    let family = delegate(ground, "deep", "unread", vec![task])?;
    let text = ground.text("agents/deep/workspace/unread.txt");
    hold!(text == "first\n", "it wrote over what it never read: {}", family.report());
    Ok(Verdict::Held)
}

fn by_another_conversation(ground: &Ground) -> Outcome {
    for (file, change) in [
        ("talk.txt", write("talk.txt", "by the child\n")),
        ("talk-too.txt", patch("talk-too.txt", "second", "by the child")),
    ] {
        let said = after(ground, (file, change), || {
            ground.turn(
                "deep",
                "other",
                Script::steps(vec![read(file), write(file, "second\n")]),
            )?;
            Ok(())
        })?;
        let text = ground.text(&format!("agents/deep/workspace/{file}"));
        hold!(text == "second\n", "an update was lost: {text:?}");
        hold!(is_told_what_to_do(&said), "it is not told what to do: {said}");
    }
    Ok(Verdict::Held)
}

fn by_a_program(ground: &Ground) -> Outcome {
    let said = after(ground, ("shell.txt", write("shell.txt", "by the child\n")), || {
        ground.shell("deep", "program", "echo second > shell.txt")?;
        Ok(())
    })?;
    let text = ground.text("agents/deep/workspace/shell.txt");
    hold!(text == "second\n", "an update was lost: {text:?}");
    hold!(is_told_what_to_do(&said), "it is not told what to do: {said}");
    Ok(Verdict::Held)
}

fn by_a_sibling(ground: &Ground) -> Outcome {
    let path = ground.path("agents/deep/workspace/both.txt")?;
    machine::write(&path, b"first\n")?;
    crate::beside::set_mode(&path, 0o666)?;
    let (one, two) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let late = Script::steps(vec![
        read("both.txt"),
        Act::Hold(one.clone(), Box::new(write("both.txt", "by the late one\n"))),
    ]);
    let early = Script::steps(vec![
        Act::Hold(two.clone(), Box::new(read("both.txt"))),
        write("both.txt", "by the early one\n"),
    ]);
    let (arguments, tags) = arguments(ground, vec![Task::leaf(late), Task::leaf(early)]);
    let parent = Script::steps(vec![Act::Call(vec![Call::new("delegate_task", arguments)])]);
    let (turn, done) = machine::both(
        || ground.turn("deep", "siblings", parent),
        || -> Result<()> {
            asked(ground, &tags[0], 2)?;
            two.notify_one();
            asked(ground, &tags[1], 3)?;
            one.notify_one();
            Ok(())
        },
    )?;
    done?;
    let told = turn?.told();
    let text = ground.text("agents/deep/workspace/both.txt");
    hold!(text == "by the early one\n", "an update was lost: {text:?} {told}");
    let late = ground.so_far(&tags[0]).results.pop().unwrap_or_default();
    hold!(is_told_what_to_do(&late), "it is not told what to do: {late}");
    Ok(Verdict::Held)
}

fn by_its_own_child(ground: &Ground) -> Outcome {
    let path = ground.path("agents/deep/workspace/down.txt")?;
    machine::write(&path, b"first\n")?;
    crate::beside::set_mode(&path, 0o666)?;
    let child = Script::steps(vec![read("down.txt"), write("down.txt", "by the child\n")]);
    let (arguments, _) = arguments(ground, vec![Task::leaf(child)]);
    let parent = Script::steps(vec![
        read("down.txt"),
        Act::Call(vec![Call::new("delegate_task", arguments)]),
        write("down.txt", "by the parent\n"),
    ]);
    let turn = ground.turn("deep", "down", parent)?;
    let text = ground.text("agents/deep/workspace/down.txt");
    hold!(text == "by the child\n", "an update was lost: {text:?}");
    let said = turn.results.last().cloned().unwrap_or_default();
    hold!(is_told_what_to_do(&said), "it is not told what to do: {said}");
    Ok(Verdict::Held)
}

/// D5.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "D5", variant: "a file that it never read", run: by_nobody },
    Attempt { row: "D5", variant: "changed by another conversation", run: by_another_conversation },
    Attempt { row: "D5", variant: "changed by a program", run: by_a_program },
    Attempt { row: "D5", variant: "changed by a sibling", run: by_a_sibling },
    Attempt { row: "D5", variant: "changed by its own child", run: by_its_own_child },
];
