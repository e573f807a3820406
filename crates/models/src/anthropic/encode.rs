//! A request in the words of the Messages API.

use super::REDACTED;
use crate::fit::{Calls, fitted};
use crate::manner::{Extras, Manner};
use crate::openai::SIGNED_BY_GOOGLE;
use crate::options::{ModelOptions, with_extra};
use crate::request::{
    AnswerFormat, CacheHint, Effort, Image, ImageData, Message, Part, Request, Role, SystemBlock,
    ToolChoice, ToolSchema,
};
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The API wants a limit. What every current model can give.
const MAX_TOKENS_DEFAULT: u32 = 8192;
/// Breakpoints the API takes in one request. The last ones count: they cover the most.
const BREAKPOINTS_MAX: usize = 4;
/// Room for the answer itself beside its thoughts, which share `max_tokens`.
const ANSWER_TOKENS_MIN: u32 = 4096;

/// Stands at the end of the system prompt where JSON is wanted and no schema says which: the API
/// has no word for that.
const AS_JSON: &str = "Answer with one JSON object and nothing else.";

/// The body of the request, put in this manner.
pub(super) fn body(
    request: &Request,
    manner: &Manner,
    options: &ModelOptions,
) -> Result<Vec<u8>, serde_json::Error> {
    let said = fitted(request, &manner.fit);
    let messages = messages(request, &said)?;
    let is_forced = matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Tool(_));
    let is_free = !is_forced || request.tools.is_empty();
    let may_think = is_free && !is_thoughtless(&messages);
    let has_extras = manner.extras == Extras::All;
    let thinking = thinking_budget(request.effort).filter(|_| may_think && has_extras);
    // A thought has to leave room for an answer.
    let thinking = thinking.filter(|budget| manner.capped(u32::MAX) > *budget);
    let max_tokens = request.max_tokens.unwrap_or(MAX_TOKENS_DEFAULT);
    let longer = |tokens: u32| if request.has_more_room { tokens * 2 } else { tokens };
    // With thinking on, the API refuses any other sampling than its own.
    let samples = thinking.is_none() && has_extras;
    let temperature = request.temperature.filter(|_| samples).map(|it| it.clamp(0.0, 1.0));
    // In words, they stand in the first message.
    let tools: &[ToolSchema] = match manner.fit.calls {
        Calls::InWords => &[],
        Calls::Together | Calls::Single => &request.tools,
    };
    let blocks: &[SystemBlock] = if manner.fit.has_system() { &request.system } else { &[] };
    let wire = Body {
        model: &request.model,
        // The thoughts come on top of what was asked for, so that there is room to answer.
        max_tokens: manner.capped(match (thinking, request.max_tokens) {
            (Some(budget), None) => longer(max_tokens.max(budget + ANSWER_TOKENS_MIN)),
            (Some(budget), Some(asked)) => asked.saturating_add(budget),
            (None, None) => longer(max_tokens),
            (None, Some(asked)) => asked,
        }),
        thinking: thinking.map(|budget_tokens| Thinking { r#type: "enabled", budget_tokens }),
        system: system(blocks, request),
        messages,
        tools: tools.iter().map(tool).collect(),
        tool_choice: if tools.is_empty() { None } else { choice(request) },
        output_config: match &request.format {
            Some(AnswerFormat::Schema { schema, .. }) => {
                Some(OutputConfig { format: Format { r#type: "json_schema", schema } })
            }
            Some(AnswerFormat::Json) | None => None,
        },
        stream: true,
        temperature,
        // Some models take one of the two.
        top_p: options.sampling.top_p.filter(|_| samples && temperature.is_none()),
        top_k: options.sampling.top_k.filter(|_| samples),
        stop_sequences: &request.stop,
    };
    with_extra(serde_json::to_vec(&wire)?, &options.extra_body)
}

/// Whether the model is in the middle of calls that it began without a thought: the API refuses
/// to let it think before they are done.
fn is_thoughtless(messages: &[Wire<'_>]) -> bool {
    let [.., asked, brought] = messages else { return false };
    let is_brought =
        matches!(brought.content.first(), Some(Block { kind: Kind::ToolResult { .. }, .. }));
    is_brought && !asked.content.first().is_some_and(is_thought)
}

fn thinking_budget(effort: Option<Effort>) -> Option<u32> {
    match effort? {
        Effort::Off => None,
        Effort::Low => Some(2048),
        Effort::Medium => Some(8192),
        Effort::High => Some(24_576),
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Wire<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop_sequences: &'a [String],
}

#[derive(Serialize)]
struct Thinking {
    r#type: &'static str,
    budget_tokens: u32,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    format: Format<'a>,
}

#[derive(Serialize)]
struct Format<'a> {
    r#type: &'static str,
    schema: &'a RawValue,
}

#[derive(Serialize)]
struct Choice<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disable_parallel_tool_use: bool,
}

#[derive(Serialize)]
struct Wire<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Clone, Copy, Serialize)]
struct CacheControl {
    r#type: &'static str,
}

const EPHEMERAL: CacheControl = CacheControl { r#type: "ephemeral" };

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Kind<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: Source<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a RawValue,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Url { url: &'a str },
}

fn tool(tool: &crate::request::ToolSchema) -> Tool<'_> {
    Tool { name: &tool.name, description: &tool.description, input_schema: &tool.parameters }
}

fn choice(request: &Request) -> Option<Choice<'_>> {
    let is_single = request.parallel_calls == Some(false);
    let (kind, name) = match &request.tool_choice {
        ToolChoice::Auto if is_single => ("auto", None),
        ToolChoice::Auto => return None,
        ToolChoice::None => ("none", None),
        ToolChoice::Required => ("any", None),
        ToolChoice::Tool(name) => ("tool", Some(&**name)),
    };
    let disable_parallel_tool_use = is_single && kind != "none";
    Some(Choice { r#type: kind, name, disable_parallel_tool_use })
}

fn marked(cache: CacheHint) -> usize {
    usize::from(cache == CacheHint::Breakpoint)
}

fn system<'a>(told: &'a [SystemBlock], request: &Request) -> Vec<Block<'a>> {
    // Breakpoints of the system prompt are the steadiest and stay as long as there is room.
    let mut room = BREAKPOINTS_MAX;
    let mut blocks = vec![];
    for block in told.iter().filter(|block| !block.text.trim().is_empty()) {
        let mark = block.cache == CacheHint::Breakpoint && room > 0;
        room -= usize::from(mark);
        let cache_control = mark.then_some(EPHEMERAL);
        blocks.push(Block { kind: Kind::Text { text: &block.text }, cache_control });
    }
    if matches!(request.format, Some(AnswerFormat::Json)) {
        blocks.push(Block { kind: Kind::Text { text: AS_JSON }, cache_control: None });
    }
    blocks
}

fn messages<'a>(
    request: &Request,
    said: &'a [Cow<'_, Message>],
) -> Result<Vec<Wire<'a>>, serde_json::Error> {
    let system: usize = request.system.iter().map(|block| marked(block.cache)).sum();
    let hints: usize = said.iter().map(|message| marked(message.cache)).sum();
    let room = BREAKPOINTS_MAX.saturating_sub(system);
    let mut skip = hints.saturating_sub(room);
    let mut wires: Vec<Wire<'a>> = vec![];
    for message in said {
        let mut content = blocks(message)?;
        if message.cache == CacheHint::Breakpoint {
            if skip > 0 {
                skip -= 1;
            } else if let Some(last) = content.iter_mut().rfind(|block| !is_thought(block)) {
                // A thought can't carry a breakpoint.
                last.cache_control = Some(EPHEMERAL);
            }
        }
        let role = match message.role {
            Role::User | Role::Tool => "user",
            Role::Assistant => "assistant",
        };
        match wires.last_mut() {
            // All results of parallel calls must be in one message.
            Some(last) if last.role == role => last.content.append(&mut content),
            _ if content.is_empty() => {}
            _ => wires.push(Wire { role, content }),
        }
    }
    for wire in &mut wires {
        // Nothing may end with a thought.
        while wire.content.last().is_some_and(is_thought) {
            wire.content.pop();
        }
    }
    Ok(wires)
}

