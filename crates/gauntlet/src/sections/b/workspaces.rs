//! B10: files of another chat, as `workspace.scope` says; attachments and spilled output never.

use super::scene::{ADA, ann, ben};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::puppet::{Act, Call, Script};
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::{Context as _, Result};
use insula_testkit::telegram::{Draft, Where};
use serde_json::json;

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "B10", variant: "one desk: what the setting says", run: one_desk },
    Attempt { row: "B10", variant: "a desk each: by name, path and search", run: desk_each },
    Attempt { row: "B10", variant: "a desk each: by programs", run: desk_each_programs },
    Attempt {
        row: "B10",
        variant: "a desk each: the common folder is only read",
        run: common_folder,
    },
    Attempt { row: "B10", variant: "spilled output of another chat", run: spilled },
    Attempt { row: "B10", variant: "an attachment of another chat", run: attachment },
];

/// An agent with one desk, and one with a desk for each chat.
pub fn desks(stage: &Stage) -> Result<Ground> {
    let common = "approvals: {mode: 'off'}, access: {allow: ['telegram:*']}, sessions: {burst: 0s}";
    let plan = Plan::new()
        .agent("desk", common)
        .agent("each", &format!("{common}, workspace: {{scope: chat}}"));
    let plan = plan.file("agents/each/workspace/common.txt", "for all\n");
    Ground::raise(stage, plan.bot(ADA, "ada").binding("agent: desk, telegram: '*'"))
}

fn read(ground: &Ground, agent: &str, session: &str, path: &str) -> Result<String> {
    ground.call(agent, session, "read_file", json!({ "path": path }))
}

fn one_desk(ground: &Ground) -> Outcome {
    let write = json!({ "path": "note.txt", "content": "on the desk" });
    ground.call("desk", "one", "write_file", write)?;
    let told = read(ground, "desk", "two", "note.txt")?;
    hold!(told.contains("on the desk"), "a desk of the agent's is not shared: {told}");
    Ok(Verdict::Held)
}

/// Writes a canary in the conversation `kitchen`; where it lies.
fn in_kitchen(ground: &Ground, name: &str) -> Result<(String, String)> {
    let canary = ground.canary("the kitchen's desk").text;
    ground.call("each", "kitchen", "write_file", json!({ "path": name, "content": canary }))?;
    let files = machine::files_below(&ground.path("agents/each/conversations")?).into_iter();
    let path = files.into_iter().find(|path| path.ends_with(name)).context("it lies nowhere")?;
    Ok((canary, path.display().to_string()))
}

fn desk_each(ground: &Ground) -> Outcome {
    let (canary, path) = in_kitchen(ground, "mine.txt")?;
    let own = read(ground, "each", "kitchen", "mine.txt")?;
    control!(own.contains(&canary), "it is not there: {own}");
    let mut calls = vec![];
    let folder = path.trim_end_matches("mine.txt").to_owned();
    for path in ["mine.txt", &path, &folder, "../../", "..", "../../../conversations"] {
        calls.push(Call::new("read_file", json!({ "path": path })));
        calls.push(Call::new("search_files", json!({ "pattern": "canary", "path": path })));
        calls.push(Call::new(
            "search_files",
            json!({ "pattern": "*.txt", "target": "files", "path": path }),
        ));
        calls.push(Call::new(
            "write_file",
            json!({ "path": format!("{path}/x"), "content": "broken" }),
        ));
    }
    calls.push(Call::new("write_file", json!({ "path": path, "content": "broken" })));
    let told = ground.calls("each", "garden", calls)?;
    hold!(!told.concat().contains(&canary), "the garden reads: {told:?}");
    let kept = String::from_utf8_lossy(&machine::read(std::path::Path::new(&path))?).into_owned();
    hold!(kept == canary, "the garden changed it: {kept}");
    Ok(Verdict::Held)
}

fn desk_each_programs(ground: &Ground) -> Outcome {
    let (canary, path) = in_kitchen(ground, "secret.txt")?;
    let own = ground.shell("each", "kitchen", "cat secret.txt")?;
    control!(own.contains(&canary), "its own programs do not read it: {own}");
    let home = ground.path("agents/each")?.display().to_string();
    for command in [
        format!("cat {path}"),
        format!("cat {home}/conversations/*/workspace/*; ls -R {home}"),
        format!("ln -s {path} link; cat link; ln {path} hard; cat hard"),
        "timeout 5 grep -rs canary /tmp /home /srv --include=*.txt 2>/dev/null | head".to_owned(),
        format!("echo broken > {path}; rm -f {path}"),
    ] {
        let told = ground.shell("each", "garden", &command)?;
        hold!(!told.contains(&canary), "{command}: {told}");
    }
    let kept = String::from_utf8_lossy(&machine::read(std::path::Path::new(&path))?).into_owned();
    hold!(kept == canary, "it was changed: {kept}");
    Ok(Verdict::Held)
}

