//! Time as a value, and waiting as a request.

use async_trait::async_trait;
use std::fmt;
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
    fn timestamps_print_as_rfc_3339_in_utc() {
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        let moment = Timestamp::from_millis(1_794_708_747_004);
        assert_eq!(moment.to_string(), "2026-11-15T02:12:27.004Z");
    }
}
