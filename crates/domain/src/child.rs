//! The boundary of a child: its parent's, less.
//!
//! Every field of a request is by its meaning a subtraction, so a request that widens
//! something can't be written down.

use crate::argument::ArgumentRules;
use crate::boundary::{
    AccessMode, ApprovalMode, Boundary, BudgetLimits, ChildApprovals, FileGrants, Isolation,
    SharedPath, SpawnLimits,
};
use crate::host::HostPattern;
use crate::link::Links;
use crate::policy::{Switch, ToolNarrowing};
use crate::selector::Selector;
use crate::send::SendGrants;
use crate::tool::Effect;
use crate::tool_table::ToolTable;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// What no child does, whatever its tools are called. [`Effect::Delegate`] comes on top for
/// those that may have no children.
pub const BLOCKED_IN_CHILDREN: [Effect; 9] = [
    Effect::AskUser,
    Effect::Remember,
    Effect::Recall,
    Effect::ReadHistory,
    Effect::Send,
    Effect::Schedule,
    Effect::ChangeSelf,
    Effect::Board,
    Effect::RunCode,
];

/// What a child is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Role {
    /// Does the work itself.
    #[default]
    Leaf,
    /// May hand work on, while depth allows.
    Orchestrator,
}

impl Role {
    /// The name models use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Leaf => "leaf",
            Self::Orchestrator => "orchestrator",
        }
    }

    /// Finds a role by name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Leaf, Self::Orchestrator].into_iter().find(|role| role.as_str() == text)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a child is to have less than its parent. What would give it more does not compile:
///
/// ```compile_fail,E0560
/// let more = insula_domain::ChildRequest { add_tools: vec![], ..Default::default() };
/// ```
/// ```compile_fail,E0560
/// let more = insula_domain::ChildRequest { add_shared: vec![], ..Default::default() };
/// ```
/// ```compile_fail,E0560
/// let more = insula_domain::ChildRequest { add_hosts: vec![], ..Default::default() };
/// ```
/// ```compile_fail,E0560
/// let more = insula_domain::ChildRequest { add_secrets: vec![], ..Default::default() };
/// ```
/// ```compile_fail,E0560
/// let more = insula_domain::ChildRequest { isolation_at_most: None, ..Default::default() };
/// ```
/// ```compile_fail,E0560
/// let more = insula_domain::ChildRequest { approvals: None, ..Default::default() };
/// ```
/// and what is left says so by its name:
/// ```
/// let less = insula_domain::ChildRequest { only_tools: Some(vec![]), ..Default::default() };
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChildRequest {
    pub role: Role,
    /// Keep only these tools; absent keeps all.
    pub only_tools: Option<Vec<Selector>>,
    /// Take these tools away.
    pub without_tools: Vec<Selector>,
    /// Bounds on what its tools are called with, beside its parent's.
    pub rules: ArgumentRules,
    /// Reading only, everywhere.
    pub read_only_files: Switch,
    /// Take these shared paths away.
    pub drop_shared: Vec<Box<str>>,
    /// Of the hosts, keep only these; absent keeps all.
    pub only_hosts: Option<Vec<HostPattern>>,
    /// Of the secrets, keep only these; absent keeps all.
    pub only_secrets: Option<BTreeSet<Box<str>>>,
    /// Spend no more than this.
    pub budget_at_most: BudgetLimits,
    /// A wall at least this hard.
    pub isolation_at_least: Option<Isolation>,
    /// Have no more children than this.
    pub spawn_at_most: Option<SpawnCaps>,
    /// Run on this model, out of those that children may run on; absent is the parent's.
    pub model: Option<Box<str>>,
}

/// Upper bounds for a child's own children; absent leaves what the parent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SpawnCaps {
    /// Generations below it.
    pub max_depth: Option<u32>,
    /// At once.
    pub max_children: Option<u32>,
    /// In one turn.
    pub max_total: Option<u32>,
    /// Steps of one child.
    pub max_iterations: Option<u32>,
    /// How long one child may take.
    pub wall_clock_ms: Option<u64>,
}

/// Why a child can't be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChildRefused {
    /// the parent is as deep as children may be
    #[error("no children are allowed at this depth (`subagents.max_depth`)")]
    Depth,
    /// the parent may have no children at all
    #[error("no children are allowed (`subagents.max_children` or `subagents.max_total` is 0)")]
    Width,
    /// the model is not one that children may run on
    #[error("model `{model}` is not allowed for children; allowed: {}", list(allowed))]
    Model {
        /// The one asked for.
        model: Box<str>,
        /// Those in `subagents.models`.
        allowed: BTreeSet<Box<str>>,
    },
}

