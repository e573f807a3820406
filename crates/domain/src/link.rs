//! Links: which agents an agent may ask, tell or hand a conversation to, and whether what a turn
//! has seen may go along.
//!
//! A link leads one way and is bounded. What is carried over it is compared with who else hears
//! the other agent, by the same labels as whatever is sent. Nothing here knows how an agent is
//! asked.

use crate::id::AgentId;
use crate::label::{Audience, Flow, Label};
use crate::limits::BudgetLimits;
use crate::send::FlowSource;
use std::collections::BTreeSet;
use std::fmt;

/// How long whoever asks waits, unless configured otherwise.
pub const LINK_TIMEOUT_MS: u64 = 300_000;
/// How many links a question may pass, one after the other, unless configured otherwise.
pub const LINK_DEPTH: u32 = 3;
/// The most it may be configured to: each of them waits for the next.
pub const LINK_DEPTH_MAX: u32 = 8;

/// What a link is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkKind {
    /// Asks, and waits for the answer.
    Ask,
    /// Tells, and hears nothing back.
    Notify,
    /// Hands a conversation over.
    Handoff,
}

impl LinkKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Ask, Self::Notify, Self::Handoff];

    /// The name used in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Notify => "notify",
            Self::Handoff => "handoff",
        }
    }

    /// Finds a kind by name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// The tool that goes by it.
    pub const fn tool(self) -> &'static str {
        match self {
            Self::Ask => "message_agent",
            Self::Notify => "notify",
            Self::Handoff => "handoff",
        }
    }

    /// The kind that a tool goes by.
    pub fn of_tool(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.tool() == name)
    }
}

impl fmt::Display for LinkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What one agent may do with another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub to: AgentId,
    pub kind: LinkKind,
    /// How long whoever asks waits.
    pub timeout_ms: u64,
    /// How many links a question may pass, this one included.
    pub max_depth: u32,
    /// What the other agent may spend on what comes by it.
    pub budget: BudgetLimits,
    /// What may go along although others hear the other agent.
    pub carry: Vec<FlowSource>,
}

/// The links of an agent. None unless granted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Links(Vec<Link>);

/// Through which agents a question came, and how many links it may still pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hops {
    /// Who asked, the first one first.
    pub through: Vec<AgentId>,
    pub left: u32,
}

/// Who else hears an agent: the places it speaks in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hearers {
    /// It can be heard where nobody can tell who is there.
    anywhere: bool,
    places: BTreeSet<Audience>,
}

impl Hearers {
    /// It is heard at a place.
    pub fn add(&mut self, place: Audience) {
        self.places.insert(place);
    }

    /// It is heard at places that are not known one by one.
    pub fn add_anywhere(&mut self) {
        self.anywhere = true;
    }

    /// Whether nobody hears it but whoever asks it.
    pub fn is_nobody(&self) -> bool {
        !self.anywhere && self.places.is_empty()
    }

    /// Whether all of them could read what information with this label was made of.
    pub fn may_hear(&self, label: &Label) -> bool {
        let is_read = |source: Option<&Audience>| source.is_some_and(|it| self.all_read(it));
        self.is_nobody() || label.held_to(is_read) == Flow::Allowed
    }

    /// Whether all of them could read what was said at `source` anyway.
    fn all_read(&self, source: &Audience) -> bool {
        !self.anywhere && self.places.iter().all(|place| source.includes(place))
    }
}

impl fmt::Display for Hearers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<String> = self.places.iter().map(ToString::to_string).collect();
        if self.anywhere {
            names.push("places that are not named one by one".to_owned());
        }
        f.write_str(&if names.is_empty() { "nobody else".to_owned() } else { names.join(", ") })
    }
}

/// Whether something may go over a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Linking<'l> {
    /// It may, by this link.
    Allowed(&'l Link),
    /// There is no such link.
    NoLink,
    /// The other agent is the one that asks, or one that waits for the answer.
    Cycle,
    /// It passed as many links as it may.
    TooDeep {
        /// How many it may pass.
        most: u32,
    },
    /// Somebody who hears the other agent could not read what was said here.
    Wider {
        /// The first such place, in the order of labels.
        source: Audience,
    },
    /// It is not known who could read what it may tell.
    Unknown,
}

impl Linking<'_> {
    /// The word for it in records.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Allowed(_) => "allowed",
            Self::NoLink => "no such link",
            Self::Cycle => "cycle",
            Self::TooDeep { .. } => "too deep",
            Self::Wider { .. } => "wider audience",
            Self::Unknown => "unknown audience",
        }
    }
}

impl Links {
    /// Those of a list; of two to one agent for one purpose the first holds.
    pub fn new(links: impl IntoIterator<Item = Link>) -> Self {
        let mut all = Self::default();
        for link in links {
            if all.find(&link.to, link.kind).is_none() {
                all.0.push(link);
            }
        }
        all
    }

    pub fn iter(&self) -> impl Iterator<Item = &Link> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those for one purpose.
    pub fn of(&self, kind: LinkKind) -> impl Iterator<Item = &Link> {
        self.0.iter().filter(move |link| link.kind == kind)
    }

    /// The link to an agent for one purpose.
    pub fn find(&self, to: &AgentId, kind: LinkKind) -> Option<&Link> {
        self.of(kind).find(|link| link.to == *to)
    }

    /// Whether `own`, whose links these are, may go to another agent with what a turn has seen
    /// that came by `hops`, where `hearers` hear that agent.
    pub fn decide(
        &self,
        (own, to): (&AgentId, &AgentId),
        kind: LinkKind,
        hops: Option<&Hops>,
        (label, hearers): (&Label, &Hearers),
    ) -> Linking<'_> {
        let Some(link) = self.find(to, kind) else { return Linking::NoLink };
        if own == to || hops.is_some_and(|hops| hops.through.contains(to)) {
            return Linking::Cycle;
        }
        if hops.is_some_and(|hops| hops.left == 0) {
            return Linking::TooDeep { most: link.max_depth };
        }
        if hearers.is_nobody() {
            return Linking::Allowed(link);
        }
        let is_fine = |source: Option<&Audience>| {
            link.carry.iter().any(|it| it.covers(source))
                || source.is_some_and(|source| hearers.all_read(source))
        };
        match label.held_to(is_fine) {
            Flow::Allowed => Linking::Allowed(link),
            Flow::Refused { source } => Linking::Wider { source: source.clone() },
            Flow::Unknown => Linking::Unknown,
        }
    }

    /// Whether it allows anything that `other` does not.
    pub fn exceeds(&self, other: &Self) -> bool {
        !self.0.iter().all(|link| other.0.contains(link))
    }
}

impl Link {
    /// What is known of a question that goes over it, on the other side.
    pub fn hops(&self, own: &AgentId, before: Option<&Hops>) -> Hops {
        let mut through = before.map(|hops| hops.through.clone()).unwrap_or_default();
        through.push(own.clone());
        let left = before.map_or(self.max_depth, |hops| hops.left.min(self.max_depth));
        Hops { through, left: left.saturating_sub(1) }
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod link_tests;
