//! Argument rules: which values a tool may be called with.
//!
//! Rules only narrow. All that concern a call must hold, so adding one never admits more,
//! and their order does not matter. What can't be read, is missing or fails is refused.

mod alike;
mod bound;
mod mention;
mod names;
mod path;

#[cfg(test)]
#[path = "argument_tests.rs"]
mod tests;

pub use alike::Alike;
pub use bound::{Bound, BoundError, Number, PATTERNS_MAX};
pub use mention::{
    Link, MENTIONS_MAX, Mentions, is_number_said, is_said, links, mentions, stands_in,
};
pub use names::names_of;
pub use path::PathGlob;

use crate::expr::{self, Bindings, Expression, Variable};
use crate::selector::{McpName, Selector};
use crate::tool;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What an expression of a rule may use: the arguments of the call, and the turn it is made in.
pub const VARIABLES: &[Variable] = &[Variable::open("args"), Variable::record("turn", TURN_FIELDS)];

/// What is known of a turn.
pub const TURN_FIELDS: &[&str] = &[
    "agent",
    "session",
    "scope",
    "principal",
    "platform",
    "account",
    "chat",
    "topic",
    "user",
    "admin",
    "text",
    "mentioned_addresses",
    "mentioned_urls",
    "mentioned_hosts",
    "metadata",
    "chat_type",
    "guild",
    "team",
    "parent",
    "roles",
    "person",
    "token",
];

/// Most elements of a list that a rule looks at one by one.
pub const ELEMENTS_MAX: usize = 1_024;

/// One bound on the calls of some tools.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ArgumentRule {
    /// The tools it is about.
    pub tools: Selector,
    /// What must hold.
    pub demand: Demand,
    /// What it is called, as it stands in the configuration: `terminal.command.prefix`.
    pub name: Box<str>,
}

/// What must hold of a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Demand {
    /// One argument is within bounds; every element of it, where it is a list.
    Argument {
        /// Where it is: names of fields, from the outside in.
        at: Box<[Box<str>]>,
        /// Which values it may have.
        bound: Bound,
        /// What a call without it is.
        absent: Absent,
    },
    /// An expression is true.
    Holds(Expression),
    /// No more calls than these are made in one turn, of all tools the rule is about.
    Calls {
        /// The most.
        max: u32,
    },
    /// No two calls in one turn are alike.
    Once(Alike),
    /// What the tool gives back is read by somebody without tools, who answers in a given shape.
    Quarantine,
}

/// What a call is that leaves an argument out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Absent {
    /// Refused: what the tool then does instead is unknown here.
    #[default]
    Refused,
    /// Allowed.
    Allowed,
}

/// The arguments of a call.
pub trait Arguments {
    /// What stands at a place of them.
    fn at(&self, path: &[Box<str>]) -> FoundArgument<'_>;
}

/// A call, as rules see it.
pub trait CallArguments: Arguments {
    /// All arguments, for an expression.
    fn arguments(&self) -> expr::Value;
    /// The turn, for an expression: the fields of [`TURN_FIELDS`].
    fn turn(&self) -> Arc<expr::Value>;
    /// What people said in the turn.
    fn said(&self) -> Cow<'_, str>;
    /// The calls that were made before this one, in this turn and by its children.
    fn earlier(&self) -> Vec<Earlier<'_>>;
}

/// A call that was made before, in the same turn.
pub struct Earlier<'a> {
    pub tool: &'a str,
    /// What it was called with.
    pub arguments: &'a dyn Arguments,
    /// Whether that is what it is called with now.
    pub is_same: bool,
}

/// What stands at a place of the arguments.
#[derive(Debug, Clone, PartialEq)]
pub enum FoundArgument<'a> {
    /// Nothing, or null.
    Absent,
    /// A text.
    Text(Cow<'a, str>),
    /// A number.
    Number(f64),
    /// True or false.
    Bool(bool),
    /// A list.
    List(Vec<Self>),
    /// Fields of its own.
    Fields,
}

/// Why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub rule: Box<str>,
    /// The argument, where it is about one.
    pub argument: Option<Box<str>>,
    /// What is wrong with it, and what is allowed.
    pub why: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.argument {
            Some(argument) => write!(f, "`{argument}` {} (rule `{}`)", self.why, self.rule),
            None => write!(f, "{} (rule `{}`)", self.why, self.rule),
        }
    }
}

/// Rules that all must hold. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ArgumentRules {
    rules: Vec<Arc<ArgumentRule>>,
}

impl ArgumentRules {
    /// These rules.
    pub fn new(rules: impl IntoIterator<Item = ArgumentRule>) -> Self {
        Self { rules: rules.into_iter().map(Arc::new).collect() }
    }

    /// These and more, all of which must hold. There is no way to have fewer.
    #[must_use]
    pub fn and(&self, more: &Self) -> Self {
        let mut rules = self.rules.clone();
        rules.extend(more.rules.iter().filter(|rule| !self.rules.contains(rule)).cloned());
        Self { rules }
    }

    pub fn iter(&self) -> impl Iterator<Item = &ArgumentRule> {
        self.rules.iter().map(|rule| &**rule)
    }

    /// Whether what a tool of this name gives back is read in quarantine.
    pub fn quarantines(&self, tool: &str) -> bool {
        self.iter().any(|rule| rule.demand == Demand::Quarantine && rule.concerns(tool))
    }

