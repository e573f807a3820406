//! `insula logs` without an agent: what the daemon writes about its own work, read from the file
//! that `logging.file` names.

use crate::arguments::Logs;
use crate::failure::Failure;
use crate::output;
use crate::process::read_from;
use crate::setting::{Answer, Setting};
use insula_config::files::FilesSnapshot;
use insula_config::load::load;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// Lines where nobody says how many.
const LINES: usize = 50;
/// How often it is looked whether more came.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Prints the end of the daemon's log, and what comes after where that is wished for. `since` is a
/// moment as lines begin with it.
pub async fn run(setting: &Setting, wish: &Logs, since: Option<&str>) -> Result<u8, Failure> {
    let path = file(setting)?;
    let mut place = 0;
    let mut lines = Vec::new();
    loop {
        let (more, end) = read(&path, place)?;
        if end == place {
            break;
        }
        place = end;
        lines.extend(more);
        let keep = wish.lines.unwrap_or(if since.is_some() { usize::MAX } else { LINES });
        lines.retain(|line: &String| {
            since.is_none_or(|since| at(line).is_none_or(|at| at >= since))
        });
        lines.drain(..lines.len().saturating_sub(keep));
    }
    if lines.is_empty() && !wish.follow && setting.answer == Answer::Text {
        output::line("the daemon has logged nothing then");
    }
    lines.iter().for_each(|line| print(setting.answer, line));
    if !wish.follow {
        return Ok(0);
    }
    loop {
        setting.world.clock.sleep(LOOK_EVERY).await;
        let (more, end) = read(&path, place)?;
        place = end;
        more.iter().for_each(|line| print(setting.answer, line));
    }
}

/// Where the daemon writes.
fn file(setting: &Setting) -> Result<PathBuf, Failure> {
    let variables = &setting.environment.variables;
    let snapshot = FilesSnapshot::read(setting.home.root())?;
    let loaded = load(&snapshot, variables).1.ok_or_else(|| {
        Failure::WrongUse("the configuration has an error; `insula check` shows it".to_owned())
    })?;
    let Some(path) = loaded.daemon.logging.file.clone() else {
        let told = "the daemon writes its log to standard error and not to a file, so it is where you see what it prints (under systemd: `journalctl -u insula`); `logging: {file: ~/.insula/daemon.log}` in config.yaml keeps one, and `insula logs AGENT` shows an agent's";
        return Err(Failure::Failed(told.to_owned()));
    };
    Ok(match (path.strip_prefix("~/"), variables.get("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(&*path),
    })
}

fn read(path: &std::path::Path, from: u64) -> Result<(Vec<String>, u64), Failure> {
    let (text, end) = read_from(path, from).map_err(|error| {
        Failure::Failed(format!("the daemon's log {} can't be read: {error}", path.display()))
    })?;
    Ok((text.lines().map(str::to_owned).collect(), end))
}

/// When a line was said, in either form that the daemon writes.
fn at(line: &str) -> Option<&str> {
    let moment = match line.strip_prefix(r#"{"timestamp":""#) {
        Some(rest) => rest.split('"').next(),
        None => line.split_whitespace().next(),
    };
    moment.filter(|it| it.len() >= 20 && it.as_bytes()[4] == b'-' && it.contains('T'))
}

fn print(answer: Answer, line: &str) {
    match answer {
        Answer::Text => output::line(&output::clean(line)),
        // What is JSON already stays what it is.
        Answer::Json => match serde_json::from_str::<Value>(line) {
            Ok(value @ Value::Object(_)) => output::line(&value.to_string()),
            _ => output::line(&json!({ "line": line }).to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_when_it_was_said_in_either_form() {
        let text = "2026-11-18T07:00:00.000001Z  WARN a turn failed agent=a";
        assert_eq!(at(text), Some("2026-11-18T07:00:00.000001Z"));
        let json = r#"{"timestamp":"2026-11-18T07:00:00.000001Z","level":"WARN"}"#;
        assert_eq!(at(json), Some("2026-11-18T07:00:00.000001Z"));
        assert_eq!(at("    at src/main.rs"), None);
        assert_eq!(at(""), None);
    }
}
