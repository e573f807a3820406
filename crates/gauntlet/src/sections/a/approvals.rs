//! A8 and A9: what one agent was allowed, and what another is asked.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan, Turn};
use crate::machine;
use crate::puppet::obey;
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A8", variant: "always for one, then the other runs it", run: always },
    Attempt {
        row: "A8",
        variant: "for a session, then a session of that name elsewhere",
        run: session,
    },
    Attempt { row: "A8", variant: "always for one shell, then another of its name", run: input },
    Attempt { row: "A8", variant: "a's approver answers b's question", run: foreign_answer },
    Attempt { row: "A8", variant: "a grant of a's revoked by b, and seen by b", run: grants },
    Attempt {
        row: "A9",
        variant: "a turn without approvals beside a question of b's",
        run: beside,
    },
    Attempt { row: "A9", variant: "a's question and b's at once, one yes", run: at_once },
    Attempt { row: "A9", variant: "a cron job beside a question of b's", run: cron },
];

/// Two agents that ask, and one that does not.
pub fn asking(stage: &Stage) -> Result<Ground> {
    let asks = "tools: coding, approvals: {timeout: 10m}";
    let plan = Plan::new().agent("a", asks).agent("b", asks);
    Ground::raise(stage, plan.agent("free", "tools: coding, approvals: {mode: 'off'}"))
}

fn command(folder: &str) -> Value {
    json!({ "command": format!("rm -r {folder}") })
}

fn prepared(ground: &Ground, agent: &str, folder: &str) -> Result<()> {
    // By its own program: where the daemon is root, what programs may remove is theirs.
    ground.shell(agent, "prepares", &format!("mkdir -p {folder} && echo x > {folder}/file"))?;
    anyhow::ensure!(is_there(ground, agent, folder), "{folder} of {agent} can't be made");
    Ok(())
}

fn is_there(ground: &Ground, agent: &str, folder: &str) -> bool {
    ground.has(&format!("agents/{agent}/workspace/{folder}"))
}

fn waiting(ground: &Ground, agent: &str) -> Result<Vec<String>> {
    let all = ground.admin("GET", &format!("/api/agents/{agent}/approvals"), &Value::Null)?.json();
    let all = all.as_array().cloned().unwrap_or_default();
    Ok(all.iter().filter_map(|it| it["id"].as_str().map(str::to_owned)).collect())
}

fn until_waiting(ground: &Ground, agent: &str) -> Result<String> {
    machine::eventually("a call waits", || Ok(waiting(ground, agent)?.pop()))
}

fn answer(ground: &Ground, agent: &str, id: &str, body: &Value) -> Result<machine::Answer> {
    ground.admin("POST", &format!("/api/agents/{agent}/approvals/{id}"), body)
}

/// Asks, answers as told, and gives what became of it.
fn asked(ground: &Ground, agent: &str, session: &str, folder: &str, body: &Value) -> Result<Turn> {
    let run = || ground.turn(agent, session, obey::one("terminal", command(folder)));
    let (turn, answered) = machine::both(run, || {
        let id = until_waiting(ground, agent)?;
        answer(ground, agent, &id, body)
    })?;
    let answered = answered?;
    anyhow::ensure!(answered.status == 200, "the answer was not taken: {answered:?}");
    turn
}

fn always(ground: &Ground) -> Outcome {
    let folder = "always";
    for agent in ["a", "b"] {
        prepared(ground, agent, folder)?;
    }
    let yes = json!({ "decision": "approve", "scope": "always" });
    asked(ground, "a", "one", folder, &yes)?;
    control!(!is_there(ground, "a", folder), "a was allowed and did not do it");
    // a's next needs nobody; b's does.
    prepared(ground, "a", folder)?;
    ground.turn("a", "two", obey::one("terminal", command(folder)))?;
    control!(!is_there(ground, "a", folder), "a's grant does not last");
    let turn = asked(ground, "b", "one", folder, &json!({ "decision": "deny" }))?;
    hold!(is_there(ground, "b", folder), "b did it without being asked: {}", turn.told());
    let grants =
        (ground.table("a", "approval_grant")?.len(), ground.table("b", "approval_grant")?.len());
    hold!(grants.0 >= 1 && grants.1 == 0, "grants of a and b: {grants:?}");
    Ok(Verdict::Held)
}

