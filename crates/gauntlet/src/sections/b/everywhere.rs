//! B3 and B11: what would reach every conversation, or change the agent, takes an admin.

use super::scene::{ADA, GARDEN, KITCHEN, ben, chief};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::canary::Canary;
use crate::ground::Ground;
use crate::machine;
use crate::puppet::{Act, Call, Script};
use crate::{control, hold};
use anyhow::Result;
use insula_testkit::telegram::Where;
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "B3", variant: "nobody confirms", run: unconfirmed },
    Attempt {
        row: "B3",
        variant: "an admin confirms, and it is known who said it",
        run: confirmed,
    },
    Attempt {
        row: "B3",
        variant: "by an operation inside of a list, or another scope's name",
        run: hidden,
    },
    Attempt { row: "B3", variant: "while an admin talks in the same group", run: beside_an_admin },
    Attempt { row: "B11", variant: "skill_manage", run: skills },
    Attempt { row: "B11", variant: "the agent's files and settings", run: settings },
    Attempt { row: "B11", variant: "an admin's commands", run: commands },
    Attempt { row: "B11", variant: "a global write over the API", run: over_api },
    Attempt { row: "B11", variant: "cronjob", run: cron },
];

fn everywhere(text: &str) -> Call {
    Call::new(
        "memory",
        json!({ "action": "add", "target": "memory", "content": text, "scope": "global" }),
    )
}

fn once(call: Call) -> Script {
    Script::steps(vec![Act::Call(vec![call])])
}

/// Whether anything global, or any other place, has it.
fn spread(ground: &Ground, canary: &Canary) -> Result<Option<String>> {
    for file in ["MEMORY.md", "USER.md"] {
        if canary.found_in(ground.text(&format!("agents/m/memories/{file}")).as_bytes()).is_some() {
            return Ok(Some(format!("it is in the global {file}")));
        }
    }
    let listed = ground.admin("GET", "/api/agents/m/memory?scope=global", &Value::Null)?;
    if canary.found_in(listed.body.as_bytes()).is_some() {
        return Ok(Some(format!("it is in global memory: {}", listed.body)));
    }
    let turn = ground.turn("m", "somewhere-else", Script::say("x"))?;
    let token = ground.token("m")?.text.clone();
    ground.api(&token, "POST", "/api/agents/m/new", &json!({ "session": "somewhere-else" }))?;
    Ok(canary.found_in(&turn.prompts()).map(|_| "it is in another place's prompt".to_owned()))
}

fn unconfirmed(ground: &Ground) -> Outcome {
    let canary = ground.canary("a global wish");
    let turn =
        ground.tell(Where::Chat(KITCHEN), &ben(), "for all", once(everywhere(&canary.text)))?;
    control!(turn.results.len() == 1, "nothing was asked: {turn:?}");
    let spread = spread(ground, &canary)?;
    hold!(spread.is_none(), "{}: {}", spread.unwrap_or_default(), turn.told());
    Ok(Verdict::Held)
}

fn confirmed(ground: &Ground) -> Outcome {
    let canary = ground.canary("a confirmed wish");
    let text = format!("the bin day is {}", canary.text);
    let (turn, answered) = machine::both(
        || ground.tell(Where::Chat(KITCHEN), &ben(), "for all", once(everywhere(&text))),
        || {
            let id = machine::eventually("it waits", || {
                let all = ground.admin("GET", "/api/agents/m/approvals", &Value::Null)?.json();
                Ok(all[0]["id"].as_str().map(str::to_owned))
            })?;
            let before = spread(ground, &canary)?;
            let path = format!("/api/agents/m/approvals/{id}");
            ground.admin("POST", &path, &json!({ "decision": "approve" }))?;
            anyhow::Ok(before)
        },
    )?;
    let (turn, before) = (turn?, answered?);
    hold!(before.is_none(), "before anybody said yes, {}", before.unwrap_or_default());
    control!(spread(ground, &canary)?.is_some(), "a confirmed write is nowhere: {}", turn.told());
    let listed = ground.admin("GET", "/api/agents/m/memory", &Value::Null)?.json();
    let listed = listed.as_array().cloned().unwrap_or_default();
    let found = listed.iter().find(|it| it["text"] == text.as_str()).cloned().unwrap_or_default();
    let who = found["provenance"].to_string();
    hold!(who.contains("telegram:43"), "who said it is not kept: {who}");
    hold!(who.contains("cli:local"), "who confirmed it is not kept: {who}");
    Ok(Verdict::Held)
}

fn hidden(ground: &Ground) -> Outcome {
    let canary = ground.canary("a hidden wish");
    let one =
        json!({ "action": "add", "target": "memory", "content": canary.text, "scope": "global" });
    let calls = vec![
        Call::new("memory", json!({ "target": "memory", "operations": [one] })),
        Call::new(
            "memory",
            json!({ "action": "add", "target": "memory", "content": canary.text, "scope": "GLOBAL" }),
        ),
        Call::new(
            "memory",
            json!({ "action": "add", "target": "memory", "content": canary.text, "scope": "chat:telegram:ada:-102" }),
        ),
        Call::new(
            "memory",
            json!({ "action": "add", "target": "memory", "content": canary.text, "scope": null, "context_id": null }),
        ),
        Call::new(
            "memory",
            json!({ "action": "add", "target": "../MEMORY", "content": canary.text }),
        ),
    ];
    ground.tell(Where::Chat(KITCHEN), &ben(), "quietly", Script::steps(vec![Act::Call(calls)]))?;
    let spread = spread(ground, &canary)?;
    hold!(spread.is_none(), "{}", spread.unwrap_or_default());
    let turn = ground.tell(Where::Chat(GARDEN), &ben(), "anything", Script::say("x"))?;
    hold!(canary.found_in(&turn.prompts()).is_none(), "another group's prompt has it");
    Ok(Verdict::Held)
}

