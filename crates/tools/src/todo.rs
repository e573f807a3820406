//! `todo`: a list the agent keeps for itself in one session.
//!
//! The list is what the tool last gave back, so the transcript is its only home: it is as
//! durable as the conversation, and goes when the conversation goes.

use crate::{Cleared, Habits, Hands, Output, Recall, Tool, ToolError, arguments};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// Most items of a list: more is a plan for somebody else.
const ITEMS_MAX: usize = 100;
/// Longest item, in characters.
const CONTENT_CHARS_MAX: usize = 500;

/// A list the agent keeps for itself.
pub struct Todo;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    todos: Option<Vec<Asked>>,
    #[serde(default)]
    merge: bool,
}

/// An item as it is asked for. Who numbers none leaves it to us.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    id: Option<String>,
    content: String,
    #[serde(default)]
    status: Status,
}

/// An item as it is kept.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
struct Item {
    id: String,
    content: String,
    status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    #[default]
    #[serde(alias = "todo", alias = "open", alias = "not_started")]
    Pending,
    #[serde(alias = "doing", alias = "started")]
    InProgress,
    #[serde(alias = "done", alias = "complete", alias = "finished")]
    Completed,
    #[serde(alias = "canceled")]
    Cancelled,
}

#[async_trait]
impl Tool for Todo {
    fn name(&self) -> &'static str {
        "todo"
    }

    fn description(&self) -> &'static str {
        "Keep a list of things to do in this conversation. Without `todos` it is read; `merge` updates items by id instead of replacing the list."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},"id":{"type":"string"},"status":{"type":"string","enum":["pending","in_progress","completed","cancelled"]}},"required":["content"],"additionalProperties":false}},"merge":{"type":"boolean"}},"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[
                ("items", "todos"),
                ("list", "todos"),
                ("tasks", "todos"),
                ("todo", "todos"),
                ("steps", "todos"),
            ],
            alone: Some("todos"),
            ..Habits::default()
        }
    }

    fn recall(&self) -> Recall {
        Recall::LastOutput
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let Arguments { todos, merge } = arguments(value)?;
        let kept: Vec<Item> =
            hands.previous.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let items = match todos {
            None => kept,
            Some(todos) if merge => merged(kept, todos),
            Some(todos) => merged(Vec::new(), todos),
        };
        check(&items)?;
        let text = serde_json::to_string(&items);
        text.map(Output::Text).map_err(|error| ToolError::Arguments(error.to_string()))
    }
}

/// The list with what is new. An item without an id is the one that says the same, or another.
fn merged(mut kept: Vec<Item>, new: Vec<Asked>) -> Vec<Item> {
    let named: Vec<String> = new.iter().filter_map(|item| item.id.clone()).collect();
    let before = kept.len();
    for Asked { id, content, status } in new {
        // What stands twice among the new ones is for `check` to say.
        let is_it = |known: &Item| match &id {
            Some(id) => known.id == *id,
            None => known.content == content,
        };
        if let Some(known) = kept.iter_mut().take(before).find(|known| is_it(known)) {
            known.content = content;
            known.status = status;
            continue;
        }
        let id = id.unwrap_or_else(|| free_id(&kept, &named));
        kept.push(Item { id, content, status });
    }
    kept
}

/// The first number that no item has.
fn free_id(kept: &[Item], named: &[String]) -> String {
    let is_taken = |id: &String| named.contains(id) || kept.iter().any(|known| known.id == *id);
    (1_usize..).map(|number| number.to_string()).find(|id| !is_taken(id)).unwrap_or_default()
}

fn check(items: &[Item]) -> Result<(), ToolError> {
    let wrong = |what: String| Err(ToolError::Arguments(what));
    if items.len() > ITEMS_MAX {
        return wrong(format!("{} items; at most {ITEMS_MAX} are kept", items.len()));
    }
    for (index, item) in items.iter().enumerate() {
        if item.content.chars().count() > CONTENT_CHARS_MAX {
            return wrong(format!("`{}` is longer than {CONTENT_CHARS_MAX} characters", item.id));
        }
        if items[..index].iter().any(|other| other.id == item.id) {
            return wrong(format!("`{}` stands twice", item.id));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "todo_tests.rs"]
mod todo_tests;
