//! What a hook answered, in words that can be acted on. What can't be is a failure.

use super::expression_value;
use insula_domain::CustomId;
use insula_domain::expr::{self, Bindings, Value as Bound};
use insula_domain::hook::{HookEvent, HookPower, VARIABLES};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// Longest context that a hook may add, in bytes: it stands in the prompt.
const CONTEXT_BYTES_MAX: usize = 16 * 1024;
/// Longest reason, in bytes.
const REASON_BYTES_MAX: usize = 1_000;
/// Most contexts to read besides.
const READ_MAX: usize = 16;

/// What a hook answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAnswer {
    /// No objection, and nothing to add.
    Nothing,
    /// It must not happen, and why.
    Block(String),
    /// An admin has to agree, and why.
    Approve(String),
    /// Something the model is to know.
    Context(String),
    /// A text that takes the place of another.
    Text(String),
    /// Which scope an operation has.
    Scope(ScopeAnswer),
    /// What becomes of a message.
    Action(Action),
}

/// What becomes of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Nobody answers it.
    Skip,
    /// It reads like this.
    Rewrite(String),
    /// It goes to the agent of this name, if a rule leads there.
    Route(String),
}

/// Which scope a memory operation has: ids in a namespace of their own, which can't name a
/// derived context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeAnswer {
    /// The one context; `None` for global.
    pub context: Option<CustomId>,
    /// Contexts that are read besides.
    pub read: Vec<CustomId>,
}

/// The variables of an expression, out of a payload.
pub(super) fn bindings(payload: &Map<String, Value>) -> Bindings {
    let mut bindings = Bindings::new();
    for variable in VARIABLES {
        let value = match variable.name() {
            "GLOBAL" => Bound::global(),
            name => payload.get(name).map_or_else(Bound::null, expression_value),
        };
        bindings.bind(variable.name(), value);
    }
    bindings
}

/// What an expression says. A truth value allows or blocks; a text is what the event asks for.
pub(super) fn of_expression(event: HookEvent, answer: expr::Answer) -> Result<HookAnswer, String> {
    use expr::Answer::{Bool, Global, Text};
    let wrong = |answer: &expr::Answer, wanted: &str| {
        Err(format!("the expression answers {}, and `{event}` asks for {wanted}", answer.kind()))
    };
    match (event, event.part(), answer) {
        (_, HookPower::Observes, _) => Ok(HookAnswer::Nothing),
        (HookEvent::MemoryScope, _, Text(id)) => {
            let scope = ScopeAnswer { context: Some(custom(&id)?), read: Vec::new() };
            Ok(HookAnswer::Scope(scope))
        }
        (HookEvent::MemoryScope, _, Global) => {
            Ok(HookAnswer::Scope(ScopeAnswer { context: None, read: Vec::new() }))
        }
        (HookEvent::MemoryScope, _, other) => wrong(&other, "a text or GLOBAL"),
        (_, HookPower::Transforms, Text(text)) => Ok(HookAnswer::Text(text)),
        (_, HookPower::Transforms, other) => wrong(&other, "a text"),
        (HookEvent::PreLlmCall, _, Text(text)) => context(text),
        (_, HookPower::Decides, Bool(true)) => Ok(HookAnswer::Nothing),
        (_, HookPower::Decides, Bool(false)) => {
            Ok(HookAnswer::Block("a rule of this agent's operator does not allow it".to_owned()))
        }
        (_, HookPower::Decides, other) => wrong(&other, "true or false"),
    }
}

/// What a program or a server says.
pub(super) fn of_text(event: HookEvent, said: &[u8]) -> Result<HookAnswer, String> {
    if event.part() == HookPower::Observes {
        return Ok(HookAnswer::Nothing);
    }
    let said = std::str::from_utf8(said).map_err(|_| "the answer is not text".to_owned())?;
    let needs_answer = event == HookEvent::MemoryScope || event.part() == HookPower::Transforms;
    if said.trim().is_empty() && !needs_answer {
        return Ok(HookAnswer::Nothing);
    }
    let Fields(fields) = serde_json::from_str(said)
        .map_err(|error| format!("the answer is not one JSON object: {error}"))?;
    if fields.is_empty() && !needs_answer {
        return Ok(HookAnswer::Nothing);
    }
    of_fields(event, &fields)
}

