//! A schedule: the moments it means.

use crate::cron::CronExpression;
use crate::form::{EVERY_MS_MIN, Form, FormError};
use crate::length::Length;
use insula_domain::Zone;
use jiff::Timestamp;
use std::fmt;

/// How many moments somebody is told ahead.
pub const TOLD_AHEAD: usize = 5;

/// When something happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// At one moment.
    Once(i64),
    /// Again and again, by elapsed time, counted from a moment.
    Every {
        /// The time between two.
        length: Length,
        /// From when it is counted.
        anchor_ms: i64,
    },
    /// By the calendar.
    Cron(CronExpression),
}

impl Schedule {
    /// Reads what [`Display`](fmt::Display) wrote.
    pub fn read(text: &str, anchor_ms: i64) -> Result<Self, FormError> {
        Form::parse(text)?.settle((anchor_ms, anchor_ms), &Zone::utc())
    }

    /// The first moment after this one.
    pub fn next(&self, after_ms: i64, zone: &Zone) -> Option<i64> {
        match self {
            Self::Once(at) => (*at > after_ms).then_some(*at),
            Self::Every { length, anchor_ms } => {
                let length = length.as_ms().max(EVERY_MS_MIN);
                let past = after_ms.checked_sub(*anchor_ms)?;
                let count = past.div_euclid(length).checked_add(1)?.max(1);
                anchor_ms.checked_add(count.checked_mul(length)?)
            }
            Self::Cron(expression) => {
                let after = Timestamp::from_millisecond(after_ms).ok()?;
                expression.next(after, zone).map(Timestamp::as_millisecond)
            }
        }
    }

    /// Whether it happens at most once.
    pub fn is_once(&self) -> bool {
        matches!(self, Self::Once(_))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Once(at) => match Timestamp::from_millisecond(*at) {
                Ok(at) => at.fmt(f),
                Err(_) => write!(f, "never"),
            },
            Self::Every { length, .. } => write!(f, "every {length}"),
            Self::Cron(expression) => expression.fmt(f),
        }
    }
}
