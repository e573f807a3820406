//! Integrity: whether words of others may be why a call is made, and what becomes of it then.

use super::{Call, Denial, around, generations};
use crate::acts::{PossibleAct, When, possible};
use crate::facts::Surroundings as _;
use crate::turn::Turn;
use insula_domain::argument::stands_in;
use insula_domain::{
    Act, Audience, Integrity, IntegrityProfile, Ruling, Source, SourceKind, TaintedRule,
};
use insula_registry::context::AgentContext;
use insula_store::{Message, Part};
use insula_tools::{Risk, ToolRef};
use serde_json::Value;
use std::path::Path;

/// Longest piece of foreign words that a question shows, in characters.
const EXCERPT_CHARS_MAX: usize = 240;
/// Letters and digits from which on a word names something, wherever it was said.
const MEANT_CHARS_MIN: usize = 4;
/// Arguments whose origin a question tells.
const ARGUMENTS_MAX: usize = 12;

/// A call that words of others may have brought about, and that somebody has to agree to.
pub(super) struct Steered {
    acts: Vec<Act>,
    integrity: Integrity,
    ruling: Ruling,
}

/// Whether a call may be made in a turn that has read what this one has: it may, or somebody has
/// to agree, or it is refused. By the stricter of the generations.
pub(super) fn examine(
    turn: &Turn<'_>,
    tool: &ToolRef,
    arguments: &Value,
    call: Call<'_>,
) -> Result<Option<Steered>, Denial> {
    let seen = turn.cx.seen.label();
    if seen.integrity().is_own() {
        return Ok(None);
    }
    let mut steered = None;
    for agent in generations(turn) {
        let policy = &agent.boundary.integrity;
        let integrity = policy.untrusted(seen.integrity());
        if integrity.is_own() {
            continue;
        }
        let acts = acts(turn, agent, tool, arguments);
        let Some(ruling) = policy.ruling(tool.name(), acts.iter().copied()) else { continue };
        let by_sender = policy.profile != IntegrityProfile::Strict
            && are_given(arguments, &around(turn, call.history).said(), |argument| {
                agent.boundary.rules.lists(tool.name(), argument)
            });
        match ruling.rule {
            TaintedRule::Allow => {}
            TaintedRule::Deny => {
                return Err(Denial::Tainted {
                    name: call.name.to_owned(),
                    sources: integrity.in_words(),
                    by: ruling.to_string(),
                    why: None,
                });
            }
            TaintedRule::Ask if by_sender => {}
            TaintedRule::Ask => steered = Some(Steered { acts, integrity, ruling }),
        }
    }
    Ok(steered)
}

/// What a call does that words of others should not bring about.
fn acts(turn: &Turn<'_>, agent: &AgentContext, tool: &ToolRef, arguments: &Value) -> Vec<Act> {
    let is_done = |it: &PossibleAct| match it.when {
        When::Always => true,
        When::Elsewhere => !is_here(turn, arguments),
        When::Runs | When::Input => tool.risk(arguments) != Risk::None,
        When::SharedFolder => is_shared(agent, arguments),
        When::Everywhere => tool.reaches_everywhere(arguments),
    };
    let possible = possible(agent, &agent.boundary, tool.name());
    possible.into_iter().filter(is_done).map(|it| it.act).collect()
}

/// Whether it is said where the sender hears it anyway, or nothing is said at all.
fn is_here(turn: &Turn<'_>, arguments: &Value) -> bool {
    let Some(target) = arguments.get("target").and_then(Value::as_str) else { return true };
    target.parse().is_ok_and(|to: Audience| to == Audience::of(&turn.cx.from.address))
}

/// Whether a file that is written may be one that others have too.
fn is_shared(agent: &AgentContext, arguments: &Value) -> bool {
    // A path that is named otherwise than in the workspace may lead anywhere.
    let is_own = |path: &str| {
        let path = Path::new(path);
        let goes_up = path.components().any(|it| it == std::path::Component::ParentDir);
        !goes_up && (path.is_relative() || path.starts_with(&agent.workspace.path))
    };
    !arguments.get("path").and_then(Value::as_str).is_some_and(is_own)
}

/// Whether all that a call is made with was said by the sender or listed by the operator, and some
/// of it says what is meant: a `13` that stands in a date names no file.
fn are_given(arguments: &Value, said: &str, is_listed: impl Fn(&str) -> bool) -> bool {
    let mut leaves = Vec::new();
    collect(arguments, &mut String::new(), &mut leaves);
    let is_meant =
        |value: &str| value.chars().filter(|it| it.is_alphanumeric()).count() >= MEANT_CHARS_MIN;
    leaves.iter().all(|(name, value)| is_listed(name) || stands_in(value, said))
        && leaves.iter().any(|(name, value)| is_listed(name) || is_meant(value))
}

