//! Lengths of time as people write them: `30m`, `2h`, `1d`, `90 minutes`, `1h30m`.

use std::fmt;

/// The longest length: what is longer is a slip.
const MS_MAX: i64 = 10 * 366 * 24 * 60 * 60 * 1_000;

/// A length of time, in milliseconds; more than nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Length(i64);

/// Why something is no length.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no length of time; write it as 30m, 2h, 1d or 1h30m")]
pub struct LengthError {
    /// What was written.
    pub text: String,
}

impl Length {
    /// A length of so many milliseconds; `None` where that is none, or more than ten years.
    pub fn from_ms(ms: i64) -> Option<Self> {
        (1..=MS_MAX).contains(&ms).then_some(Self(ms))
    }

    pub fn as_ms(self) -> i64 {
        self.0
    }

    /// Reads one.
    pub fn parse(text: &str) -> Result<Self, LengthError> {
        let wrong = || LengthError { text: text.to_owned() };
        let mut rest = text.trim();
        let mut ms: i64 = 0;
        if rest.is_empty() {
            return Err(wrong());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
            let number: i64 = rest[..digits].parse().map_err(|_| wrong())?;
            rest = rest[digits..].trim_start();
            let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let unit = unit_ms(&rest[..letters]).ok_or_else(wrong)?;
            rest = rest[letters..].trim_start();
            ms =
                number.checked_mul(unit).and_then(|part| ms.checked_add(part)).ok_or_else(wrong)?;
        }
        Self::from_ms(ms).ok_or_else(wrong)
    }
}

fn unit_ms(unit: &str) -> Option<i64> {
    const SECOND: i64 = 1_000;
    Some(match unit.to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
        "m" | "min" | "mins" | "minute" | "minutes" => 60 * SECOND,
        "h" | "hr" | "hrs" | "hour" | "hours" => 60 * 60 * SECOND,
        "d" | "day" | "days" => 24 * 60 * 60 * SECOND,
        "w" | "week" | "weeks" => 7 * 24 * 60 * 60 * SECOND,
        _ => return None,
    })
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut seconds = self.0 / 1_000;
        // What is shorter than a second is told as one.
        if seconds == 0 {
            return f.write_str("1s");
        }
        for (unit, length) in [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)] {
            if seconds >= length {
                write!(f, "{}{unit}", seconds / length)?;
                seconds %= length;
            }
        }
        Ok(())
    }
}
