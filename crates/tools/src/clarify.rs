//! `clarify`: asks the person instead of guessing.

use crate::{Cleared, Hands, Output, Tool, ToolError, arguments};
use async_trait::async_trait;
use serde::Deserialize;

/// Most answers to choose from: more is a form, not a question.
const CHOICES_MAX: usize = 10;

/// Asks the person.
pub struct Clarify;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    question: String,
    #[serde(default)]
    choices: Vec<String>,
}

#[async_trait]
impl Tool for Clarify {
    fn name(&self) -> &'static str {
        "clarify"
    }

    fn description(&self) -> &'static str {
        "Ask the user one question that only they can answer, and end the turn; their next message is the answer."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"question":{"type":"string"},"choices":{"type":"array","items":{"type":"string"},"maxItems":10}},"required":["question"],"additionalProperties":false}"#
    }

    async fn run(&self, _: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let Arguments { question, choices } = arguments(value)?;
        if question.trim().is_empty() {
            return Err(ToolError::Arguments("`question` is empty".to_owned()));
        }
        if choices.len() > CHOICES_MAX {
            return Err(ToolError::Arguments(format!("at most {CHOICES_MAX} `choices`")));
        }
        Ok(Output::Ask { question, choices })
    }
}
