//! Argument rules: which values a tool may be called with.
//!
//! Rules only narrow. All that concern a call must hold, so adding one never admits more,
//! and their order does not matter. What can't be read, is missing or fails is refused.

mod bound;
mod mention;
mod names;
mod path;

#[cfg(test)]
#[path = "argument_tests.rs"]
mod tests;

pub use bound::{Bound, BoundError, Number, PATTERNS_MAX};
pub use mention::{MENTIONS_MAX, Mentions, mentions};
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

/// A call, as rules see it.
pub trait Call {
    /// What stands at a place of the arguments.
    fn at(&self, path: &[Box<str>]) -> Found<'_>;
    /// All arguments, for an expression.
    fn arguments(&self) -> expr::Value;
    /// The turn, for an expression: the fields of [`TURN_FIELDS`].
    fn turn(&self) -> Arc<expr::Value>;
}

/// What stands at a place of the arguments.
#[derive(Debug, Clone, PartialEq)]
pub enum Found<'a> {
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
    /// The rule.
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

    /// The rules.
    pub fn iter(&self) -> impl Iterator<Item = &ArgumentRule> {
        self.rules.iter().map(|rule| &**rule)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules about a tool.
    pub fn about<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a ArgumentRule> {
        let known = tool::find(name);
        let mcp = McpName::parse(name);
        self.iter().filter(move |rule| match (known, mcp) {
            (Some(tool), _) => rule.tools.covers(tool),
            (None, Some(name)) => rule.tools.covers_mcp(name),
            (None, None) => false,
        })
    }

    /// Whether a call may be made, as far as its arguments are concerned.
    pub fn admit(&self, tool: &str, call: &dyn Call) -> Result<(), Refused> {
        if self.rules.is_empty() {
            return Ok(());
        }
        self.about(tool).try_for_each(|rule| rule.admit(call))
    }

    /// Whether these could admit what `other` does not: a rule of it is missing.
    pub fn exceeds(&self, other: &Self) -> bool {
        !other.rules.iter().all(|rule| self.rules.contains(rule))
    }
}

impl ArgumentRule {
    fn admit(&self, call: &dyn Call) -> Result<(), Refused> {
        let refused = |argument: Option<Box<str>>, why: String| Refused {
            rule: self.name.clone(),
            argument,
            why,
        };
        match &self.demand {
            Demand::Argument { at, bound, absent } => {
                let name = || Some(at.join(".").into());
                match (call.at(at), absent) {
                    (Found::Absent, Absent::Allowed) => Ok(()),
                    (Found::Absent, Absent::Refused) => {
                        let why = format!("is missing, and must be given: {}", bound.allows());
                        Err(refused(name(), why))
                    }
                    (found, _) => bound.admit(&found).map_err(|why| refused(name(), why)),
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
        }
    }
}
