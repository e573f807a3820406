//! The answers of the Messages API.

use super::REDACTED;
use crate::error::ModelFault;
use crate::event::{Event, StopReason, Usage};
use crate::reading::{Flow, Parser, garbage};
use crate::status::{self, ProviderErrorBody};
use serde::Deserialize;
use serde_json::Value;
use std::collections::VecDeque;

/// One answer while it comes.
#[derive(Default)]
pub(super) struct Messages {
    /// For each tool call, in order, the number of its content block.
    call_blocks: Vec<u64>,
    usage: WireUsage,
    stop: Option<String>,
    stopped: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Wire {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: Value,
    },
    ContentBlockDelta {
        index: u64,
        delta: Addition,
    },
    MessageDelta {
        delta: Ending,
        usage: Option<WireUsage>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    /// Pings, ends of blocks, and what the API may add.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Addition {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Ending {
    stop_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

/// An answer that comes as one document.
#[derive(Deserialize)]
struct Document {
    content: Option<Vec<Value>>,
    stop_reason: Option<String>,
    usage: Option<WireUsage>,
    error: Option<Value>,
}

impl Parser for Messages {
    fn event(&mut self, data: &[u8], out: &mut VecDeque<Event>) -> Result<Flow, ModelFault> {
        let wire: Wire = serde_json::from_slice(data).map_err(|error| garbage(&error, data))?;
        match wire {
            Wire::MessageStart { message } => self.usage(message.usage, out),
            Wire::ContentBlockStart { index, content_block } => {
                self.block(index, &content_block, out);
            }
            Wire::ContentBlockDelta { index, delta } => self.delta(index, delta, out),
            Wire::MessageDelta { delta, usage } => {
                self.usage(usage, out);
                self.stop = delta.stop_reason.or(self.stop.take());
            }
            Wire::MessageStop => {
                self.stopped = true;
                return Ok(Flow::End);
            }
            Wire::Error { error } => {
                return Err(status::fault(200, None, ProviderErrorBody::from_value(&error)));
            }
            Wire::Other => {}
        }
        Ok(Flow::On)
    }

    fn document(&mut self, body: &[u8], out: &mut VecDeque<Event>) -> Result<(), ModelFault> {
        let document: Document =
            serde_json::from_slice(body).map_err(|error| garbage(&error, body))?;
        if let Some(error) = document.error {
            return Err(status::fault(200, None, ProviderErrorBody::from_value(&error)));
        }
        let Some(content) = document.content else {
            let head = String::from_utf8_lossy(body);
            return Err(ModelFault::Garbage { what: format!("no content in: {head}") });
        };
        for (index, block) in (0..).zip(&content) {
            self.block(index, block, out);
        }
        self.usage(document.usage, out);
        self.stop = document.stop_reason;
        self.stopped = true;
        self.end(out)
    }

    fn end(&mut self, out: &mut VecDeque<Event>) -> Result<(), ModelFault> {
        let stop = match self.stop.as_deref() {
            None if !self.stopped => return Err(ModelFault::CutOff),
            None | Some("end_turn" | "stop_sequence") => StopReason::Finished,
            Some("tool_use") => StopReason::ToolCalls,
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
            Some("refusal") => StopReason::Filtered,
            Some(other) => StopReason::Other(other.to_owned()),
        };
        out.push_back(Event::Done(stop));
        Ok(())
    }
}

impl Messages {
    /// A block begins, or is there as a whole in a document.
    fn block(&mut self, number: u64, block: &Value, out: &mut VecDeque<Event>) {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        let filled = |key: &str| Some(text(key).to_owned()).filter(|text| !text.is_empty());
        match text("type") {
            "text" => out.extend(filled("text").map(Event::TextDelta)),
            "thinking" => {
                out.extend(filled("thinking").map(Event::ReasoningDelta));
                out.extend(filled("signature").map(Event::ReasoningSignature));
            }
            "redacted_thinking" => {
                out.push_back(Event::ReasoningSignature(format!("{REDACTED}{}", text("data"))));
            }
            "tool_use" => {
                let index = self.call_blocks.len();
                self.call_blocks.push(number);
                let (id, name) = (text("id").into(), text("name").into());
                out.push_back(Event::ToolCallStart { index, id, name });
                // In a stream the input begins empty and comes in deltas.
                let input = block.get("input").filter(|input| match input {
                    Value::Object(fields) => !fields.is_empty(),
                    other => !other.is_null(),
                });
                if let Some(json) = input.map(Value::to_string) {
                    out.push_back(Event::ToolCallDelta { index, json });
                }
            }
            _ => {}
        }
    }

    fn delta(&mut self, number: u64, delta: Addition, out: &mut VecDeque<Event>) {
        match delta {
            Addition::TextDelta { text } => out.push_back(Event::TextDelta(text)),
            Addition::ThinkingDelta { thinking } => out.push_back(Event::ReasoningDelta(thinking)),
            Addition::SignatureDelta { signature } => {
                out.push_back(Event::ReasoningSignature(signature));
            }
            Addition::InputJsonDelta { partial_json } => {
                let index = self.call_blocks.iter().position(|&block| block == number);
                if let Some(index) = index.filter(|_| !partial_json.is_empty()) {
                    out.push_back(Event::ToolCallDelta { index, json: partial_json });
                }
            }
            Addition::Other => {}
        }
    }

    /// The figures come in two halves, of which the second repeats some of the first.
    fn usage(&mut self, new: Option<WireUsage>, out: &mut VecDeque<Event>) {
        let Some(new) = new else { return };
        let old = &mut self.usage;
        old.input_tokens = new.input_tokens.or(old.input_tokens);
        old.output_tokens = new.output_tokens.or(old.output_tokens);
        old.cache_read_input_tokens = new.cache_read_input_tokens.or(old.cache_read_input_tokens);
        old.cache_creation_input_tokens =
            new.cache_creation_input_tokens.or(old.cache_creation_input_tokens);
        let cached_input = old.cache_read_input_tokens.unwrap_or(0);
        let cache_write = old.cache_creation_input_tokens.unwrap_or(0);
        let fresh = old.input_tokens.unwrap_or(0);
        out.push_back(Event::Usage(Usage {
            input: fresh.saturating_add(cached_input).saturating_add(cache_write),
            output: old.output_tokens.unwrap_or(0),
            cached_input,
            cache_write,
            reasoning: 0,
        }));
    }
}
