//! `execute_code`: runs a piece of Python or shell in the agent's sandbox.

use crate::printed::report;
use crate::shell::{Code, Job};
use crate::terminal::check;
use crate::{Cleared, Habits, Hands, Output, QuotedSource, Risk, Tool, ToolError, arguments};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::time::Duration;

/// Runs a piece of code.
pub struct ExecuteCode;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    language: Language,
    code: String,
    timeout: Option<u64>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Language {
    #[default]
    Python,
    #[serde(alias = "sh", alias = "shell")]
    Bash,
}

#[async_trait]
impl Tool for ExecuteCode {
    fn name(&self) -> &'static str {
        "execute_code"
    }

    fn description(&self) -> &'static str {
        "Run a piece of Python (or bash) in the same place and sandbox as terminal. Print what you want to see."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"code":{"type":"string"},"language":{"type":"string","enum":["python","bash"]},"timeout":{"type":"integer","minimum":1,"description":"seconds"}},"required":["code"],"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[
                ("script", "code"),
                ("source", "code"),
                ("program", "code"),
                ("lang", "language"),
            ],
            ..Habits::default()
        }
    }

    fn risk<'a>(&self, arguments: &'a Value) -> Risk<'a> {
        let text = |name| arguments.get(name).and_then(Value::as_str);
        match text("code") {
            Some(code) => Risk::Code {
                language: Cow::Borrowed(text("language").unwrap_or("python")),
                text: Cow::Borrowed(code),
            },
            None => Risk::None,
        }
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let Arguments { language, code, timeout } = arguments(value)?;
        check(&code)?;
        let code = match language {
            Language::Python => Code::Python(&code),
            Language::Bash => Code::Script(&code),
        };
        let job = Job { code, workdir: None, timeout: timeout.map(Duration::from_secs) };
        let ran = hands.shell()?.run(job).await?;
        let mut text = report(hands.files, &ran.printed, Some(&ran.end), QuotedSource::Own).await;
        for note in ran.notes {
            text.push_str(&format!("[{note}]\n"));
        }
        Ok(Output::Text(text))
    }
}
