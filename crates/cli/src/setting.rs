//! What a command works with, and how it answers.

use crate::output;
use crate::process::Environment;
use insula_registry::Home;
use insula_world::World;
use serde_json::Value;

/// What a command works with.
pub struct Setting {
    pub home: Home,
    /// The world outside.
    pub world: World,
    /// What the process was started with.
    pub environment: Environment,
    pub answer: Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Answer {
    /// Prints `value` as JSON, or lets `text` print it for people.
    pub fn give(self, value: &Value, text: impl FnOnce(&Value)) {
        match self {
            Self::Json => output::json(value),
            Self::Text => text(value),
        }
    }
}
