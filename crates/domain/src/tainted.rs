//! What becomes of an act in a turn that foreign words may be steering.

use crate::integrity::{Integrity, Source, SourceKind};
use crate::selector::{McpName, McpPattern, Selector, UnknownTool};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How much an agent does unasked once it has read foreign words; a greater one is laxer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum IntegrityProfile {
    /// Programs and requests to the network count as acts as well, and what the sender said
    /// themselves is no exception.
    Strict,
    /// Acts that reach beyond the agent's own workspace and conversation need a yes.
    #[default]
    Balanced,
    /// Nothing does. Whose words steer a turn is still noted.
    Off,
}

impl IntegrityProfile {
    /// Every profile.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Balanced, Self::Off];

    /// Its name in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Balanced => "balanced",
            Self::Off => "off",
        }
    }

    /// Finds a profile by name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == text)
    }
}

/// What becomes of an act; a greater one is laxer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaintedRule {
    /// It is refused.
    Deny,
    /// Somebody is asked.
    Ask,
    /// It is done.
    Allow,
}

impl TaintedRule {
    /// Every rule.
    pub const ALL: [Self; 3] = [Self::Deny, Self::Ask, Self::Allow];

    /// Its name in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }

    /// Finds a rule by name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == text)
    }
}

/// What an act does that somebody else's words should not bring about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Act {
    /// Says something outside of the conversation.
    Send,
    /// Calls a tool of a server, which does whatever it does: pays, publishes, deletes.
    Call,
    /// Runs a program that can reach the network or change shared files: it may send and delete.
    Program,
    /// Changes files that others have too.
    SharedFiles,
    /// Remembers something for every conversation.
    RememberGlobally,
    /// Takes something out of what is remembered, or puts something else in its place.
    Forget,
    /// Arranges for turns later.
    Schedule,
    /// Starts a child that can do more than read.
    Delegate,
    /// Changes the agent itself.
    ChangeSelf,
    /// Uses a board.
    Board,
    /// Asks something of the network, which is told by that.
    Network,
}

impl Act {
    /// Every act.
    pub const ALL: [Self; 11] = [
        Self::Send,
        Self::Call,
        Self::Program,
        Self::SharedFiles,
        Self::RememberGlobally,
        Self::Forget,
        Self::Schedule,
        Self::Delegate,
        Self::ChangeSelf,
        Self::Board,
        Self::Network,
    ];

    /// Its name in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Call => "call",
            Self::Program => "program",
            Self::SharedFiles => "shared_files",
            Self::RememberGlobally => "remember_globally",
            Self::Forget => "forget",
            Self::Schedule => "schedule",
            Self::Delegate => "delegate",
            Self::ChangeSelf => "change_self",
            Self::Board => "board",
            Self::Network => "network",
        }
    }

    /// Finds an act by name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|act| act.as_str() == text)
    }

    /// What it does, as the end of "it would …".
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Send => "say something outside of this conversation",
            Self::Call => "call a tool of a server",
            Self::Program => "run a program that can reach the network or shared files",
            Self::SharedFiles => "change files that others have too",
            Self::RememberGlobally => "remember something for every conversation",
            Self::Forget => "take something out of what is remembered",
            Self::Schedule => "arrange for something later",
            Self::Delegate => "start a child that can do more than read",
            Self::ChangeSelf => "change the agent itself",
            Self::Board => "use a board",
            Self::Network => "ask something of the network",
        }
    }

    /// What becomes of it where the operator says nothing.
    fn usual(self, profile: IntegrityProfile) -> TaintedRule {
        match (profile, self) {
            (IntegrityProfile::Off, _) | (IntegrityProfile::Balanced, Self::Network) => {
                TaintedRule::Allow
            }
            _ => TaintedRule::Ask,
        }
    }
}

/// Sources whose words an operator takes for their own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrustedSource {
    kind: TrustedKind,
    name: Box<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum TrustedKind {
    /// A host, or with `*.` before it all below it.
    Web,
    /// A server, or `server/tool`.
    Mcp,
    /// A folder, with all below it.
    Folder,
    /// Somebody, as records name them: what they wrote, wherever it was quoted or overheard.
    Person,
    /// Another agent.
    Agent,
    /// A skill.
    Skill,
    /// A tool of callers of the API, by its name.
    Client,
}

const TRUSTED_KINDS: [(&str, TrustedKind); 7] = [
    ("web", TrustedKind::Web),
    ("mcp", TrustedKind::Mcp),
    ("folder", TrustedKind::Folder),
    ("person", TrustedKind::Person),
    ("agent", TrustedKind::Agent),
    ("skill", TrustedKind::Skill),
    ("client", TrustedKind::Client),
];

