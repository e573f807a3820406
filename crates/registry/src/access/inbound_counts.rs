//! How many events came, and what became of them: figures, never who or what.

use std::sync::atomic::{AtomicU64, Ordering};

/// What became of something that a platform told us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboundOutcome {
    /// A message was taken in for a turn.
    Taken,
    /// A message was kept as context.
    Observed,
    /// A command was carried out.
    Command,
    /// It was said to others.
    Passed,
    /// It came before.
    Repeated,
    /// Nobody serves where it was said.
    Unrouted,
    /// A hook did not let it through.
    Stopped,
    /// Who said it may not talk to the agent.
    Stranger,
    /// Such a one was given a code.
    Code,
    /// There is no room for it.
    Overflow,
}

impl InboundOutcome {
    /// Everything that is counted.
    pub const ALL: [Self; 10] = [
        Self::Taken,
        Self::Observed,
        Self::Command,
        Self::Passed,
        Self::Repeated,
        Self::Unrouted,
        Self::Stopped,
        Self::Stranger,
        Self::Code,
        Self::Overflow,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Observed => "observed",
            Self::Command => "command",
            Self::Passed => "passed",
            Self::Repeated => "repeated",
            Self::Unrouted => "unrouted",
            Self::Stopped => "stopped",
            Self::Stranger => "unauthorised",
            Self::Code => "pairing_code",
            Self::Overflow => "overflow",
        }
    }
}

/// The figures since the start.
#[derive(Default)]
pub struct InboundCounts {
    counts: [AtomicU64; InboundOutcome::ALL.len()],
}

impl InboundCounts {
    pub fn count(&self, outcome: InboundOutcome) {
        self.counts[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    pub fn of(&self, outcome: InboundOutcome) -> u64 {
        self.counts[outcome as usize].load(Ordering::Relaxed)
    }

    /// All of them, by name.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        InboundOutcome::ALL.into_iter().map(|outcome| (outcome.as_str(), self.of(outcome)))
    }
}