/// An object in which every name stands once. A hook that puts words into its answer without
/// escaping them would otherwise let those words take its decision back.
struct Fields(Map<String, Value>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Once;

        impl<'de> Visitor<'de> for Once {
            type Value = Fields;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Fields, A::Error> {
                let mut fields = Map::new();
                while let Some((name, value)) = entries.next_entry::<String, Value>()? {
                    if fields.contains_key(&name) {
                        let name = super::clip(&name, 60);
                        return Err(A::Error::custom(format!("`{name}` stands there twice")));
                    }
                    fields.insert(name, value);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Once)
    }
}

fn of_fields(event: HookEvent, fields: &Map<String, Value>) -> Result<HookAnswer, String> {
    let text = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(format!("`{name}` of the answer is not a text")),
    };
    let reason = text("reason")?.or(text("message")?).unwrap_or("a hook of this agent refused it");
    let reason = super::clip(reason, REASON_BYTES_MAX);
    let (decision, action) = (text("decision")?, text("action")?);
    let deciding =
        action.filter(|action| matches!(*action, "allow" | "block" | "deny" | "approve"));
    // Whoever says no by one name and yes by the other has said no.
    for said in decision.iter().chain(&deciding) {
        match *said {
            "block" | "deny" => return Ok(HookAnswer::Block(reason)),
            "allow" | "approve" => {}
            other => return Err(format!("`{}` is no decision", super::clip(other, 60))),
        }
    }
    if [decision, deciding].contains(&Some("approve")) {
        return match event {
            HookEvent::PreToolCall | HookEvent::McpCall => Ok(HookAnswer::Approve(reason)),
            _ => Err(format!("`approve` is no decision of `{event}`")),
        };
    }
    if event == HookEvent::MemoryScope {
        return scope(fields);
    }
    if event.part() == HookPower::Transforms {
        let text = text("text")?.ok_or("the answer has no `text`")?;
        return Ok(HookAnswer::Text(text.to_owned()));
    }
    if matches!(event, HookEvent::RouteSelect | HookEvent::PreGatewayDispatch)
        && let Some(action) = action
    {
        return match action {
            "allow" => Ok(HookAnswer::Nothing),
            "skip" => Ok(HookAnswer::Action(Action::Skip)),
            "rewrite" => {
                let text = text("text")?.ok_or("the answer rewrites and has no `text`")?;
                Ok(HookAnswer::Action(Action::Rewrite(text.to_owned())))
            }
            // No rule leads to an agent without a name, so that is refused as any other.
            "route" => {
                let agent = text("agent").ok().flatten().unwrap_or_default();
                Ok(HookAnswer::Action(Action::Route(agent.to_owned())))
            }
            other => Err(format!("`{}` is no action", super::clip(other, 60))),
        };
    }
    if event == HookEvent::PreLlmCall
        && let Some(added) = text("context")?
    {
        return context(added.to_owned());
    }
    match (fields.contains_key("decision"), action) {
        (true, _) | (false, Some("allow")) => Ok(HookAnswer::Nothing),
        // A misspelt `decision` must not be an agreement.
        _ => {
            Err("the answer has neither `decision` nor `action` that this event asks for"
                .to_owned())
        }
    }
}

fn context(text: String) -> Result<HookAnswer, String> {
    if text.len() > CONTEXT_BYTES_MAX {
        return Err(format!("the context has more than {CONTEXT_BYTES_MAX} bytes"));
    }
    Ok(if text.is_empty() { HookAnswer::Nothing } else { HookAnswer::Context(text) })
}

fn scope(fields: &Map<String, Value>) -> Result<HookAnswer, String> {
    let context = match fields.get("context_id") {
        None => return Err("the answer has no `context_id`".to_owned()),
        Some(Value::Null) => None,
        Some(Value::String(id)) => Some(custom(id)?),
        Some(_) => return Err("`context_id` is neither a text nor null".to_owned()),
    };
    let read = match fields.get("read") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(ids)) if ids.len() <= READ_MAX => {
            let id =
                |id: &Value| custom(id.as_str().ok_or("`read` has something that is no text")?);
            ids.iter().map(id).collect::<Result<_, _>>()?
        }
        Some(_) => return Err(format!("`read` is no list of at most {READ_MAX} ids")),
    };
    Ok(HookAnswer::Scope(ScopeAnswer { context, read }))
}

fn custom(id: &str) -> Result<CustomId, String> {
    CustomId::new(id).ok_or_else(|| "a context id is empty or too long".to_owned())
}
