//! `send_message`: says something in another conversation. Where that may be, and whether what
//! this turn has seen may be told there, is decided by whoever made the hand.

use crate::{Cleared, Course, Hands, Output, SUBJECT_CHARS_MAX, Tool, ToolError, arguments};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;

/// Longest message, in characters: a report fits, a flood does not. The way out splits it at
/// the platform's limit.
const MESSAGE_CHARS_MAX: usize = 20_000;

/// Says something elsewhere.
pub struct SendMessage;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    action: Action,
    target: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    Send,
    List,
}

#[async_trait]
impl Tool for SendMessage {
    fn name(&self) -> &'static str {
        "send_message"
    }

    fn description(&self) -> &'static str {
        "Send a message to another chat (your reply here goes out by itself). `list` shows the chats you may send to. What was said in a chat with fewer readers stays there, and is refused."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"action":{"type":"string","enum":["send","list"]},"target":{"type":"string","description":"platform:account:chat[:topic]"},"message":{"type":"string"}},"additionalProperties":false}"#
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        let target = arguments.get("target")?.as_str()?;
        Some(target.chars().take(SUBJECT_CHARS_MAX).collect())
    }

    /// The outbox knows the call: made again after a crash, it finds what it had put there.
    fn course(&self) -> Course {
        Course::Journalled
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let outbox = hands.outbox()?;
        let asked: Arguments = arguments(value)?;
        let (target, message) = match asked.action {
            Action::List => {
                let targets = outbox.targets();
                return Ok(Output::Text(match targets.is_empty() {
                    true => "there is no chat you may send to".to_owned(),
                    false => targets.join("\n"),
                }));
            }
            Action::Send => (asked.target, asked.message),
        };
        let missing = |what: &str| ToolError::Arguments(format!("give `{what}`"));
        let target = target.filter(|it| !it.is_empty()).ok_or_else(|| missing("target"))?;
        let message = message.filter(|it| !it.trim().is_empty());
        let message = message.ok_or_else(|| missing("message"))?;
        if message.chars().count() > MESSAGE_CHARS_MAX {
            let what = format!("`message` has more than {MESSAGE_CHARS_MAX} characters");
            return Err(ToolError::Arguments(what));
        }
        outbox.send(&target, &message).await?;
        Ok(Output::Text(format!("on its way to {target}")))
    }
}
