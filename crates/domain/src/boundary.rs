//! The boundary: what an agent may do, on every axis, and how two of them compare.
//!
//! It is a plain value. Nothing here enforces anything; the gate does, from this.

use crate::argument::ArgumentRules;
use crate::integrity::{Integrity, Source, SourceKind};
pub use crate::limits::BudgetLimits;
use crate::link::Links;
use crate::network::NetworkGrants;
use crate::opaque::OpaqueRule;
use crate::policy::Switch;
use crate::send::SendGrants;
use crate::tainted::IntegrityRule;
use crate::tool_table::ToolTable;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// What an agent may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary {
    /// How hard the wall around its programs is.
    pub isolation: Isolation,
    pub tools: Arc<ToolTable>,
    /// What those may be called with.
    pub rules: ArgumentRules,
    /// Which files it reaches.
    pub files: FileGrants,
    /// Which hosts its programs reach.
    pub network: NetworkGrants,
    /// Which secrets it may use, by name.
    pub secrets: BTreeSet<Box<str>>,
    /// What it may spend.
    pub budget: Budget,
    /// Who has to agree to what is dangerous.
    pub approvals: ApprovalRule,
    /// What it does unasked once it has read foreign words.
    pub integrity: IntegrityRule,
    /// Which children it may have.
    pub spawn: SpawnLimits,
    /// Which agents it may ask, tell, or hand a conversation to.
    pub links: Links,
    /// Where it may send messages, and which.
    pub messages: SendGrants,
}

/// How hard the wall is; a greater one is harder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Isolation {
    /// The typed walls of this program.
    #[default]
    Context,
    /// A confined process of its own.
    Process,
    /// A container of its own.
    Container,
}

impl Isolation {
    /// Every level, the softest first.
    pub const ALL: [Self; 3] = [Self::Context, Self::Process, Self::Container];

    /// The name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Process => "process",
            Self::Container => "container",
        }
    }

    /// Finds a level by name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }
}

/// Which files an agent reaches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileGrants {
    /// Who shares a workspace.
    pub workspace: WorkspaceScope,
    /// What may be done in it.
    pub workspace_mode: AccessMode,
    /// Paths outside of it.
    pub shared: Vec<SharedPath>,
    /// What happens to a write over something the agent has not seen.
    pub stale_writes: StaleWrites,
}

/// Who shares a workspace; a greater one is shared by more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum WorkspaceScope {
    /// One topic alone.
    Topic,
    /// One chat alone.
    Chat,
    /// Every conversation of the agent.
    #[default]
    Agent,
}

impl WorkspaceScope {
    /// Every scope, the widest first.
    pub const ALL: [Self; 3] = [Self::Agent, Self::Chat, Self::Topic];

    /// The name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Chat => "chat",
            Self::Topic => "topic",
        }
    }

    /// Finds a scope by name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }
}

/// A path outside the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SharedPath {
    pub path: Box<str>,
    /// What may be done there.
    pub mode: AccessMode,
}

/// What may be done with files; a greater one allows more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum AccessMode {
    /// Reading.
    Ro,
    /// Reading and writing.
    #[default]
    Rw,
}

impl AccessMode {
    /// The name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ro => "ro",
            Self::Rw => "rw",
        }
    }

    /// Finds a mode by name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Ro, Self::Rw].into_iter().find(|mode| mode.as_str() == text)
    }
}

/// What happens to a write over something the agent has not seen; a greater one is laxer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum StaleWrites {
    /// It is refused, with what to do.
    #[default]
    Refuse,
    /// It happens, with a warning.
    Warn,
}

impl StaleWrites {
    /// The name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Warn => "warn",
        }
    }

    /// Finds a rule by name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Refuse, Self::Warn].into_iter().find(|rule| rule.as_str() == text)
    }
}

/// What an agent may spend, in all and for some of those it works for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Budget {
    pub own: BudgetLimits,
    /// For each principal.
    pub per_user: BudgetLimits,
    /// In each scope.
    pub per_context: BudgetLimits,
}

