//! What becomes of a call in a tainted turn, and what says so: the setting of the operator, or the
//! profile where they set nothing.

use crate::tainted::{Act, IntegrityProfile, IntegrityRule, RuledTools, TaintedRule};
use std::fmt;

/// What becomes of a call, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    pub rule: TaintedRule,
    pub subject: RulingSubject,
    /// The profile that says so; `None` where the operator does, under `integrity.tainted`.
    pub profile: Option<IntegrityProfile>,
}

/// What a ruling is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulingSubject {
    /// Whatever does this.
    Act(Act),
    /// Calls of these, whatever they do.
    Tools(RuledTools),
}

impl fmt::Display for RulingSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Act(act) => f.write_str(act.as_str()),
            Self::Tools(tools) => tools.fmt(f),
        }
    }
}

impl Ruling {
    /// What says so.
    pub fn by(&self) -> String {
        match self.profile {
            Some(profile) => format!("profile `{}`", profile.as_str()),
            None => format!("`integrity.tainted.{}`", self.subject),
        }
    }
}

impl fmt::Display for Ruling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}: {}`, by {}", self.subject, self.rule.as_str(), self.by())
    }
}

impl IntegrityRule {
    /// What becomes of a call of `tool` that does this, in a turn that is tainted.
    pub fn rule(&self, tool: &str, acts: impl IntoIterator<Item = Act>) -> TaintedRule {
        self.ruling(tool, acts).map_or(TaintedRule::Allow, |ruling| ruling.rule)
    }

    /// The same, and what says so; `None` where nothing is said of anything that the call does.
    pub fn ruling(&self, tool: &str, acts: impl IntoIterator<Item = Act>) -> Option<Ruling> {
        self.ruling_of_tool(tool).or_else(|| {
            let rulings = acts.into_iter().map(|act| self.ruling_of(act));
            rulings.min_by_key(|ruling| ruling.rule)
        })
    }

    /// What becomes of calls of a tool whatever they do, where the operator has a rule for them.
    pub fn ruling_of_tool(&self, tool: &str) -> Option<Ruling> {
        let (tools, rule) = self.of_tool(tool)?;
        Some(Ruling { rule, subject: RulingSubject::Tools(tools.clone()), profile: None })
    }

    /// What becomes of an act.
    pub fn ruling_of(&self, act: Act) -> Ruling {
        let profile = (!self.acts.contains_key(&act)).then_some(self.profile);
        Ruling { rule: self.of_act(act), subject: RulingSubject::Act(act), profile }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ruling_names_the_setting_that_it_follows_from() {
        let mut rule =
            IntegrityRule { profile: IntegrityProfile::Balanced, ..IntegrityRule::default() };
        rule.acts.insert(Act::Send, TaintedRule::Deny);
        rule.set(RuledTools::parse("mcp__ledger__*").unwrap(), TaintedRule::Allow);
        rule.set(RuledTools::parse("terminal").unwrap(), TaintedRule::Deny);
        let said = |tool: &str, acts: &[Act]| {
            rule.ruling(tool, acts.iter().copied()).map(|ruling| ruling.to_string())
        };
        assert_eq!(said("read_file", &[]), None);
        for (tool, acts, expected) in [
            ("write_file", &[Act::SharedFiles][..], "`shared_files: ask`, by profile `balanced`"),
            ("send_message", &[Act::Send], "`send: deny`, by `integrity.tainted.send`"),
            ("web_extract", &[Act::Network], "`network: allow`, by profile `balanced`"),
            ("cronjob", &[Act::Schedule, Act::Send], "`send: deny`, by `integrity.tainted.send`"),
            (
                "mcp__ledger__pay",
                &[Act::Call],
                "`mcp__ledger__*: allow`, by `integrity.tainted.mcp__ledger__*`",
            ),
            // It counts whatever the call does.
            ("terminal", &[], "`terminal: deny`, by `integrity.tainted.terminal`"),
        ] {
            assert_eq!(said(tool, acts).as_deref(), Some(expected), "{tool}");
        }
    }
}
