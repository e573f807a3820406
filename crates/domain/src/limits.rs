//! What may be spent in a day or a minute.

/// What may be spent. Absent: no limit at this level, others may still hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct BudgetLimits {
    /// Millionths of a dollar in a day.
    pub usd_micros_per_day: Option<u64>,
    pub tokens_per_day: Option<u64>,
    pub turns_per_minute: Option<u32>,
}

/// The smaller of two limits, where absent is no limit.
fn tighter<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl BudgetLimits {
    /// What both allow.
    #[must_use]
    pub fn at_most(&self, other: &Self) -> Self {
        let Self { usd_micros_per_day, tokens_per_day, turns_per_minute } = *self;
        Self {
            usd_micros_per_day: tighter(usd_micros_per_day, other.usd_micros_per_day),
            tokens_per_day: tighter(tokens_per_day, other.tokens_per_day),
            turns_per_minute: tighter(turns_per_minute, other.turns_per_minute),
        }
    }

    /// Each limit that `parent` has must be there and no greater, so adding the parent's
    /// limits must change nothing.
    pub(crate) fn exceeds(&self, parent: &Self) -> bool {
        self.at_most(parent) != *self
    }
}