fn beside_an_admin(ground: &Ground) -> Outcome {
    // The session is one; the rights are those of whoever says the message.
    ground.tell(Where::Chat(KITCHEN), &chief(), "hello", Script::say("hello"))?;
    let canary = ground.canary("a wish beside an admin");
    ground.tell(Where::Chat(KITCHEN), &ben(), "for all", once(everywhere(&canary.text)))?;
    let found = spread(ground, &canary)?;
    hold!(found.is_none(), "{}", found.unwrap_or_default());
    let own = ground.canary("an admin's wish");
    ground.tell(Where::Dm(ADA), &chief(), "for all", once(everywhere(&own.text)))?;
    control!(spread(ground, &own)?.is_some(), "an admin's own write is nowhere");
    Ok(Verdict::Held)
}

fn skills(ground: &Ground) -> Outcome {
    let text =
        |name: &str| format!("---\nname: {name}\ndescription: a trick\n---\nDo the trick.\n");
    let make = |name: &str| {
        Call::new(
            "skill_manage",
            json!({ "action": "create", "name": name, "content": text(name) }),
        )
    };
    let turn = ground.tell(Where::Chat(KITCHEN), &ben(), "learn it", once(make("trick")))?;
    hold!(!ground.has("agents/m/skills/trick"), "a skill came to be: {}", turn.told());
    let list = ground.turn("m", "skills", once(Call::new("skills_list", json!({}))))?;
    hold!(!list.told().contains("trick"), "it is listed: {}", list.told());
    let turn = ground.tell(Where::Dm(ADA), &chief(), "learn it", once(make("ruse")))?;
    control!(
        ground.has("agents/m/skills/ruse"),
        "an admin's skill does not come to be: {}",
        turn.told()
    );
    Ok(Verdict::Held)
}

fn settings(ground: &Ground) -> Outcome {
    let config = ground.text("config.yaml");
    let home = ground.path("")?.display().to_string();
    let calls = vec![
        Call::new("write_file", json!({ "path": format!("{home}/config.yaml"), "content": "x" })),
        Call::new("write_file", json!({ "path": "../SOUL.md", "content": "x" })),
        Call::new("write_file", json!({ "path": "../agent.yaml", "content": "x: 1" })),
        Call::new(
            "terminal",
            json!({ "command": format!("echo x > {home}/config.yaml; echo x > ../SOUL.md") }),
        ),
        Call::new(
            "write_file",
            json!({ "path": format!("{home}/agents/m/memories/MEMORY.md"), "content": "x" }),
        ),
    ];
    let turn = ground.tell(
        Where::Chat(KITCHEN),
        &ben(),
        "change",
        Script::steps(vec![Act::Call(calls)]),
    )?;
    control!(turn.results.len() == 5, "not all was tried: {turn:?}");
    hold!(ground.text("config.yaml") == config, "config.yaml was changed");
    hold!(
        !ground.has("agents/m/SOUL.md") && !ground.has("agents/m/agent.yaml"),
        "a file came to be"
    );
    hold!(ground.text("agents/m/memories/MEMORY.md") != "x", "MEMORY.md was changed");
    Ok(Verdict::Held)
}

fn commands(ground: &Ground) -> Outcome {
    let generation = || -> Result<Value> {
        let shown = ground.admin("GET", "/api/agents/m", &Value::Null)?.json();
        Ok(json!([shown["state"], shown["generation"]]))
    };
    let before = generation()?;
    for text in ["/pause", "/reload", "/resume", "/pair 123456", "/approve", "/deny all", "/PAUSE"]
    {
        let told = ground.command(Where::Dm(ADA), &ben(), text)?;
        hold!(generation()? == before, "{text} had an effect: {told}");
    }
    let told = ground.command(Where::Dm(ADA), &chief(), "/pause")?;
    let paused = generation()?;
    ground.admin("POST", "/api/agents/m/resume", &Value::Null)?;
    control!(paused != before, "an admin's /pause has no effect: {told}");
    Ok(Verdict::Held)
}

fn over_api(ground: &Ground) -> Outcome {
    let canary = ground.canary("a wish over the API");
    let chat = ground.mint("m", &["chat", "read", "manage"])?;
    ground.turn_with(&chat.text, "m", "wish", "for all", once(everywhere(&canary.text)))?;
    let found = spread(ground, &canary)?;
    hold!(found.is_none(), "{}", found.unwrap_or_default());
    let own = ground.canary("an approver's wish");
    let admin = ground.mint("m", &["chat", "approve"])?;
    ground.turn_with(&admin.text, "m", "wish", "for all", once(everywhere(&own.text)))?;
    control!(spread(ground, &own)?.is_some(), "a token that may approve can't write");
    Ok(Verdict::Held)
}

fn cron(ground: &Ground) -> Outcome {
    let make = |name: &str| {
        let asked =
            json!({ "action": "create", "name": name, "schedule": "@yearly", "prompt": "x" });
        Call::new("cronjob", asked)
    };
    let listed = || anyhow::Ok(ground.admin("GET", "/api/agents/m/jobs", &Value::Null)?.body);
    let turn = ground.tell(Where::Chat(KITCHEN), &ben(), "do it", once(make("planted")))?;
    hold!(!listed()?.contains("planted"), "a job came to be: {}", turn.told());
    let turn = ground.tell(Where::Dm(ADA), &chief(), "do it", once(make("wanted")))?;
    control!(listed()?.contains("wanted"), "an admin's job does not come to be: {}", turn.told());
    Ok(Verdict::Held)
}
