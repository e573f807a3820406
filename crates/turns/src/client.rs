//! What a caller of the API asks of a turn beside its message: how the answer should look, and
//! tools of the caller's own.
//!
//! The model is shown those tools beside the agent's. A call of one is never made here: it ends
//! the turn and goes to the caller, who makes it and says what came of it with the next message.
//! In the journal their names begin with [`PREFIX`], so that nothing that looks for calls of the
//! agent's own tools can take one for such a call, whoever wrote it. What comes of them are words
//! of others, like those of every other tool outside.

use crate::redaction::Redaction;
use crate::untrusted;
use insula_domain::{Integrity, IntegrityProfile, Source, SourceKind};
use insula_models::{AnswerFormat, Request, ToolChoice, ToolSchema};
use insula_registry::context::AgentContext;
use insula_registry::events::turn::ClientCall;
use insula_store::{Message, Part, Role};
use insula_tools::Piece;
use insula_world::World;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the name of a caller's tool begins with in the journal. No tool of an agent is called so.
const PREFIX: &str = "client__";

/// What a caller asks of one turn beside what it says.
#[derive(Clone, Default)]
pub struct Wishes {
    /// Tools of its own.
    pub tools: Arc<[ToolSchema]>,
    /// Whether the model must, may or must not call one of them.
    pub choice: ToolChoice,
    /// Whether it may be asked for several calls at once.
    pub calls: CallCount,
    /// Texts that end an answer.
    pub stop: Vec<String>,
    /// What the answer has to look like; `None` for words.
    pub format: Option<AnswerFormat>,
}

/// How many calls of a caller's tools one answer may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallCount {
    #[default]
    Many,
    One,
}

impl Wishes {
    /// The tools the model is shown: these, and those of the caller's whose names are none of
    /// them.
    pub(crate) fn beside(&self, own: Arc<[ToolSchema]>) -> Arc<[ToolSchema]> {
        if self.tools.is_empty() || self.choice == ToolChoice::None {
            return own;
        }
        let is_free = |tool: &&ToolSchema| own.iter().all(|it| it.name != tool.name);
        own.iter().chain(self.tools.iter().filter(is_free)).cloned().collect()
    }

    /// What a model is told that answers in words where a call is wished; `None` where none is.
    pub(crate) fn demand(&self) -> Option<String> {
        let names: Vec<String> = match &self.choice {
            _ if self.tools.is_empty() => return None,
            ToolChoice::Auto | ToolChoice::None => return None,
            ToolChoice::Required => self.tools.iter().map(|it| format!("`{}`", it.name)).collect(),
            ToolChoice::Tool(name) => vec![format!("`{name}`")],
        };
        let names = names.join(", ");
        Some(format!("whoever asks wants a call of one of these tools, and no words: {names}"))
    }

    /// Has a request say what is wished.
    pub(crate) fn put_into(&self, request: &mut Request) {
        request.stop.clone_from(&self.stop);
        request.format.clone_from(&self.format);
        if !self.tools.is_empty() && self.choice != ToolChoice::None {
            request.tool_choice = self.choice.clone();
            if self.calls == CallCount::One {
                request.parallel_calls = Some(false);
            }
        }
    }

