//! `insula logs …`: what happened to an agent, read from its files. They are the operator's, whether
//! or not a daemon runs.

use super::daemon_log;
use crate::arguments::Logs;
use crate::failure::Failure;
use crate::names::files::agent_called;
use crate::output;
use crate::setting::{Answer, Setting};
use insula_config::rules::duration;
use insula_domain::AgentId;
use insula_registry::agent_logs::{earlier, files};
use insula_world::Timestamp;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// Lines where nobody says how many.
const LINES: usize = 50;
/// How often it is looked whether more came.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Runs it.
pub async fn run(setting: &Setting, wish: &Logs) -> Result<u8, Failure> {
    if wish.lines == Some(0) && !wish.follow {
        let told = "0 lines show nothing; say at least 1, or --follow to see what comes";
        return Err(Failure::WrongUse(told.to_owned()));
    }
    let now = setting.world.clock.now();
    let since = wish.since.as_deref().map(|text| since(text, now)).transpose()?;
    let Some(agent) = &wish.agent else {
        return daemon_log::run(setting, wish, since.as_deref()).await;
    };
    let id = AgentId::new(agent).ok().filter(|id| setting.home.has_agent_folder(id));
    // One that is there no more may have a folder still.
    let id = match id {
        None => agent_called(setting, agent)?,
        Some(id) => id,
    };
    if !setting.home.has_agent_folder(&id) {
        let told = format!("there is no agent `{}` with a folder here", output::clean(agent));
        return Err(Failure::Failed(told));
    }
    let mut reader = Reader { folder: setting.home.agent(&id), place: None };
    let mut lines = reader.rest(since.as_deref())?;
    lines.retain(|line| since.as_ref().is_none_or(|since| at(line) >= since.as_str()));
    let most = wish.lines.unwrap_or(if since.is_some() { usize::MAX } else { LINES });
    let shown = lines.split_off(lines.len().saturating_sub(most));
    if shown.is_empty() && !wish.follow && setting.answer == Answer::Text {
        output::line(&format!("nothing is logged of {id} then"));
    }
    shown.iter().for_each(|line| print(setting.answer, line));
    if !wish.follow {
        return Ok(0);
    }
    loop {
        setting.world.clock.sleep(LOOK_EVERY).await;
        reader.rest(None)?.iter().for_each(|line| print(setting.answer, line));
    }
}

/// Reads files of days one after the other, each line once.
struct Reader {
    folder: PathBuf,
    /// The day that was read last, and how far.
    place: Option<(String, u64)>,
}

impl Reader {
    /// What was not read yet, of this day and those after it at the earliest.
    fn rest(&mut self, from: Option<&str>) -> Result<Vec<Value>, Failure> {
        let mut lines = Vec::new();
        let first = match (&self.place, from) {
            (Some((day, _)), _) => day.clone(),
            (None, Some(from)) => from.chars().take("2026-11-18".len()).collect(),
            (None, None) => String::new(),
        };
        for day in files::days(&self.folder).into_iter().filter(|day| *day >= first) {
            let mut place = match &self.place {
                Some((read, place)) if *read == day => *place,
                _ => 0,
            };
            loop {
                let read = files::read(&self.folder, &day, place);
                let (text, end) = read.map_err(|error| {
                    Failure::Failed(format!("the log of {day} can't be read: {error}"))
                })?;
                if end == place {
                    break;
                }
                place = end;
                lines.extend(text.lines().filter_map(|line| serde_json::from_str(line).ok()));
            }
            self.place = Some((day, place));
        }
        Ok(lines)
    }
}

/// When a line was said, as a text that sorts.
fn at(line: &Value) -> &str {
    line["at"].as_str().unwrap_or_default()
}

/// The moment that is meant, as a text that sorts with those of lines.
fn since(text: &str, now: Timestamp) -> Result<String, Failure> {
    if let Some(ago) = duration(text) {
        return Ok(earlier(now, ago).to_string());
    }
    let (day, time) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let is_time = time.chars().all(|it| it.is_ascii_digit() || matches!(it, ':' | '.' | 'Z'));
    if !files::is_day(day) || !is_time {
        let told = format!(
            "`{}` is no time: say `2h`, `2026-11-18` or `2026-11-18T09:30`",
            output::clean(text)
        );
        return Err(Failure::WrongUse(told));
    }
    Ok(match time.trim_end_matches('Z') {
        "" => day.to_owned(),
        time => format!("{day}T{time}"),
    })
}

fn print(answer: Answer, line: &Value) {
    if answer == Answer::Json {
        return output::line(&line.to_string());
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let fields = line.as_object().into_iter().flatten();
    let more = fields.filter(|(name, value)| {
        !matches!(name.as_str(), "at" | "level" | "message") && !value.is_null()
    });
    let more: String = more.map(|(name, value)| format!(" {name}={}", text(value))).collect();
    let said = format!("{} {:5} {}{more}", at(line), text(&line["level"]), text(&line["message"]));
    // One line each, whatever was said.
    output::line(&said.replace('\n', " "));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use super::*;

    #[test]
    fn a_time_is_said_as_people_say_it() {
        let now = Timestamp::from_millis(1_794_708_747_004);
        for (text, meant) in [
            ("1d", "2026-11-14T02:12:27.004Z"),
            ("2026-11-14", "2026-11-14"),
            ("2026-11-14T09:30", "2026-11-14T09:30"),
            ("2026-11-14 09:30:00Z", "2026-11-14T09:30:00"),
        ] {
            assert_eq!(since(text, now).unwrap(), meant);
        }
        for text in ["yesterday", "2026-1-1", "2026-11-14T now", ""] {
            assert!(since(text, now).is_err(), "{text}");
        }
    }
}
