//! The tools that are offered, each to whoever has its verb, and those that only look or
//! answer.

use crate::Api;
use crate::approvals::{Decide, decided, waiting};
use crate::caller::Caller;
use crate::error::ApiError;
use crate::id::kept;
use crate::sessions::{found, listed, transcript};
use insula_domain::AgentId;
use insula_registry::AgentContext;
use insula_registry::tokens::Verb;
use serde::Deserialize;
use serde_json::{Value, json};

/// Most sessions or messages in one answer.
const LIMIT_MAX: usize = 100;
/// Sessions or messages where nobody says how many.
const LIMIT: usize = 20;
/// Most of one message that is shown, in characters.
const MESSAGE_CHARS_MAX: usize = 4_000;

/// One tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    Talk,
    Sessions,
    Session,
    Approvals,
    Approve,
}

impl Offer {
    const ALL: [Self; 5] =
        [Self::Talk, Self::Sessions, Self::Session, Self::Approvals, Self::Approve];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Talk => "talk",
            Self::Sessions => "sessions",
            Self::Session => "session",
            Self::Approvals => "approvals",
            Self::Approve => "approve",
        }
    }

    /// What a credential needs for it.
    fn verb(self) -> Verb {
        match self {
            Self::Talk => Verb::Chat,
            Self::Sessions | Self::Session => Verb::Read,
            Self::Approvals | Self::Approve => Verb::Approve,
        }
    }

    /// As `tools/list` has it.
    pub(super) fn described(self) -> Value {
        let (description, properties, required) = match self {
            Self::Talk => (
                "Say something to the agent and get its reply. A conversation goes on under its session name.",
                json!({
                    "message": { "type": "string" },
                    "session": { "type": "string", "description": "name of the conversation; `mcp` if left out" },
                }),
                json!(["message"]),
            ),
            Self::Sessions => (
                "List the agent's sessions, the newest first.",
                json!({ "limit": { "type": "integer", "minimum": 1, "maximum": LIMIT_MAX }, "before": { "type": ["string", "integer"], "description": "only those before this id" } }),
                json!([]),
            ),
            Self::Session => (
                "Show the end of one session by its id, or find messages by words.",
                json!({
                    "id": { "type": ["string", "integer"] },
                    "query": { "type": "string" },
                    "limit": { "type": "integer", "minimum": 1, "maximum": LIMIT_MAX },
                    "before": { "type": "integer", "description": "only messages before this one" },
                }),
                json!([]),
            ),
            Self::Approvals => ("List what waits for approval at the agent.", json!({}), json!([])),
            Self::Approve => (
                "Answer what waits for approval.",
                json!({
                    "id": { "type": "string" },
                    "decision": { "enum": ["approve", "deny"] },
                    "scope": { "enum": ["once", "session", "always"] },
                    "reason": { "type": "string" },
                }),
                json!(["id", "decision"]),
            ),
        };
        let reads = matches!(self, Self::Sessions | Self::Session | Self::Approvals);
        json!({
            "name": self.name(),
            "description": description,
            "inputSchema": { "type": "object", "properties": properties, "required": required, "additionalProperties": false },
            "annotations": { "readOnlyHint": reads, "openWorldHint": self == Self::Talk },
        })
    }
}

/// The tools of a credential.
pub(super) fn offered(caller: &Caller, agent: &AgentId) -> impl Iterator<Item = Offer> {
    Offer::ALL.into_iter().filter(move |offer| caller.may(agent, offer.verb()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listing {
    limit: Option<usize>,
    before: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Looking {
    id: Option<Value>,
    query: Option<String>,
    limit: Option<usize>,
    before: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deciding {
    id: String,
    decision: String,
    scope: Option<String>,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Runs a tool that is done at once.
pub(super) async fn run(
    api: &Api,
    caller: &Caller,
    agent: &AgentId,
    offer: Offer,
    arguments: Value,
) -> Result<String, String> {
    let said = |error: ApiError| error.message();
    let agent = kept(api, agent.as_str()).map_err(said)?;
    let value = match offer {
        Offer::Talk => Ok(Value::Null),
        Offer::Sessions => {
            let Listing { limit, before } = read(arguments)?;
            listed(caller, &agent, before.as_ref().map(text).as_deref(), bounded(limit))
                .await
                .map(|list| json!(list))
        }
        Offer::Session => session(api, caller, &agent, read(arguments)?).await,
        Offer::Approvals => {
            let Nothing {} = read(arguments)?;
            waiting(api, caller, &agent).await.map(|list| json!(list))
        }
        Offer::Approve => {
            let Deciding { id, decision, scope, reason } = read(arguments)?;
            let asked = Decide { decision, scope, reason };
            decided(api, caller, &agent, &id, asked).await.map(|done| json!(done))
        }
    };
    let value = value.map_err(said)?;
    serde_json::to_string_pretty(&value).map_err(|error| error.to_string())
}

async fn session(
    api: &Api,
    caller: &Caller,
    agent: &AgentContext,
    looking: Looking,
) -> Result<Value, ApiError> {
    let limit = bounded(looking.limit);
    let mut value = match (looking.id, looking.query) {
        (Some(id), None) => {
            json!(transcript(api, caller, agent, &text(&id), looking.before, limit).await?)
        }
        (None, Some(query)) => json!(found(api, caller, agent, &query, None, limit).await?),
        _ => return Err(ApiError::invalid("give `id`, or `query`")),
    };
    let messages = match &mut value {
        Value::Array(messages) => messages,
        value => match value.get_mut("messages").and_then(Value::as_array_mut) {
            Some(messages) => messages,
            None => return Ok(Value::Null),
        },
    };
    for message in messages {
        if let Some(Value::String(text)) = message.get_mut("text")
            && let Some((at, _)) = text.char_indices().nth(MESSAGE_CHARS_MAX)
        {
            text.truncate(at);
            text.push('…');
        }
    }
    Ok(value)
}

/// An id as it was written: the admin's are numbers, all others are names.
fn text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

fn bounded(limit: Option<usize>) -> usize {
    limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX)
}

fn read<T: serde::de::DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments)
        .map_err(|error| format!("the arguments are not valid: {error}"))
}
