//! Reads what people write for a schedule: lengths, times, cron expressions and plain words.

use crate::cron::CronExpression;
use crate::form::{EVERY_MS_MIN, Form, FormError};
use crate::length::Length;
use crate::words;
use jiff::Timestamp;
use jiff::civil::DateTime;

/// The longest text that is read.
const TEXT_BYTES_MAX: usize = 200;

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
