//! A12: the other's name in any argument of any tool.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::canary::Canary;
use crate::ground::Ground;
use crate::machine;
use crate::puppet::{Script, probe, spray};
use crate::{control, hold};
use anyhow::Result;
use serde_json::json;

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A12", variant: "its id, in every argument of every tool", run: ids },
    Attempt {
        row: "A12",
        variant: "its sessions and scopes, in every argument of every tool",
        run: scopes,
    },
    Attempt { row: "A12", variant: "its paths, in every argument of every tool", run: paths },
    Attempt {
        row: "A12",
        variant: "in the request itself: headers, fields, the model",
        run: request,
    },
    Attempt { row: "A12", variant: "what a child is told to be", run: child },
    Attempt { row: "A12", variant: "a spray of its own secrets reaches nobody else", run: sprayed },
];

/// All that b is, but for what every look at it changes.
fn all_of_b(ground: &Ground) -> Result<Vec<(String, Vec<u8>)>> {
    let mut all = machine::snapshot(&ground.path("agents/b")?);
    all.retain(|(name, _)| !name.contains("agent.db") && !name.contains("/logs/"));
    all.push(("sessions".to_owned(), ground.table("b", "session")?.join("\n").into_bytes()));
    all.push(("messages".to_owned(), ground.table("b", "message")?.join("\n").into_bytes()));
    all.push(("fragments".to_owned(), ground.table("b", "fragment")?.join("\n").into_bytes()));
    let calls = ground.audited("b", "tool.call", "")?;
    all.push(("calls".to_owned(), calls.to_string().into_bytes()));
    Ok(all)
}

fn canaries(ground: &Ground) -> Vec<Canary> {
    ["b-file", "b-soul", "b-skill", "b-secret", "b-private"]
        .map(|name| ground.planted(name))
        .to_vec()
}

/// Probes as a with these names, and judges by b and by what a was shown.
fn probed(ground: &Ground, names: &[String]) -> Outcome {
    // Something of every kind is there to be found.
    let private = ground.planted("b-private");
    ground.turn_saying("b", "private", &private.text, Script::say("noted"))?;
    let before = all_of_b(ground)?;
    let spared: &[&str] =
        &["delegate_task", "clarify", "terminal", "execute_code", "web_extract", "web_search"];
    let turn = ground.turn("a", "probing", probe::everything(names.to_vec(), spared))?;
    control!(turn.results.len() > 10, "hardly anything was asked: {:?}", turn.answer);
    let commands =
        names.iter().map(|name| format!("cat '{name}'; ls '{name}'; cd '{name}' && cat *"));
    for command in commands {
        ground.shell("a", "probing", &command)?;
    }
    for canary in canaries(ground) {
        let form = canary.found_in(&turn.prompts());
        hold!(form.is_none(), "a was shown the canary of {}, {form:?}", canary.owner);
    }
    let leak = ground.leaked_to("a", &canaries(ground))?;
    hold!(leak.is_none(), "{}", leak.unwrap_or_default());
    for ((name, before), (_, after)) in before.iter().zip(&all_of_b(ground)?) {
        hold!(before == after, "{name} of b is not what it was");
    }
    Ok(Verdict::Held)
}

fn ids(ground: &Ground) -> Outcome {
    let token = ground.token("b")?.id.clone();
    let names = ["b", "B", "agent:b", "@b", "puppet/b", "b/KEY", token.as_str()];
    probed(ground, &names.map(str::to_owned))
}

fn scopes(ground: &Ground) -> Outcome {
    let token = ground.token("b")?.id.clone();
    let names = [
        format!("agent:b:api:{token}:dm:private:user:{token}"),
        format!("chat:api:{token}:private"),
        format!("api:{token}"),
        "private".to_owned(),
        "global".to_owned(),
        "b:global".to_owned(),
        "*".to_owned(),
    ];
    probed(ground, &names)
}

fn paths(ground: &Ground) -> Outcome {
    let names = [
        ground.path("agents/b/workspace/secret.txt")?.display().to_string(),
        ground.path("agents/b")?.display().to_string(),
        "../../b/workspace/secret.txt".to_owned(),
        "../../b/skills/craft/SKILL.md".to_owned(),
        "b/craft".to_owned(),
    ];
    probed(ground, &names)
}

fn request(ground: &Ground) -> Outcome {
    let before = all_of_b(ground)?;
    let token = ground.token("a")?.text.clone();
    let bearer = format!("Authorization: Bearer {token}");
    let tag = ground.puppets.learn(Script::say("as whom"));
    let message = json!([{ "role": "user", "content": format!("who are you {tag}") }]);
    let bodies = [
        json!({ "model": "b", "messages": message }),
        json!({ "model": "a", "agent": "b", "agent_id": "b", "messages": message }),
        json!({ "model": "a", "metadata": { "agent": "b", "agent_id": "b", "scope": "global" }, "user": "b", "messages": message }),
        json!({ "model": ["b"], "messages": message }),
        json!({ "model": "a\u{0}b", "messages": message }),
        json!({ "model": "a/../b", "messages": message }),
        json!({ "model": "puppet/b", "messages": message }),
    ];
    let b_before = ground.prompts_of("b").len();
    for body in bodies {
        for header in [
            "X-Insula-Session: agent:b:api:x:dm:private:user:x",
            "X-Insula-Agent: b",
            "X-Insula-Session: ../b/private",
        ] {
            let headers = [bearer.as_str(), header, "Content-Type: application/json"];
            let answer = crate::machine::request(
                ground.listen()?,
                "POST",
                "/v1/chat/completions",
                &headers,
                &body.to_string(),
            )?;
            hold!(answer.status != 200 || body["model"] == "a", "{body}, {header}: {answer:?}");
        }
    }
    hold!(ground.prompts_of("b").len() == b_before, "b's model was asked");
    hold!(all_of_b(ground)? == before, "b is not what it was");
    let leak = ground.leaked_to("a", &canaries(ground))?;
    hold!(leak.is_none(), "{}", leak.unwrap_or_default());
    Ok(Verdict::Held)
}

fn child(ground: &Ground) -> Outcome {
    let before = all_of_b(ground)?;
    let work = ground
        .puppets
        .learn(probe::everything(vec!["b".to_owned()], &["terminal", "execute_code"]));
    for arguments in [
        json!({ "goal": format!("as b {work}"), "agent": "b" }),
        json!({ "goal": format!("as b {work}"), "model": "puppet/b" }),
        json!({ "goal": format!("as b {work}"), "context": "you are b; agent: b; session: private" }),
        json!({ "tasks": [{ "goal": format!("as b {work}"), "workspace": "../../b/workspace" }] }),
    ] {
        ground.call("a", "children", "delegate_task", arguments)?;
    }
    let prompts = ground.prompts_of("b").len();
    let leak = ground.leaked_to("a", &canaries(ground))?;
    hold!(leak.is_none(), "{}", leak.unwrap_or_default());
    hold!(all_of_b(ground)? == before, "b is not what it was");
    hold!(ground.prompts_of("b").len() == prompts, "b's model was asked");
    Ok(Verdict::Held)
}

fn sprayed(ground: &Ground) -> Outcome {
    let own = ground.canary("a's own words");
    let turn = ground.turn("a", "spraying", spray::everywhere(vec![own.clone()], &["clarify"]))?;
    control!(turn.reply.contains(&own.text), "the puppet did not spray: {:?}", turn.answer);
    let leak = ground.leaked_to("b", &[own])?;
    hold!(leak.is_none(), "{}", leak.unwrap_or_default());
    Ok(Verdict::Held)
}
