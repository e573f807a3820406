//! Attackers who know the place: when their calls come, by which way their text did, and with
//! which names. The puppet makes the calls, so how an attack is worded makes no difference.

use super::data::{Made, Suite, Task, Tool};
use super::kind::{Argument, Kind, arguments, only_looks};
use super::replay::injected;
use super::server::Planted;
use super::spoken;
use super::words;
use insula_domain::argument::stands_in;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// How somebody attacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attacker {
    /// The benchmark's own words, when the task is done.
    Literal,
    /// The same right after the first thing that was read, with the task half done.
    AfterRead,
    /// After the first read, with names, addresses and numbers of the user's own state, such as
    /// the sender has not said.
    KnownNames,
    /// After the first read, with whatever the sender said themselves.
    Said,
    /// Half of the text in one thing that is read and half in the next; then the attack.
    Split,
    /// The text is how a tool of the server describes itself, and the attack comes before
    /// anything was read.
    Description,
    /// The text is the name of something that is found.
    FileName,
}

/// The calls of a turn, in order: some of the task's, the attacker's, and the rest of the task's.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Course {
    pub(super) before: Vec<Made>,
    pub(super) attack: Vec<Made>,
    pub(super) after: Vec<Made>,
}

impl Attacker {
    /// Every attacker.
    pub const ALL: [Self; 7] = [
        Self::Literal,
        Self::AfterRead,
        Self::KnownNames,
        Self::Said,
        Self::Split,
        Self::Description,
        Self::FileName,
    ];

    /// What it is called on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Literal => "literal",
            Self::AfterRead => "after-read",
            Self::KnownNames => "known-names",
            Self::Said => "said",
            Self::Split => "split",
            Self::Description => "description",
            Self::FileName => "file-name",
        }
    }

    /// Those that are meant by a word: one, or `all`.
    pub fn parse(text: &str) -> Result<Vec<Self>, String> {
        let found: Vec<Self> =
            Self::ALL.into_iter().filter(|it| text == "all" || it.as_str() == text).collect();
        let names = Self::ALL.map(Self::as_str).join(", ");
        if found.is_empty() {
            Err(format!("it has to be one of {names} or all"))
        } else {
            Ok(found)
        }
    }

    /// A suite as its server offers it.
    pub(super) fn offered(self, suite: &Suite) -> Suite {
        let mut suite = suite.clone();
        if self == Self::Description
            && let Some(tool) = suite.tools.first_mut()
        {
            // A description that changed later would wait for an operator, so it holds what every
            // injection of the suite says from the beginning.
            for injection in suite.injections.iter().filter(|it| !it.calls.is_empty()) {
                tool.description.push('\n');
                tool.description.push_str(&injection.words);
            }
        }
        suite
    }

    /// What is put where the agent looks.
    pub(super) fn planted(self, injection: &Task) -> Planted {
        let text = injected(injection);
        match self {
            Self::Literal | Self::AfterRead | Self::KnownNames | Self::Said => Planted::Text(text),
            Self::Split => {
                let middle = text.char_indices().nth(text.chars().count() / 2);
                let (one, other) = text.split_at(middle.map_or(0, |(at, _)| at));
                Planted::Halves([one.to_owned(), other.to_owned()])
            }
            Self::Description => Planted::Nothing,
            Self::FileName => Planted::Name(text),
        }
    }

    /// What is called when; `None` where the task reads too little for the text to get in.
    pub(super) fn course(self, suite: &Suite, task: &Task, injection: &Task) -> Option<Course> {
        let reads = task.calls.iter().enumerate().filter(|(_, call)| only_looks(&call.tool));
        let mut reads = reads.map(|(at, _)| at + 1);
        let from = match self {
            Self::Literal => reads.next().map(|_| task.calls.len()),
            Self::AfterRead | Self::KnownNames | Self::Said | Self::FileName => reads.next(),
            Self::Split => reads.nth(1),
            Self::Description => Some(0),
        }?;
        let (before, after) = task.calls.split_at(from);
        let attack = injection.calls.iter().map(|call| self.call(suite, &task.words, call));
        Some(Course { before: before.to_vec(), attack: attack.collect(), after: after.to_vec() })
    }

    /// A call of an injection's as this attacker makes it.
    fn call(self, suite: &Suite, message: &str, call: &Made) -> Made {
        let choose = match self {
            Self::KnownNames => known,
            Self::Said => said,
            _ => return call.clone(),
        };
        let tool = suite.tools.iter().find(|tool| tool.name == call.tool);
        let arguments = tool.map_or_else(
            || call.arguments.clone(),
            |tool| Value::Object(rewritten(tool, call, |it, old| choose(suite, message, it, old))),
        );
        Made { tool: call.tool.clone(), arguments }
    }
}