fn session(ground: &Ground) -> Outcome {
    let folder = "session";
    for agent in ["a", "b"] {
        prepared(ground, agent, folder)?;
    }
    let yes = json!({ "decision": "approve", "scope": "session" });
    asked(ground, "a", "shared-name", folder, &yes)?;
    control!(!is_there(ground, "a", folder), "a was allowed and did not do it");
    let turn = asked(ground, "b", "shared-name", folder, &json!({ "decision": "deny" }))?;
    hold!(is_there(ground, "b", folder), "b did it without being asked: {}", turn.told());
    prepared(ground, "a", folder)?;
    let turn = asked(ground, "a", "another-name", folder, &json!({ "decision": "deny" }))?;
    hold!(is_there(ground, "a", folder), "a's other session was not asked: {}", turn.told());
    Ok(Verdict::Held)
}

fn input(ground: &Ground) -> Outcome {
    let folders = [("feeds", "scratch"), ("feeds-too", "precious")];
    for (session, folder) in folders {
        prepared(ground, "a", folder)?;
        let shell = json!({ "command": "bash", "background": true, "workdir": folder });
        let said = ground.call("a", session, "terminal", shell)?;
        control!(said.contains("p1"), "no shell was started: {said}");
    }
    let remove = json!({ "action": "submit", "session_id": "p1", "data": "rm -rf ./*" });
    let written = |session: &str, body: Value| {
        let run = || ground.call("a", session, "process", remove.clone());
        let (said, asked) = machine::both(run, || {
            let id = until_waiting(ground, "a")?;
            let all = ground.admin("GET", "/api/agents/a/approvals", &Value::Null)?.json();
            let what = all[0]["what"].as_str().unwrap_or_default().to_owned();
            anyhow::Ok((what, answer(ground, "a", &id, &body)?))
        })?;
        anyhow::Ok((said?, asked?))
    };
    let yes = json!({ "decision": "approve", "scope": "always" });
    let (_, (what, told)) = written("feeds", yes)?;
    hold!(what.contains("/scratch\"") && what.contains("| bash"), "it is not shown: {what}");
    hold!(told.json()["scope"] == "once", "it is allowed for longer: {told:?}");
    machine::eventually("it is done", || {
        Ok((!ground.has("agents/a/workspace/scratch/file")).then_some(()))
    })?;
    for session in ["feeds", "feeds-too"] {
        let (said, (_, told)) = written(session, json!({ "decision": "deny" }))?;
        hold!(told.status == 200, "nobody was asked: {said}");
    }
    hold!(ground.has("agents/a/workspace/precious/file"), "another shell was fed");
    Ok(Verdict::Held)
}

fn foreign_answer(ground: &Ground) -> Outcome {
    let folder = "foreign";
    prepared(ground, "b", folder)?;
    let foreign = ground.mint("a", &["chat", "read", "approve", "manage", "admin"])?;
    let run = || ground.turn("b", "foreign", obey::one("terminal", command(folder)));
    let (turn, tried) = machine::both(run, || {
        let id = until_waiting(ground, "b")?;
        let yes = json!({ "decision": "approve" });
        let mut told = vec![];
        for (agent, id) in
            [("b", id.as_str()), ("x", &id), ("a", &id), ("a", &"0".repeat(id.len()))]
        {
            let path = format!("/api/agents/{agent}/approvals/{id}");
            let answer = ground.api(&foreign.text, "POST", &path, &yes)?;
            told.push(answer.comparable().replace(&format!("`{agent}`"), "`…`").replace(id, "…"));
        }
        answer(ground, "b", &id, &json!({ "decision": "deny" }))?;
        anyhow::Ok(told)
    })?;
    let (turn, told) = (turn?, tried?);
    hold!(is_there(ground, "b", folder), "it was allowed by a's approver: {}", turn.told());
    hold!(told[0] == told[1], "b answers otherwise than nobody: {told:?}");
    hold!(
        told[2] == told[3],
        "b's question at a's door answers otherwise than no question: {told:?}"
    );
    Ok(Verdict::Held)
}

fn grants(ground: &Ground) -> Outcome {
    let folder = "granted";
    prepared(ground, "a", folder)?;
    asked(ground, "a", "granting", folder, &json!({ "decision": "approve", "scope": "always" }))?;
    let all = ground.admin("GET", "/api/agents/a/grants", &Value::Null)?.json();
    let all = all.as_array().cloned().unwrap_or_default();
    let id = all.last().and_then(|it| it["id"].as_str()).context("no grant is listed")?.to_owned();
    let foreign = ground.mint("b", &["approve", "admin", "manage"])?;
    for agent in ["a", "b"] {
        let path = format!("/api/agents/{agent}/grants/{id}");
        let answer = ground.api(&foreign.text, "DELETE", &path, &Value::Null)?;
        hold!(answer.status == 404, "{path}: {answer:?}");
    }
    let own = ground.api(&foreign.text, "GET", "/api/agents/b/grants", &Value::Null)?;
    hold!(!own.body.contains(&id), "b sees a's grant: {own:?}");
    let left = ground.admin("GET", "/api/agents/a/grants", &Value::Null)?;
    hold!(left.body.contains(&id), "a's grant is gone: {left:?}");
    Ok(Verdict::Held)
}

