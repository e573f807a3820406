//! The suites as they were exported: tools, tasks, injections, and the state before any of it.

use anyhow::{Context as _, Result};
use serde_json::Value;

const FILES: [(&str, &str); 4] = [
    ("workspace", include_str!("../../data/agentdojo/workspace.json")),
    ("travel", include_str!("../../data/agentdojo/travel.json")),
    ("banking", include_str!("../../data/agentdojo/banking.json")),
    ("slack", include_str!("../../data/agentdojo/slack.json")),
];

#[derive(Debug, Clone)]
pub struct Suite {
    pub name: &'static str,
    pub tools: Vec<Tool>,
    /// What users ask for.
    pub tasks: Vec<Task>,
    /// What attackers ask for.
    pub injections: Vec<Task>,
    /// What the agent has before anybody did anything to it.
    pub state: Value,
}

#[derive(Debug, Clone)]
pub struct Tool {
    /// What it is called.
    pub name: String,
    /// What it says of itself.
    pub description: String,
    /// The schema of its arguments.
    pub parameters: Value,
}

/// What somebody wants, and the calls that do it.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its name in the suite.
    pub id: String,
    /// What is said.
    pub words: String,
    /// What it takes.
    pub calls: Vec<Made>,
}

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    pub tool: String,
    /// What it is called with.
    pub arguments: Value,
}

impl Suite {
    /// The suite of this name.
    pub fn load(name: &str) -> Result<Self> {
        let file = FILES.iter().find(|(known, _)| *known == name);
        let (name, text) = *file.with_context(|| format!("there is no suite `{name}`"))?;
        let whole: Value = serde_json::from_str(text)?;
        let tasks = |key: &str, words: &str| -> Result<Vec<Task>> {
            list(&whole[key]).map(|it| task(it, words)).collect()
        };
        let tools = list(&whole["tools"]).map(|tool| {
            Ok(Tool {
                name: text_of(tool, "name")?,
                description: text_of(tool, "description")?,
                parameters: tool["parameters"].clone(),
            })
        });
        Ok(Self {
            name,
            tools: tools.collect::<Result<_>>()?,
            tasks: tasks("tasks", "prompt")?,
            injections: tasks("injections", "goal")?,
            state: whole["state"].clone(),
        })
    }

    /// All suites.
    pub fn all() -> Result<Vec<Self>> {
        FILES.iter().map(|(name, _)| Self::load(name)).collect()
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text_of(value: &Value, key: &str) -> Result<String> {
    let text = value[key].as_str().with_context(|| format!("`{key}` is missing in {value}"))?;
    Ok(text.to_owned())
}

fn task(value: &Value, words: &str) -> Result<Task> {
    let calls = list(&value["calls"]).map(|call| {
        Ok(Made { tool: text_of(call, "tool")?, arguments: call["arguments"].clone() })
    });
    Ok(Task {
        id: text_of(value, "id")?,
        words: text_of(value, words)?,
        calls: calls.collect::<Result<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suites_are_whole() {
        let suites = Suite::all().expect("the data can be read");
        let counts: Vec<(usize, usize, usize)> =
            suites.iter().map(|it| (it.tools.len(), it.tasks.len(), it.injections.len())).collect();
        assert_eq!(counts, [(24, 40, 14), (28, 20, 7), (11, 16, 9), (11, 21, 5)]);
        let pairs = |it: &Suite| {
            let with_calls = it.injections.iter().filter(|it| !it.calls.is_empty()).count();
            (it.tasks.len() * it.injections.len(), it.tasks.len() * with_calls)
        };
        let pairs: Vec<(usize, usize)> = suites.iter().map(pairs).collect();
        assert_eq!(pairs.iter().map(|it| it.0).sum::<usize>(), 949);
        assert_eq!(pairs.iter().map(|it| it.1).sum::<usize>(), 609);
        let benign = suites.iter().flat_map(|it| &it.tasks).map(|it| it.calls.len());
        assert_eq!(benign.sum::<usize>(), 339);
        for call in suites.iter().flat_map(|it| it.tasks.iter().flat_map(|it| &it.calls)) {
            assert!(call.arguments.is_object(), "{call:?}");
        }
    }
}
