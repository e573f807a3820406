//! The tool table: for every tool, whether an agent has it and by which rule.
//!
//! It is what the model is shown and what the gate runs, so the two can't differ. It is
//! built once from a policy and can afterwards only be narrowed.

use crate::policy::{Possible, Profile, Switch, ToolNarrowing, ToolPolicy};
use crate::selector::{McpName, Selector};
use crate::tool::{
    self, Backend, CATALOGUE, Effect, Grant, Group, MCP_EFFECTS, QUIET_MCP_EFFECTS, ToolSpec,
};
use std::fmt;
use std::sync::Arc;

/// Whether an agent has a tool, and why.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ToolVerdict {
    /// It has it.
    In(Rule),
    /// It does not.
    Out(Rule),
}

impl ToolVerdict {
    /// Whether the agent has the tool.
    pub fn is_in(&self) -> bool {
        matches!(self, Self::In(_))
    }

    /// The rule that decided.
    pub fn rule(&self) -> &Rule {
        match self {
            Self::In(rule) | Self::Out(rule) => rule,
        }
    }
}

impl fmt::Display for ToolVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rule().fmt(f)
    }
}

/// The rule that decided about a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The profile has it, or there is none, which is `full`.
    InProfile(Profile),
    /// `also_allow` adds it.
    AlsoAllowed(Selector),
    /// `allow` keeps it.
    Allowed(Selector),
    /// Memory is on, which is all it takes.
    MemoryOn,
    /// `deny` takes it away.
    Denied(Selector),
    /// The profile does not have it and nothing adds it.
    NotInProfile(Profile),
    /// `allow` does not keep it.
    NotAllowed,
    /// No profile or group includes it, and nobody wrote its name.
    NeedsGrant,
    /// Memory is off.
    MemoryOff,
    /// No board is granted.
    NoBoard,
    /// There is no agent it may ask.
    NoLink,
    /// There is no place it may send to.
    NoTarget,
    /// It may have no children.
    NoDelegation,
    /// It has no MCP server.
    NoMcpServer,
    /// No search of the web is named.
    NoSearch,
    /// Nobody is named who makes pictures.
    NoImages,
    /// Nothing here answers to the name.
    NotAvailable(&'static str),
    /// No tool has that name.
    Unknown,
    /// Something later keeps only other tools.
    NotKept {
        /// Who does.
        by: Arc<str>,
    },
    /// Something later takes it away.
    TakenAway {
        /// Who does.
        by: Arc<str>,
        /// What it wrote.
        selector: Selector,
    },
    /// Something later takes away whatever does this.
    EffectTakenAway {
        /// Who does.
        by: Arc<str>,
        /// What it does.
        effect: Effect,
    },
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InProfile(profile) => write!(f, "in profile `{profile}`"),
            Self::AlsoAllowed(Selector::Tool(_)) => f.write_str("named in `also_allow`"),
            Self::AlsoAllowed(selector) => write!(f, "in `also_allow: {selector}`"),
            Self::Allowed(Selector::Tool(_)) => f.write_str("named in `allow`"),
            Self::Allowed(selector) => write!(f, "in `allow: {selector}`"),
            Self::MemoryOn => f.write_str("memory is on"),
            Self::Denied(selector) => write!(f, "denied by `deny: {selector}`"),
            Self::NotInProfile(profile) => write!(f, "not in profile `{profile}`"),
            Self::NotAllowed => f.write_str("not in `allow`"),
            Self::NeedsGrant => f.write_str("needs a grant by name"),
            Self::MemoryOff => f.write_str("memory is off"),
            Self::NoBoard => f.write_str("no board is granted to this agent"),
            Self::NoLink => f.write_str("no link to another agent"),
            Self::NoTarget => f.write_str("no place to send to; `send.to` names some"),
            Self::NoDelegation => f.write_str("this agent may have no children"),
            Self::NoMcpServer => f.write_str("no MCP server is configured for this agent"),
            Self::NoSearch => {
                f.write_str("no search is configured for this agent; `web.search` names one")
            }
            Self::NoImages => {
                f.write_str("no image model is configured for this agent; `images.model` names one")
            }
            Self::NotAvailable(why) => write!(f, "not available: {why}"),
            Self::Unknown => f.write_str("no tool has this name"),
            Self::NotKept { by } => write!(f, "not kept by {by}"),
            Self::TakenAway { by, selector } => write!(f, "taken away by {by}: `{selector}`"),
            Self::EffectTakenAway { by, effect } => {
                write!(f, "taken away by {by}: it can {effect}")
            }
        }
    }
}

