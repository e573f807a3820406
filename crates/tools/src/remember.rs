//! `memory` and `memory_search`: what is remembered here, changed and found.

use crate::memory::MemoryReach;
use crate::{Cleared, Hands, Output, Tool, ToolError, arguments};
use async_trait::async_trait;
use insula_memory::{Changed, EntryChange, MemoryHit, MemoryList, Operation};
use serde::Deserialize;
use serde_json::Value;

/// Hits unless asked for fewer or more.
const LIMIT: usize = 8;
/// Most hits.
const LIMIT_MAX: usize = 30;
/// Most characters of a hit: an entry is short unless somebody wrote it by hand.
const HIT_CHARS_MAX: usize = 2_000;
/// Most operations of one call.
const OPERATIONS_MAX: usize = 64;

/// Changes what is remembered.
pub struct Remember;

/// Finds what is remembered.
pub struct MemorySearch;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    action: Option<Action>,
    target: Option<Target_>,
    content: Option<String>,
    old_text: Option<String>,
    scope: Option<String>,
    #[serde(default)]
    operations: Vec<One>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    action: Action,
    target: Option<Target_>,
    content: Option<String>,
    old_text: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Action {
    Add,
    Replace,
    Remove,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Target_ {
    Memory,
    User,
}

impl From<Target_> for MemoryList {
    fn from(target: Target_) -> Self {
        match target {
            Target_::Memory => Self::Memory,
            Target_::User => Self::User,
        }
    }
}

impl One {
    fn change(self, otherwise: Option<Target_>) -> Result<EntryChange, ToolError> {
        let wrong = |what: &str| ToolError::Arguments(what.to_owned());
        let target = self.target.or(otherwise);
        let target = target.ok_or_else(|| wrong("give `target`: memory or user"))?.into();
        let operation = match (self.action, self.old_text, self.content) {
            (Action::Add, None, Some(content)) => Operation::Add { content },
            (Action::Add, ..) => return Err(wrong("`add` takes `content` and no `old_text`")),
            (Action::Replace, Some(old_text), Some(content)) => {
                Operation::Replace { old_text, content }
            }
            (Action::Replace, ..) => {
                return Err(wrong("`replace` takes `old_text` and `content`"));
            }
            (Action::Remove, Some(old_text), None) => Operation::Remove { old_text },
            (Action::Remove, ..) => {
                return Err(wrong("`remove` takes `old_text` and no `content`"));
            }
        };
        Ok(EntryChange { target, operation })
    }
}

fn place(scope: Option<&str>) -> Result<MemoryReach, ToolError> {
    match scope {
        None | Some("") => Ok(MemoryReach::Here),
        Some("global") => Ok(MemoryReach::Everywhere),
        Some(_) => {
            let what = "`scope` is `global` or left out; where else something is remembered is not yours to say";
            Err(ToolError::Arguments(what.to_owned()))
        }
    }
}

impl Asked {
    fn changes(self) -> Result<Vec<EntryChange>, ToolError> {
        let Self { action, target, content, old_text, operations, .. } = self;
        match (action, operations.is_empty()) {
            (Some(action), true) => {
                Ok(vec![One { action, target, content, old_text }.change(None)?])
            }
            (None, false) if operations.len() <= OPERATIONS_MAX => {
                operations.into_iter().map(|one| one.change(target)).collect()
            }
            (None, false) => {
                let what = format!("`operations` has more than {OPERATIONS_MAX}");
                Err(ToolError::Arguments(what))
            }
            _ => Err(ToolError::Arguments("give `action`, or `operations`".to_owned())),
        }
    }
}

/// What a call asks for, and where. The one reading of its arguments: who decides whether it
/// may, and who does it, understand the same.
fn understood(value: &Value) -> Result<(MemoryReach, Vec<EntryChange>), ToolError> {
    let asked: Asked = arguments(value)?;
    let place = place(asked.scope.as_deref())?;
    Ok((place, asked.changes()?))
}

#[async_trait]
impl Tool for Remember {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn description(&self) -> &'static str {
        "Remember short facts for later conversations: target `memory` for what you learned, `user` for who the user is. `old_text` is a unique part of an entry. `operations` are applied all or none. What you write is shown to you from the next conversation on."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"action":{"enum":["add","replace","remove"]},"target":{"enum":["memory","user"]},"content":{"type":"string"},"old_text":{"type":"string"},"scope":{"enum":["global"],"description":"only for what every conversation may know; an admin confirms"},"operations":{"type":"array","items":{"type":"object","properties":{"action":{"enum":["add","replace","remove"]},"target":{"enum":["memory","user"]},"content":{"type":"string"},"old_text":{"type":"string"}},"required":["action"]}}},"required":["target"],"additionalProperties":false}"#
    }

    fn reaches_everywhere(&self, arguments: &Value) -> bool {
        // What the tool refuses by itself, a scope of somebody's own making say, reaches
        // nowhere: nobody is asked about it.
        understood(arguments).is_ok_and(|(place, _)| place == MemoryReach::Everywhere)
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let (place, changes) = understood(value)?;
        let told = hands.memory()?.change(place, &changes).await?;
        Ok(Output::Text(told.iter().map(told_of).collect::<Vec<_>>().join("\n")))
    }
}

fn told_of(changed: &Changed) -> String {
    let Changed { target, is_shown, used, limit, blocked, entries } = changed;
    let mut text = match is_shown {
        true => format!(
            "done: `{}` has {}, {used} of {limit} characters",
            target.as_str(),
            match entries.len() {
                1 => "1 entry".to_owned(),
                count => format!("{count} entries"),
            }
        ),
        false => "done: it is remembered where you can't read it".to_owned(),
    };
    for why in blocked {
        text.push_str(&format!(
            "\nan entry was kept and blocked ({why}): no model is ever shown it; what is meant has to be written anew, in other words"
        ));
    }
    text
}

/// An entry, as far as it is shown.
fn cut(text: &str) -> String {
    let mut cut: String = text.chars().take(HIT_CHARS_MAX).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    query: String,
    limit: Option<usize>,
}

#[async_trait]
impl Tool for MemorySearch {
    fn name(&self) -> &'static str {
        "memory_search"
    }

    fn description(&self) -> &'static str {
        "Find what is remembered here by words, also what was remembered since this conversation began."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"],"additionalProperties":false}"#
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let Wanted { query, limit } = arguments(value)?;
        let limit = limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
        let found = hands.memory()?.search(&query, limit).await?;
        if found.is_empty() {
            return Ok(Output::Text("nothing was found".to_owned()));
        }
        let line = |found: &MemoryHit| {
            let place =
                if found.scope == insula_domain::Scope::Global { " everywhere" } else { "" };
            format!("[{}{place}] {}", found.target.as_str(), cut(&found.text))
        };
        Ok(Output::Text(found.iter().map(line).collect::<Vec<_>>().join("\n")))
    }
}

#[cfg(test)]
#[path = "remember_tests.rs"]
mod tests;
