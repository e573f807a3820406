//! How many came to the door, and what became of them: figures, never who or what.

use std::sync::atomic::{AtomicU64, Ordering};

/// What became of something that a platform told us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
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

impl Visit {
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
pub struct Visits {
    counts: [AtomicU64; Visit::ALL.len()],
}

impl Visits {
    /// Counts one.
    pub fn count(&self, visit: Visit) {
        self.counts[visit as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    pub fn of(&self, visit: Visit) -> u64 {
        self.counts[visit as usize].load(Ordering::Relaxed)
    }

    /// All of them, by name.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        Visit::ALL.into_iter().map(|visit| (visit.as_str(), self.of(visit)))
    }
}