/// Who has to agree to what is dangerous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ApprovalRule {
    /// How agreement is had.
    pub mode: ApprovalMode,
    /// How long silence is waited for; then it is a no.
    pub timeout_ms: u64,
    /// Whether the one who asked may not be the one who agrees.
    pub separation: Switch,
    pub in_children: ChildApprovals,
    /// What becomes of a command that can't be looked through.
    pub opaque: OpaqueRule,
}

/// Silence is a no after this long, unless configured otherwise.
pub const APPROVAL_TIMEOUT_MS: u64 = 60_000;

impl Default for ApprovalRule {
    fn default() -> Self {
        Self {
            mode: ApprovalMode::Manual,
            timeout_ms: APPROVAL_TIMEOUT_MS,
            separation: Switch::Off,
            in_children: ChildApprovals::Deny,
            opaque: OpaqueRule::ByTurn,
        }
    }
}

/// How agreement to something dangerous is had; a greater one is laxer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum ApprovalMode {
    /// Not at all: nobody is there to answer. What children get; not for configuration.
    Deny,
    /// An admin answers.
    #[default]
    Manual,
    /// A model judges; anything but its clear yes is a no.
    Smart,
    /// Nobody is asked, and only what nobody may allow is refused.
    Off,
}

impl ApprovalMode {
    /// The name, as in configuration where it can be configured.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Manual => "manual",
            Self::Smart => "smart",
            Self::Off => "off",
        }
    }

    /// Finds a mode that can be configured.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Manual, Self::Smart, Self::Off].into_iter().find(|mode| mode.as_str() == text)
    }
}

/// What children have of an agent's approvals; a greater one is laxer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum ChildApprovals {
    /// What would need one is refused.
    #[default]
    Deny,
    /// They ask as their parent does.
    Inherit,
}

/// Which children an agent may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnLimits {
    /// Generations below it; 0 is none.
    pub max_depth: u32,
    /// At once.
    pub max_children: u32,
    /// In one turn.
    pub max_total: u32,
    /// Steps of one child.
    pub max_iterations: u32,
    /// How long one child may take.
    pub wall_clock_ms: u64,
    /// What a child may run on beside its parent's own model.
    pub models: BTreeSet<Box<str>>,
}

/// How long a child may take, unless configured otherwise.
pub const CHILD_WALL_CLOCK_MS: u64 = 600_000;

impl Default for SpawnLimits {
    fn default() -> Self {
        Self {
            max_depth: 1,
            max_children: 3,
            max_total: 16,
            max_iterations: 50,
            wall_clock_ms: CHILD_WALL_CLOCK_MS,
            models: BTreeSet::new(),
        }
    }
}

/// One of the things a boundary bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Axis {
    /// How hard the wall is.
    Isolation,
    /// Tools.
    Tools,
    /// Files.
    Files,
    /// Hosts.
    Network,
    /// Secrets.
    Secrets,
    /// Spending.
    Budget,
    /// Approvals.
    Approvals,
    /// Children.
    Spawn,
    /// Other agents, and other conversations.
    Send,
}

