//! What was written for a schedule, once it is read.

use crate::cron::CronExpression;
use crate::length::Length;
use jiff::Timestamp;
use jiff::civil::{DateTime, Weekday};

/// The shortest time between two runs.
pub(crate) const EVERY_MS_MIN: i64 = 60 * 1_000;

/// A schedule as it was written: some mean something only at the moment they are said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Once, so long after it is said: `30m`, `in 2 hours`.
    In(Length),
    /// Once, at a moment: `2026-12-01T08:30Z`.
    At(Timestamp),
    /// Once, at a time on the wall: `2026-12-01 08:30`.
    AtWall(DateTime),
    /// Once, when the clock next shows this minute of the day.
    NextTime(u16),
    /// Once, so many days from now, at this minute of the day: `tomorrow at 9`.
    OnDay(u8, u16),
    /// Once, on the next such day: `next monday at 9`.
    OnWeekday(Weekday, u16),
    /// Again and again: `every 30m`.
    Every(Length),
    /// By the calendar: `30 8 * * 1-5`, `@daily`, `every weekday at 8:30`.
    Cron(CronExpression),
}

/// Why something is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// it can't be read
    #[error(
        "`{text}` is no schedule{why}; write for example `30m` (once), `every 2h`, `30 8 * * 1-5`, `@daily`, `2026-12-01T08:30` or `every weekday at 8:30`"
    )]
    Unread {
        /// What was written.
        text: String,
        /// What is wrong with it, after a colon; may be empty.
        why: String,
    },
    /// it means nothing at this moment
    #[error("`{text}` can't be scheduled: {why}")]
    Never {
        /// What was written.
        text: String,
        /// Why not.
        why: String,
    },
}

impl Form {
    /// Whether what it means depends on when it is said.
    pub fn is_relative(&self) -> bool {
        matches!(self, Self::In(_) | Self::NextTime(_) | Self::OnDay(..) | Self::OnWeekday(..))
    }

    pub(crate) fn written(&self) -> String {
        let time = |minute: &u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        match self {
            Self::In(length) => format!("in {length}"),
            Self::At(moment) => moment.to_string(),
            Self::AtWall(wall) => wall.to_string(),
            Self::NextTime(minute) => format!("at {}", time(minute)),
            Self::OnDay(0, minute) => format!("today at {}", time(minute)),
            Self::OnDay(_, minute) => format!("tomorrow at {}", time(minute)),
            Self::OnWeekday(day, minute) => format!("next {day:?} at {}", time(minute)),
            Self::Every(length) => format!("every {length}"),
            Self::Cron(expression) => expression.to_string(),
        }
    }
}
