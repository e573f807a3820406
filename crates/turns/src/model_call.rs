//! One model call as it is noted beside its turn: which model, how much it was shown, how long it
//! took to begin and to end, and what came of it.

use crate::course::{cause_of, status_of};
use crate::turn::Turn;
use insula_models::{Answering, ImageData, ModelError, NoAnswer, Part, Request};
use insula_store::Usage;
use serde_json::{Value, json};
use std::time::Duration;

/// A call under way.
pub(super) struct ModelCall {
    begun: Duration,
    note: Value,
}

impl ModelCall {
    /// A model is about to be asked.
    pub(super) fn begin(turn: &Turn<'_>, purpose: &str, request: &Request) -> Self {
        let begun = turn.shop.world.clock.elapsed();
        let note = json!({ "kind": "model", "step": purpose, "prompt_bytes": bytes_of(request) });
        Self { begun, note }
    }

    fn ms(&self, turn: &Turn<'_>) -> u64 {
        let took = turn.shop.world.clock.elapsed().saturating_sub(self.begun);
        u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
    }

    /// An answer begins, or none does.
    pub(super) fn begun(&mut self, turn: &Turn<'_>, asked: &Result<Answering, NoAnswer>) {
        let ms = self.ms(turn);
        match asked {
            Ok(answering) => {
                self.note["model"] = json!(answering.link.to_string());
                self.note["tries"] = json!(answering.tries);
                self.note["first_ms"] = json!(ms);
                if !answering.passed_over.is_empty() {
                    self.note["passed_over"] = passed_over(&answering.passed_over);
                }
            }
            Err(error) => {
                let failed = &error.error;
                self.note["model"] = json!(format!("{}/{}", failed.provider, failed.model));
                self.note["tries"] = json!(error.tries);
                self.note["ms"] = json!(ms);
                if !error.passed_over.is_empty() {
                    self.note["passed_over"] = passed_over(&error.passed_over);
                }
                self.fail(turn, failed);
                self.put(turn);
            }
        }
    }

    /// An answer is over.
    pub(super) fn ended(&mut self, turn: &Turn<'_>, answer: Result<(), &ModelError>, usage: Usage) {
        self.note["ms"] = json!(self.ms(turn));
        self.note["input"] = json!(usage.input);
        self.note["output"] = json!(usage.output);
        if let Err(error) = answer {
            self.fail(turn, error);
        }
        self.put(turn);
    }

    fn fail(&mut self, turn: &Turn<'_>, error: &ModelError) {
        // Where we hang up, it is no fault of the provider's that nothing more came.
        if turn.cx.live.cancel.is_cancelled() {
            self.note["failed"] = json!("stopped");
            return;
        }
        self.note["failed"] = json!(cause_of(&error.fault).as_str());
        self.note["status"] = json!(status_of(&error.fault));
    }

    fn put(&mut self, turn: &Turn<'_>) {
        turn.course.note(turn.shop.world.clock.now(), self.note.take());
    }
}

fn passed_over(errors: &[ModelError]) -> Value {
    let each = errors.iter().map(|error| {
        json!({
            "model": format!("{}/{}", error.provider, error.model),
            "failed": cause_of(&error.fault).as_str(),
            "status": status_of(&error.fault),
        })
    });
    each.collect()
}

/// The bytes of the words in a request: what was told, what was said and how tools are described.
fn bytes_of(request: &Request) -> usize {
    let system: usize = request.system.iter().map(|block| block.text.len()).sum();
    let tools: usize = request.tools.iter().map(insula_models::ToolSchema::size).sum();
    let said: usize =
        request.messages.iter().flat_map(|message| &message.parts).map(bytes_of_part).sum();
    system + tools + said
}

fn bytes_of_part(part: &Part) -> usize {
    match part {
        Part::Text(text) | Part::Reasoning { text, .. } => text.len(),
        Part::Image(image) => match &image.data {
            ImageData::Base64(data) => data.len(),
            ImageData::Url(url) => url.len(),
        },
        Part::ToolCall { name, arguments, .. } => name.len() + arguments.len(),
        Part::ToolResult { content, .. } => content.iter().map(bytes_of_part).sum(),
    }
}
