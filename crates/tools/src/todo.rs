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
    todos: Option<Vec<Item>>,
    #[serde(default)]
    merge: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Item {
    id: String,
    content: String,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    #[default]
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

#[async_trait]
impl Tool for Todo {
    fn name(&self) -> &'static str {
        "todo"
    }

    fn description(&self) -> &'static str {
        "Keep a list of steps for this conversation. Without `todos` it is read; `merge` updates items by id instead of replacing the list."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"content":{"type":"string"},"status":{"type":"string","enum":["pending","in_progress","completed","cancelled"]}},"required":["id","content"],"additionalProperties":false}},"merge":{"type":"boolean"}},"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[("items", "todos"), ("list", "todos"), ("tasks", "todos")],
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
            Some(todos) => todos,
        };
        check(&items)?;
        let text = serde_json::to_string(&items);
        text.map(Output::Text).map_err(|error| ToolError::Arguments(error.to_string()))
    }
}

fn merged(mut kept: Vec<Item>, new: Vec<Item>) -> Vec<Item> {
    for item in new {
        match kept.iter_mut().find(|known| known.id == item.id) {
            Some(known) => *known = item,
            None => kept.push(item),
        }
    }
    kept
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
