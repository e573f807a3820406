//! `memory` and `memory_search`: what is remembered here, changed and found.

use crate::memory::MemoryReach;
use crate::{Cleared, Habits, Hands, Output, Tool, ToolError, arguments};
use async_trait::async_trait;
use insula_domain::Day;
use insula_memory::{Changed, EntryChange, MemoryHit, MemoryList, Operation};
use serde::Deserialize;
use serde_json::{Map, Value};

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
    Daily,
}

impl Target_ {
    /// The list that is meant, where today's note is this one.
    fn list(self, today: Option<MemoryList>) -> Result<MemoryList, ToolError> {
        match self {
            Self::Memory => Ok(MemoryList::Memory),
            Self::User => Ok(MemoryList::User),
            Self::Daily => today.ok_or_else(|| {
                let what = "this agent keeps no daily notes; give `target`: memory or user";
                ToolError::Arguments(what.to_owned())
            }),
        }
    }
}

impl One {
    fn change(
        self,
        otherwise: Option<Target_>,
        today: Option<MemoryList>,
    ) -> Result<EntryChange, ToolError> {
        let wrong = |what: &str| ToolError::Arguments(what.to_owned());
        let target = self.target.or(otherwise);
        let target = target.ok_or_else(|| wrong("give `target`: memory or user"))?.list(today)?;
        let operation = match (self.action, self.old_text, self.content) {
            (Action::Add, None, Some(content)) => Operation::Add { content },
            (Action::Add, ..) => return Err(wrong("`add` takes `content` and no `old_text`")),
            (Action::Replace, Some(old_text), Some(content)) => {
                Operation::Replace { old_text, content }
            }
            (Action::Replace, ..) => {
                return Err(wrong("`replace` takes `old_text` and `content`"));
            }
            // Which entry is meant may stand in either.
            (Action::Remove, None, Some(old_text)) => Operation::Remove { old_text },
            (Action::Remove, Some(old_text), content)
                if content.as_ref().is_none_or(|it| it.trim().is_empty() || *it == old_text) =>
            {
                Operation::Remove { old_text }
            }
            (Action::Remove, ..) => {
                return Err(wrong("`remove` takes `old_text` and no `content`"));
            }
        };
        Ok(EntryChange { target, operation })
    }
}

fn place(scope: Option<&str>) -> Result<MemoryReach, ToolError> {
    match scope {
        None | Some("" | "here") => Ok(MemoryReach::Here),
        Some("global") => Ok(MemoryReach::Everywhere),
        Some(_) => {
            let what = "`scope` is `here` or `global`; where else something is remembered is not yours to say";
            Err(ToolError::Arguments(what.to_owned()))
        }
    }
}

impl Asked {
    fn changes(self, today: Option<MemoryList>) -> Result<Vec<EntryChange>, ToolError> {
        let Self { action, target, content, old_text, operations, .. } = self;
        if operations.len() > OPERATIONS_MAX {
            let what = format!("`operations` has more than {OPERATIONS_MAX}");
            return Err(ToolError::Arguments(what));
        }
        // What stands beside a list comes before it.
        let first = action.map(|action| One { action, target, content, old_text });
        let all: Vec<One> = first.into_iter().chain(operations).collect();
        if all.is_empty() {
            return Err(ToolError::Arguments("give `action`, or `operations`".to_owned()));
        }
        all.into_iter().map(|one| one.change(target, today)).collect()
    }
}

/// What a call asks for, and where. The one reading of its arguments: who decides whether it
/// may, and who does it, understand the same.
fn understood(
    value: &Value,
    today: Option<MemoryList>,
) -> Result<(MemoryReach, Vec<EntryChange>), ToolError> {
    let asked: Asked = arguments(value)?;
    let place = place(asked.scope.as_deref())?;
    Ok((place, asked.changes(today)?))
}

/// Whichever day it is: of a call that is only judged, and not made.
fn some_day() -> Option<MemoryList> {
    Some(MemoryList::Day(Day::of_millis(0)))
}

