//! What turns cost: per turn, and per day for the agent, its principals and its scopes.

use insula_domain::ScopeName;
use insula_world::Timestamp;
use std::ops::AddAssign;

/// Most rows of each kind in one report; the costliest come first.
pub const USAGE_ROWS_MAX: usize = 1_000;

/// Most of anything one step or conclusion can have used, so that sums can't overflow.
pub const USAGE_VALUE_MAX: u64 = 1 << 40;

/// Most names in one series; the costliest come first.
pub const USAGE_NAMES_MAX: usize = 60;

/// The length of an hour.
pub(crate) const HOUR_MS: i64 = 3_600_000;

/// The length of a day, which begins at midnight UTC.
pub(crate) const DAY_MS: i64 = 86_400_000;

/// Tokens and money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens sent, the cached ones included.
    pub input: u64,
    /// Tokens received, the reasoning ones included.
    pub output: u64,
    /// Of those sent, how many the provider had cached.
    pub cached: u64,
    /// Of those received, how many were reasoning.
    pub reasoning: u64,
    /// Money, in millionths of a dollar.
    pub cost_micros: u64,
}

impl Usage {
    /// Whether nothing was used.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.cached = self.cached.saturating_add(more.cached);
        self.reasoning = self.reasoning.saturating_add(more.reasoning);
        self.cost_micros = self.cost_micros.saturating_add(more.cost_micros);
    }
}

/// Sums over some days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Turns that were concluded.
    pub turns: u64,
    /// What was used.
    pub usage: Usage,
}

/// Whose usage is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum UsageOf {
    /// All of the agent's.
    Agent,
    /// That of turns which this principal began.
    Principal(Box<str>),
    /// That of turns in sessions of this scope.
    Scope(ScopeName),
    /// That of turns which came in by this way.
    Way(Box<str>),
}

/// Usage since the beginning of a day.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageReport {
    pub total: Totals,
    /// By day, the first moment of each, oldest first. Days without usage are left out.
    pub days: Vec<(Timestamp, Totals)>,
    /// By principal, the costliest first.
    pub principals: Vec<(Box<str>, Totals)>,
    /// By scope, the costliest first.
    pub scopes: Vec<(Box<str>, Totals)>,
    /// By way in, the costliest first: those that take something away.
    pub ways: Vec<(Box<str>, Totals)>,
    /// By the name of the key that paid, the costliest first; its turns are calls of models.
    pub keys: Vec<(Box<str>, Totals)>,
}

/// What a series of usage is by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageBy {
    /// The agent's alone, by the day.
    Day,
    /// The agent's, by the hour.
    Hour,
    /// The models that were asked.
    Model,
    Principal,
    Scope,
    /// The keys that paid.
    Key,
    /// The ways in that take something away.
    Way,
}

/// Sums by the first moment of each day or hour, oldest first. Times without usage are left out.
pub type UsagePoints = Vec<(Timestamp, Totals)>;

/// Usage over time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageSeries {
    /// The agent's, by the first moment of each day.
    pub total: UsagePoints,
    /// The agent's, by the first moment of each hour, where that was asked for.
    pub hours: UsagePoints,
    /// By name and day, the costliest name first.
    pub names: Vec<(Box<str>, UsagePoints)>,
}
