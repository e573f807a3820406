//! `message_agent` asks another agent and waits for its answer; `notify` tells one something;
//! `handoff` hands it the conversation. Whether a link leads there is decided by whoever made the
//! hand.

use crate::agents::{Handed, MESSAGE_CHARS_MAX};
use crate::mend::Habits;
use crate::{Cleared, Course, Hands, Output, Piece, SUBJECT_CHARS_MAX, Tool, ToolError, arguments};
use async_trait::async_trait;
use insula_domain::{Source, SourceKind};
use serde::Deserialize;
use serde_json::Value;

/// What stands before the name of an agent whose words something is.
const AGENT: &str = "agent ";

/// Asks another agent.
pub struct MessageAgent;

/// Tells another agent something.
pub struct Notify;

/// Hands the conversation to another agent.
pub struct Handoff;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    agent: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HandoffArguments {
    agent: Option<String>,
    summary: Option<String>,
}

fn subject(arguments: &Value) -> Option<String> {
    let agent = arguments.get("agent")?.as_str()?;
    Some(agent.chars().take(SUBJECT_CHARS_MAX).collect())
}

/// Words that are not empty and not too long, or what is wrong with them.
fn words(name: &str, text: Option<String>) -> Result<String, ToolError> {
    let text = text.filter(|it| !it.trim().is_empty());
    let text = text.ok_or_else(|| ToolError::Arguments(format!("give `{name}`")))?;
    match text.chars().count() > MESSAGE_CHARS_MAX {
        true => {
            let what = format!("`{name}` has more than {MESSAGE_CHARS_MAX} characters");
            Err(ToolError::Arguments(what))
        }
        false => Ok(text),
    }
}

/// Whom a tool reaches, for whoever named nobody.
fn listed(names: Vec<String>) -> Output {
    Output::Text(match names.is_empty() {
        true => "there is no agent you reach by it".to_owned(),
        false => names.join("\n"),
    })
}

#[async_trait]
impl Tool for MessageAgent {
    fn name(&self) -> &'static str {
        "message_agent"
    }

    fn description(&self) -> &'static str {
        "Ask another agent and wait for its answer. It knows nothing of this conversation but your message. Without `agent`: lists whom you may ask."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"agent":{"type":"string"},"message":{"type":"string"}},"additionalProperties":false}"#
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        subject(arguments)
    }

    /// The other agent's journal knows the call: made again after a crash, it finds its answer.
    fn course(&self) -> Course {
        Course::Journalled
    }

    fn source(&self, shown: &str) -> Option<Source> {
        let name = shown.strip_prefix(AGENT).unwrap_or(shown);
        Some(Source::new(SourceKind::Agent, name))
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let agents = hands.agents()?;
        let Arguments { agent, message } = arguments(value)?;
        let Some(agent) = agent.filter(|it| !it.is_empty()) else {
            return Ok(listed(agents.reached_by(self.name())));
        };
        let message = words("message", message)?;
        let text = agents.ask(&agent, &message).await?;
        Ok(Output::Pieces(vec![Piece::Foreign { source: format!("{AGENT}{agent}"), text }]))
    }
}

#[async_trait]
impl Tool for Notify {
    fn name(&self) -> &'static str {
        "notify"
    }

    fn description(&self) -> &'static str {
        "Tell another agent something; nothing comes back. Without `agent`: lists whom you may tell."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"agent":{"type":"string"},"message":{"type":"string"}},"additionalProperties":false}"#
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        subject(arguments)
    }

    /// The other agent's journal knows the call.
    fn course(&self) -> Course {
        Course::Journalled
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let agents = hands.agents()?;
        let Arguments { agent, message } = arguments(value)?;
        let Some(agent) = agent.filter(|it| !it.is_empty()) else {
            return Ok(listed(agents.reached_by(self.name())));
        };
        let message = words("message", message)?;
        agents.notify(&agent, &message).await?;
        Ok(Output::Text(format!("{agent} was told")))
    }
}

#[async_trait]
impl Tool for Handoff {
    fn name(&self) -> &'static str {
        "handoff"
    }

    fn description(&self) -> &'static str {
        "Hand this conversation to another agent: from the next message on it answers here. It is told your summary and nothing else. Without `agent`: hands it back to where it came from."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"agent":{"type":"string"},"summary":{"type":"string","description":"What it should know, for people of this chat to hear"}},"required":["summary"],"additionalProperties":false}"#
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        subject(arguments)
    }

    /// Without the name of the other it would be handed back.
    fn habits(&self) -> Habits {
        Habits {
            also_called: &[("to", "agent"), ("name", "agent")],
            is_exact: true,
            ..Habits::default()
        }
    }

    /// Where the conversation leads is kept: made again after a crash, nothing changes.
    fn course(&self) -> Course {
        Course::Journalled
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let agents = hands.agents()?;
        let HandoffArguments { agent, summary } = arguments(value)?;
        let summary = words("summary", summary)?;
        let agent = agent.filter(|it| !it.is_empty());
        let Handed { name, is_told } = agents.hand_over(agent.as_deref(), &summary).await?;
        if agent.is_some() {
            return Ok(Output::Text(format!("{name} answers here from the next message on")));
        }
        // Who handed it back may say nothing more here.
        let text = match is_told {
            true => "handed back".to_owned(),
            false => {
                "handed back; your summary was not told, because others hear it there".to_owned()
            }
        };
        Ok(Output::Last { text, said: format!("{name} answers here again.") })
    }
}
