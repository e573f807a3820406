//! `terminal`: runs a command of a shell in the agent's sandbox.

use crate::printed::report;
use crate::shell::{Code, Job};
use crate::{Cleared, Habits, Hands, Output, QuotedSource, Risk, Tool, ToolError, arguments};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::time::Duration;

/// Runs a command.
pub struct Terminal;

/// Longest command, in bytes: what the kernel takes as one argument, with room to spare.
pub(crate) const CODE_BYTES_MAX: usize = 120_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: String,
    timeout: Option<u64>,
    workdir: Option<String>,
    #[serde(default)]
    background: bool,
}

#[async_trait]
impl Tool for Terminal {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn description(&self) -> &'static str {
        "Run a shell command. The working directory is kept between calls; variables are not. Servers and long jobs: background, then the process tool. It runs confined: it sees the system, your folders, and the network only where granted."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"integer","minimum":1,"description":"seconds"},"workdir":{"type":"string"},"background":{"type":"boolean"}},"required":["command"],"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[
                ("cmd", "command"),
                ("shell_command", "command"),
                ("script", "command"),
                ("cwd", "workdir"),
                ("working_directory", "workdir"),
                ("directory", "workdir"),
            ],
            blank_is_nothing: &["workdir"],
            ..Habits::default()
        }
    }

    fn risk<'a>(&self, arguments: &'a Value) -> Risk<'a> {
        match arguments.get("command").and_then(Value::as_str) {
            Some(command) => Risk::Command(Cow::Borrowed(command)),
            None => Risk::None,
        }
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let Arguments { command, timeout, workdir, background } = arguments(value)?;
        check(&command)?;
        let job = Job {
            code: Code::Shell(&command),
            workdir: workdir.as_deref(),
            timeout: timeout.map(Duration::from_secs),
        };
        let shell = hands.shell()?;
        if background {
            let id = shell.start(job).await?;
            return Ok(Output::Text(format!(
                "started process {id}; look at it with the process tool"
            )));
        }
        let ran = shell.run(job).await?;
        let mut text = report(hands.files, &ran.printed, Some(&ran.end), QuotedSource::Own).await;
        if let Some(place) = ran.moved_to {
            text.push_str(&format!("[the working directory is now {place}]\n"));
        }
        for note in ran.notes {
            text.push_str(&format!("[{note}]\n"));
        }
        Ok(Output::Text(text))
    }
}

/// Refuses what can't be handed to a program.
pub(crate) fn check(code: &str) -> Result<(), ToolError> {
    if code.trim().is_empty() {
        return Err(ToolError::Arguments("there is nothing to run".to_owned()));
    }
    if code.contains('\0') {
        return Err(ToolError::Arguments("it contains a NUL character".to_owned()));
    }
    if code.len() > CODE_BYTES_MAX {
        return Err(ToolError::Arguments(format!(
            "it is longer than {CODE_BYTES_MAX} bytes; write it to a file with write_file and run that"
        )));
    }
    Ok(())
}
