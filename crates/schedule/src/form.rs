//! What people write for a schedule: lengths, times, cron expressions and plain words.

use crate::cron::{CronExpression, once};
use crate::length::Length;
use crate::schedule::Schedule;
use crate::words;
use insula_domain::Zone;
use jiff::Timestamp;
use jiff::civil::{DateTime, Weekday};

/// The shortest time between two runs.
pub(crate) const EVERY_MS_MIN: i64 = 60 * 1_000;
/// The longest text that is read.
const TEXT_BYTES_MAX: usize = 200;

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
    /// Reads what was written.
    pub fn parse(text: &str) -> Result<Self, FormError> {
        let trimmed = text.trim();
        let unread = |why: &str| FormError::Unread {
            text: shown(text),
            why: if why.is_empty() { String::new() } else { format!(": {why}") },
        };
        if trimmed.len() > TEXT_BYTES_MAX {
            return Err(unread("it is too long"));
        }
        if trimmed.starts_with('@') {
            return CronExpression::parse(trimmed).map(Self::Cron).map_err(|why| unread(&why));
        }
        if let Ok(length) = Length::parse(trimmed) {
            return Ok(Self::In(length));
        }
        if trimmed.starts_with(|c: char| c.is_ascii_digit())
            && trimmed.contains('-')
            && let Some(form) = moment(trimmed)
        {
            return Ok(form);
        }
        let is_cron = |c: char| c.is_ascii_digit() || "*/,-".contains(c);
        let fields: Vec<&str> = trimmed.split_ascii_whitespace().collect();
        if fields.first().is_some_and(|first| first.chars().all(is_cron))
            && (fields.len() == 5 || fields.iter().any(|field| field.contains('*')))
        {
            return CronExpression::parse(trimmed).map(Self::Cron).map_err(|why| unread(&why));
        }
        let form = words::parse(trimmed).map_err(|why| unread(&why))?;
        match form {
            Self::Every(length) if length.as_ms() < EVERY_MS_MIN => {
                Err(unread("the least between two runs is a minute"))
            }
            form => Ok(form),
        }
    }

    /// Whether what it means depends on when it is said.
    pub fn is_relative(&self) -> bool {
        matches!(self, Self::In(_) | Self::NextTime(_) | Self::OnDay(..) | Self::OnWeekday(..))
    }

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

    fn written(&self) -> String {
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

fn moment(text: &str) -> Option<Form> {
    let joined = text.replacen(' ', "T", 1);
    if let Ok(moment) = joined.parse::<Timestamp>() {
        return Some(Form::At(moment));
    }
    // A date alone says no time, and a bracketed zone is the job's own setting.
    let is_wall = joined.contains('T') && !joined.contains('[') && !joined.ends_with('Z');
    is_wall.then(|| joined.parse::<DateTime>().ok())?.map(Form::AtWall)
}

/// What was written, no longer than somebody reads.
fn shown(text: &str) -> String {
    text[..text.floor_char_boundary(60)].to_owned()
}