/// Which tools an agent has. Equal tables can be shared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolTable {
    /// One for each tool of the catalogue, in its order.
    verdicts: Box<[ToolVerdict]>,
    mcp: McpRules,
}

/// How names that are not in the catalogue are decided: the parts of the policy that can
/// concern MCP tools, and what was taken away since.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct McpRules {
    policy: ToolPolicy,
    servers: Switch,
    /// Servers of which the operator says that their tools do not send.
    quiet: Box<[Box<str>]>,
    narrowings: Box<[Arc<ToolNarrowing>]>,
}

/// A tool, as a policy sees it.
#[derive(Clone, Copy)]
enum Subject<'a> {
    Known(&'static ToolSpec),
    Mcp(McpName<'a>, &'static [Effect]),
}

impl Subject<'_> {
    fn is_covered_by(self, selector: &Selector) -> bool {
        match self {
            Self::Known(tool) => selector.covers(tool),
            Self::Mcp(name, _) => selector.covers_mcp(name),
        }
    }

    /// As [`Self::is_covered_by`], for lists that give: who gives a tool of an MCP server
    /// gives the search for it.
    fn is_given_by(self, selector: &Selector) -> bool {
        let search = matches!(self, Self::Known(tool) if tool.group == Group::Mcp);
        self.is_covered_by(selector) || search && selector.concerns_mcp()
    }

    fn first_effect_of(self, effects: &[Effect]) -> Option<Effect> {
        match self {
            Self::Known(tool) => tool.first_of(effects),
            Self::Mcp(_, own) => own.iter().copied().find(|effect| effects.contains(effect)),
        }
    }
}

impl ToolTable {
    /// The table that follows from a policy.
    pub fn build(policy: &ToolPolicy, possible: &Possible) -> Self {
        let verdicts = CATALOGUE.iter().map(|tool| decide_known(tool, policy, possible)).collect();
        let concerning = |list: &[Selector]| {
            list.iter().filter(|selector| selector.concerns_mcp()).cloned().collect::<Vec<_>>()
        };
        let policy = ToolPolicy {
            profile: policy.profile,
            also_allow: concerning(&policy.also_allow),
            allow: policy.allow.as_deref().map(concerning),
            deny: concerning(&policy.deny),
        };
        let mcp = McpRules {
            policy,
            servers: possible.mcp,
            quiet: Box::default(),
            narrowings: Box::default(),
        };
        Self { verdicts, mcp }
    }