fn is_thought(block: &Block<'_>) -> bool {
    matches!(block.kind, Kind::Thinking { .. } | Kind::RedactedThinking { .. })
}

fn blocks(message: &Message) -> Result<Vec<Block<'_>>, serde_json::Error> {
    let mut blocks = vec![];
    for part in &message.parts {
        if let Some(kind) = kind(part)? {
            blocks.push(Block { kind, cache_control: None });
        }
    }
    Ok(blocks)
}

fn kind(part: &Part) -> Result<Option<Kind<'_>>, serde_json::Error> {
    Ok(match part {
        // The API refuses empty text.
        Part::Text(text) if text.trim().is_empty() => None,
        Part::Text(text) => Some(Kind::Text { text }),
        Part::Image(image) => Some(Kind::Image { source: source(image) }),
        Part::ToolCall { id, name, arguments } => {
            let input = serde_json::from_str::<&RawValue>(arguments)?;
            Some(Kind::ToolUse { id, name, input })
        }
        Part::ToolResult { call_id, content, is_error } => {
            let mut inner = vec![];
            for part in content {
                if let Some(kind @ (Kind::Text { .. } | Kind::Image { .. })) = kind(part)? {
                    inner.push(Block { kind, cache_control: None });
                }
            }
            Some(Kind::ToolResult { tool_use_id: call_id, content: inner, is_error: *is_error })
        }
        // Without its proof a thought comes from another provider, and would be refused.
        Part::Reasoning { signature: None, .. } => None,
        Part::Reasoning { text, signature: Some(signature) } => {
            if signature.starts_with(SIGNED_BY_GOOGLE) {
                return Ok(None);
            }
            Some(match signature.strip_prefix(REDACTED) {
                Some(data) => Kind::RedactedThinking { data },
                None => Kind::Thinking { thinking: text, signature },
            })
        }
    })
}

fn source(image: &Image) -> Source<'_> {
    match &image.data {
        ImageData::Base64(data) => Source::Base64 { media_type: &image.mime, data },
        ImageData::Url(url) => Source::Url { url },
    }
}
