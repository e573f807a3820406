//! What a policy takes and what it grants, for an operator to read before it is installed.

use super::apply::document;
use super::{DOCUMENT, PolicyFiles};
use crate::diagnostic::LoadReport;
use crate::file_state::FileState;
use crate::resolve::hook_host;
use crate::yaml::Node;
use insula_domain::MemoryScope;

/// What a policy does to the agents that name it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicySummary {
    /// What it is for, in its author's words.
    pub description: Option<String>,
    /// What agents lose, or are asked for.
    pub takes: Vec<String>,
    /// What it may do that agents could not: programs it runs, servers it tells.
    pub grants: Vec<String>,
    /// How it decides about memory.
    pub decides: Vec<String>,
}

/// What a policy of this name does, or why it can't be one.
pub fn summary(name: &str, files: &PolicyFiles) -> Result<PolicySummary, String> {
    if let Some(fault) = &files.fault {
        return Err(fault.clone());
    }
    let text = match &files.document {
        FileState::Text(text) => text,
        FileState::Absent => return Err(format!("there is no `{DOCUMENT}` in it")),
        FileState::Unreadable(why) => return Err(format!("its `{DOCUMENT}` {why}")),
    };
    let mut report = LoadReport::default();
    let source = report.sources.add(DOCUMENT, text.clone());
    let node = document(&mut report, source, name, text)?;
    let mut found = PolicySummary {
        description: node.get("description").and_then(Node::text).map(Into::into),
        ..PolicySummary::default()
    };
    if let Some(scope) = node.get("scope").and_then(Node::text) {
        found.decides.push(format!("which memory a message has: `{scope}`"));
        if matches!(MemoryScope::parse(scope), Some(MemoryScope::Global)) {
            found.grants.push("one memory for all conversations of an agent".to_owned());
        }
    }
    let tools = node.get("tools");
    let denied = tools.and_then(|tools| tools.get("deny")).map(Node::items).unwrap_or_default();
    found.takes.extend(denied.iter().filter_map(Node::text).map(|it| format!("the tool `{it}`")));
    let rules = tools.and_then(|tools| tools.get("rules")).map(Node::entries).unwrap_or_default();
    for rule in rules {
        for part in rule.value.items().iter().flat_map(|item| item.entries()) {
            let bound = match part.value.text() {
                Some(text) => format!("{}: {text}", part.key),
                None => part.key.to_string(),
            };
            found.takes.push(format!("calls of `{}` that do not meet `{bound}`", rule.key));
        }
    }
    for setting in node.get("approvals").map(Node::entries).unwrap_or_default() {
        let value = setting.value.text().unwrap_or_default();
        found.takes.push(format!("approvals laxer than `{}: {value}`", setting.key));
    }
    for event in node.get("hooks").map(Node::entries).unwrap_or_default() {
        for hook in event.value.items() {
            let text = |key| hook.get(key).and_then(Node::text);
            let at = &event.key;
            if let Some(expr) = text("expr") {
                let line = format!("at `{at}`, by `{expr}`");
                match &**at {
                    "memory:scope" => {
                        found.decides.push(format!("which memory a message has, {line}"));
                    }
                    "pre_llm_call" => {
                        found.grants.push(format!("may add words to prompts {line}"));
                    }
                    at if at.starts_with("transform_") => {
                        found.grants.push(format!("may change words {line}"));
                    }
                    _ => found.takes.push(format!("what a hook refuses {line}")),
                }
            } else if let Some(command) = text("command") {
                found.grants.push(format!("runs `{command}` in the agent's sandbox at `{at}`"));
            } else if let Some(url) = text("http") {
                let host = hook_host(url).map_or_else(|| url.to_owned(), |it| it.to_string());
                let may = match &**at {
                    "route:select" | "pre_gateway_dispatch" => ", and may send messages elsewhere",
                    "pre_llm_call" => ", and may add words to prompts",
                    "memory:scope" => ", and may say which memory a message has",
                    at if at.starts_with("transform_") => ", and may change words",
                    _ => "",
                };
                found.grants.push(format!("tells `{host}` what happens at `{at}`{may}"));
            }
        }
    }
    Ok(found)
}