    /// The same table, where the operator says of these servers that their tools do not send.
    #[must_use]
    pub fn with_quiet_servers<'s>(&self, servers: impl IntoIterator<Item = &'s str>) -> Self {
        let quiet = servers.into_iter().map(Into::into).collect();
        Self { verdicts: self.verdicts.clone(), mcp: McpRules { quiet, ..self.mcp.clone() } }
    }

    /// Every tool of the catalogue with its verdict, by name.
    pub fn entries(&self) -> impl Iterator<Item = (&'static ToolSpec, &ToolVerdict)> {
        CATALOGUE.iter().zip(&self.verdicts)
    }

    /// The names of the tools of the catalogue that the agent has.
    pub fn exposed(&self) -> impl Iterator<Item = &'static str> {
        self.entries().filter(|(_, verdict)| verdict.is_in()).map(|(tool, _)| tool.name)
    }

    /// Whether the agent has the tool of that name, an MCP tool's included.
    pub fn verdict(&self, name: &str) -> ToolVerdict {
        if let Some(index) = tool::position(name) {
            return self.verdicts[index].clone();
        }
        match McpName::parse(name) {
            Some(name) => self.mcp.decide(name),
            None => ToolVerdict::Out(Rule::Unknown),
        }
    }

    /// The same table with less in it.
    #[must_use]
    pub fn narrow(&self, narrowing: &ToolNarrowing) -> Self {
        let by: Arc<str> = narrowing.by.as_ref().into();
        let less = |(tool, verdict): (&'static ToolSpec, &ToolVerdict)| match verdict {
            ToolVerdict::In(rule) => match taken_away(Subject::Known(tool), narrowing, &by) {
                Some(rule) => ToolVerdict::Out(rule),
                None => ToolVerdict::In(rule.clone()),
            },
            ToolVerdict::Out(rule) => ToolVerdict::Out(rule.clone()),
        };
        let narrowings = self.mcp.narrowings.iter().cloned();
        let narrowings = narrowings.chain([Arc::new(narrowing.clone())]).collect();
        let mcp = McpRules { narrowings, ..self.mcp.clone() };
        Self { verdicts: self.entries().map(less).collect(), mcp }
    }

    /// Whether this table could have a tool that `other` has not.
    ///
    /// For MCP tools, whose names are not known beforehand, this is the answer unless it
    /// can be seen that there are none, or that one table is the other narrowed.
    pub fn exceeds(&self, other: &Self) -> bool {
        let mut pairs = self.verdicts.iter().zip(&other.verdicts);
        pairs.any(|(own, others)| own.is_in() && !others.is_in()) || self.mcp.exceeds(&other.mcp)
    }
}

impl McpRules {
    fn decide(&self, name: McpName<'_>) -> ToolVerdict {
        let subject = Subject::Mcp(name, self.effects(name.server));
        let verdict = match self.servers {
            Switch::Off => ToolVerdict::Out(Rule::NoMcpServer),
            Switch::On => match denied(subject, &self.policy) {
                Some(rule) => ToolVerdict::Out(rule),
                None => decide_lists(subject, &self.policy),
            },
        };
        let ToolVerdict::In(_) = verdict else { return verdict };
        let mut rules = self.narrowings.iter().filter_map(|narrowing| {
            let by: Arc<str> = narrowing.by.as_ref().into();
            taken_away(subject, narrowing, &by)
        });
        rules.next().map_or(verdict, ToolVerdict::Out)
    }

    /// What the tools of a server are taken to do.
    fn effects(&self, server: &str) -> &'static [Effect] {
        match self.quiet.iter().any(|quiet| **quiet == *server) {
            true => QUIET_MCP_EFFECTS,
            false => MCP_EFFECTS,
        }
    }

    fn exceeds(&self, other: &Self) -> bool {
        let narrowed = self.policy == other.policy
            && self.servers <= other.servers
            && self.quiet == other.quiet
            && self.narrowings.starts_with(&other.narrowings);
        !self.is_surely_empty() && !narrowed
    }

    fn is_surely_empty(&self) -> bool {
        let keeps_none = |list: &[Selector]| !list.iter().any(Selector::concerns_mcp);
        self.servers == Switch::Off
            || self.policy.allow.as_deref().is_some_and(keeps_none)
            || self.narrowings.iter().any(|narrowing| {
                narrowing.only.as_deref().is_some_and(keeps_none)
                    || QUIET_MCP_EFFECTS.iter().any(|it| narrowing.without_effects.contains(it))
                    || self.quiet.is_empty()
                        && MCP_EFFECTS.iter().any(|it| narrowing.without_effects.contains(it))
            })
    }
}