    /// Whether the operator wrote down which values an argument of a tool may have, by the names
    /// of the fields that lead to it. A call that was admitted has one of them there.
    pub fn lists(&self, tool: &str, argument: &[&str]) -> bool {
        self.iter().any(|rule| match &rule.demand {
            Demand::Argument { at, bound, .. } => {
                // A pattern of recipients is no list: whoever fits it could be chosen.
                let is_list = match bound {
                    Bound::OneOf(_) => true,
                    Bound::Recipient(names) => !names.iter().any(|name| name.contains('*')),
                    _ => false,
                };
                is_list
                    && rule.concerns(tool)
                    && at.iter().map(|it| &**it).eq(argument.iter().copied())
            }
            _ => false,
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules about a tool.
    pub fn about<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a ArgumentRule> {
        self.iter().filter(move |rule| rule.concerns(name))
    }

    /// Whether a call may be made, as far as its arguments are concerned.
    pub fn admit(&self, tool: &str, call: &dyn CallArguments) -> Result<(), Refused> {
        if self.rules.is_empty() {
            return Ok(());
        }
        self.about(tool).try_for_each(|rule| rule.admit(tool, call))
    }

    /// Whether a rule about a tool counts the calls of a turn.
    pub fn counts(&self, tool: &str) -> bool {
        let counts =
            |rule: &ArgumentRule| matches!(rule.demand, Demand::Calls { .. } | Demand::Once(_));
        !self.rules.is_empty() && self.about(tool).any(counts)
    }

    /// Whether these could admit what `other` does not: a rule of it is missing.
    pub fn exceeds(&self, other: &Self) -> bool {
        !other.rules.iter().all(|rule| self.rules.contains(rule))
    }
}

impl ArgumentRule {
    /// Whether it is about a tool of this name.
    fn concerns(&self, name: &str) -> bool {
        match (tool::find(name), McpName::parse(name)) {
            (Some(tool), _) => self.tools.covers(tool),
            (None, Some(name)) => self.tools.covers_mcp(name),
            (None, None) => false,
        }
    }

    fn admit(&self, tool: &str, call: &dyn CallArguments) -> Result<(), Refused> {
        let refused = |argument: Option<Box<str>>, why: String| Refused {
            rule: self.name.clone(),
            argument,
            why,
        };
        match &self.demand {
            Demand::Argument { at, bound, absent } => {
                let name = || Some(at.join(".").into());
                match (call.at(at), absent) {
                    (FoundArgument::Absent, Absent::Allowed) => Ok(()),
                    (FoundArgument::Absent, Absent::Refused) => {
                        let why = format!("is missing, and must be given: {}", bound.allows());
                        Err(refused(name(), why))
                    }
                    (found, _) => {
                        let said = if bound.looks_at_turn() { call.said() } else { "".into() };
                        bound.admit(&found, &said).map_err(|why| refused(name(), why))
                    }
                }
            }
            Demand::Holds(expression) => {
                let bindings =
                    Bindings::new().with("args", call.arguments()).with("turn", call.turn());
                match expression.holds(&bindings) {
                    Ok(true) => Ok(()),
                    Ok(false) => {
                        let why = format!("this call does not satisfy `{expression}`");
                        Err(refused(None, why))
                    }
                    Err(error) => {
                        let why = format!(
                            "whether this call satisfies `{expression}` can't be said: {error}"
                        );
                        Err(refused(None, why))
                    }
                }
            }
            Demand::Calls { max } => {
                let earlier = call.earlier();
                let made = earlier.iter().filter(|it| self.concerns(it.tool)).count();
                if made < usize::try_from(*max).unwrap_or(usize::MAX) {
                    return Ok(());
                }
                Err(refused(None, format!("{made} such calls were made in this turn, of {max}")))
            }
            Demand::Once(alike) => {
                let earlier = call.earlier();
                let before = |it: &Earlier<'_>| match alike {
                    Alike::Call => it.tool == tool && it.is_same,
                    Alike::Arguments(at) => {
                        self.concerns(it.tool)
                            && at.iter().all(|at| alike::meet(at, it.arguments, call))
                    }
                };
                if !earlier.iter().any(before) {
                    return Ok(());
                }
                let why = match alike {
                    Alike::Call => {
                        "this very call was made in this turn; its answer is above".to_owned()
                    }
                    Alike::Arguments(_) => {
                        format!("a call with the same {alike} was made in this turn")
                    }
                };
                Err(refused(None, why))
            }
            // It is about what comes back, and every call may be made.
            Demand::Quarantine => Ok(()),
        }
    }
}

impl fmt::Display for ArgumentRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.demand {
            Demand::Argument { at, bound, absent } => {
                write!(f, "`{}` {}", at.join("."), bound.allows())?;
                match absent {
                    Absent::Refused => Ok(()),
                    Absent::Allowed => f.write_str(", or is left out"),
                }
            }
            Demand::Holds(expression) => write!(f, "`{expression}` holds"),
            Demand::Calls { max: 1 } => f.write_str("is called once in a turn"),
            Demand::Calls { max } => write!(f, "is called at most {max} times in a turn"),
            Demand::Once(Alike::Call) => f.write_str("no call is made twice in a turn"),
            Demand::Once(alike) => write!(f, "no two calls in a turn have the same {alike}"),
            Demand::Quarantine => f.write_str("is read in quarantine"),
        }
    }
}
