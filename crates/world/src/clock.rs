//! Time as a value, and waiting as a request.

use async_trait::async_trait;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A moment, in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `ms` milliseconds after the epoch.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with milliseconds, as in `2026-11-15T02:12:27.004Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => write!(f, "{moment:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

/// A text that names no moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMoment;

impl FromStr for Timestamp {
    type Err = NoMoment;

    /// Reads RFC 3339, or a day, which begins at midnight in UTC.
    fn from_str(text: &str) -> Result<Self, NoMoment> {
        let is_day = text.len() == "2026-11-15".len();
        let midnight = || format!("{text}T00:00:00Z");
        let read = if is_day { midnight().parse() } else { text.parse::<jiff::Timestamp>() };
        read.map(|moment| Self(moment.as_millisecond())).map_err(|_| NoMoment)
    }
}

/// What time it is, and how to wait.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The time of day. It may jump; never measure with it.
    fn now(&self) -> Timestamp;

    /// Time since some fixed moment of this run. It never goes back.
    fn elapsed(&self) -> Duration;

    /// Waits.
    async fn sleep(&self, duration: Duration);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_days_are_read() {
        let read = |text: &str| text.parse::<Timestamp>().map(|it| it.to_string());
        for (text, moment) in [
            ("2026-11-15T02:12:27.004Z", "2026-11-15T02:12:27.004Z"),
            ("2026-11-15T02:12:27+01:00", "2026-11-15T01:12:27.000Z"),
            ("2026-11-15", "2026-11-15T00:00:00.000Z"),
        ] {
            assert_eq!(read(text), Ok(moment.to_owned()));
        }
        for text in ["", "now", "2026-13-15", "2026-11-15T02:12:27", "15.11.2026", "1794708747"] {
            assert_eq!(read(text), Err(NoMoment), "{text}");
        }
    }

    #[test]
    fn timestamps_print_as_rfc_3339_in_utc() {
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        let moment = Timestamp::from_millis(1_794_708_747_004);
        assert_eq!(moment.to_string(), "2026-11-15T02:12:27.004Z");
    }
}
