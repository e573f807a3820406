//! When something is due: what people write for a schedule, the moments it means in a time zone,
//! and what becomes of those that were missed.
//!
//! Pure: no clock, no store, no agents. Moments are milliseconds since the epoch.

mod cron;
mod form;
mod hours;
mod length;
mod plan;
mod reading;
mod schedule;
mod words;

pub use cron::CronExpression;
pub use form::{Form, FormError};
pub use hours::ActiveHours;
pub use length::{Length, LengthError};
pub use plan::{Bounds, Due, MISSED_ALL_MAX, MISSED_COUNT_MAX, Missed, ON_TIME_MS, Overlap, Plan};
pub use plan::{Progress, Start, jitter_ms};
pub use schedule::{Schedule, TOLD_AHEAD};

#[cfg(test)]
mod schedule_tests;
