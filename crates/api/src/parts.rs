//! A conversation in all its parts: words, thoughts, calls with their arguments and results, what
//! came along, and whose words each message was made of.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::kept;
use crate::integrity::IntegrityView;
use crate::kept_files::picture;
use crate::numbers::{Number, Numbers};
use crate::sessions::{Page, SessionView, find};
use crate::turns::{TurnSummary, integrity_of, summaries_of};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use insula_store::{Message, MessageSeq, Part, TurnId};
use serde::Serialize;
use std::collections::BTreeSet;
use utoipa::ToSchema;

/// Messages in one answer, where nobody says how many.
const PAGE: usize = 100;
/// Most messages in one answer: of the turn of each something is read besides.
const PAGE_MAX: usize = 500;

/// A conversation in all its parts, the newest messages of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Parts {
    session: SessionView,
    messages: Vec<MessageParts>,
    /// The turns that these messages are of.
    turns: Vec<TurnSummary>,
    /// Whether there are messages before these.
    more: bool,
}

/// A message in all its parts.
#[derive(Debug, Serialize, ToSchema)]
pub struct MessageParts {
    seq: u64,
    #[schema(value_type = Option<Object>)]
    turn: Option<Number>,
    role: &'static str,
    at: String,
    principal: String,
    scope: String,
    /// Who may hear it.
    label: String,
    /// The agent's generation that took or made it.
    generation: u64,
    /// Whose words it was made of.
    integrity: IntegrityView,
    parts: Vec<PartView>,
}

/// A piece of a message.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PartView {
    /// Words of whoever the message is by.
    Text { text: String },
    /// Words that stand beside those.
    Beside { text: String },
    /// What the model thought; `sealed` where its provider keeps the words of it.
    Reasoning { text: String, sealed: bool },
    /// A call that the model asked for.
    Call { call: String, tool: String, arguments: String },
    /// What a call brought.
    Result { call: String, text: String, is_error: bool, untrusted: bool },
    /// A file that came along; `blake3` is the hash of its content.
    Attachment { name: String, media_type: String, bytes: u64, blake3: String },
    /// A picture; what it is, where it stands in its message.
    Image { media_type: String },
}

impl PartView {
    fn of(part: &Part, told: impl Fn(&str) -> String) -> Self {
        match part {
            Part::Text(text) => Self::Text { text: told(text) },
            Part::Beside(text) => Self::Beside { text: told(text) },
            Part::Attachment { hash, name, media_type, bytes } => Self::Attachment {
                name: told(name),
                media_type: media_type.to_string(),
                bytes: *bytes,
                blake3: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
            },
            Part::Image { media_type, source } => Self::Image {
                media_type: match picture(source) {
                    Some((kind, _)) => kind.media_type().to_owned(),
                    None => media_type.to_string(),
                },
            },
            Part::ToolCall { id, name, arguments } => Self::Call {
                call: id.to_string(),
                tool: name.to_string(),
                arguments: told(arguments),
            },
            Part::ToolResult { call, text, is_error, untrusted } => Self::Result {
                call: call.to_string(),
                text: told(text),
                is_error: *is_error,
                untrusted: *untrusted,
            },
            Part::Reasoning { text, signature } => {
                Self::Reasoning { text: told(text), sealed: signature.is_some() }
            }
        }
    }
}

impl MessageParts {
    fn of(numbers: &Numbers, message: &Message, told: impl Fn(&str) -> String) -> Self {
        Self {
            seq: message.seq.0,
            turn: message.turn.map(|turn| numbers.turn(turn)),
            role: message.role.as_str(),
            at: message.at.to_string(),
            principal: message.principal.to_string(),
            scope: message.scope.to_string(),
            label: message.label.to_string(),
            generation: message.generation,
            integrity: (&integrity_of(&message.label)).into(),
            parts: message.parts.iter().map(|part| PartView::of(part, &told)).collect(),
        }
    }
}

/// A conversation in all its parts, and the turns of it: the newest part of it, or what is before a
/// message.
#[utoipa::path(get, path = "/api/agents/{id}/sessions/{session}/parts",
    params(("id" = String, Path), ("session" = String, Path), Page),
    responses((status = 200, body = Parts), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn parts(
    State(api): State<Api>,
    caller: Caller,
    Path((id, session)): Path<(String, String)>,
    page: Result<Query<Page>, QueryRejection>,
) -> Result<Json<Parts>, ApiError> {
    let agent = kept(&api, &id)?;
    let Query(page) = page?;
    let before = page.before.map(|before| before.parse()).transpose();
    let before = before.map_err(|_| ApiError::invalid("`before` is the number of a message"))?;
    let limit = page.limit.unwrap_or(PAGE).min(PAGE_MAX);
    let numbers = Numbers::of(&caller, &agent.store);
    let found = find(&numbers, &agent, &session).await?;
    let before = before.map_or(MessageSeq::END, MessageSeq);
    let messages = agent.store.messages_before(found.id, before, limit).await?;
    let secrets = api.secrets.known();
    let told = |text: &str| secrets.told(&agent.id, text.to_owned());
    let turns: BTreeSet<TurnId> = messages.iter().filter_map(|message| message.turn).collect();
    Ok(Json(Parts {
        more: messages.first().is_some_and(|first| first.seq.0 > 1),
        session: SessionView::of(&numbers, found),
        messages: messages.iter().map(|it| MessageParts::of(&numbers, it, told)).collect(),
        turns: summaries_of(&api, &caller, &agent, turns).await?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_is_left_out_and_secrets_are_taken_out_of_each() {
        let words = || "a s3cret".to_owned();
        let parts = [
            Part::Text(words()),
            Part::Beside(words()),
            Part::Reasoning { text: words(), signature: Some(words()) },
            Part::ToolCall { id: "c".into(), name: "terminal".into(), arguments: words() },
            Part::ToolResult { call: "c".into(), text: words(), is_error: true, untrusted: true },
            Part::Attachment {
                hash: [1; 32],
                name: words().into(),
                media_type: "text/plain".into(),
                bytes: 3,
            },
            Part::Image { source: words().into(), media_type: "image/png".into() },
        ];
        let told = |text: &str| text.replace("s3cret", "[secret]");
        let shown: Vec<PartView> = parts.iter().map(|it| PartView::of(it, told)).collect();
        let text = serde_json::to_string(&shown).unwrap_or_default();
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(text.matches("[secret]").count(), 6, "{text}");
        for kind in ["text", "beside", "reasoning", "call", "result", "attachment", "image"] {
            assert!(text.contains(&format!("\"kind\":\"{kind}\"")), "{kind}: {text}");
        }
    }
}
