//! `insula mcp …`: an agent's MCP servers.

use super::{mcp_serve, text};
use crate::arguments::Mcp;
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::{Answer, Setting};
use serde_json::{Value, json};

/// Runs it.
pub async fn run(reach: &Reach, setting: &Setting, command: Mcp) -> Result<u8, Failure> {
    let answer = setting.answer;
    match command {
        Mcp::List(one) => {
            let servers = reach.get(&format!("/api/agents/{}/mcp", part(&one.agent))).await?;
            answer.give(&servers, show);
            Ok(0)
        }
        Mcp::Serve(serve) => mcp_serve::run(reach, setting, serve).await,
        Mcp::Test { agent, server } => test(reach, answer, &agent, server.as_deref(), "test").await,
        Mcp::Restart { agent, server } => {
            test(reach, answer, &agent, Some(&server), "restart").await
        }
        Mcp::Approve { agent, server, tool } => {
            let path = format!("/api/agents/{}/mcp/{}/approve", part(&agent), part(&server));
            let approved = reach.post(&path, Some(json!({ "tool": tool }))).await?;
            answer.give(&approved, |approved| match super::list(&approved["approved"]) {
                none if none == "none" => output::line("nothing waits for approval"),
                tools => output::line(&format!("approved {tools}")),
            });
            Ok(0)
        }
    }
}

async fn test(
    reach: &Reach,
    answer: Answer,
    agent: &str,
    only: Option<&str>,
    act: &str,
) -> Result<u8, Failure> {
    let names: Vec<String> = match only {
        Some(server) => vec![server.to_owned()],
        None => {
            let servers = reach.get(&format!("/api/agents/{}/mcp", part(agent))).await?;
            let all = servers.as_array().into_iter().flatten();
            all.filter_map(|server| Some(server["name"].as_str()?.to_owned())).collect()
        }
    };
    let mut results = Vec::new();
    for name in &names {
        let path = format!("/api/agents/{}/mcp/{}/{act}", part(agent), part(name));
        results.push(reach.post(&path, None).await?);
    }
    let good = results.iter().all(|result| result["ok"] == true);
    answer.give(&Value::Array(results), |results| {
        let results = results.as_array().map(Vec::as_slice).unwrap_or_default();
        if results.is_empty() {
            output::line("no MCP server is configured for this agent");
        }
        for result in results {
            let server = &result["server"];
            let tools = server["tools"].as_array().map_or(0, Vec::len);
            let name = text(server, "name");
            match result["ok"] == true {
                true => output::line(&format!(
                    "{name}: {} in {} ms ({}, protocol {})",
                    output::count(tools, "tool"),
                    text(result, "took_ms"),
                    text(server, "version"),
                    text(server, "protocol"),
                )),
                false => output::line(&format!("{name}: failed: {}", text(result, "error"))),
            }
            let error = result["error"].as_str().unwrap_or_default();
            if let Some(trouble) = server["trouble"].as_str().filter(|it| !error.contains(it)) {
                output::line(&format!("  {trouble}"));
            }
            for hint in result["hints"].as_array().into_iter().flatten() {
                output::line(&format!("  {}", hint.as_str().unwrap_or_default()));
            }
        }
        for result in results {
            tools(&result["server"]);
        }
    });
    Ok(if good { 0 } else { 1 })
}

fn show(servers: &Value) {
    let all = servers.as_array().map(Vec::as_slice).unwrap_or_default();
    if all.is_empty() {
        output::line("no MCP server is configured for this agent");
        return;
    }
    let rows = all.iter().map(|server| {
        let state = match (server["connected"] == true, server["known"] == true) {
            (true, _) => "connected",
            (false, true) => "idle",
            (false, false) if server["trouble"].is_string() => "failing",
            (false, false) => "not asked yet",
        };
        let shown = server["tools"].as_array().into_iter().flatten();
        let shown = shown.filter(|tool| tool["shown"] == true).count();
        vec![
            text(server, "name"),
            text(server, "transport"),
            state.to_owned(),
            shown.to_string(),
            text(server, "starts"),
            text(server, "trouble"),
        ]
    });
    output::table(&["server", "by", "state", "tools", "starts", "trouble"], rows);
    all.iter().for_each(tools);
}

fn tools(server: &Value) {
    let all = server["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !all.is_empty() {
        tool_table(all);
    }
    if server["resources"] == true {
        let name = text(server, "name");
        output::line(&match server["resources_tool"].as_str() {
            Some(tool) => format!("{name} has resources, which the agent reads with {tool}"),
            None => format!("{name} has resources, and the agent has no tool to read them"),
        });
    }
    let prompts = server["prompts"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !prompts.is_empty() {
        let typed = |it: &Value| format!("{}{}", text(it, "command"), text(it, "arguments"));
        let rows = prompts.iter().map(|it| vec![typed(it), text(it, "description")]);
        output::table(&["prompt", "about"], rows);
    }
}

fn tool_table(all: &[Value]) {
    let rows = all.iter().map(|tool| {
        let name = match tool["name"].as_str() {
            Some(name) => name.to_owned(),
            None => text(tool, "tool"),
        };
        let mark = if tool["shown"] == true { "in" } else { "out" };
        let reads = match (tool["reads"] == true, tool["taken_to_read"] == true) {
            (true, true) => "reads",
            (true, false) => "says it reads; not taken",
            (false, _) => "",
        };
        vec![name, mark.to_owned(), reads.to_owned(), text(tool, "why"), text(tool, "mark")]
    });
    output::table(&["tool", "", "", "why", "mark"], rows);
}
