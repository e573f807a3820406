//! How a command fails: what happened, and the exit code that says so.

use insula_config::{LoadReport, render};
use insula_registry::RuntimeError;
use serde_json::{Value, json};

/// Something failed.
pub const FAILED: u8 = 1;
/// It was used wrongly, or the configuration is invalid.
pub const WRONG_USE: u8 = 2;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// It could not be done.
    Failed(String),
    /// It was asked wrongly.
    WrongUse(String),
    /// The daemon refused it.
    Refused {
        /// Its word for why.
        code: String,
        /// What it said.
        message: String,
        /// The exit code that says so.
        exit: u8,
    },
    /// The configuration has errors.
    Configuration(Box<LoadReport>),
    /// The configuration has errors, as a daemon reported them.
    RemoteConfiguration(serde_json::Value),
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Failed(_) => FAILED,
            Self::Refused { exit, .. } => *exit,
            Self::WrongUse(_) | Self::Configuration(_) | Self::RemoteConfiguration(_) => WRONG_USE,
        }
    }
}

impl Failure {
    /// For programs: `{"error": {…}}`.
    pub fn json(&self) -> Value {
        let mut error = match self {
            Self::Failed(message) | Self::WrongUse(message) => json!({ "message": message }),
            Self::Refused { code, message, .. } => json!({ "message": message, "code": code }),
            Self::Configuration(report) => of_report(render::json(report)),
            Self::RemoteConfiguration(report) => of_report(report.clone()),
        };
        error["exit_code"] = self.code().into();
        json!({ "error": error })
    }
}

fn of_report(report: Value) -> Value {
    json!({
        "message": "the configuration has errors",
        "help": "`insula check` shows them",
        "errors": report["errors"],
    })
}

/// What is wrong with what was typed, for programs.
pub fn wrong_words(error: &clap::Error) -> Value {
    let said = error.render().to_string();
    let (first, rest) = said.split_once("\n\n").unwrap_or((&said, ""));
    let (message, help) = match first.strip_prefix("error: ") {
        // What is missing stands on lines of its own.
        Some(message) => (message.lines().map(str::trim).collect::<Vec<_>>().join(" "), rest),
        // Where words are missing it is the help that is printed.
        None => ("a command is missing".to_owned(), said.as_str()),
    };
    let error = json!({ "message": message, "help": help.trim(), "exit_code": WRONG_USE });
    json!({ "error": error })
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(format!("{error:#}"))
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::Configuration(report) => Self::Configuration(report),
            RuntimeError::Invalid(message) => Self::WrongUse(message),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<insula_archive::ArchiveError> for Failure {
    fn from(error: insula_archive::ArchiveError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::Parser as _;

    #[test]
    fn what_is_missing_is_part_of_the_message() {
        let typed = Arguments::try_parse_from(["insula", "pairing", "approve"]).unwrap_err();
        let told = wrong_words(&typed);
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains("<AGENT> <CODE>"), "{message}");
        assert!(told["error"]["help"].as_str().unwrap().contains("Usage"), "{told}");
    }
}