impl Axis {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Isolation => "isolation",
            Self::Tools => "tools",
            Self::Files => "files",
            Self::Network => "network",
            Self::Secrets => "secrets",
            Self::Budget => "budget",
            Self::Approvals => "approvals",
            Self::Spawn => "spawn",
            Self::Send => "send",
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Boundary {
    /// The folders outside of its workspace whose words count as those of others. `user_home` is
    /// what `~` stands for.
    pub fn untrusted_folders(&self, user_home: Option<&str>) -> Vec<String> {
        let full = |path: &str| match (path.strip_prefix('~'), user_home) {
            (Some(rest), Some(home)) => format!("{}{rest}", home.trim_end_matches('/')),
            _ => path.to_owned(),
        };
        let is_untrusted = |path: &String| {
            let source = Source::new(SourceKind::File, path);
            !self.integrity.untrusted(&Integrity::of(source)).is_own()
        };
        self.files.shared.iter().map(|it| full(&it.path)).filter(is_untrusted).collect()
    }

    /// The first axis on which this boundary allows anything that `parent` does not.
    pub fn exceeds(&self, parent: &Self) -> Option<Axis> {
        self.beyond(parent).next()
    }

    /// Every axis on which this boundary allows anything that `parent` does not.
    ///
    /// Every struct is taken apart field by field, so that a new field does not compile
    /// until it is compared here.
    pub fn beyond(&self, parent: &Self) -> impl Iterator<Item = Axis> + use<> {
        let Self {
            isolation,
            tools,
            rules,
            files,
            network,
            secrets,
            budget,
            approvals,
            integrity,
            spawn,
            links,
            messages,
        } = self;
        let beyond = [
            (Axis::Isolation, *isolation < parent.isolation),
            (Axis::Tools, tools.exceeds(&parent.tools) || rules.exceeds(&parent.rules)),
            (Axis::Files, files.exceeds(&parent.files)),
            (Axis::Network, network.exceeds(&parent.network)),
            (Axis::Secrets, !secrets.is_subset(&parent.secrets)),
            (Axis::Budget, budget.exceeds(&parent.budget)),
            (
                Axis::Approvals,
                approvals.exceeds(&parent.approvals) || integrity.exceeds(&parent.integrity),
            ),
            (Axis::Spawn, spawn.exceeds(&parent.spawn)),
            (Axis::Send, links.exceeds(&parent.links) || messages.exceeds(&parent.messages)),
        ];
        beyond.into_iter().filter(|(_, beyond)| *beyond).map(|(axis, _)| axis)
    }
}

impl FileGrants {
    fn exceeds(&self, parent: &Self) -> bool {
        let Self { workspace, workspace_mode, shared, stale_writes } = self;
        let granted = |path: &SharedPath| {
            parent.shared.iter().any(|it| it.path == path.path && path.mode <= it.mode)
        };
        *workspace > parent.workspace
            || *workspace_mode > parent.workspace_mode
            || !shared.iter().all(granted)
            || *stale_writes > parent.stale_writes
    }
}

impl Budget {
    /// The same, and in all no more than this.
    #[must_use]
    pub fn at_most(&self, limits: &BudgetLimits) -> Self {
        Self { own: self.own.at_most(limits), ..*self }
    }

    /// What both allow.
    #[must_use]
    pub fn narrowed(&self, other: &Self) -> Self {
        let Self { own, per_user, per_context } = self;
        Self {
            own: own.at_most(&other.own),
            per_user: per_user.at_most(&other.per_user),
            per_context: per_context.at_most(&other.per_context),
        }
    }

    fn exceeds(&self, parent: &Self) -> bool {
        let Self { own, per_user, per_context } = self;
        own.exceeds(&parent.own)
            || per_user.exceeds(&parent.per_user)
            || per_context.exceeds(&parent.per_context)
    }
}

impl ApprovalRule {
    fn exceeds(&self, parent: &Self) -> bool {
        let Self { mode, timeout_ms, separation, in_children, opaque } = self;
        *mode > parent.mode
            || *timeout_ms > parent.timeout_ms
            || *separation < parent.separation
            || *in_children > parent.in_children
            || *opaque > parent.opaque
    }
}

impl SpawnLimits {
    fn exceeds(&self, parent: &Self) -> bool {
        let Self { max_depth, max_children, max_total, max_iterations, wall_clock_ms, models } =
            self;
        *max_depth > parent.max_depth
            || *max_children > parent.max_children
            || *max_total > parent.max_total
            || *max_iterations > parent.max_iterations
            || *wall_clock_ms > parent.wall_clock_ms
            || !models.is_subset(&parent.models)
    }
}

#[cfg(test)]
#[path = "boundary_tests.rs"]
mod boundary_tests;
