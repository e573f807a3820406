//! Ollama's answers: one JSON document a line.

use crate::error::ModelFault;
use crate::event::{Event, StopReason, Usage};
use crate::reading::{Flow, Parser, garbage};
use crate::status::{self, ProviderErrorBody};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::VecDeque;

/// One answer while it comes.
#[derive(Default)]
pub(super) struct Chat {
    calls: usize,
    done: Option<StopReason>,
}

#[derive(Deserialize)]
struct ChatChunk<'a> {
    #[serde(borrow)]
    message: Option<Said<'a>>,
    done: Option<bool>,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Said<'a> {
    content: Option<String>,
    thinking: Option<String>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl Parser for Chat {
    fn event(&mut self, data: &[u8], out: &mut VecDeque<Event>) -> Result<Flow, ModelFault> {
        let line: ChatChunk<'_> =
            serde_json::from_slice(data).map_err(|error| garbage(&error, data))?;
        if let Some(error) = line.error {
            return Err(status::fault(200, None, ProviderErrorBody::from_value(&error)));
        }
        if let Some(said) = line.message {
            self.said(said, out);
        }
        if line.done != Some(true) {
            return Ok(Flow::On);
        }
        if line.prompt_eval_count.is_some() || line.eval_count.is_some() {
            out.push_back(Event::Usage(Usage {
                input: line.prompt_eval_count.unwrap_or(0),
                output: line.eval_count.unwrap_or(0),
                ..Usage::default()
            }));
        }
        self.done = Some(match line.done_reason.as_deref() {
            Some("length") => StopReason::Length,
            _ if self.calls > 0 => StopReason::ToolCalls,
            None | Some("stop") => StopReason::Finished,
            Some(other) => StopReason::Other(other.to_owned()),
        });
        Ok(Flow::End)
    }

    fn document(&mut self, body: &[u8], out: &mut VecDeque<Event>) -> Result<(), ModelFault> {
        self.event(body, out)?;
        self.end(out)
    }

    fn end(&mut self, out: &mut VecDeque<Event>) -> Result<(), ModelFault> {
        let stop = self.done.take().ok_or(ModelFault::CutOff)?;
        out.push_back(Event::Done(stop));
        Ok(())
    }
}

impl Chat {
    fn said(&mut self, said: Said<'_>, out: &mut VecDeque<Event>) {
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        out.extend(filled(said.thinking).map(Event::ReasoningDelta));
        out.extend(filled(said.content).map(Event::TextDelta));
        for call in said.tool_calls.unwrap_or_default() {
            let index = self.calls;
            self.calls += 1;
            let id = format!("call_{index}").into();
            out.push_back(Event::ToolCallStart { index, id, name: call.function.name.into() });
            if let Some(arguments) = call.function.arguments {
                let json = arguments.get().to_owned();
                out.push_back(Event::ToolCallDelta { index, json });
            }
        }
    }
}
