//! A response as the Responses API shows it.

use super::request::ResponseRequest;
use insula_domain::AgentId;
use insula_store::{Cut, Usage};
use serde_json::{Value, json};

/// What stays the same about a response from its beginning to its end.
pub struct About {
    /// Its id, without what it begins with.
    pub id: String,
    model: String,
    created: i64,
    instructions: Option<String>,
    previous: Option<String>,
    metadata: Value,
    stored: bool,
}

/// How a response stands.
pub enum Status<'r> {
    /// It is being given.
    InProgress,
    /// It was given.
    Given {
        /// What was said.
        output: &'r [Item],
        /// What it took.
        usage: &'r Usage,
        /// Why it is not whole, if it is not.
        cut: Option<Cut>,
    },
    /// It was not given.
    Failed {
        /// What was said until then.
        output: &'r [Item],
        /// Why, for people.
        error: &'r str,
    },
}

impl About {
    /// About the response to a request; its id follows when the turn has one.
    pub fn of(request: &ResponseRequest, created: i64) -> Self {
        Self {
            id: String::new(),
            model: request.model.clone(),
            created,
            instructions: request.instructions.clone(),
            previous: request.previous_response_id.clone(),
            metadata: request.metadata.clone().unwrap_or_else(|| json!({})),
            stored: request.is_stored(),
        }
    }

    /// About a response that was given before.
    pub fn again(agent: &AgentId, created: i64, id: &str) -> Self {
        Self {
            id: id.to_owned(),
            model: agent.to_string(),
            created,
            instructions: None,
            previous: None,
            metadata: json!({}),
            stored: true,
        }
    }

    /// The response as it stands. An agent has its own settings: those are given as OpenAI's
    /// clients expect them where nothing was asked for.
    pub fn response(&self, status: Status<'_>) -> Value {
        let shown = |items: &[Item]| items.iter().map(Item::done).collect::<Vec<_>>();
        let mut missing = Value::Null;
        let (status, output, usage, error) = match status {
            Status::InProgress => ("in_progress", vec![], Value::Null, Value::Null),
            Status::Given { output, usage, cut } => {
                missing = cut.map_or(Value::Null, |cut| json!({ "reason": reason(cut) }));
                (standing(cut), shown(output), counted(usage), Value::Null)
            }
            Status::Failed { output, error } => {
                let error = json!({ "code": "server_error", "message": error });
                ("failed", shown(output), Value::Null, error)
            }
        };
        json!({
            "id": format!("{}{}", super::PREFIX, self.id),
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": error,
            "incomplete_details": missing,
            "instructions": self.instructions,
            "metadata": self.metadata,
            "model": self.model,
            "output": output,
            "parallel_tool_calls": true,
            "previous_response_id": self.previous,
            "store": self.stored,
            "temperature": null,
            "text": { "format": { "type": "text" } },
            "tool_choice": "auto",
            "tools": [],
            "top_p": null,
            "truncation": "disabled",
            "usage": usage,
        })
    }
}

/// How what was given stands.
fn standing(cut: Option<Cut>) -> &'static str {
    if cut.is_some() { "incomplete" } else { "completed" }
}

/// Why something is not whole, in OpenAI's words.
fn reason(cut: Cut) -> &'static str {
    match cut {
        Cut::Length => "max_output_tokens",
        Cut::Filtered => "content_filter",
    }
}

fn counted(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": { "cached_tokens": usage.cached, "cache_write_tokens": 0 },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": usage.input + usage.output,
    })
}

/// One message of a response.
pub struct Item {
    /// Its id.
    pub id: String,
    /// What it says so far.
    pub text: String,
    /// Why it says no more, if it breaks off.
    pub cut: Option<Cut>,
}

impl Item {
    /// The message at this place of a response, before anything is said.
    pub fn empty(about: &About, index: usize) -> Self {
        Self { id: format!("msg_{}{index:02x}", about.id), text: String::new(), cut: None }
    }

    /// A message to which nothing is added.
    pub fn whole(about: &About, index: usize, text: String, cut: Option<Cut>) -> Self {
        Self { text, cut, ..Self::empty(about, index) }
    }

    /// As it is shown when it begins.
    pub fn begun(&self) -> Value {
        json!({ "id": self.id, "type": "message", "status": "in_progress", "role": "assistant", "content": [] })
    }

    /// As it is shown when nothing is added to it.
    pub fn done(&self) -> Value {
        let content = [part(&self.text)];
        json!({ "id": self.id, "type": "message", "status": standing(self.cut), "role": "assistant", "content": content })
    }
}

/// A part of a message.
pub fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}
