//! A request in the words of chat completions.

use super::dialect::{Dialect, thinks};
use super::messages::{Marks, Messages, join};
use crate::fit::{Calls, fitted};
use crate::manner::{Extras, LengthName, Manner};
use crate::options::{ModelOptions, with_extra};
use crate::request::{AnswerFormat, Effort, Request, ToolChoice, ToolSchema};
use crate::schema;
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

/// The body of the request, put in this manner.
pub(super) fn body(
    request: &Request,
    dialect: Dialect,
    manner: &Manner,
    options: &ModelOptions,
) -> Result<Vec<u8>, serde_json::Error> {
    let is_flat = manner.fit.calls == Calls::InWords;
    let has_tools = !request.tools.is_empty() && !is_flat;
    let has_extras = manner.extras == Extras::All;
    let said = fitted(request, &manner.fit);
    let blocks = request.system.iter().map(|block| &*block.text).filter(|it| !it.is_empty());
    let system = if manner.fit.has_system() { join(blocks, "\n\n") } else { None };
    let marks = match dialect {
        Dialect::Google if request.model.contains("gemini-3") => Marks::All,
        Dialect::Google => Marks::Known,
        _ => Marks::None,
    };
    let tools = match dialect {
        Dialect::Google => Tools::Google(&request.tools),
        _ => Tools::AsTheyStand(&request.tools),
    };
    let most = request.max_tokens.map(|tokens| manner.capped(tokens));
    let (max_tokens, max_completion_tokens) = match manner.length {
        LengthName::MaxTokens => (most, None),
        LengthName::MaxCompletionTokens => (None, most),
    };
    // Mistral tells how much was used without being asked, and refuses to be.
    let asks_usage = has_extras && dialect != Dialect::Mistral;
    let says_parallel = has_tools && has_extras && dialect != Dialect::Google;
    let mut written = Vec::with_capacity(request.weight());
    let body = Body {
        model: &request.model,
        messages: Messages { system, said: &said, marks },
        tools: has_tools.then_some(tools),
        tool_choice: has_tools.then(|| choice(&request.tool_choice)).flatten(),
        parallel_tool_calls: request.parallel_calls.filter(|_| says_parallel),
        response_format: request.format.as_ref().map(format),
        stream: true,
        stream_options: asks_usage.then_some(StreamOptions { include_usage: true }),
        max_tokens,
        max_completion_tokens,
        stop: &request.stop,
        // Most models of Mistral think or don't by their name, and refuse to be told.
        reasoning_effort: request
            .effort
            .filter(|_| has_extras && dialect != Dialect::Mistral)
            .map(|it| effort(it, request, dialect)),
        prompt_cache_key: match dialect {
            Dialect::OpenAi if has_extras => request.cache_key.as_deref(),
            _ => None,
        },
        sampling: match has_extras {
            true => sampling(request, dialect, options),
            false => WireSampling::default(),
        },
    };
    serde_json::to_writer(&mut written, &body)?;
    with_extra(written, &options.extra_body)
}

/// The word for how hard to think.
fn effort(effort: Effort, request: &Request, dialect: Dialect) -> &'static str {
    match effort {
        // The first models of this generation have another word for it.
        Effort::Off if request.model.ends_with("gpt-5") => "minimal",
        Effort::Off if request.model.contains("gpt-5-") => "minimal",
        // Only the small ones of this one can be told not to.
        Effort::Off if dialect == Dialect::Google && !request.model.contains("2.5-flash") => "low",
        Effort::Off => "none",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    }
}

/// What of sampling a server knows: the others refuse more than that, or pass over it.
fn sampling(request: &Request, dialect: Dialect, options: &ModelOptions) -> WireSampling {
    let set = &options.sampling;
    let common = WireSampling {
        temperature: request.temperature,
        top_p: set.top_p,
        ..WireSampling::default()
    };
    match dialect {
        Dialect::OpenAi if thinks(&request.model) => WireSampling::default(),
        Dialect::OpenAi => WireSampling {
            presence_penalty: set.presence_penalty,
            frequency_penalty: set.frequency_penalty,
            seed: set.seed,
            ..common
        },
        Dialect::Google => common,
        Dialect::Mistral => WireSampling {
            presence_penalty: set.presence_penalty,
            frequency_penalty: set.frequency_penalty,
            random_seed: set.seed,
            ..common
        },
        Dialect::OpenRouter | Dialect::Compatible => WireSampling {
            top_k: set.top_k,
            min_p: set.min_p,
            presence_penalty: set.presence_penalty,
            frequency_penalty: set.frequency_penalty,
            repeat_penalty: set.repeat_penalty,
            seed: set.seed,
            ..common
        },
    }
}

#[derive(Default, serde::Serialize)]
struct WireSampling {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    random_seed: Option<u32>,
}

#[derive(serde::Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Messages<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Tools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Format<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(flatten)]
    sampling: WireSampling,
}

#[derive(serde::Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    Tool { r#type: &'static str, function: ToolName<'a> },
}

#[derive(serde::Serialize)]
struct ToolName<'a> {
    name: &'a str,
}

#[derive(serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonObject,
    JsonSchema { json_schema: NamedSchema<'a> },
}

#[derive(serde::Serialize)]
struct NamedSchema<'a> {
    name: &'a str,
    schema: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

fn format(format: &AnswerFormat) -> Format<'_> {
    match format {
        AnswerFormat::Json => Format::JsonObject,
        AnswerFormat::Schema { name, schema, is_strict } => {
            Format::JsonSchema { json_schema: NamedSchema { name, schema, strict: *is_strict } }
        }
    }
}

fn choice(choice: &ToolChoice) -> Option<Choice<'_>> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(Choice::Word("none")),
        ToolChoice::Required => Some(Choice::Word("required")),
        ToolChoice::Tool(name) => {
            Some(Choice::Tool { r#type: "function", function: ToolName { name } })
        }
    }
}

/// The tools; also how Ollama wants them.
pub(crate) enum Tools<'a> {
    AsTheyStand(&'a [ToolSchema]),
    /// With schemas that Google's server knows.
    Google(&'a [ToolSchema]),
}

#[derive(serde::Serialize)]
struct Tool<'a, P> {
    r#type: &'static str,
    function: Function<'a, P>,
}

#[derive(serde::Serialize)]
struct Function<'a, P> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<P>,
}

fn tool<P>(tool: &ToolSchema, parameters: Option<P>) -> Tool<'_, P> {
    let function = Function { name: &tool.name, description: &tool.description, parameters };
    Tool { r#type: "function", function }
}

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::AsTheyStand(tools) => {
                let stands = tools.iter().map(|it| tool::<&RawValue>(it, Some(&it.parameters)));
                serializer.collect_seq(stands)
            }
            Self::Google(tools) => serializer
                .collect_seq(tools.iter().map(|it| tool(it, schema::for_google(&it.parameters)))),
        }
    }
}
