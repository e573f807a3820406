//! Days of the calendar, as daily notes are kept by. Where days begin, a [`Zone`](crate::Zone) says.

use std::fmt;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// The last day that has four digits of a year.
const LAST: u32 = 2_932_896;

/// A day, counted from 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day(u32);

impl Day {
    /// The day of a moment in UTC, in milliseconds since the epoch. What lies outside is the first or
    /// the last one.
    pub fn of_millis(ms: i64) -> Self {
        let days = ms.div_euclid(DAY_MS).clamp(0, i64::from(LAST));
        Self(u32::try_from(days).unwrap_or(LAST))
    }

    /// The day of this number; `None` where there is none.
    pub fn from_number(number: i64) -> Option<Self> {
        u32::try_from(number).ok().filter(|number| *number <= LAST).map(Self)
    }

    /// How many days lie between the first one and this.
    pub fn number(self) -> i64 {
        self.0.into()
    }

    /// The day before; of the first one itself.
    #[must_use]
    pub fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// Reads `2026-11-18`; nothing else is a day.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut part = |digits: usize| {
            let part = parts.next()?;
            let is_plain = part.len() == digits && part.bytes().all(|it| it.is_ascii_digit());
            part.parse::<u32>().ok().filter(|_| is_plain)
        };
        let (year, month, day) = (part(4)?, part(2)?, part(2)?);
        if parts.next().is_some() || year < 1970 {
            return None;
        }
        let found = Self(number(year, month, day)?);
        // A day that its month does not have would be one of the next.
        (found.civil() == (year, month, day)).then_some(found)
    }

    /// Year, month and day.
    fn civil(self) -> (u32, u32, u32) {
        // Counted from the first of March of the year 0: leap days are then the last of a year,
        // and 400 years are always as long.
        let days = self.0 + 719_468;
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let in_month = day - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        (year + era * 400 + u32::from(month <= 2), month, in_month)
    }
}

/// How many days lie between 1970-01-01 and this one.
fn number(year: u32, month: u32, day: u32) -> Option<u32> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = year - u32::from(month <= 2);
    let (era, year) = (year / 400, year % 400);
    let month = if month > 2 { month - 3 } else { month + 9 };
    let day = (153 * month + 2) / 5 + day - 1;
    let days = era * 146_097 + year * 365 + year / 4 - year / 100 + day;
    days.checked_sub(719_468)
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01"),
            (-1, "1970-01-01"),
            (951_782_400_000, "2000-02-29"),
            (1_794_708_747_004, "2026-11-15"),
            (i64::MAX, "9999-12-31"),
        ] {
            assert_eq!(Day::of_millis(ms).to_string(), text);
        }
        assert_eq!(Day::of_millis(0).before(), Day::of_millis(0));
        assert_eq!(Day::parse("2024-03-01").unwrap().before().to_string(), "2024-02-29");
        assert_eq!(Day::from_number(i64::from(LAST) + 1), None);
        assert_eq!(Day::from_number(-1), None);
    }

    #[test]
    fn what_is_no_day_is_none() {
        for text in [
            "",
            "2026-11",
            "2026-11-18-1",
            "2026-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-01-00",
            "2026-01-32",
            "26-01-01",
            "1969-12-31",
            "+026-01-01",
            "2026-1-01",
            "２026-01-01",
            "MEMORY",
        ] {
            assert_eq!(Day::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_day_is_read_as_it_is_written(number in 0..=LAST) {
            let day = Day::from_number(number.into()).unwrap();
            prop_assert_eq!(Day::parse(&day.to_string()), Some(day));
            prop_assert_eq!(Day::of_millis(i64::from(number) * DAY_MS + DAY_MS - 1), day);
            if number > 0 {
                prop_assert!(day.before().to_string() < day.to_string());
            }
        }
    }
}