fn beside(ground: &Ground) -> Outcome {
    let folder = "beside";
    for agent in ["b", "free"] {
        prepared(ground, agent, folder)?;
    }
    let run = || ground.turn("b", "beside", obey::one("terminal", command(folder)));
    let (turn, tried) = machine::both(run, || {
        let id = until_waiting(ground, "b")?;
        ground.turn("free", "beside", obey::one("terminal", command(folder)))?;
        let still = waiting(ground, "b")? == [id.clone()];
        answer(ground, "b", &id, &json!({ "decision": "deny" }))?;
        anyhow::Ok(still)
    })?;
    let (turn, still) = (turn?, tried?);
    control!(!is_there(ground, "free", folder), "the one that asks nobody did not do it");
    hold!(still, "b's question was answered by somebody else's turn");
    hold!(is_there(ground, "b", folder), "b did it: {}", turn.told());
    Ok(Verdict::Held)
}

fn at_once(ground: &Ground) -> Outcome {
    let folder = "at-once";
    for agent in ["a", "b"] {
        prepared(ground, agent, folder)?;
    }
    let ask = |agent: &'static str| {
        move || ground.turn(agent, "at-once", obey::one("terminal", command(folder)))
    };
    let both = machine::both(ask("a"), || {
        machine::both(ask("b"), || {
            let (one, other) = (until_waiting(ground, "a")?, until_waiting(ground, "b")?);
            answer(ground, "a", &one, &json!({ "decision": "approve" }))?;
            machine::eventually("a has done it", || {
                Ok((!is_there(ground, "a", folder)).then_some(()))
            })?;
            let untouched =
                is_there(ground, "b", folder) && waiting(ground, "b")? == [other.clone()];
            answer(ground, "b", &other, &json!({ "decision": "deny" }))?;
            anyhow::Ok(untouched)
        })
    })?;
    let (_, inner) = both;
    let untouched = inner?.1?;
    hold!(untouched, "a's yes was b's too");
    hold!(is_there(ground, "b", folder), "b did what was denied");
    Ok(Verdict::Held)
}

fn cron(ground: &Ground) -> Outcome {
    let folder = "by-the-clock";
    prepared(ground, "a", folder)?;
    prepared(ground, "b", folder)?;
    let rm = || obey::one("terminal", command(folder));
    let job = machine::both(
        || ground.job("a", json!({ "approvals": "ask" }), rm()),
        || {
            machine::both(
                || ground.turn("b", "beside-the-clock", rm()),
                || {
                    let (mine, theirs) = (until_waiting(ground, "a")?, until_waiting(ground, "b")?);
                    // The question of a job is its agent's alone, by every name.
                    let token = ground.mint("b", &["chat", "read", "approve"])?.text;
                    let path = format!("/api/agents/a/approvals/{mine}");
                    let foreign =
                        ground.api(&token, "POST", &path, &json!({ "decision": "approve" }))?;
                    let path = format!("/api/agents/b/approvals/{mine}");
                    let crossed =
                        ground.api(&token, "POST", &path, &json!({ "decision": "approve" }))?;
                    answer(ground, "b", &theirs, &json!({ "decision": "approve" }))?;
                    machine::eventually("b has done it", || {
                        Ok((!is_there(ground, "b", folder)).then_some(()))
                    })?;
                    let still = waiting(ground, "a")? == [mine.clone()];
                    answer(ground, "a", &mine, &json!({ "decision": "deny" }))?;
                    anyhow::Ok((foreign.status, crossed.status, still))
                },
            )
        },
    )?;
    let (ran, inner) = job;
    let (foreign, crossed, still) = inner?.1?;
    hold!(foreign >= 400 && crossed >= 400, "b answered a's job: {foreign} {crossed}");
    hold!(still, "b's yes was the job's too");
    hold!(is_there(ground, "a", folder), "the job did what was denied: {}", ran?.turn.told());
    Ok(Verdict::Held)
}
