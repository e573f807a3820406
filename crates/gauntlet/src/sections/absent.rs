//! Features that the specification names and the daemon may not have: an attempt about one is
//! not run, after a look that there is really nothing: no tool, no route, no effect.
//!
//! When one comes to be, the look fails its attempts, until they try it.

use crate::attempt::{Outcome, Verdict};
use crate::ground::Ground;
use crate::puppet::{Call, Script};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

/// Boards that agents share.
pub fn boards(ground: &Ground, agent: &str) -> Outcome {
    let tools = [
        "kanban_attach",
        "kanban_block",
        "kanban_comment",
        "kanban_complete",
        "kanban_create",
        "kanban_heartbeat",
        "kanban_link",
        "kanban_list",
        "kanban_show",
        "kanban_unblock",
    ];
    nothing(ground, agent, "boards", &tools, &["board", "boards", "kanban"])
}

/// Whether a tool is shown to an agent's model, by the request that its model is sent.
pub fn is_exposed(ground: &Ground, agent: &str, tool: &str) -> Result<bool> {
    let turn = ground.turn(agent, "tools", Script::say("x"))?;
    let tools = turn.requests.first().map(|request| request["tools"].clone()).unwrap_or_default();
    let tools = tools.as_array().cloned().unwrap_or_default();
    Ok(tools.iter().any(|it| it["function"]["name"] == tool))
}

fn nothing(ground: &Ground, agent: &str, what: &str, tools: &[&str], routes: &[&str]) -> Outcome {
    for tool in tools {
        ensure!(
            !is_exposed(ground, agent, tool)?,
            "there is a tool `{tool}` now: {what} exist, and this attempt has to try them"
        );
    }
    let document = ground.admin("GET", "/api/openapi.json", &Value::Null)?.json();
    let paths: Vec<String> =
        document["paths"].as_object().into_iter().flatten().map(|it| it.0.clone()).collect();
    ensure!(!paths.is_empty(), "the API does not describe itself: {document}");
    for route in routes {
        let found = paths.iter().find(|path| path.split('/').any(|part| part == *route));
        ensure!(
            found.is_none(),
            "there is a route {found:?} now: {what} exist, and this attempt has to try them"
        );
    }
    // Called all the same, as a model would that knows the name from elsewhere.
    let calls = tools.iter().map(|tool| Call::new(tool, json!({ "action": "list" })));
    let told = ground.calls(agent, "absent", calls.collect())?;
    for (tool, told) in tools.iter().zip(&told) {
        if !told.starts_with("refused: ") {
            return Ok(Verdict::Broken(format!(
                "`{tool}` is not exposed and did something: {told}"
            )));
        }
    }
    Ok(Verdict::NotRun(format!(
        "the feature does not exist: {what} have no tool that a model is shown and no route"
    )))
}
