//! What becomes of an act in a turn that foreign words may be steering.

use crate::integrity::{Integrity, Source, SourceKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How much an agent does unasked once it has read foreign words; a greater one is laxer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum IntegrityProfile {
    /// Programs and requests to the network count as acts as well, and what the sender said
    /// themselves is no exception.
    Strict,
    /// Acts that reach beyond the agent's own workspace and conversation need a yes.
    Balanced,
    /// Nothing does. Whose words steer a turn is still noted.
    #[default]
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
    pub const ALL: [Self; 10] = [
        Self::Send,
        Self::Call,
        Self::Program,
        Self::SharedFiles,
        Self::RememberGlobally,
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
}

const TRUSTED_KINDS: [(&str, TrustedKind); 6] = [
    ("web", TrustedKind::Web),
    ("mcp", TrustedKind::Mcp),
    ("folder", TrustedKind::Folder),
    ("person", TrustedKind::Person),
    ("agent", TrustedKind::Agent),
    ("skill", TrustedKind::Skill),
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

    fn covers(&self, source: &Source) -> bool {
        let (own, name) = (&*self.name, source.name());
        let is_below = |whole: &str, edge: char| {
            name == whole || name.strip_prefix(whole).is_some_and(|rest| rest.starts_with(edge))
        };
        match (self.kind, source.kind) {
            (TrustedKind::Web, SourceKind::Web) => match own.strip_prefix("*.") {
                Some(above) => name.strip_suffix(above).is_some_and(|it| it.ends_with('.')),
                None => own.eq_ignore_ascii_case(name),
            },
            (TrustedKind::Mcp, SourceKind::Mcp | SourceKind::Description) => is_below(own, '/'),
            (TrustedKind::Folder, SourceKind::File) => is_below(own.trim_end_matches('/'), '/'),
            (TrustedKind::Person, SourceKind::Quoted | SourceKind::Observed)
            | (TrustedKind::Agent, SourceKind::Agent)
            | (TrustedKind::Skill, SourceKind::Skill) => own == name,
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

/// What an operator says about foreign words.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct IntegrityRule {
    pub profile: IntegrityProfile,
    pub trusted: BTreeSet<TrustedSource>,
    /// What becomes of acts, by act.
    pub acts: BTreeMap<Act, TaintedRule>,
    /// What becomes of calls of a tool, which counts before its acts.
    pub tools: BTreeMap<Box<str>, TaintedRule>,
}

impl IntegrityRule {
    /// What is left of sources after those that the operator trusts.
    pub fn untrusted(&self, integrity: &Integrity) -> Integrity {
        let is_trusted = |source: &Source| self.trusted.iter().any(|it| it.covers(source));
        integrity.without(is_trusted)
    }

    /// What becomes of a call of `tool` that does this, in a turn that is tainted.
    pub fn rule(&self, tool: &str, acts: impl IntoIterator<Item = Act>) -> TaintedRule {
        if let Some(rule) = self.tools.get(tool) {
            return *rule;
        }
        let of = |act: Act| self.acts.get(&act).copied().unwrap_or(act.usual(self.profile));
        acts.into_iter().map(of).min().unwrap_or(TaintedRule::Allow)
    }

    /// Whether a child with this rule could do what its parent could not.
    pub fn exceeds(&self, parent: &Self) -> bool {
        let laxer = |of: Act| self.rule("", [of]) > parent.rule("", [of]);
        let tools = self.tools.keys().chain(parent.tools.keys());
        self.profile > parent.profile
            || !self.trusted.is_subset(&parent.trusted)
            || Act::ALL.into_iter().any(laxer)
            || tools.into_iter().any(|tool| {
                let (own, above) = (self.tools.get(tool), parent.tools.get(tool));
                own.map_or(TaintedRule::Allow, |it| *it)
                    > above.map_or(TaintedRule::Allow, |it| *it)
                    || own.is_some_and(|it| *it > TaintedRule::Ask && above.is_none())
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tainted(kind: SourceKind, name: &str) -> Integrity {
        Integrity::of(Source::new(kind, name))
    }

    fn balanced() -> IntegrityRule {
        IntegrityRule { profile: IntegrityProfile::Balanced, ..IntegrityRule::default() }
    }

    fn trusting(texts: &[&str]) -> IntegrityRule {
        let trusted = texts.iter().map(|text| TrustedSource::parse(text).unwrap()).collect();
        IntegrityRule { trusted, ..balanced() }
    }

    #[test]
    fn an_operator_trusts_what_they_name_and_nothing_beside_it() {
        let rule = trusting(&[
            "web:docs.rs",
            "web:*.example.com",
            "mcp:bank",
            "mcp:mail/get_unread",
            "folder:/srv/handbook",
            "person:telegram:7",
        ]);
        for (kind, name) in [
            (SourceKind::Web, "docs.rs"),
            (SourceKind::Web, "a.example.com"),
            (SourceKind::Mcp, "bank/get_balance"),
            (SourceKind::Description, "bank/send_money"),
            (SourceKind::Mcp, "mail/get_unread"),
            (SourceKind::File, "/srv/handbook/a.md"),
            (SourceKind::Quoted, "telegram:7"),
        ] {
            assert!(rule.untrusted(&tainted(kind, name)).is_own(), "{name}");
        }
        for (kind, name) in [
            (SourceKind::Web, "evil-docs.rs"),
            (SourceKind::Web, "example.com"),
            (SourceKind::Web, "a.example.com.evil.net"),
            (SourceKind::Mcp, "banker/get_balance"),
            (SourceKind::Mcp, "mail/get_unread_all"),
            (SourceKind::Mcp, "mail/read"),
            (SourceKind::File, "/srv/handbooks/a.md"),
            (SourceKind::Quoted, "telegram:77"),
            (SourceKind::Web, "telegram:7"),
        ] {
            assert!(!rule.untrusted(&tainted(kind, name)).is_own(), "{name}");
        }
        assert!(!rule.untrusted(&Integrity::many()).is_own(), "what is not known is not trusted");
    }

    #[test]
    fn what_is_no_source_is_not_trusted() {
        for text in ["", "web", "web:", "folder:srv", "person:7", "host:a.com", "web:a b"] {
            assert_eq!(TrustedSource::parse(text), None, "{text}");
        }
        let text = "web:*.example.com";
        assert_eq!(TrustedSource::parse(text).unwrap().to_string(), text);
    }

    #[test]
    fn the_strictest_act_decides_and_a_tool_before_all() {
        let mut rule = balanced();
        assert_eq!(rule.rule("x", []), TaintedRule::Allow);
        assert_eq!(rule.rule("x", [Act::Network]), TaintedRule::Allow);
        assert_eq!(rule.rule("x", [Act::Network, Act::Send]), TaintedRule::Ask);
        rule.acts.insert(Act::Send, TaintedRule::Deny);
        assert_eq!(rule.rule("x", [Act::Network, Act::Send]), TaintedRule::Deny);
        rule.tools.insert("x".into(), TaintedRule::Allow);
        assert_eq!(rule.rule("x", [Act::Send]), TaintedRule::Allow);
        rule.profile = IntegrityProfile::Off;
        assert_eq!(rule.rule("y", [Act::ChangeSelf]), TaintedRule::Allow);
        assert_eq!(rule.rule("y", [Act::Send]), TaintedRule::Deny, "what is written holds");
    }

    #[test]
    fn a_child_trusts_and_does_no_more_than_its_parent() {
        let parent = trusting(&["web:docs.rs"]);
        assert!(!parent.exceeds(&parent));
        assert!(!trusting(&[]).exceeds(&parent));
        assert!(trusting(&["web:docs.rs", "mcp:bank"]).exceeds(&parent));
        let with = |act, rule| IntegrityRule { acts: [(act, rule)].into(), ..parent.clone() };
        assert!(with(Act::Send, TaintedRule::Allow).exceeds(&parent));
        assert!(!with(Act::Send, TaintedRule::Deny).exceeds(&parent));
        let mut tool = parent.clone();
        tool.tools.insert("send_message".into(), TaintedRule::Allow);
        assert!(tool.exceeds(&parent));
        assert!(!parent.exceeds(&tool));
    }
}
