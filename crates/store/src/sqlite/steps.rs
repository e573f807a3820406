//! How the steps of turns are numbered, and their kinds stored.

use crate::turn::STEPS_PER_TURN_MAX;
use std::ops::RangeInclusive;

/// The bits of a step's id below its turn's.
const STEP_BITS: u32 = STEPS_PER_TURN_MAX.ilog2();

/// How kinds of steps are stored. Never changed.
pub(crate) mod kind {
    pub(crate) const ANSWERED: i64 = 1;
    pub(crate) const CALL_BEGUN: i64 = 2;
    pub(crate) const CALL_ENDED: i64 = 3;
    pub(crate) const JOINED: i64 = 4;
    pub(crate) const SPENT: i64 = 5;
}

/// The ids that steps of a turn can have.
pub(crate) fn ids_of(turn: i64) -> RangeInclusive<i64> {
    (turn << STEP_BITS) + 1..=(turn << STEP_BITS) + i64::from(STEPS_PER_TURN_MAX) - 1
}

/// The number in a step's id.
pub(crate) fn number(id: i64) -> u32 {
    u32::try_from(id & (i64::from(STEPS_PER_TURN_MAX) - 1)).unwrap_or(0)
}
