//! Cron expressions of five fields, and the moments they mean in a time zone.
//!
//! Where clocks change they mean what cron has always meant by them. One that names its hour and
//! minute happens once a day whatever the clocks do: a time that is left out happens at the end of
//! the gap, and one that comes twice happens the first time. One whose hour or minute begins with
//! `*` goes by what the clock shows: it leaves out what is left out, and repeats what comes twice.

use insula_domain::Zone;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use std::fmt;

/// How many days are looked through for the next moment: a 29 February may be eight years away.
const DAYS_MAX: usize = 12 * 366;
/// Steps of the search by the clock: whole days and hours are leapt over.
const STEPS_MAX: usize = 400_000;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The values of one field, and whether it begins with `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    set: u64,
    is_star: bool,
}

impl Field {
    fn has(self, value: i8) -> bool {
        self.set >> value & 1 == 1
    }
}

/// A cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronExpression {
    text: Box<str>,
    minute: Field,
    hour: Field,
    day: Field,
    month: Field,
    weekday: Field,
}

impl CronExpression {
    /// Reads five fields, or a name such as `@daily`; says what is wrong with which.
    pub fn parse(text: &str) -> Result<Self, String> {
        let named = match text.trim().to_ascii_lowercase().as_str() {
            "@hourly" => "0 * * * *",
            "@daily" | "@midnight" => "0 0 * * *",
            "@weekly" => "0 0 * * 0",
            "@monthly" => "0 0 1 * *",
            "@yearly" | "@annually" => "0 0 1 1 *",
            name if name.starts_with('@') => {
                return Err(format!(
                    "`{name}` is none of @hourly, @daily, @weekly, @monthly and @yearly"
                ));
            }
            _ => text.trim(),
        };
        let fields: Vec<&str> = named.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(format!(
                "a cron expression has five fields (minute hour day month weekday), and this has {}",
                fields.len()
            ));
        };
        let expression = Self {
            minute: field("minute", minute, (0, 59), &[])?,
            hour: field("hour", hour, (0, 23), &[])?,
            day: field("day", day, (1, 31), &[])?,
            month: field("month", month, (1, 12), &MONTHS)?,
            weekday: weekdays(weekday)?,
            text: fields.join(" ").into(),
        };
        match expression.ever_happens() {
            true => Ok(expression),
            false => Err(format!("`{}` names a day that no month of it has", expression.text)),
        }
    }

    /// Whether a day that it names exists in a month that it names.
    fn ever_happens(&self) -> bool {
        const LENGTHS: [i8; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let mut months = (1..=12).filter(|month| self.month.has(*month));
        !self.weekday.is_star
            || months.any(|month| (1..=LENGTHS[month as usize - 1]).any(|day| self.day.has(day)))
    }

    /// Whether it goes by what the clock shows.
    fn goes_by_clock(&self) -> bool {
        self.minute.is_star || self.hour.is_star
    }

    /// The least time between two of its moments on one day without a change of clocks, in
    /// minutes; `None` where there is one a day.
    pub fn closest_minutes(&self) -> Option<u32> {
        let minutes: Vec<u32> = (0..24_i8)
            .filter(|hour| self.hour.has(*hour))
            .flat_map(|hour| (0..60_i8).map(move |minute| (hour, minute)))
            .filter(|(_, minute)| self.minute.has(*minute))
            .map(|(hour, minute)| hour as u32 * 60 + minute as u32)
            .collect();
        minutes.windows(2).map(|pair| pair[1] - pair[0]).min()
    }

    fn has_day(&self, date: Date) -> bool {
        if !self.month.has(date.month()) {
            return false;
        }
        let day = self.day.has(date.day());
        let weekday = self.weekday.has(date.weekday().to_sunday_zero_offset());
        // As cron does it: where both are said, either will do.
        match self.day.is_star || self.weekday.is_star {
            true => day && weekday,
            false => day || weekday,
        }
    }

    /// The first moment after this one; `None` where there is none in years.
    pub fn next(&self, after: Timestamp, zone: &Zone) -> Option<Timestamp> {
        match self.goes_by_clock() {
            true => self.next_by_clock(after, zone.rules()),
            false => self.next_of_day(after, zone.rules()),
        }
    }

    fn next_of_day(&self, after: Timestamp, rules: &TimeZone) -> Option<Timestamp> {
        // A whole day may be left out, or come twice: begin before it.
        let mut date = rules.to_datetime(after).date().checked_sub(2.days()).ok()?;
        for _ in 0..DAYS_MAX {
            let next = date.tomorrow().ok()?;
            if let Some(found) = self.first_of(date, after, rules) {
                // Around a change at midnight the next day may have an earlier one.
                let other = self.first_of(next, after, rules);
                return Some(other.map_or(found, |other| other.min(found)));
            }
            date = next;
        }
        None
    }

    /// The first of a day's moments that is after this one.
    fn first_of(&self, date: Date, after: Timestamp, rules: &TimeZone) -> Option<Timestamp> {
        if !self.has_day(date) {
            return None;
        }
        let hours = (0..24).filter(|hour| self.hour.has(*hour));
        let times = hours.flat_map(|hour| {
            let minutes = (0..60).filter(|minute| self.minute.has(*minute));
            minutes.map(move |minute| (hour, minute))
        });
        let moments = times.filter_map(|(hour, minute)| {
            let wall = date.to_datetime(Time::new(hour, minute, 0, 0).ok()?);
            once(wall, rules)
        });
        moments.filter(|moment| *moment > after).min()
    }

    fn next_by_clock(&self, after: Timestamp, rules: &TimeZone) -> Option<Timestamp> {
        let wall = rules.to_datetime(after);
        let past = SignedDuration::new(i64::from(wall.second()), wall.subsec_nanosecond());
        let mut at =
            after.checked_sub(past).ok()?.checked_add(SignedDuration::from_mins(1)).ok()?;
        // Where the clock changed in between, the minute began with the change.
        if let Some(change) = change_after(after, rules).filter(|change| *change < at) {
            at = change;
        }
        let mut change = change_after(at, rules);
        for _ in 0..STEPS_MAX {
            if change.is_some_and(|change| change <= at) {
                change = change_after(at, rules);
            }
            let wall = rules.to_datetime(at);
            let minutes = i64::from(60 - wall.minute());
            let step = match (self.has_day(wall.date()), self.hour.has(wall.hour())) {
                (true, true) if self.minute.has(wall.minute()) && wall.second() == 0 => {
                    return Some(at);
                }
                (true, true) => SignedDuration::from_secs(i64::from(60 - wall.second())),
                (true, false) => SignedDuration::from_mins(minutes),
                (false, _) => {
                    let hours = i64::from(23 - wall.hour());
                    SignedDuration::from_mins(minutes + 60 * hours)
                }
            };
            let next = at.checked_add(step).ok()?;
            // Nothing is leapt over that a change of clocks brings.
            at = change.filter(|change| *change < next).unwrap_or(next);
        }
        None
    }
}

/// When the clocks change next.
fn change_after(at: Timestamp, rules: &TimeZone) -> Option<Timestamp> {
    rules.following(at).next().map(|change| change.timestamp())
}

/// The one moment that a time on the wall means.
pub(crate) fn once(wall: DateTime, rules: &TimeZone) -> Option<Timestamp> {
    let ambiguous = rules.to_ambiguous_timestamp(wall);
    match ambiguous.offset() {
        AmbiguousOffset::Gap { .. } => {
            // The clocks go on at the end of the gap: the change after what the later offset makes
            // of it.
            let early = ambiguous.earlier().ok()?;
            rules
                .following(early.checked_sub(SignedDuration::from_secs(1)).ok()?)
                .next()
                .map(|change| change.timestamp())
        }
        _ => ambiguous.earlier().ok(),
    }
}

fn field(name: &str, text: &str, (least, most): (u8, u8), names: &[&str]) -> Result<Field, String> {
    let mut set = 0_u64;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => {
                let parsed = step.parse::<u8>().ok().filter(|step| *step > 0);
                let step = parsed.ok_or_else(|| {
                    format!("`{part}` in the {name} field has no step such as */5")
                })?;
                (range, Some(step))
            }
            None => (part, None),
        };
        let value = |text: &str| -> Result<u8, String> {
            let lower = text.to_ascii_lowercase();
            let named = names.iter().position(|known| *known == lower);
            let number = named.map(|at| at as u8 + least);
            let number = number
                .or_else(|| text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit())));
            let number = number.filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| {
                format!("`{text}` in the {name} field is not between {least} and {most}")
            })
        };
        let (from, to) = match (range, range.split_once('-')) {
            ("*", _) => (least, most),
            (_, Some((from, to))) => (value(from)?, value(to)?),
            // `5/15` is from 5 on.
            (one, None) => (value(one)?, if step.is_some() { most } else { value(one)? }),
        };
        if from > to {
            return Err(format!("`{part}` in the {name} field goes backwards"));
        }
        for number in (from..=to).step_by(usize::from(step.unwrap_or(1))) {
            set |= 1 << number;
        }
    }
    Ok(Field { set, is_star: text.starts_with('*') })
}

/// Sunday is 0 and 7.
fn weekdays(text: &str) -> Result<Field, String> {
    let Field { set, is_star } = field("weekday", text, (0, 7), &DAYS)?;
    let sunday = set >> 7 & 1;
    Ok(Field { set: (set & 0x7f) | sunday, is_star })
}

impl fmt::Display for CronExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
