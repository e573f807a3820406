//! One question and one call of a tool, to see what a model is good for, with times.

use insula_models::text_calls::text_call;
use insula_models::{
    Answer, Event, Gathering, Message, ModelError, Part, Provider, Request, Timeouts, ToolSchema,
};
use insula_world::Clock;
use serde_json::{Value, json};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What is waited for. A model that was not in use is first read from disk.
const LIMITS: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(300),
    idle: Duration::from_secs(120),
};
const QUESTION: &str = "In one short sentence: what is a terminal?";
const WISH: &str = "What is the weather in Paris? Use the tool.";
/// Tokens an answer may have: one sentence, or one call. Those that think take more.
const TOKENS_MAX: u32 = 1_024;
const TOOL: &str = "get_weather";
const PARAMETERS: &str =
    r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;

/// What came of both.
pub struct Trial {
    pub question: Result<Words, String>,
    pub call: Result<Called, String>,
}

/// An answer in words.
pub struct Words {
    pub text: String,
    /// Until the first of them.
    pub first: Duration,
    pub all: Duration,
}

/// What a model did that should have called a tool.
pub struct Called {
    pub how: CallForm,
    pub all: Duration,
}

/// How a tool was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallForm {
    /// As its provider's protocol has it.
    Native,
    /// In words that were understood as a call.
    Text,
    /// With arguments that do not fit.
    Unfit,
    /// Not at all.
    None,
}

impl CallForm {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Text => "text",
            Self::Unfit => "unfit",
            Self::None => "none",
        }
    }
}

impl Trial {
    /// Asks a model one question.
    pub async fn question(
        provider: &dyn Provider,
        model: &str,
        clock: &dyn Clock,
    ) -> Result<Words, String> {
        let heard = ask(provider, request(model, QUESTION), clock).await;
        let heard = heard.map_err(|error| error.to_string())?;
        let text = heard.answer.text().trim().to_owned();
        match text.is_empty() {
            true => Err("it answered nothing".to_owned()),
            false => Ok(Words { text, first: heard.first.unwrap_or(heard.all), all: heard.all }),
        }
    }

    /// Tries a model.
    pub async fn of(provider: &dyn Provider, model: &str, clock: &dyn Clock) -> Self {
        let question = Self::question(provider, model, clock).await;
        let mut wish = request(model, WISH);
        let about = "Tells the weather of a city.";
        // Its schema is read by a test.
        wish.tools = ToolSchema::new(TOOL, about, PARAMETERS).into_iter().collect();
        let call = ask(provider, wish, clock).await.map_err(|error| error.to_string());
        let call = call.map(|heard| Called { how: form(&heard.answer), all: heard.all });
        Self { question, call }
    }

    pub fn json(&self) -> Value {
        let question = match &self.question {
            Ok(Words { text, first, all }) => {
                json!({ "answer": text, "first_word_ms": millis(*first), "ms": millis(*all) })
            }
            Err(error) => json!({ "error": error }),
        };
        let call = match &self.call {
            Ok(Called { how, all }) => json!({ "called": how.as_str(), "ms": millis(*all) }),
            Err(error) => json!({ "error": error }),
        };
        json!({ "question": question, "tool_call": call })
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

struct Heard {
    answer: Answer,
    /// When the first word came.
    first: Option<Duration>,
    all: Duration,
}

fn request(model: &str, text: &str) -> Request {
    let mut request = Request::new(model, vec![Message::user(text)]);
    request.max_tokens = Some(TOKENS_MAX);
    request.temperature = Some(0.0);
    request
}

async fn ask(
    provider: &dyn Provider,
    request: Request,
    clock: &dyn Clock,
) -> Result<Heard, ModelError> {
    let begun = clock.elapsed();
    let since = || clock.elapsed().saturating_sub(begun);
    let mut stream = provider.stream(&request, &LIMITS, &CancellationToken::new()).await?;
    let (mut gathering, mut first) = (Gathering::default(), None);
    while let Some(event) = stream.next().await {
        let event = event?;
        if matches!(event, Event::TextDelta(_)) {
            first.get_or_insert_with(since);
        }
        gathering.add(event);
    }
    Ok(Heard { answer: gathering.finish(), first, all: since() })
}

/// How an answer calls the tool.
fn form(answer: &Answer) -> CallForm {
    let call = answer.message.parts.iter().find_map(|part| match part {
        Part::ToolCall { id, name, arguments } if &**name == TOOL => Some((id, arguments)),
        _ => None,
    });
    let Some((id, arguments)) = call else { return CallForm::None };
    let city = serde_json::from_str::<Value>(arguments).ok();
    let city = city.and_then(|it| it.get("city")?.as_str().map(str::to_lowercase));
    match city {
        Some(city) if city.contains("paris") && text_call(id).is_some() => CallForm::Text,
        Some(city) if city.contains("paris") => CallForm::Native,
        _ => CallForm::Unfit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_has_a_schema() {
        ToolSchema::new(TOOL, "x", PARAMETERS).unwrap();
    }
}