impl TrustedSource {
    /// Reads one as an operator writes it; `None` for what is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once(':')?;
        let (_, kind) = TRUSTED_KINDS.into_iter().find(|(known, _)| *known == kind)?;
        let fits = match kind {
            TrustedKind::Folder => name.starts_with('/'),
            TrustedKind::Person => name.contains(':'),
            _ => !name.contains(char::is_whitespace),
        };
        (fits && !name.is_empty()).then(|| Self { kind, name: name.into() })
    }

    /// Of a name that was cut, what is left is compared, and only with what lies below: that it
    /// is the very one that is trusted nobody knows.
    fn covers(&self, source: &Source) -> bool {
        let (own, name) = (&*self.name, source.name());
        if source.is_garbled() {
            return false;
        }
        let is_it = |whole: &str| name == whole && !source.is_cut();
        let is_below = |whole: &str, edge: char| {
            is_it(whole) || name.strip_prefix(whole).is_some_and(|rest| rest.starts_with(edge))
        };
        match (self.kind, source.kind) {
            (TrustedKind::Web, SourceKind::Web) => match own.strip_prefix("*.") {
                Some(above) => name.strip_suffix(above).is_some_and(|it| it.ends_with('.')),
                None => own.eq_ignore_ascii_case(name) && !source.is_cut(),
            },
            (TrustedKind::Mcp, SourceKind::Mcp | SourceKind::Description) => is_below(own, '/'),
            (TrustedKind::Folder, SourceKind::File) => is_below(own.trim_end_matches('/'), '/'),
            (TrustedKind::Person, SourceKind::Quoted | SourceKind::Observed)
            | (TrustedKind::Agent, SourceKind::Agent)
            | (TrustedKind::Skill, SourceKind::Skill)
            | (TrustedKind::Client, SourceKind::Client) => is_it(own),
            _ => false,
        }
    }
}

impl fmt::Display for TrustedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = TRUSTED_KINDS.into_iter().find(|(_, kind)| *kind == self.kind);
        write!(f, "{}:{}", kind.map_or("", |(name, _)| name), self.name)
    }
}

/// Tools that an operator has a rule for: one, or those of servers that a pattern covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuledTools {
    One(Box<str>),
    Like(McpPattern),
}

impl RuledTools {
    /// Reads them as an operator writes them.
    pub fn parse(text: &str) -> Result<Self, UnknownTool> {
        match Selector::parse(text)? {
            Selector::Mcp(pattern) if text.contains('*') => Ok(Self::Like(pattern)),
            Selector::Mcp(_) | Selector::Tool(_) => Ok(Self::One(text.into())),
            Selector::Group(_) => Err(UnknownTool::Name { text: text.to_owned() }),
        }
    }

    fn covers(&self, tool: &str) -> bool {
        match self {
            Self::One(name) => **name == *tool,
            Self::Like(pattern) => McpName::parse(tool).is_some_and(|name| pattern.covers(name)),
        }
    }

    /// How closely it names a tool; of several that cover one, the closest counts.
    fn closeness(&self) -> usize {
        match self {
            Self::One(_) => usize::MAX,
            Self::Like(pattern) => pattern.fixed_len(),
        }
    }
}

impl fmt::Display for RuledTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(name) => f.write_str(name),
            Self::Like(pattern) => pattern.fmt(f),
        }
    }
}

/// What an operator says about foreign words.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct IntegrityRule {
    pub profile: IntegrityProfile,
    pub trusted: BTreeSet<TrustedSource>,
    /// What becomes of acts, by act.
    pub acts: BTreeMap<Act, TaintedRule>,
    /// What becomes of calls of tools, which counts before their acts.
    pub tools: BTreeMap<RuledTools, TaintedRule>,
}

impl IntegrityRule {
    /// What is left of sources after those that the operator trusts.
    pub fn untrusted(&self, integrity: &Integrity) -> Integrity {
        let is_trusted = |source: &Source| self.trusted.iter().any(|it| it.covers(source));
        integrity.without(is_trusted)
    }

    /// Has a rule for tools. Where one pattern was written in two ways, the stricter counts.
    pub fn set(&mut self, tools: RuledTools, rule: TaintedRule) {
        self.tools.entry(tools).and_modify(|before| *before = rule.min(*before)).or_insert(rule);
    }

    /// By whatever names the tool most closely; of two that do so alike, by the stricter.
    pub(crate) fn of_tool(&self, tool: &str) -> Option<(&RuledTools, TaintedRule)> {
        let covering = self.tools.iter().filter(|(tools, _)| tools.covers(tool));
        let closest = covering.max_by_key(|(tools, rule)| (tools.closeness(), Reverse(**rule)));
        closest.map(|(tools, rule)| (tools, *rule))
    }

    pub(crate) fn of_act(&self, act: Act) -> TaintedRule {
        self.acts.get(&act).copied().unwrap_or(act.usual(self.profile))
    }

    /// The strictest that could become of any call.
    fn strictest(&self) -> TaintedRule {
        let acts = Act::ALL.into_iter().map(|act| self.of_act(act));
        acts.chain(self.tools.values().copied()).min().unwrap_or(TaintedRule::Deny)
    }

    /// Whether a child with this rule could do what its parent could not.
    pub fn exceeds(&self, parent: &Self) -> bool {
        self.profile > parent.profile
            || !self.trusted.is_subset(&parent.trusted)
            || Act::ALL.into_iter().any(|act| self.of_act(act) > parent.of_act(act))
            || self.exceeds_in_tools(parent)
    }

    /// Whether it could be laxer about some tool, whatever that is called and does. What covers
    /// which names is not compared: a rule that the parent has not may stand in the way of any of
    /// the parent's, so it has to be as strict as the strictest of them; and one that the parent
    /// has can be left out where it allows, since nothing is laxer than that.
    fn exceeds_in_tools(&self, parent: &Self) -> bool {
        let is_laxer = |(tools, rule): (&RuledTools, &TaintedRule)| match parent.tools.get(tools) {
            Some(above) => rule > above,
            None => *rule > parent.strictest(),
        };
        let is_missed = |(tools, above): (&RuledTools, &TaintedRule)| {
            *above < TaintedRule::Allow && !self.tools.contains_key(tools)
        };
        self.tools.iter().any(is_laxer) || parent.tools.iter().any(is_missed)
    }
}

#[cfg(test)]
#[path = "tainted_tests.rs"]
mod tainted_tests;
