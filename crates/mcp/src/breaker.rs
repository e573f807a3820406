//! When to leave a server alone: after each failure for longer, and after three for long.

use std::time::Duration;

/// Failures in a row after which a server is left alone for long.
pub const FAILURES_MAX: u32 = 3;
/// How long after the first and the second failure.
const SHORT: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// How long after the third; twice as long after each one more.
const LONG: Duration = Duration::from_secs(60);
/// The longest.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// Counts failures in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Breaker {
    failures: u32,
    until: Duration,
    why: String,
}

/// Why a server is left alone, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// What went wrong last.
    pub why: String,
    /// How long yet.
    pub left: Duration,
    /// Whether it failed so often that it is left alone for long.
    pub is_open: bool,
}

impl Breaker {
    /// Whether the server may be tried at this time.
    pub fn admit(&self, now: Duration) -> Result<(), Pause> {
        match self.until.checked_sub(now) {
            Some(left) if !left.is_zero() => {
                Err(Pause { why: self.why.clone(), left, is_open: self.failures >= FAILURES_MAX })
            }
            _ => Ok(()),
        }
    }

    /// It failed; whether that is one time too often.
    pub fn failed(&mut self, now: Duration, why: impl Into<String>) -> bool {
        self.why = why.into();
        self.failures = self.failures.saturating_add(1);
        let pause = match SHORT.get(self.failures as usize - 1) {
            Some(short) => *short,
            None => {
                let doublings = (self.failures - FAILURES_MAX).min(10);
                LONG.saturating_mul(1 << doublings).min(LONGEST)
            }
        };
        self.until = now.saturating_add(pause);
        self.failures >= FAILURES_MAX
    }

    /// It did what it was asked.
    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// Failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_in_a_row_open_it_and_a_success_closes_it() {
        let mut breaker = Breaker::default();
        let at = Duration::from_secs;
        assert_eq!(breaker.admit(at(0)), Ok(()));
        assert!(!breaker.failed(at(0), "no"));
        assert!(breaker.admit(at(0)).is_err() && breaker.admit(at(1)).is_ok());
        assert!(!breaker.failed(at(1), "no"));
        assert!(breaker.admit(at(5)).is_err() && breaker.admit(at(6)).is_ok());
        assert!(breaker.failed(at(6), "still not"));
        let pause = breaker.admit(at(7)).unwrap_err();
        assert_eq!((&*pause.why, pause.left, pause.is_open), ("still not", at(59), true));
        assert!(breaker.admit(at(66)).is_ok());
        for _ in 0..100 {
            breaker.failed(at(100), "never");
        }
        assert!(breaker.admit(at(100) + LONGEST).is_ok());
        breaker.succeeded();
        assert_eq!((breaker.admit(at(101)), breaker.failures()), (Ok(()), 0));
    }
}
