//! `insula agents …`

use super::text;
use crate::arguments::{Add, Agents};
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use serde_json::{Value, json};
use std::io::{BufRead as _, IsTerminal as _, Write as _};

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, command: Agents) -> Result<u8, Failure> {
    match command {
        Agents::List => {
            let list = reach.get("/api/agents").await?;
            answer.give(&list, |list| table(list.as_array().map_or(&[], Vec::as_slice)));
        }
        Agents::Show(one) => {
            let agent = reach.get(&format!("/api/agents/{}", part(&one.agent))).await?;
            answer.give(&agent, show);
        }
        Agents::Add(add) => {
            let agent = reach.post("/api/agents", Some(body(add))).await?;
            answer.give(&agent, |agent| {
                let id = text(agent, "id");
                output::line(&format!("added {id}; its settings are in agents/{id}/agent.yaml"));
            });
        }
        Agents::Pause(one) => change(reach, answer, &one.agent, "pause", "paused").await?,
        Agents::Resume(one) => change(reach, answer, &one.agent, "resume", "resumed").await?,
        Agents::Archive(one) => change(reach, answer, &one.agent, "archive", "archived").await?,
        Agents::Restart(one) => restart(reach, answer, &one.agent).await?,
        Agents::Home(wish) => super::agents_home::run(reach, answer, wish).await?,
        Agents::Reload(one) => {
            let path = format!("/api/agents/{}/reload", part(&one.agent));
            let done = reach.post(&path, None).await?;
            answer.give(&done, super::system::reloaded);
        }
        Agents::Delete { agent, yes } => delete(reach, answer, &agent, yes).await?,
        // Done before a daemon is looked for.
        Agents::Set(_)
        | Agents::Clone(_)
        | Agents::Rename(_)
        | Agents::Export(_)
        | Agents::Import(_) => {}
    }
    Ok(0)
}

fn body(add: Add) -> Value {
    json!({
        "id": add.agent,
        "name": add.name,
        "description": add.description,
        "model": add.model,
        "personality": add.personality,
        "tools": add.tools,
        "memory": add.memory.then_some(true),
    })
}

/// Changes where an agent stands, and says where it stands then.
async fn change(
    reach: &Reach,
    answer: Answer,
    id: &str,
    verb: &str,
    done: &str,
) -> Result<(), Failure> {
    let agent = reach.post(&format!("/api/agents/{}/{verb}", part(id)), None).await?;
    answer.give(&agent, |_| output::line(&format!("{done} {id}")));
    Ok(())
}

/// Begins an agent anew, and says what that ended.
async fn restart(reach: &Reach, answer: Answer, id: &str) -> Result<(), Failure> {
    let done = reach.post(&format!("/api/agents/{}/restart", part(id)), None).await?;
    answer.give(&done, |done| {
        let turns = match done["turns_ended"].as_u64().unwrap_or_default() {
            0 => "no turn was under way".to_owned(),
            1 => "one turn was ended".to_owned(),
            more => format!("{more} turns were ended"),
        };
        let generation = text(done, "generation");
        output::line(&match done["reason"].as_str() {
            None => format!("restarted {id}, generation {generation}; {turns}"),
            Some(reason) => format!("{id} does not serve now: {reason}; {turns}"),
        });
    });
    Ok(())
}

async fn delete(reach: &Reach, answer: Answer, id: &str, yes: bool) -> Result<(), Failure> {
    if !yes {
        confirm(id)?;
    }
    reach.delete(&format!("/api/agents/{}", part(id))).await?;
    answer.give(&json!({ "id": id, "deleted": true }), |_| output::line(&format!("deleted {id}")));
    Ok(())
}

/// Deleting can't be undone, so the id has to be typed.
fn confirm(id: &str) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::WrongUse(format!(
            "deleting {id} can't be undone; say --yes to mean it"
        )));
    }
    let mut out = std::io::stderr();
    write!(
        out,
        "This deletes {id} with its files, sessions, memory and audit. Type its id to go on: "
    )?;
    out.flush()?;
    let mut typed = String::new();
    std::io::stdin().lock().read_line(&mut typed)?;
    if typed.trim() == id { Ok(()) } else { Err(Failure::Failed("nothing was deleted".to_owned())) }
}

fn table(agents: &[Value]) {
    let rows = agents.iter().map(|agent| {
        let memory = match agent["memory"].as_bool() {
            Some(true) => "on",
            Some(false) => "off",
            None => "-",
        };
        vec![
            text(agent, "id"),
            super::name_beside(agent),
            text(agent, "state"),
            text(agent, "generation"),
            text(agent, "model"),
            memory.to_owned(),
            text(agent, "isolation"),
            agent["reason"].as_str().unwrap_or_default().to_owned(),
        ]
    });
    output::table(&["id", "name", "state", "gen", "model", "memory", "isolation", "reason"], rows);
}

fn show(agent: &Value) {
    let mut facts: Vec<(&str, String)> = Vec::new();
    for key in [
        "id",
        "name",
        "description",
        "state",
        "reason",
        "generation",
        "model",
        "memory",
        "isolation",
    ] {
        if !agent[key].is_null() {
            facts.push((key, text(agent, key)));
        }
    }
    if let Some(home) = agent["home"]["chat"].as_str() {
        let lost = match agent["home"]["leads_here"].as_bool() {
            Some(false) => " (not told: messages there do not reach it any more)",
            _ => "",
        };
        facts.push(("home", format!("{home}{lost}")));
    }
    let links = agent["links"].as_array().into_iter().flatten();
    let links: Vec<String> =
        links.map(|link| format!("{} ({})", text(link, "to"), text(link, "as"))).collect();
    if !links.is_empty() {
        facts.push(("links", links.join(", ")));
    }
    output::facts(&facts);
    output::line("");
    let id = text(agent, "id");
    if agent["model"].is_null() {
        return output::line("`insula check` shows what is wrong and where.");
    }
    output::line(&format!(
        "`insula context show {id}` prints all of it; `insula tools {id}` its tools."
    ));
}
