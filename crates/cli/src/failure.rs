//! How a command fails: what happened, and the exit code that says so.

use insula_config::Report;
use insula_runtime::RuntimeError;

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
    /// The configuration has errors.
    Configuration(Box<Report>),
    /// The configuration has errors, as a daemon reported them.
    RemoteConfiguration(serde_json::Value),
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Failed(_) => FAILED,
            Self::WrongUse(_) | Self::Configuration(_) | Self::RemoteConfiguration(_) => WRONG_USE,
        }
    }
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

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