fn decide_known(tool: &'static ToolSpec, policy: &ToolPolicy, possible: &Possible) -> ToolVerdict {
    let subject = Subject::Known(tool);
    if let Backend::Missing(why) = tool.backend {
        return ToolVerdict::Out(Rule::NotAvailable(why));
    }
    if let Some(rule) = denied(subject, policy) {
        return ToolVerdict::Out(rule);
    }
    if let Some(rule) = impossible(tool, possible) {
        return ToolVerdict::Out(rule);
    }
    // `memory` follows its switch alone. What goes with it comes along too, unless somebody
    // wrote an exact list: then that list is exact.
    if tool.name == "memory" || tool.group == Group::Memory && policy.allow.is_none() {
        return ToolVerdict::In(Rule::MemoryOn);
    }
    let mut lists = policy.also_allow.iter().chain(policy.allow.iter().flatten());
    if tool.grant == Grant::ByName && !lists.any(|selector| selector.is_name_of(tool)) {
        return ToolVerdict::Out(Rule::NeedsGrant);
    }
    if tool.name == "send_message" && possible.sending == Switch::Off {
        return ToolVerdict::Out(Rule::NoTarget);
    }
    decide_lists(subject, policy)
}

/// What the other settings of the agent rule out.
fn impossible(tool: &ToolSpec, possible: &Possible) -> Option<Rule> {
    let (switch, rule) = match (tool.group, tool.name) {
        (Group::Memory, _) => (possible.memory, Rule::MemoryOff),
        (Group::Boards, _) => (possible.boards, Rule::NoBoard),
        (Group::Agents, _) => (possible.delegation, Rule::NoDelegation),
        (Group::Mcp, _) => (possible.mcp, Rule::NoMcpServer),
        (_, "message_agent") => (possible.asking, Rule::NoLink),
        (_, "notify") => (possible.notifying, Rule::NoLink),
        (_, "web_search") => (possible.search, Rule::NoSearch),
        (_, "image_generate") => (possible.images, Rule::NoImages),
        _ => return None,
    };
    (switch == Switch::Off).then_some(rule)
}

fn denied(subject: Subject<'_>, policy: &ToolPolicy) -> Option<Rule> {
    let selector = policy.deny.iter().find(|selector| subject.is_covered_by(selector))?;
    Some(Rule::Denied(selector.clone()))
}

/// (profile ∪ also_allow, or everything without a profile) ∩ allow, if given.
fn decide_lists(subject: Subject<'_>, policy: &ToolPolicy) -> ToolVerdict {
    let given = |list: &[Selector]| list.iter().find(|it| subject.is_given_by(it)).cloned();
    let profile = policy.profile.unwrap_or(Profile::Full);
    let in_profile = match subject {
        Subject::Known(tool) => profile.has(tool),
        Subject::Mcp(..) => profile == Profile::Full,
    };
    let base = match given(&policy.also_allow) {
        Some(selector) if !in_profile => Rule::AlsoAllowed(selector),
        None if !in_profile && profile != Profile::Full => {
            return ToolVerdict::Out(Rule::NotInProfile(profile));
        }
        _ => Rule::InProfile(profile),
    };
    match policy.allow.as_deref().map(given) {
        None => ToolVerdict::In(base),
        Some(Some(selector)) => ToolVerdict::In(Rule::Allowed(selector)),
        Some(None) => ToolVerdict::Out(Rule::NotAllowed),
    }
}

fn taken_away(subject: Subject<'_>, narrowing: &ToolNarrowing, by: &Arc<str>) -> Option<Rule> {
    let by = || Arc::clone(by);
    if let Some(selector) = narrowing.without.iter().find(|it| subject.is_covered_by(it)) {
        return Some(Rule::TakenAway { by: by(), selector: selector.clone() });
    }
    if let Some(effect) = subject.first_effect_of(&narrowing.without_effects) {
        return Some(Rule::EffectTakenAway { by: by(), effect });
    }
    let only = narrowing.only.as_deref()?;
    (!only.iter().any(|it| subject.is_given_by(it))).then(|| Rule::NotKept { by: by() })
}

#[cfg(test)]
#[path = "tool_table_tests.rs"]
mod tool_table_tests;
