//! A request in the words of the Messages API.

use super::REDACTED;
use crate::answer::is_object;
use crate::request::{
    CacheHint, Effort, Image, ImageData, Message, Part, Request, Role, ToolChoice,
};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;

/// The API wants a limit. What every current model can give.
const MAX_TOKENS_DEFAULT: u32 = 8192;
/// Breakpoints the API takes in one request. The last ones count: they cover the most.
const BREAKPOINTS_MAX: usize = 4;
/// Room for the answer itself beside its thoughts, which share `max_tokens`.
const ANSWER_TOKENS_MIN: u32 = 4096;

/// The body of the request.
pub(super) fn body(request: &Request) -> Result<Vec<u8>, serde_json::Error> {
    let thinking = thinking_budget(request.effort);
    let max_tokens = request.max_tokens.unwrap_or(MAX_TOKENS_DEFAULT);
    let wire = Body {
        model: &request.model,
        // The thoughts come on top of what was asked for, so that there is room to answer.
        max_tokens: match (thinking, request.max_tokens) {
            (Some(budget), None) => max_tokens.max(budget + ANSWER_TOKENS_MIN),
            (Some(budget), Some(asked)) => asked.saturating_add(budget),
            (None, _) => max_tokens,
        },
        thinking: thinking.map(|budget_tokens| Thinking { r#type: "enabled", budget_tokens }),
        system: system(request),
        messages: messages(request)?,
        tools: request.tools.iter().map(tool).collect(),
        tool_choice: if request.tools.is_empty() { None } else { choice(&request.tool_choice) },
        stream: true,
        // With thinking on, the API refuses any other temperature than its own.
        temperature: request.temperature.filter(|_| thinking.is_none()),
        stop_sequences: &request.stop,
    };
    serde_json::to_vec(&wire)
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
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
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
struct Choice<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
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
        input: Cow<'a, RawValue>,
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

fn choice(choice: &ToolChoice) -> Option<Choice<'_>> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(Choice { r#type: "none", name: None }),
        ToolChoice::Required => Some(Choice { r#type: "any", name: None }),
        ToolChoice::Tool(name) => Some(Choice { r#type: "tool", name: Some(name) }),
    }
}

fn hints(request: &Request) -> (usize, usize) {
    let marked = |cache: CacheHint| usize::from(cache == CacheHint::Breakpoint);
    let system: usize = request.system.iter().map(|block| marked(block.cache)).sum();
    let messages: usize = request.messages.iter().map(|message| marked(message.cache)).sum();
    (system, messages)
}

fn system(request: &Request) -> Vec<Block<'_>> {
    // Breakpoints of the system prompt are the steadiest and stay as long as there is room.
    let mut room = BREAKPOINTS_MAX;
    let mut blocks = vec![];
    for block in request.system.iter().filter(|block| !block.text.is_empty()) {
        let mark = block.cache == CacheHint::Breakpoint && room > 0;
        room -= usize::from(mark);
        let cache_control = mark.then_some(EPHEMERAL);
        blocks.push(Block { kind: Kind::Text { text: &block.text }, cache_control });
    }
    blocks
}

fn messages(request: &Request) -> Result<Vec<Wire<'_>>, serde_json::Error> {
    let (system, marked) = hints(request);
    let room = BREAKPOINTS_MAX.saturating_sub(system);
    let mut skip = marked.saturating_sub(room);
    let mut wires: Vec<Wire<'_>> = vec![];
    for message in &request.messages {
        let mut content = blocks(message)?;
        if message.cache == CacheHint::Breakpoint {
            if skip > 0 {
                skip -= 1;
            } else if let Some(last) = content.last_mut() {
                // A thought can't carry a breakpoint.
                if !matches!(last.kind, Kind::Thinking { .. } | Kind::RedactedThinking { .. }) {
                    last.cache_control = Some(EPHEMERAL);
                }
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
    Ok(wires)
}

fn blocks(message: &Message) -> Result<Vec<Block<'_>>, serde_json::Error> {
    let mut blocks = vec![];
    for part in &message.parts {
        if let Some(kind) = kind(part, message.role)? {
            blocks.push(Block { kind, cache_control: None });
        }
    }
    Ok(blocks)
}

fn kind(part: &Part, role: Role) -> Result<Option<Kind<'_>>, serde_json::Error> {
    Ok(match part {
        // The API refuses empty text.
        Part::Text(text) if text.trim().is_empty() => None,
        Part::Text(text) => Some(Kind::Text { text }),
        Part::Image(_) if role == Role::Assistant => Some(Kind::Text { text: "[an image]" }),
        Part::Image(image) => Some(Kind::Image { source: source(image) }),
        Part::ToolCall { id, name, arguments } => {
            let input = if is_object(arguments) {
                Cow::Borrowed(serde_json::from_str::<&RawValue>(arguments)?)
            } else {
                // The API wants an object; the model should see what it wrote.
                Cow::Owned(to_raw_value(&serde_json::json!({ "malformed": &**arguments }))?)
            };
            Some(Kind::ToolUse { id, name, input })
        }
        Part::ToolResult { call_id, content, is_error } => {
            let mut inner = vec![];
            for part in content {
                if let Some(kind @ (Kind::Text { .. } | Kind::Image { .. })) = kind(part, role)? {
                    inner.push(Block { kind, cache_control: None });
                }
            }
            Some(Kind::ToolResult { tool_use_id: call_id, content: inner, is_error: *is_error })
        }
        // Without its proof a thought comes from another provider, and would be refused.
        Part::Reasoning { signature: None, .. } => None,
        Part::Reasoning { text, signature: Some(signature) } => {
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