    /// The same, with secrets taken out of how the tools are described.
    pub(crate) fn kept(mut self, redaction: &Redaction) -> Self {
        let tools = self.tools.iter().map(|tool| {
            let kept = |text: &str| redaction.kept(text.to_owned());
            let (about, arguments) = (kept(&tool.description), kept(tool.parameters.get()));
            let made = ToolSchema::new(tool.name.clone(), about.clone(), &arguments);
            // What a secret was taken out of may be no JSON any more.
            made.or_else(|_| ToolSchema::new(tool.name.clone(), about, r#"{"type":"object"}"#))
        });
        self.tools = tools.filter_map(Result::ok).collect();
        self
    }

    /// Whether a tool is the caller's, beside these of the agent's.
    fn has(&self, name: &str, own: &[ToolSchema]) -> bool {
        self.find(name, own).is_some()
    }

    /// A tool of the caller's, beside these of the agent's.
    pub(crate) fn find(&self, name: &str, own: &[ToolSchema]) -> Option<&ToolSchema> {
        let is_shown =
            self.choice != ToolChoice::None && !own.iter().any(|tool| *tool.name == *name);
        self.tools.iter().find(|tool| is_shown && *tool.name == *name)
    }

    /// The parts of an answer apart: what the agent does itself, and what is the caller's to do.
    /// Thoughts stand with both, since a provider wants them before the calls they led to.
    pub(crate) fn apart(&self, parts: Vec<Part>, own: &[ToolSchema]) -> Apart {
        let is_theirs =
            |part: &Part| matches!(part, Part::ToolCall { name, .. } if self.has(name, own));
        if !parts.iter().any(is_theirs) {
            return Apart { own: parts, client: Vec::new() };
        }
        let (mut client, mut rest): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(is_theirs);
        client.iter_mut().for_each(to_journal);
        if self.calls == CallCount::One {
            client.truncate(1);
        }
        let has_calls = rest.iter().any(|part| matches!(part, Part::ToolCall { .. }));
        if !has_calls {
            rest.append(&mut client);
            return Apart { own: Vec::new(), client: rest };
        }
        let thoughts = rest.iter().filter(|part| matches!(part, Part::Reasoning { .. }));
        let client = thoughts.cloned().chain(client).collect();
        Apart { own: rest, client }
    }
}

/// An answer, what it asks for apart by who does it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Apart {
    /// What the agent does itself; empty where that is nothing, and there is something else.
    pub(crate) own: Vec<Part>,
    /// What is the caller's to do, with the words beside it where the agent does nothing.
    pub(crate) client: Vec<Part>,
}

fn to_journal(part: &mut Part) {
    if let Part::ToolCall { name, arguments, .. } = part {
        *name = journalled(name);
        // Some models write nothing where there are no arguments.
        if arguments.trim().is_empty() {
            "{}".clone_into(arguments);
        }
    }
}

/// The name that a tool of a caller's has in the journal.
pub fn journalled(name: &str) -> Box<str> {
    format!("{PREFIX}{name}").into()
}

/// The name that a tool has for the model and for its caller.
pub fn told(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

/// The calls among parts that are the caller's to make.
pub fn calls_of(parts: &[Part]) -> Vec<ClientCall> {
    let calls = parts.iter().filter_map(|part| match part {
        Part::ToolCall { id, name, arguments } => Some(ClientCall {
            id: id.clone(),
            name: name.strip_prefix(PREFIX)?.into(),
            arguments: arguments.clone(),
        }),
        _ => None,
    });
    calls.collect()
}

/// What a caller says that came of a call of one of its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientResult {
    /// The call, by its id in the journal.
    pub call: Box<str>,
    /// The tool.
    pub name: Box<str>,
    /// What came of it.
    pub text: String,
}

/// The caller's tools that brought what messages hold.
pub(crate) fn sources(
    history: &[(Role, Vec<Part>)],
    results: &[ClientResult],
) -> impl Iterator<Item = Source> {
    let names = names_of(history);
    let brought = history.iter().flat_map(|(_, parts)| parts).filter_map(move |part| match part {
        Part::ToolResult { call, .. } => names.get(call).cloned(),
        _ => None,
    });
    let all = brought.chain(results.iter().map(|result| result.name.clone()));
    all.map(|name| source(&name))
}

fn source(name: &str) -> Source {
    Source::new(SourceKind::Client, name)
}

/// The caller's tools that messages call, by the ids of the calls.
fn names_of(history: &[(Role, Vec<Part>)]) -> BTreeMap<Box<str>, Box<str>> {
    let calls = history.iter().flat_map(|(_, parts)| calls_of(parts));
    calls.map(|call| (call.id, call.name)).collect()
}

/// Puts what a caller's tools brought between marks, where it counts as words of others.
pub(crate) fn enclose(
    world: &World,
    agent: &AgentContext,
    history: &mut [(Role, Vec<Part>)],
    results: Vec<ClientResult>,
) -> Vec<Part> {
    let names = names_of(history);
    for part in history.iter_mut().flat_map(|(_, parts)| parts) {
        if let Part::ToolResult { call, .. } = &*part
            && let Some(name) = names.get(call)
        {
            enclose_part(world, agent, name, part);
        }
    }
    let parts = results.into_iter().map(|ClientResult { call, name, text }| {
        let mut part = Part::ToolResult { call, text, is_error: false, untrusted: false };
        enclose_part(world, agent, &name, &mut part);
        part
    });
    parts.collect()
}

fn enclose_part(world: &World, agent: &AgentContext, name: &str, part: &mut Part) {
    let rule = &agent.boundary.integrity;
    let Part::ToolResult { text, untrusted, .. } = part else { return };
    let is_trusted = rule.untrusted(&Integrity::of(source(name))).is_own();
    if is_trusted || rule.profile == IntegrityProfile::Off || *untrusted {
        return;
    }
    // The same words get the same marks, so that a history that is brought again is the same
    // prompt; and nobody can write words that know their own.
    let hash = blake3::hash(text.as_bytes()).to_hex();
    let mark = world.random.stream(&["untrusted", agent.id.as_str(), "client", name, &hash]).id();
    let pieces = [Piece::Foreign { source: format!("client {name}"), text: std::mem::take(text) }];
    *text = untrusted::enclosed(&pieces, &mark);
    *untrusted = true;
}

/// The calls of a caller's tools that wait for what came of them: those of the last turn of a
/// conversation, as its messages stand in order.
pub(crate) fn waiting(messages: &[Message]) -> Vec<ClientCall> {
    let last = messages.iter().rev().find_map(|message| message.turn);
    let at = messages.iter().rposition(|message| message.role == Role::Assistant);
    let Some((asking, after)) = at.and_then(|at| messages.get(at..)?.split_first()) else {
        return Vec::new();
    };
    if asking.turn != last {
        return Vec::new();
    }
    let mut calls = calls_of(&asking.parts);
    let is_of =
        |part: &Part, id: &str| matches!(part, Part::ToolResult { call, .. } if **call == *id);
    calls.retain(|call| {
        !after.iter().flat_map(|message| &message.parts).any(|part| is_of(part, &call.id))
    });
    calls
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
