//! The hours of a day in which something may happen: `08:00-22:00`.

use insula_domain::Zone;
use std::fmt;
use std::str::FromStr;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const MINUTE_MS: i64 = 60 * 1_000;

/// From one time of day up to another, by the clock on the wall; over midnight where the second
/// is the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveHours {
    from_minute: u16,
    to_minute: u16,
}

impl ActiveHours {
    /// Whether a moment is within them.
    pub fn has(self, ms: i64, zone: &Zone) -> bool {
        let minute = zone.wall_ms(ms).rem_euclid(DAY_MS) / MINUTE_MS;
        let (from, to) = (i64::from(self.from_minute), i64::from(self.to_minute));
        match from < to {
            true => (from..to).contains(&minute),
            false => minute >= from || minute < to,
        }
    }
}

impl ActiveHours {
    /// How long they go on from a moment within them, by the clock on the wall: where that is
    /// changed meanwhile, whoever waits looks again.
    pub fn left_ms(self, ms: i64, zone: &Zone) -> i64 {
        let wall = zone.wall_ms(ms).rem_euclid(DAY_MS);
        (i64::from(self.to_minute) * MINUTE_MS - wall).rem_euclid(DAY_MS)
    }
}

/// A time of day in minutes: `8`, `8:30`, `8am`, `12:15 pm`, `noon`, `midnight`.
pub(crate) fn minute_of_day(text: &str) -> Option<u16> {
    let text = text.trim().to_ascii_lowercase();
    match text.as_str() {
        "noon" => return Some(12 * 60),
        "midnight" => return Some(0),
        _ => {}
    }
    let (digits, half) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(rest), _) => (rest.trim_end(), Some(0)),
        (_, Some(rest)) => (rest.trim_end(), Some(12)),
        _ => (text.as_str(), None),
    };
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !plain(hour) || !plain(minute) || hour.len() > 2 || minute.len() > 2 {
        return None;
    }
    let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
        None => hour,
    };
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

impl FromStr for ActiveHours {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` are no hours; write them as 08:00-22:00");
        let (from, to) = text.split_once('-').ok_or_else(wrong)?;
        let end = |text: &str| match text.trim() {
            "24" | "24:00" => Some(0),
            text => minute_of_day(text),
        };
        let (from_minute, to_minute) =
            (minute_of_day(from).ok_or_else(wrong)?, end(to).ok_or_else(wrong)?);
        if from_minute == to_minute {
            return Err(format!(
                "`{text}` has no hours in it; leave the key out for the whole day"
            ));
        }
        Ok(Self { from_minute, to_minute })
    }
}

impl fmt::Display for ActiveHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from_minute: from, to_minute: to } = self;
        write!(f, "{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)
    }
}