#[async_trait]
impl Tool for Remember {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn description(&self) -> &'static str {
        "Remember a short fact for later conversations when asked to, or change one; no place for files. `add` takes `content`, `replace` takes `old_text` and `content`, `remove` takes `old_text`. What you write is shown to you from the next conversation on."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"action":{"type":"string","enum":["add","replace","remove"]},"content":{"type":"string","description":"the fact, in one sentence"},"target":{"type":"string","enum":["memory","user"],"description":"`user` for who the user is, `memory` for all else"},"old_text":{"type":"string","description":"unique part of the entry to replace or remove"},"scope":{"type":"string","enum":["here","global"],"description":"`here`, unless every conversation may know it and an admin confirms"},"operations":{"type":"array","description":"several at once, all or none","items":{"type":"object","properties":{"action":{"type":"string","enum":["add","replace","remove"]},"target":{"type":"string","enum":["memory","user"]},"content":{"type":"string"},"old_text":{"type":"string"}},"required":["action"]}}},"required":["action","content"],"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[
                ("text", "content"),
                ("fact", "content"),
                ("entry", "content"),
                ("value", "content"),
                ("memory", "content"),
                ("note", "content"),
                ("old", "old_text"),
                ("old_content", "old_text"),
                ("new_text", "content"),
                ("new_content", "content"),
            ],
            by_the_letter: &["scope"],
            blank_is_nothing: &["old_text", "target", "scope"],
            ..Habits::default()
        }
    }

    /// Nothing is removed that nobody said to remove.
    fn left_out(&self, given: &Map<String, Value>) -> Vec<(&'static str, &'static str)> {
        let has = |name| given.get(name).is_some_and(Value::is_string);
        let action = match (has("content"), has("old_text")) {
            _ if given.contains_key("operations") => return Vec::new(),
            (true, true) => "replace",
            (true, false) => "add",
            (false, _) => return vec![("target", "memory")],
        };
        vec![("action", action), ("target", "memory")]
    }

    fn reaches_everywhere(&self, arguments: &Value) -> bool {
        // What the tool refuses by itself, a scope of somebody's own making say, reaches
        // nowhere: nobody is asked about it.
        understood(arguments, some_day()).is_ok_and(|(place, _)| place == MemoryReach::Everywhere)
    }

    fn takes_away(&self, arguments: &Value) -> bool {
        let is_gone = |it: &EntryChange| !matches!(it.operation, Operation::Add { .. });
        understood(arguments, some_day()).is_ok_and(|(_, changes)| changes.iter().any(is_gone))
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let (place, changes) = understood(value, hands.memory()?.today())?;
        let told = hands.memory()?.change(place, &changes).await?;
        Ok(Output::Text(told.iter().map(told_of).collect::<Vec<_>>().join("\n")))
    }
}

/// The same for agents that keep daily notes: `target` may also be `daily`, which is today's.
pub struct RememberDaily;

#[async_trait]
impl Tool for RememberDaily {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn description(&self) -> &'static str {
        "Remember a short fact for later conversations when asked to, or change one; or note with `target` `daily` what happened today. No place for files. `add` takes `content`, `replace` takes `old_text` and `content`, `remove` takes `old_text`. What you write is shown to you from the next conversation on; notes of earlier days are found by `memory_search`."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"action":{"type":"string","enum":["add","replace","remove"]},"content":{"type":"string","description":"the fact, in one sentence"},"target":{"type":"string","enum":["memory","user","daily"],"description":"`user` for who the user is, `daily` for what happened today, `memory` for all else"},"old_text":{"type":"string","description":"unique part of the entry to replace or remove"},"scope":{"type":"string","enum":["here","global"],"description":"`here`, unless every conversation may know it and an admin confirms"},"operations":{"type":"array","description":"several at once, all or none","items":{"type":"object","properties":{"action":{"type":"string","enum":["add","replace","remove"]},"target":{"type":"string","enum":["memory","user","daily"]},"content":{"type":"string"},"old_text":{"type":"string"}},"required":["action"]}}},"required":["action","content"],"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Remember.habits()
    }

    fn left_out(&self, given: &Map<String, Value>) -> Vec<(&'static str, &'static str)> {
        Remember.left_out(given)
    }

    fn reaches_everywhere(&self, arguments: &Value) -> bool {
        Remember.reaches_everywhere(arguments)
    }

    fn takes_away(&self, arguments: &Value) -> bool {
        Remember.takes_away(arguments)
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        Remember.run(hands, value).await
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
            format!("[{}{place}] {}", found.target.name(), cut(&found.text))
        };
        Ok(Output::Text(found.iter().map(line).collect::<Vec<_>>().join("\n")))
    }
}

#[cfg(test)]
#[path = "remember_tests.rs"]
mod tests;
