//! Plain words for a schedule: `every weekday at 8:30`, `daily at 9am`, `tomorrow at noon`,
//! `every month on the 1st at 7:00`.

use crate::cron::CronExpression;
use crate::form::Form;
use crate::hours::minute_of_day;
use crate::length::Length;
use jiff::civil::Weekday;

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("sunday", Weekday::Sunday),
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
];
const WITHOUT_TIME: &str = "it does not say at what time of day; add for example `at 9:00`";

/// Reads words; the error says what is missing, and is empty where nothing was understood.
pub(crate) fn parse(text: &str) -> Result<Form, String> {
    let text = text.to_ascii_lowercase().replace(',', " and ");
    let mut words: Vec<&str> = text.split_ascii_whitespace().collect();
    if let ["in", ..] = words[..] {
        return Length::parse(&words[1..].join(" ")).map(Form::In).map_err(|e| e.to_string());
    }
    if let Some(form) = interval(&words) {
        return form;
    }
    let times = match words.iter().rposition(|word| *word == "at") {
        Some(at) => {
            let times = words.split_off(at);
            Some(minutes(&times[1..])?)
        }
        None => match words.last().filter(|word| looks_like_time(word)) {
            Some(last) => {
                let times = minutes(&[last])?;
                words.pop();
                Some(times)
            }
            None => None,
        },
    };
    let single = |times: Option<Vec<u16>>| match times.as_deref() {
        Some([one]) => Ok(*one),
        Some(_) => Err("something that happens once has one time".to_owned()),
        None => Err(WITHOUT_TIME.to_owned()),
    };
    match words[..] {
        [] => return single(times).map(Form::NextTime),
        ["today"] => return single(times).map(|minute| Form::OnDay(0, minute)),
        ["tomorrow"] => return single(times).map(|minute| Form::OnDay(1, minute)),
        ["next", day] => {
            let day = weekday(day).ok_or_else(String::new)?;
            return single(times).map(|minute| Form::OnWeekday(day, minute));
        }
        _ => {}
    }
    let (day, weekdays) = calendar(&words)?;
    let times = times.ok_or_else(|| WITHOUT_TIME.to_owned())?;
    let minute = times.first().map_or(0, |first| first % 60);
    if times.iter().any(|time| time % 60 != minute) {
        return Err("times of one schedule share their minutes; make a job for each".to_owned());
    }
    let hours: Vec<String> = times.iter().map(|time| (time / 60).to_string()).collect();
    let expression = format!("{minute} {} {day} * {weekdays}", hours.join(","));
    CronExpression::parse(&expression).map(Form::Cron)
}

/// `every 30m`, `every 2 hours`, `every hour`, `hourly`.
fn interval(words: &[&str]) -> Option<Result<Form, String>> {
    let every = |text: &str| Length::parse(text).map(Form::Every).map_err(|e| e.to_string());
    match words {
        ["hourly"] | ["every", "hour"] => Some(every("1h")),
        ["every", "minute"] => Some(every("1m")),
        ["every", first, ..] if first.starts_with(|c: char| c.is_ascii_digit()) => {
            let rest = words[1..].join(" ");
            // `every 1st of the month` is no length.
            Length::parse(&rest).ok().map(|length| Ok(Form::Every(length)))
        }
        _ => None,
    }
}

fn looks_like_time(word: &str) -> bool {
    word.contains(':')
        || word.ends_with("am")
        || word.ends_with("pm")
        || word == "noon"
        || word == "midnight"
}

/// `8:30`, `9 and 17`, `8am and 8pm`.
fn minutes(words: &[&str]) -> Result<Vec<u16>, String> {
    let joined = words.join(" ").replace(" am", "am").replace(" pm", "pm");
    let times = joined.split(" and ").map(|part| {
        minute_of_day(part).ok_or_else(|| format!("`{}` is no time of day", part.trim()))
    });
    let mut times = times.collect::<Result<Vec<u16>, String>>()?;
    times.sort_unstable();
    times.dedup();
    Ok(times)
}

fn weekday(word: &str) -> Option<Weekday> {
    let singular = word.strip_suffix('s').unwrap_or(word);
    let is_it = |name: &str| {
        name == word || name == singular || (singular.len() >= 3 && name.starts_with(singular))
    };
    WEEKDAYS.iter().find(|(name, _)| is_it(name)).map(|(_, day)| *day)
}

/// The fields of days and weekdays.
fn calendar(words: &[&str]) -> Result<(String, String), String> {
    const IDLE: [&str; 5] = ["every", "each", "on", "the", "and"];
    let said: Vec<&str> = words.iter().copied().filter(|word| !IDLE.contains(word)).collect();
    let is_repeated = words.iter().any(|word| ["every", "each"].contains(word));
    let star = || "*".to_owned();
    match said[..] {
        ["day" | "daily"] => return Ok((star(), star())),
        ["weekday" | "weekdays" | "workday" | "workdays"] => return Ok((star(), "1-5".into())),
        ["weekend" | "weekends"] => return Ok((star(), "0,6".into())),
        _ => {}
    }
    let of_month = |word: &&str| matches!(*word, "month" | "monthly" | "of");
    if said.iter().any(|word| matches!(*word, "month" | "monthly")) {
        let days = said.iter().filter(|word| !of_month(word));
        let days =
            days.map(|word| ordinal(word).ok_or_else(|| format!("`{word}` is no day of a month")));
        let days: Vec<String> = days.collect::<Result<_, _>>()?;
        return match days.is_empty() {
            true => Err("it does not say on which day of the month".to_owned()),
            false => Ok((days.join(","), star())),
        };
    }
    let days: Option<Vec<String>> = said
        .iter()
        .map(|word| weekday(word).map(|day| day.to_sunday_zero_offset().to_string()))
        .collect();
    match days {
        Some(days) if !days.is_empty() => {
            let is_plural = words.iter().any(|word| word.ends_with("days"));
            match is_repeated || is_plural {
                true => Ok((star(), days.join(","))),
                false => Err("say `every` or `next` before the day".to_owned()),
            }
        }
        _ => Err(String::new()),
    }
}

fn ordinal(word: &str) -> Option<String> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end));
    let number: u8 = digits.unwrap_or(word).parse().ok()?;
    (1..=31).contains(&number).then(|| number.to_string())
}
