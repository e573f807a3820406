//! What a way in (a binding, an account or a token) takes away from the agents it leads to.
//!
//! Every field is by its meaning a subtraction, so that none can give an agent anything.

use crate::access::{GroupRule, Respond};
use crate::argument::ArgumentRules;
use crate::boundary::{Boundary, BudgetLimits};
use crate::policy::ToolNarrowing;
use crate::selector::Selector;
use std::sync::Arc;

/// What one way in takes away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Narrowing {
    /// What it is called, in records and where something is refused: `binding telegram chat=7`.
    pub name: Box<str>,
    /// Tools that are taken away; absent takes none.
    pub tools: Option<ToolNarrowing>,
    /// Bounds on what tools are called with, beside the agent's.
    pub rules: ArgumentRules,
    /// What may be spent by this way, of what the agent may spend.
    pub budget: BudgetLimits,
    /// The one model to run on, out of the agent's.
    pub model: Option<Box<str>>,
    /// How the agent behaves among several people, at most.
    pub group: GroupNarrowing,
}

impl Narrowing {
    /// Takes nothing away yet.
    pub fn by(name: impl Into<Box<str>>) -> Self {
        Self {
            name: name.into(),
            tools: None,
            rules: ArgumentRules::default(),
            budget: BudgetLimits::default(),
            model: None,
            group: GroupNarrowing::default(),
        }
    }

    /// Whether it takes nothing away.
    pub fn is_empty(&self) -> bool {
        *self == Self::by(self.name.clone())
    }

    /// What it takes away, by kind, for people to read.
    pub fn told(&self) -> Vec<(&'static str, String)> {
        let list = |of: &[Selector]| match of {
            [] => "none".to_owned(),
            of => of.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        };
        let mut told = Vec::new();
        if let Some(ToolNarrowing { only, without, .. }) = &self.tools {
            told.extend(only.as_deref().map(|only| ("tools", format!("only {}", list(only)))));
            if !without.is_empty() {
                told.push(("tools", format!("without {}", list(without))));
            }
        }
        told.extend(self.rules.iter().map(|rule| ("rule", rule.name.to_string())));
        let BudgetLimits { usd_micros_per_day, tokens_per_day, turns_per_minute } = self.budget;
        let dollars = |micros: u64| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        let dollars =
            |micros| dollars(micros).trim_end_matches('0').trim_end_matches('.').to_owned();
        let limits = [
            usd_micros_per_day.map(|most| format!("usd_per_day {}", dollars(most))),
            tokens_per_day.map(|most| format!("tokens_per_day {most}")),
            turns_per_minute.map(|most| format!("turns_per_minute {most}")),
        ];
        told.extend(limits.into_iter().flatten().map(|limit| ("budget", limit)));
        told.extend(self.model.as_ref().map(|model| ("model", model.to_string())));
        let GroupNarrowing { respond, observe, invites, threads } = self.group;
        let group = [
            respond.map(|it| format!("respond {}", it.as_str())),
            observe.map(|it| format!("observe {it}")),
            invites.map(|it| format!("invites {it}")),
            threads.map(|it| format!("threads {it}")),
        ];
        told.extend(group.into_iter().flatten().map(|it| ("group", it)));
        told
    }

    /// Whether it leaves a model, by its whole name or the part behind the provider.
    pub fn leaves_model(&self, whole: &str, name: &str) -> bool {
        self.model.as_deref().is_none_or(|model| model == whole || model == name)
    }
}

/// How an agent behaves among several people, at most. What is absent changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupNarrowing {
    /// Answers to no more than this.
    pub respond: Option<Respond>,
    /// Whether it may read along.
    pub observe: Option<bool>,
    /// Whether it may be added to groups.
    pub invites: Option<bool>,
    /// Whether what is said in threads may be said to it.
    pub threads: Option<bool>,
}

impl GroupRule {
    /// The rule, less what a way in takes away.
    #[must_use]
    pub fn narrowed(self, by: GroupNarrowing) -> Self {
        Self {
            respond: by.respond.map_or(self.respond, |most| most.min(self.respond)),
            observe: self.observe && by.observe.unwrap_or(true),
            invites: self.invites && by.invites.unwrap_or(true),
            threads: self.threads && by.threads.unwrap_or(true),
        }
    }
}

impl Boundary {
    /// The boundary, less what ways in take away. What they let spend is counted by each of
    /// them, and is no part of it.
    #[must_use]
    pub fn through(&self, ways: &[Arc<Narrowing>]) -> Self {
        let mut left = self.clone();
        for way in ways {
            if let Some(tools) = &way.tools {
                left.tools = Arc::new(left.tools.narrow(tools));
            }
            left.rules = left.rules.and(&way.rules);
            // What a turn may not run on, its children may not either.
            left.spawn.models.retain(|model| {
                let name = model.split_once('/').map_or(&**model, |(_, name)| name);
                way.leaves_model(model, name)
            });
        }
        left
    }
}

#[cfg(test)]
#[path = "narrowing_tests.rs"]
mod tests;
