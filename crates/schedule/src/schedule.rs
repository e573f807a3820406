//! A schedule: the moments it means.

use crate::cron::{CronExpression, once};
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

impl Form {
    /// The schedule it means, said at this moment by clocks of this zone. An interval is counted
    /// from `anchor_ms`.
    pub fn settle(
        &self,
        (now_ms, anchor_ms): (i64, i64),
        zone: &Zone,
    ) -> Result<Schedule, FormError> {
        let never = |why: &str| FormError::Never { text: self.written(), why: why.to_owned() };
        let far = || never("it is too far away");
        let now = Timestamp::from_millisecond(now_ms).map_err(|_| far())?;
        let today = zone.rules().to_datetime(now).date();
        let at_minute = |days: i64, minute: u16| -> Option<Timestamp> {
            let date = today.checked_add(jiff::Span::new().try_days(days).ok()?).ok()?;
            let wall = date.at(i8::try_from(minute / 60).ok()?, (minute % 60) as i8, 0, 0);
            once(wall, zone.rules())
        };
        let moment = match self {
            Self::Cron(expression) => return Ok(Schedule::Cron(expression.clone())),
            Self::Every(length) => {
                return Ok(Schedule::Every { length: *length, anchor_ms });
            }
            Self::In(length) => return Ok(Schedule::Once(now_ms.saturating_add(length.as_ms()))),
            Self::At(moment) => Some(*moment),
            Self::AtWall(wall) => once(*wall, zone.rules()),
            Self::NextTime(minute) => {
                let today = at_minute(0, *minute).filter(|moment| *moment > now);
                today.or_else(|| at_minute(1, *minute))
            }
            Self::OnDay(days, minute) => at_minute(i64::from(*days), *minute),
            Self::OnWeekday(weekday, minute) => {
                let days = (1..=7).find(|days| {
                    let date = today.checked_add(jiff::Span::new().days(*days));
                    date.is_ok_and(|date| date.weekday() == *weekday)
                });
                days.and_then(|days| at_minute(days, *minute))
            }
        };
        let moment = moment.ok_or_else(far)?;
        if moment <= now && self.is_relative() {
            return Err(never("it is over already"));
        }
        Ok(Schedule::Once(moment.as_millisecond()))
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
