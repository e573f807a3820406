//! The texts of a configuration in which an agent is called otherwise: wherever a key refers to an
//! agent its name is another, and everything else stays as it was written.
//!
//! Which keys refer to agents is read from the table of shapes, so a new one is followed too.

use crate::rules;
use crate::schema::{AGENT, AGENT_KEYS, BOARD, TOP};
use crate::shape::{Object, Shape, TextRule};
use crate::source::Sources;
use crate::yaml::{Node, Value, parse};
use insula_domain::AgentId;
use std::collections::BTreeSet;

/// Which file a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigText {
    /// `config.yaml`.
    Top,
    /// An `agent.yaml`.
    Agent,
}

/// Why names can't be written anew.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is no YAML that can be read: {0}")]
pub struct Unreadable(String);

/// The text with `from` called `to`; the same text where nothing in it refers to `from`.
pub fn renamed(
    text: &str,
    which: ConfigText,
    (from, to): (&AgentId, &AgentId),
) -> Result<String, Unreadable> {
    let mut sources = Sources::default();
    let source = sources.add("renamed", text);
    let root = parse(source, text).map_err(|error| Unreadable(error.message))?;
    let mut search = Search { from: from.as_str(), spans: BTreeSet::new() };
    match which {
        ConfigText::Top => search.object(&root, &TOP),
        ConfigText::Agent => search.object(&root, &AGENT),
    }
    let mut changed = text.to_owned();
    // From the end, so that what is found stays where it is.
    for (start, end) in search.spans.into_iter().rev() {
        let Some(written) = text.get(start..end) else { continue };
        // `agent:NAME` ends with the name too.
        let Some(at) = written.rfind(from.as_str()) else { continue };
        let place = start + at..start + at + from.as_str().len();
        changed.replace_range(place, to.as_str());
    }
    Ok(changed)
}

struct Search<'s> {
    from: &'s str,
    /// Where the name stands. An alias leads to where its anchor is.
    spans: BTreeSet<(usize, usize)>,
}

fn is_agent(rule: &'static TextRule) -> bool {
    std::ptr::eq(rule, &rules::AGENT) || std::ptr::eq(rule, &rules::AGENT_NAME)
}

impl Search<'_> {
    fn found(&mut self, span: crate::source::Span) {
        self.spans.insert((span.start as usize, span.end as usize));
    }

    fn text(&mut self, node: &Node, is_agent: bool) {
        let Value::Scalar { text, .. } = &node.value else { return };
        let is_source = text.strip_prefix("agent:") == Some(self.from);
        if is_source || is_agent && **text == *self.from {
            self.found(node.span);
        }
    }

    fn walk(&mut self, node: &Node, shape: &'static Shape) {
        match shape {
            Shape::Text(rule) => self.text(node, is_agent(rule)),
            Shape::List(inner) => match &node.value {
                Value::List(items) => items.iter().for_each(|item| self.walk(item, inner)),
                // Where one may stand for a list of one.
                Value::Scalar { .. } => self.walk(node, inner),
                Value::Map(_) => {}
            },
            Shape::Map { keys, values } => {
                for entry in node.entries() {
                    let is_source = entry.key.strip_prefix("agent:") == Some(self.from);
                    if is_source || is_agent(keys) && *entry.key == *self.from {
                        self.found(entry.key_span);
                    }
                    self.walk(&entry.value, values);
                }
            }
            Shape::Object(object) | Shape::Part(object) => self.object(node, object),
            Shape::Forms(forms) => forms.iter().for_each(|form| self.walk(node, form)),
            // Their keys say what they are, below.
            Shape::Parts
            | Shape::Anything
            | Shape::Bool
            | Shape::Integer { .. }
            | Shape::Amount
            | Shape::Choice(_) => {}
        }
    }

    fn object(&mut self, node: &Node, object: &'static Object) {
        for entry in node.entries() {
            let key = &*entry.key;
            let is_top = std::ptr::eq(object, &TOP);
            let field = object.fields.iter().find(|it| it.name == key || it.aliases.contains(&key));
            let Some(field) = field else { continue };
            match field.name {
                "agents" if is_top => {
                    for agent in entry.value.entries() {
                        if *agent.key == *self.from {
                            self.found(agent.key_span);
                        }
                        self.object(&agent.value, &AGENT);
                    }
                }
                "bindings" | "profile_routes" => {
                    for rule in entry.value.items() {
                        let own = rule.entries().iter();
                        let own = own.filter(|it| AGENT_KEYS.contains(&&*it.key));
                        own.for_each(|it| self.text(&it.value, true));
                    }
                }
                // An agent, or `person`.
                "review" if std::ptr::eq(object, &BOARD) => {
                    self.text(&entry.value, true);
                }
                _ => self.walk(&entry.value, &field.shape),
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn named(text: &str, which: ConfigText) -> String {
        let id = |text: &str| AgentId::new(text).unwrap();
        renamed(text, which, (&id("bob"), &id("robert"))).unwrap()
    }

    #[test]
    fn whatever_refers_to_an_agent_follows_and_nothing_else_is_touched() {
        let before = r#"# bob is the first
agents:
  bob: {name: bob, personality: "You are bob.", links: [{to: ann}]}
  "ann": {links: [{to: bob, as: notify}], integrity: {trusted: ["agent:bob", "web:bob"]}}
  bobby: {tools: [clarify]}
bindings:
  - {agent: bob, telegram: "*"}   # bob answers
  - profile: 'bob'
    telegram: {chat: bob}
gateway: {profile_routes: [{profile: bob, discord: {guild: "1"}}]}
boards:
  work: {agents: {bob: work, ann: manage}, kinds: {bob: [bob]}, review: bob}
  play: {agents: [bob, ann], description: bob}
"#;
        let after = r#"# bob is the first
agents:
  robert: {name: bob, personality: "You are bob.", links: [{to: ann}]}
  "ann": {links: [{to: robert, as: notify}], integrity: {trusted: ["agent:robert", "web:bob"]}}
  bobby: {tools: [clarify]}
bindings:
  - {agent: robert, telegram: "*"}   # bob answers
  - profile: 'robert'
    telegram: {chat: bob}
gateway: {profile_routes: [{profile: robert, discord: {guild: "1"}}]}
boards:
  work: {agents: {robert: work, ann: manage}, kinds: {bob: [robert]}, review: robert}
  play: {agents: [robert, ann], description: bob}
"#;
        assert_eq!(named(before, ConfigText::Top), after);
        assert_eq!(named(after, ConfigText::Top), after, "a second time changes nothing");
    }

    #[test]
    fn an_own_file_and_what_others_share_is_followed_too() {
        let own = "links: [{to: bob}]\nname: bob\n";
        assert_eq!(named(own, ConfigText::Agent), "links: [{to: robert}]\nname: bob\n");
        assert_eq!(named("", ConfigText::Top), "");
        let id = |text: &str| AgentId::new(text).unwrap();
        assert!(renamed("a: [", ConfigText::Top, (&id("a"), &id("b"))).is_err());
    }
}
