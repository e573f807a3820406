//! Integrity: whether words of others may be why a call is made, and what becomes of it then.

use super::{Call, Denial, around, generations};
use crate::facts::Surroundings as _;
use crate::turn::Turn;
use insula_domain::argument::stands_in;
use insula_domain::tool::{self, ToolSpec};
use insula_domain::{
    AccessMode, Act, Audience, Effect, Integrity, IntegrityProfile, Switch, TaintedRule,
};
use insula_registry::context::AgentContext;
use insula_store::{Message, Part};
use insula_tools::{Risk, ToolRef};
use serde_json::Value;
use std::path::Path;

/// Longest piece of foreign words that a question shows, in characters.
const EXCERPT_CHARS_MAX: usize = 240;
/// Arguments whose origin a question tells.
const ARGUMENTS_MAX: usize = 12;

/// A call that words of others may have brought about, and that somebody has to agree to.
pub(super) struct Steered {
    acts: Vec<Act>,
    integrity: Integrity,
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
        let rule = policy.rule(tool.name(), acts.iter().copied());
        let by_sender = policy.profile != IntegrityProfile::Strict
            && are_said(arguments, &around(turn, call.history).said());
        match rule {
            TaintedRule::Allow => {}
            TaintedRule::Deny => {
                return Err(Denial::Tainted {
                    name: call.name.to_owned(),
                    sources: in_words(&integrity),
                    why: None,
                });
            }
            TaintedRule::Ask if by_sender => {}
            TaintedRule::Ask => steered = Some(Steered { acts, integrity }),
        }
    }
    Ok(steered)
}

/// What a call does that words of others should not bring about.
fn acts(turn: &Turn<'_>, agent: &AgentContext, tool: &ToolRef, arguments: &Value) -> Vec<Act> {
    // What a server's tool does nobody here knows.
    let Some(spec) = tool::find(tool.name()) else { return vec![Act::Call] };
    let act = |effect: &Effect| match effect {
        Effect::Send => (!is_here(turn, arguments)).then_some(Act::Send),
        Effect::RunProgram | Effect::RunCode => {
            (tool.risk(arguments) != Risk::None && reaches(agent)).then_some(Act::Program)
        }
        Effect::WriteFiles => is_shared(agent, arguments).then_some(Act::SharedFiles),
        Effect::Remember => tool.reaches_everywhere(arguments).then_some(Act::RememberGlobally),
        Effect::Schedule => Some(Act::Schedule),
        Effect::Delegate => has_hands(agent, spec).then_some(Act::Delegate),
        Effect::ChangeSelf => Some(Act::ChangeSelf),
        Effect::Board => Some(Act::Board),
        Effect::Network => Some(Act::Network),
        Effect::ReadFiles
        | Effect::Recall
        | Effect::ReadHistory
        | Effect::ReadSkills
        | Effect::AskUser
        | Effect::Plan
        | Effect::FindTools
        | Effect::Media => None,
    };
    spec.effects.iter().filter_map(act).collect()
}

/// Whether it is said where the sender hears it anyway, or nothing is said at all.
fn is_here(turn: &Turn<'_>, arguments: &Value) -> bool {
    let Some(target) = arguments.get("target").and_then(Value::as_str) else { return true };
    target.parse().is_ok_and(|to: Audience| to == Audience::of(&turn.cx.from.address))
}

/// Whether programs of an agent can tell somebody something, or change what others have.
fn reaches(agent: &AgentContext) -> bool {
    let writes = |mode: AccessMode| mode == AccessMode::Rw;
    agent.boundary.integrity.profile == IntegrityProfile::Strict
        || agent.programs.sandbox == Switch::Off
        || !agent.boundary.network.is_none()
        || agent.boundary.files.shared.iter().any(|shared| writes(shared.mode))
}

/// Whether a file that is written may be one that others have too.
fn is_shared(agent: &AgentContext, arguments: &Value) -> bool {
    let shared = agent.boundary.files.shared.iter().filter(|it| it.mode == AccessMode::Rw);
    let shared: Vec<&Path> = shared.map(|it| Path::new(&*it.path)).collect();
    if shared.is_empty() {
        return false;
    }
    // A path that is named otherwise than in the workspace may lead anywhere.
    let is_own = |path: &str| {
        let path = Path::new(path);
        let goes_up = path.components().any(|it| it == std::path::Component::ParentDir);
        !goes_up && (path.is_relative() || path.starts_with(&agent.workspace.path))
    };
    !arguments.get("path").and_then(Value::as_str).is_some_and(is_own)
}

/// Whether a child of an agent could do more than read.
fn has_hands(agent: &AgentContext, delegate: &ToolSpec) -> bool {
    let reads = |effect: &Effect| {
        effect.only_looks() || matches!(effect, Effect::Network | Effect::Plan | Effect::AskUser)
    };
    agent.tools().exposed().any(|name| match tool::find(name) {
        Some(spec) => spec.name != delegate.name && !spec.effects.iter().all(reads),
        None => true,
    })
}

/// Whether the sender said all that a call is made with, and there is something that they said.
fn are_said(arguments: &Value, said: &str) -> bool {
    let mut leaves = Vec::new();
    collect(arguments, &mut String::new(), &mut leaves);
    !leaves.is_empty() && leaves.iter().all(|(_, value)| stands_in(value, said))
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

/// Sources, for people and models.
pub(super) fn in_words(integrity: &Integrity) -> String {
    let sources: Vec<String> =
        integrity.sources().map(|it| format!("{} {}", it.kind.as_str(), it.name())).collect();
    if sources.is_empty() {
        "more sources than are told apart".to_owned()
    } else {
        sources.join(", ")
    }
}

impl Steered {
    pub(super) fn sources(&self) -> String {
        in_words(&self.integrity)
    }

    /// Why somebody is asked: whose words may be steering the turn, what they say, what the call
    /// would do, and where each of its arguments came from.
    pub(super) fn told(&self, arguments: &Value, history: &[Message], said: &str) -> String {
        let acts: Vec<&str> = self.acts.iter().map(|act| act.in_words()).collect();
        let foreign = foreign(history);
        let mut told = format!(
            "This turn has read words of others, who may be steering it: {}.\nIt would {}.",
            self.sources(),
            if acts.is_empty() { "do this".to_owned() } else { acts.join(" and ") },
        );
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
        let said = "Send 20 to DE89 3704 for lunch, please";
        assert!(are_said(&json!({ "to": "DE89 3704", "amount": 20 }), said));
        assert!(are_said(&json!({ "to": "de89 3704", "urgent": true, "note": "" }), said));
        assert!(!are_said(&json!({ "to": "DE89 3705", "amount": 20 }), said));
        assert!(!are_said(&json!({ "to": "DE89 3704", "amount": 200 }), said));
        assert!(!are_said(&json!({ "to": ["DE89 3704", "US12"] }), said));
        assert!(!are_said(&json!({ "nested": { "to": "US12" } }), said));
        assert!(!are_said(&json!({}), said), "nobody said what has no words");
        assert!(!are_said(&json!({ "all": true }), said));
    }
}