fn list(allowed: &BTreeSet<Box<str>>) -> String {
    let names: Vec<&str> = allowed.iter().map(|name| &**name).collect();
    if names.is_empty() { "the parent's own only".to_owned() } else { names.join(", ") }
}

impl Boundary {
    /// What a child may do, or why there can't be one.
    pub fn child(&self, request: &ChildRequest) -> Result<Self, ChildRefused> {
        let Some(depth_left) = self.spawn.max_depth.checked_sub(1) else {
            return Err(ChildRefused::Depth);
        };
        if self.spawn.max_children == 0 || self.spawn.max_total == 0 {
            return Err(ChildRefused::Width);
        }
        if let Some(model) = &request.model
            && !self.spawn.models.contains(model)
        {
            let allowed = self.spawn.models.clone();
            return Err(ChildRefused::Model { model: model.clone(), allowed });
        }
        let spawn = self.spawn.less(depth_left, request.spawn_at_most.unwrap_or_default());
        let secrets = match &request.only_secrets {
            Some(only) => self.secrets.intersection(only).cloned().collect(),
            None => self.secrets.clone(),
        };
        let network = match &request.only_hosts {
            Some(only) => self.network.and(only.iter().cloned()),
            None => self.network.clone(),
        };
        // What a child can't use, it can't have used for it either.
        let network = network.only_secrets(&secrets);
        let mut approvals = self.approvals;
        if approvals.in_children == ChildApprovals::Deny {
            approvals.mode = ApprovalMode::Deny;
        }
        Ok(Self {
            isolation: request
                .isolation_at_least
                .map_or(self.isolation, |it| it.max(self.isolation)),
            tools: Arc::new(self.tools_left(request, &spawn)),
            rules: self.rules.and(&request.rules),
            files: self.files.less(request),
            network,
            secrets,
            budget: self.budget.at_most(&request.budget_at_most),
            approvals,
            integrity: self.integrity.clone(),
            spawn,
            links: Links::default(),
            messages: SendGrants::default(),
        })
    }
}

impl Boundary {
    fn tools_left(&self, request: &ChildRequest, spawn: &SpawnLimits) -> ToolTable {
        let mut effects = BLOCKED_IN_CHILDREN.to_vec();
        if request.role == Role::Leaf {
            effects.push(Effect::Delegate);
        }
        let left = self.tools.narrow(&ToolNarrowing {
            only: request.only_tools.clone(),
            without: request.without_tools.clone(),
            without_effects: effects,
            by: format!("role `{}`", request.role).into(),
        });
        if request.role == Role::Leaf || spawn.max_depth > 0 {
            return left;
        }
        // Its role would have it: what takes it away is another rule.
        let mut depth = ToolNarrowing::by("`subagents.max_depth`, which is reached");
        depth.without_effects.push(Effect::Delegate);
        left.narrow(&depth)
    }
}

impl FileGrants {
    fn less(&self, request: &ChildRequest) -> Self {
        let mode = |mode: AccessMode| match request.read_only_files {
            Switch::On => AccessMode::Ro,
            Switch::Off => mode,
        };
        let shared = self.shared.iter().filter(|it| !request.drop_shared.contains(&it.path));
        Self {
            workspace: self.workspace,
            workspace_mode: mode(self.workspace_mode),
            shared: shared
                .map(|it| SharedPath { path: it.path.clone(), mode: mode(it.mode) })
                .collect(),
            stale_writes: self.stale_writes,
        }
    }
}

impl SpawnLimits {
    fn less(&self, depth_left: u32, caps: SpawnCaps) -> Self {
        fn cap<T: Ord>(limit: T, cap: Option<T>) -> T {
            match cap {
                Some(cap) => limit.min(cap),
                None => limit,
            }
        }
        Self {
            max_depth: cap(depth_left, caps.max_depth),
            max_children: cap(self.max_children, caps.max_children),
            max_total: cap(self.max_total, caps.max_total),
            max_iterations: cap(self.max_iterations, caps.max_iterations),
            wall_clock_ms: cap(self.wall_clock_ms, caps.wall_clock_ms),
            models: self.models.clone(),
        }
    }
}

#[cfg(test)]
#[path = "child_tests.rs"]
pub(crate) mod child_tests;
