//! A17: names that look alike are no aliases.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::{control, hold};
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt {
        row: "A17",
        variant: "ids that differ by case, form or dots, over the API",
        run: over_api,
    },
    Attempt { row: "A17", variant: "two of one name at once", run: at_once },
    Attempt { row: "A17", variant: "ids in the configuration and folders on disk", run: on_disk },
    Attempt { row: "A17", variant: "an alias of b in a path of the API", run: in_paths },
];

const ALIASES: [&str; 14] = [
    "B",
    "b.",
    "b ",
    " b",
    "ｂ",
    "b\u{301}",
    "b\u{200b}",
    "b/",
    "./b",
    "b/../b",
    "b%00",
    "b\u{0}",
    "Ｂ",
    "в",
];

fn agents(ground: &Ground) -> anyhow::Result<Vec<String>> {
    let all = ground.admin("GET", "/api/agents", &Value::Null)?.json();
    let all = all.as_array().cloned().unwrap_or_default();
    Ok(all.iter().filter_map(|it| it["id"].as_str().map(str::to_owned)).collect())
}

fn over_api(ground: &Ground) -> Outcome {
    let (before, folders) = (agents(ground)?, machine::names(&ground.path("agents")?));
    let long = "b".repeat(65);
    let more = ["", "-b", "_b", "b:c", "b\nc", long.as_str(), "..", "."];
    for id in ALIASES.into_iter().chain(more) {
        let answer = ground.admin("POST", "/api/agents", &json!({ "id": id }))?;
        hold!(answer.status >= 400, "`{id}` was made: {answer:?}");
    }
    hold!(agents(ground)? == before, "there are {:?}", agents(ground)?);
    let now = machine::names(&ground.path("agents")?);
    hold!(now == folders, "folders {now:?} instead of {folders:?}");
    let fine = ground.admin("POST", "/api/agents", &json!({ "id": "fine-name" }))?;
    control!(fine.status < 300, "a good name is refused: {fine:?}");
    Ok(Verdict::Held)
}

fn at_once(ground: &Ground) -> Outcome {
    let make = |soul: &'static str| {
        move || ground.admin("POST", "/api/agents", &json!({ "id": "twin", "personality": soul }))
    };
    let (one, other) = machine::both(make("the first"), make("the second"))?;
    let statuses = [one?.status, other?.status];
    let made = statuses.iter().filter(|status| **status < 300).count();
    hold!(made == 1, "both were answered {statuses:?}");
    let count = agents(ground)?.iter().filter(|id| *id == "twin").count();
    hold!(count == 1, "{count} twins");
    Ok(Verdict::Held)
}

fn on_disk(ground: &Ground) -> Outcome {
    let plan =
        Plan::new().agent("b", "").agent("'B'", "").agent("'b.'", "").agent("'b\u{301}'", "");
    let plan = plan
        .file("agents/B/agent.yaml", "name: capital\n")
        .file("agents/b./agent.yaml", "name: dot\n");
    let plan = plan.file("agents/ｂ/agent.yaml", "name: wide\n");
    let other = match Ground::raise_without_tokens(ground.stage(), plan, &["b"]) {
        Ok(other) => other,
        Err(error) => {
            // Refusing to start is a refusal.
            let said = format!("{error:#}");
            control!(said.contains("agent") && said.contains("id"), "it did not start: {said}");
            return Ok(Verdict::Held);
        }
    };
    let all = other.admin("GET", "/api/agents", &Value::Null)?.json();
    let rows = all.as_array().cloned().unwrap_or_default();
    let serving: Vec<&str> = rows
        .iter()
        .filter(|it| it["state"] == "ready")
        .filter_map(|it| it["id"].as_str())
        .collect();
    hold!(serving == ["b"], "these serve: {serving:?}");
    let b = rows.iter().find(|it| it["id"] == "b").cloned().unwrap_or_default();
    hold!(!["capital", "dot", "wide"].iter().any(|name| b["name"] == *name), "b is {b}");
    Ok(Verdict::Held)
}

fn in_paths(ground: &Ground) -> Outcome {
    let token = ground.mint("b", &["read", "chat"])?;
    let own = ground.api(&token.text, "GET", "/api/agents/b", &Value::Null)?;
    control!(own.status == 200, "b's own token: {own:?}");
    for alias in
        ["B", "b.", "b%20", "%62%00", "%EF%BD%82", "b%CC%81", "b%2F", "b%2F..%2Fb", "./b", "b;x"]
    {
        let answer =
            ground.api(&token.text, "GET", &format!("/api/agents/{alias}"), &Value::Null)?;
        hold!(answer.status >= 400, "{alias}: {answer:?}");
        let body = json!({ "model": alias, "messages": [{ "role": "user", "content": "x" }] });
        let answer = ground.api(&token.text, "POST", "/v1/chat/completions", &body)?;
        hold!(answer.status >= 400, "model {alias}: {answer:?}");
    }
    Ok(Verdict::Held)
}