/// The texts and numbers of arguments, each with its name.
fn collect(value: &Value, name: &mut String, leaves: &mut Vec<(String, String)>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => leaves.push((name.clone(), number.to_string())),
        Value::String(text) if text.trim().is_empty() => {}
        Value::String(text) => leaves.push((name.clone(), text.clone())),
        Value::Array(items) => items.iter().for_each(|item| collect(item, name, leaves)),
        Value::Object(fields) => {
            for (key, value) in fields {
                let before = name.len();
                name.push_str(if name.is_empty() { "" } else { "." });
                name.push_str(key);
                collect(value, name, leaves);
                name.truncate(before);
            }
        }
    }
}

impl Steered {
    pub(super) fn sources(&self) -> String {
        self.integrity.in_words()
    }

    /// What says that somebody has to agree.
    pub(super) fn by(&self) -> String {
        self.ruling.to_string()
    }

    /// Why somebody is asked: whose words may be steering the turn, what they say, what the call
    /// would do, and where each of its arguments came from.
    pub(super) fn told(&self, arguments: &Value, history: &[Message], said: &str) -> String {
        let acts: Vec<&str> = self.acts.iter().map(|act| act.in_words()).collect();
        let foreign = foreign(history);
        let described = self.integrity.sources().filter(|it| it.kind == SourceKind::Description);
        let described = described.map(Source::name);
        let mut told = format!(
            "This turn has read words of others, who may be steering it: {}.\nIt would {}.",
            self.sources(),
            if acts.is_empty() { "do this".to_owned() } else { acts.join(" and ") },
        );
        for server in described {
            told.push_str(&format!(
                "\nNobody has looked at how the tools of {server} describe themselves yet; `insula mcp approve AGENT {server}` says that somebody has."
            ));
        }
        if let Some(last) = foreign.last() {
            let excerpt: String = last.chars().take(EXCERPT_CHARS_MAX).collect();
            let excerpt = excerpt.split_whitespace().collect::<Vec<_>>().join(" ");
            told.push_str(&format!("\nThe last of those words: “{excerpt}”"));
        }
        let mut leaves = Vec::new();
        collect(arguments, &mut String::new(), &mut leaves);
        for (name, value) in leaves.iter().take(ARGUMENTS_MAX) {
            let from = if stands_in(value, said) {
                "the sender said it"
            } else if foreign.iter().any(|text| stands_in(value, text)) {
                "it stands in those words"
            } else {
                "the model wrote it"
            };
            told.push_str(&format!("\n`{name}`: {from}"));
        }
        told
    }
}

/// What tools brought from outside, in order.
fn foreign(history: &[Message]) -> Vec<&str> {
    let parts = history.iter().flat_map(|message| &message.parts);
    let texts = parts.filter_map(|part| match part {
        Part::ToolResult { text, untrusted: true, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_sender_said_is_all_or_nothing() {
        let are_said = |arguments: &Value, said: &str| are_given(arguments, said, |_| false);
        let said = "Send 20 to DE89 3704 for lunch, please";
        assert!(are_said(&json!({ "to": "DE89 3704", "amount": 20 }), said));
        assert!(are_said(&json!({ "to": "de89 3704", "urgent": true, "note": "" }), said));
        assert!(!are_said(&json!({ "to": "DE89 3705", "amount": 20 }), said));
        assert!(!are_said(&json!({ "to": "DE89 3704", "amount": 200 }), said));
        assert!(!are_said(&json!({ "to": ["DE89 3704", "US12"] }), said));
        assert!(!are_said(&json!({ "nested": { "to": "US12" } }), said));
        assert!(!are_said(&json!({}), said), "nobody said what has no words");
        assert!(!are_said(&json!({ "all": true }), said));
        assert!(!are_said(&json!({ "file_id": "13" }), "What is on June 13?"));
        assert!(are_said(&json!({ "file_id": "13", "name": "budget" }), "delete 13, the budget"));
    }

    #[test]
    fn what_the_operator_listed_counts_as_said() {
        let is_listed = |name: &str| name == "to";
        let given = |arguments: Value| are_given(&arguments, "20 for lunch", is_listed);
        assert!(given(json!({ "to": "the landlord", "amount": 20 })));
        assert!(!given(json!({ "to": "the landlord", "amount": 200 })));
        assert!(!given(json!({ "to": "the landlord", "note": "and more" })));
        assert!(!given(json!({ "of": { "to": "the landlord" } })), "another argument");
    }
}
