//! `process`: looks at, waits for, feeds and ends what `terminal` started in the background.

use crate::printed::{ended, plain, report};
use crate::shell::{Input, Process as Running, Shell};
use crate::{
    Cleared, Habits, HandError, Hands, Output, QuotedSource, Risk, Tool, ToolError, arguments,
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::time::Duration;

/// Handles background processes.
pub struct Process;

/// How long `wait` waits unless told otherwise, in seconds.
const WAIT_SECONDS: u64 = 60;
/// The longest it waits, in seconds: a turn is not a place to sleep in.
const WAIT_SECONDS_MAX: u64 = 600;
/// What `poll` shows of the end of what was printed, in bytes.
const POLL_BYTES: usize = 4_000;
/// Lines that `log` shows unless told otherwise.
const LOG_LINES: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    action: Action,
    #[serde(alias = "id")]
    session_id: Option<String>,
    data: Option<String>,
    timeout: Option<u64>,
    offset: Option<usize>,
    limit: Option<usize>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Poll,
    Log,
    Wait,
    Kill,
    Write,
    Submit,
    Close,
}

#[async_trait]
impl Tool for Process {
    fn name(&self) -> &'static str {
        "process"
    }

    fn description(&self) -> &'static str {
        "Background processes of this conversation: list, poll (state and latest output), log (lines), wait, kill, write to input, submit (write a line), close input."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"action":{"type":"string","enum":["list","poll","log","wait","kill","write","submit","close"]},"session_id":{"type":"string","description":"the process, as terminal named it"},"data":{"type":"string"},"timeout":{"type":"integer","minimum":1,"description":"seconds, for wait"},"offset":{"type":"integer","minimum":0},"limit":{"type":"integer","minimum":1}},"required":["action"],"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[
                ("id", "session_id"),
                ("process_id", "session_id"),
                ("process", "session_id"),
                ("input", "data"),
            ],
            ..Habits::default()
        }
    }

    /// Looking changes nothing.
    fn left_out(&self, given: &Map<String, Value>) -> Vec<(&'static str, &'static str)> {
        match given.keys().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] => vec![("action", "list")],
            ["session_id"] => vec![("action", "poll")],
            _ => Vec::new(),
        }
    }

    fn risk<'a>(&self, arguments: &'a Value) -> Risk<'a> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(Cow::Borrowed);
        let process = text("session_id").or_else(|| text("id")).unwrap_or_default();
        // What is submitted is a whole line; what is written need not be.
        let is_whole = text("action").as_deref() == Some("submit");
        let line = |text: Cow<'a, str>| match is_whole {
            true => Cow::Owned(format!("{text}\n")),
            false => text,
        };
        // Of nothing it makes a line as well.
        let data = text("data").or_else(|| is_whole.then_some(Cow::Borrowed("")));
        data.map_or(Risk::None, |text| Risk::Input { process, text: line(text) })
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let wish: Arguments = arguments(value)?;
        let shell = hands.shell()?;
        if let Action::List = wish.action {
            return Ok(Output::Text(list(shell)));
        }
        let Some(id) = wish.session_id.as_deref() else {
            return Err(ToolError::Arguments("`session_id` says which process".to_owned()));
        };
        let absent =
            || HandError(format!("there is no process `{id}`; `list` names those there are"));
        let text = match wish.action {
            Action::List => list(shell),
            Action::Poll => poll(&shell.process(id).ok_or_else(absent)?),
            Action::Log => {
                let process = shell.process(id).ok_or_else(absent)?;
                log(&process, wish.offset, wish.limit.unwrap_or(LOG_LINES))
            }
            Action::Wait => {
                let seconds = wish.timeout.unwrap_or(WAIT_SECONDS).min(WAIT_SECONDS_MAX);
                let patience = Duration::from_secs(seconds);
                let process = shell.wait(id, patience).await.ok_or_else(absent)?;
                match &process.end {
                    Some(end) => {
                        report(hands.files, &process.printed, Some(end), QuotedSource::Own).await
                    }
                    None => format!("{}[it still runs]\n", poll(&process)),
                }
            }
            Action::Kill => head(&shell.kill(id).await.ok_or_else(absent)?),
            Action::Write | Action::Submit => {
                shell.process(id).ok_or_else(absent)?;
                let mut data = wish.data.unwrap_or_default();
                if let Action::Submit = wish.action {
                    data.push('\n');
                }
                shell.write(id, data.as_bytes(), Input::Open).await?;
                format!("wrote {} bytes\n", data.len())
            }
            Action::Close => {
                shell.process(id).ok_or_else(absent)?;
                shell.write(id, &[], Input::Closed).await?;
                "its input is closed\n".to_owned()
            }
        };
        Ok(Output::Text(text))
    }
}

fn list(shell: &dyn Shell) -> String {
    let lines: String = shell.processes().iter().map(head).collect();
    if lines.is_empty() { "no processes\n".to_owned() } else { lines }
}

fn head(process: &Running) -> String {
    let state = process.end.as_ref().map_or("runs".to_owned(), ended);
    let Running { id, command, seconds, .. } = process;
    format!("{id}: {state}, {seconds} s: {command}\n")
}

fn poll(process: &Running) -> String {
    let whole = plain(&process.printed.tail);
    let whole = if whole.is_empty() { plain(&process.printed.head) } else { whole };
    let mut from = whole.len().saturating_sub(POLL_BYTES);
    while !whole.is_char_boundary(from) {
        from += 1;
    }
    let latest = whole.get(from..).unwrap_or_default();
    let end = if latest.is_empty() || latest.ends_with('\n') { "" } else { "\n" };
    format!("{}{latest}{end}", head(process))
}

/// Some lines of what was kept; the last ones unless it is said where to begin.
fn log(process: &Running, offset: Option<usize>, limit: usize) -> String {
    let printed = &process.printed;
    let text = format!("{}{}", plain(&printed.head), plain(&printed.tail));
    let lines: Vec<&str> = text.lines().collect();
    let from = offset.unwrap_or(lines.len().saturating_sub(limit)).min(lines.len());
    let upto = from.saturating_add(limit).min(lines.len());
    let mut out = lines.get(from..upto).unwrap_or_default().join("\n");
    out.push_str(&format!("\n[lines {from} to {upto} of {}", lines.len()));
    if printed.dropped() > 0 {
        out.push_str(&format!("; {} bytes in the middle were not kept", printed.dropped()));
    }
    out.push_str("]\n");
    out
}