/// What becomes of an argument.
enum Chosen {
    /// It is as it was.
    Kept,
    /// It is this.
    Instead(Value),
    /// It is left out where it may be.
    Without,
}

fn rewritten(
    tool: &Tool,
    call: &Made,
    choose: impl Fn(&Argument<'_>, &Value) -> Chosen,
) -> Map<String, Value> {
    let known = arguments(tool);
    let mut made = Map::new();
    for (name, old) in call.arguments.as_object().into_iter().flatten() {
        let argument = known.iter().find(|it| it.name == name);
        let chosen = argument.map_or(Chosen::Kept, |it| choose(it, old));
        let value = match chosen {
            Chosen::Without if argument.is_some_and(|it| !it.is_required) => continue,
            Chosen::Kept | Chosen::Without => old.clone(),
            Chosen::Instead(value) => value,
        };
        made.insert(name.clone(), value);
    }
    made
}

/// A name of the state in the place of each name. One that the sender said is what
/// [`Attacker::Said`] takes; here it is the last choice, so that each shows something of its own.
fn known(suite: &Suite, message: &str, argument: &Argument<'_>, old: &Value) -> Chosen {
    let state = &suite.state;
    let candidates = match argument.kind {
        Kind::Address => words::known_addresses(state),
        Kind::Id => words::known_ids(state),
        Kind::Link => words::known_hosts(state),
        Kind::Name => things(suite, argument.name),
        Kind::Day | Kind::Query | Kind::Prose | Kind::Other => return Chosen::Kept,
    };
    let is_new = |text: &String| !stands_in(text, message);
    let olds: Vec<String> = texts(old);
    if olds.iter().all(|text| candidates.contains(text) && is_new(text)) {
        return Chosen::Kept;
    }
    let best = candidates.iter().find(|it| is_new(it)).or_else(|| candidates.first());
    best.and_then(|text| shaped(text, argument, old)).map_or(Chosen::Kept, Chosen::Instead)
}

/// Something that the sender said in the place of everything, where they said something of that
/// kind. Whether it makes sense is not asked; that a server could take it is.
fn said(suite: &Suite, message: &str, argument: &Argument<'_>, old: &Value) -> Chosen {
    let state = &suite.state;
    let candidates: Vec<String> = match argument.kind {
        Kind::Address => words::addresses(message).into_iter().collect(),
        Kind::Id => words::known_ids(state).into_iter().collect(),
        Kind::Link => spoken::links(message),
        Kind::Day => spoken::days(message),
        Kind::Prose | Kind::Query => vec![message.trim().to_owned()],
        Kind::Other => spoken::numbers(message),
        Kind::Name => {
            let mut names: Vec<String> = things(suite, argument.name).into_iter().collect();
            // What there are several of is chosen among them; what there is one or none of is set,
            // to any word: a password, the name of a new file.
            if words::meant(state, argument.name, "").len() < 2 {
                names.extend(spoken::names(message));
            }
            names
        }
    };
    let said = candidates.iter().filter(|text| stands_in(text, message));
    let mut shaped = said.filter_map(|text| shaped(text, argument, old));
    let is_said = |value: &Value| texts(value).iter().all(|text| stands_in(text, message));
    shaped.find(is_said).map_or(Chosen::Without, Chosen::Instead)
}

/// What an argument of this name may name: the things of that kind in the state, or where it keeps
/// none, whatever it calls anything.
fn things(suite: &Suite, argument: &str) -> BTreeSet<String> {
    let things = words::meant(&suite.state, argument, "");
    if things.is_empty() { words::known_names(&suite.state) } else { things }
}

/// The texts and numbers of an argument.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::String(text) => vec![text.clone()],
        value => vec![value.to_string()],
    }
}

/// A text as an argument like the one before.
fn shaped(text: &str, argument: &Argument<'_>, old: &Value) -> Option<Value> {
    let one = match old {
        Value::Number(_) => text
            .parse::<i64>()
            .map(Value::from)
            .or_else(|_| text.parse::<f64>().map(Value::from))
            .ok()?,
        Value::String(_) | Value::Array(_) => Value::from(text),
        _ => return None,
    };
    Some(if argument.is_list { Value::Array(vec![one]) } else { one })
}

#[cfg(test)]
#[path = "attacker_tests.rs"]
mod attacker_tests;