fn common_folder(ground: &Ground) -> Outcome {
    let path = ground.path("agents/each/workspace/common.txt")?.display().to_string();
    let told = read(ground, "each", "garden", &path)?;
    control!(told.contains("for all"), "the common folder can't be read: {told}");
    ground.call("each", "garden", "write_file", json!({ "path": path, "content": "broken" }))?;
    ground.shell(
        "each",
        "garden",
        &format!("echo broken > {path}; rm -f {path}; touch {path}.new"),
    )?;
    let kept = ground.text("agents/each/workspace/common.txt");
    hold!(
        kept == "for all\n" && !ground.has("agents/each/workspace/common.txt.new"),
        "it became {kept}"
    );
    Ok(Verdict::Held)
}

fn spilled(ground: &Ground) -> Outcome {
    for agent in ["desk", "each"] {
        let canary = ground.canary("spilled output").text;
        let told =
            ground.shell(agent, "spills", &format!("seq 1 60000; echo {canary}; seq 1 60000"))?;
        let files = machine::files_below(&ground.path(&format!("agents/{agent}"))?).into_iter();
        let found = files
            .filter(|path| {
                !path.ends_with("agent.db") && !path.display().to_string().contains("agent.db-")
            })
            .find(|path| {
                machine::read(path)
                    .is_ok_and(|bytes| crate::canary::contains(&bytes, canary.as_bytes()))
            });
        let path = found.with_context(|| {
            format!("nothing was spilled: {}", &told[told.len().saturating_sub(300)..])
        })?;
        let path = path.display().to_string();
        let own = ground.call(
            agent,
            "spills",
            "search_files",
            json!({ "pattern": canary, "path": path }),
        )?;
        control!(own.contains(&canary), "its own conversation can't look there: {own}");
        let folder = path.rsplit_once('/').map(|it| it.0).unwrap_or_default().to_owned();
        let calls = vec![
            Call::new("read_file", json!({ "path": path })),
            Call::new("search_files", json!({ "pattern": "canary", "path": path })),
            Call::new("search_files", json!({ "pattern": "canary", "path": folder })),
            Call::new(
                "terminal",
                json!({ "command": format!("tail -c 400000 {path} | grep canary; ls {folder}/.. ; grep -r canary {folder}/..") }),
            ),
        ];
        let told = ground.calls(agent, "elsewhere", calls)?;
        let told = told.concat();
        // The command itself names the word that is looked for, never the whole canary.
        hold!(!told.contains(&canary), "{agent}: {told}");
    }
    Ok(Verdict::Held)
}

fn attachment(ground: &Ground) -> Outcome {
    let canary = ground.canary("an attachment").text;
    let telegram = ground.telegram()?;
    let tag = ground.puppets.learn(Script::say("looked"));
    let before = telegram.sent().len();
    let draft = Draft::new(&ann(), &format!("look {tag}")).document(
        "paper.txt",
        "text/plain",
        canary.as_bytes(),
    );
    telegram.say(Where::Dm(ADA), &draft);
    ground.wait("it is answered", telegram.until_sent(before + 1))?;
    let files = machine::files_below(&ground.path("agents/desk")?).into_iter();
    let found = files
        .into_iter()
        .find(|path| machine::read(path).is_ok_and(|bytes| bytes == canary.as_bytes()));
    let path = found.context("it was not kept")?.display().to_string();
    let script = |calls: Vec<Call>| Script::steps(vec![Act::Call(calls)]);
    let look = || {
        vec![
            Call::new("read_file", json!({ "path": path })),
            Call::new(
                "terminal",
                json!({ "command": format!("cat {path}; ls -R {}", path.rsplit_once('/').map(|it| it.0).unwrap_or_default()) }),
            ),
            Call::new("search_files", json!({ "pattern": "canary", "path": path })),
        ]
    };
    let own = ground.tell(Where::Dm(ADA), &ann(), "read it", script(look()))?;
    control!(own.told().contains(&canary), "who sent it can't have it read: {}", own.told());
    let other = ground.tell(Where::Dm(ADA), &ben(), "read it", script(look()))?;
    hold!(!other.told().contains(&canary), "another chat reads it: {}", other.told());
    let told = ground.calls("desk", "api", look())?;
    hold!(!told.concat().contains(&canary), "a conversation of the API reads it: {told:?}");
    Ok(Verdict::Held)
}
