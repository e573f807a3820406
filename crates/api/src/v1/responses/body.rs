//! A response as the Responses API shows it.

use super::super::ids;
use super::request::ResponseRequest;
use insula_domain::AgentId;
use insula_store::{Cut, Usage};
use insula_turns::ClientCall;
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
    /// What was asked about tools and about how the reply should look, as it was asked.
    asked: Asked,
}

struct Asked {
    tools: Value,
    tool_choice: Value,
    parallel: bool,
    format: Value,
}

impl Default for Asked {
    /// What holds where nothing is asked.
    fn default() -> Self {
        let (tools, tool_choice) = (json!([]), json!("auto"));
        Self { tools, tool_choice, parallel: true, format: json!({ "type": "text" }) }
    }
}

impl Asked {
    fn of(request: &ResponseRequest) -> Self {
        let usual = Self::default();
        let or = |asked: &Value, usual: Value| if asked.is_null() { usual } else { asked.clone() };
        Self {
            tools: or(&request.tools.tools, usual.tools),
            tool_choice: or(&request.tools.tool_choice, usual.tool_choice),
            parallel: request.tools.parallel_tool_calls != json!(false),
            format: or(request.format_asked(), usual.format),
        }
    }
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
            asked: Asked::of(request),
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
            asked: Asked::default(),
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
            "parallel_tool_calls": self.asked.parallel,
            "previous_response_id": self.previous,
            "store": self.stored,
            "temperature": null,
            "text": { "format": self.asked.format },
            "tool_choice": self.asked.tool_choice,
            "tools": self.asked.tools,
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
        Cut::Length | Cut::Repeating => "max_output_tokens",
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

/// The place of the reply itself among what is said in a response, however much that is.
const LAST: usize = 0xff;

/// One item of a response.
pub enum Item {
    /// Something that the agent says.
    Message(Message),
    /// A call that the client is to make.
    Call {
        /// The id of the item.
        id: String,
        /// The id of the call.
        call_id: String,
        call: ClientCall,
    },
}

/// One message of a response.
pub struct Message {
    /// Its id.
    pub id: String,
    /// What it says so far.
    pub text: String,
    /// Why it says no more, if it breaks off.
    pub cut: Option<Cut>,
}

impl Message {
    /// A message before anything is said, after this many others; `again` tells those apart of
    /// which all but the last do not count.
    pub fn empty(about: &About, place: usize, again: usize) -> Self {
        let mut id = ids::part(ids::MESSAGE, &about.id, place);
        if again > 0 {
            id += &format!(".{again}");
        }
        Self { id, text: String::new(), cut: None }
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

impl Item {
    /// The call at this place among those of a response.
    pub fn call(about: &About, place: usize, call: ClientCall) -> Self {
        let id = ids::part(ids::FUNCTION_CALL, &about.id, place);
        Self::Call { id, call_id: ids::part(ids::CALL, &about.id, place), call }
    }

    /// All of a reply that was not listened to.
    pub fn all(about: &About, text: String, cut: Option<Cut>, calls: Vec<ClientCall>) -> Vec<Self> {
        let said = Message { text, cut, ..Message::empty(about, LAST, 0) };
        let is_said = !said.text.is_empty() || calls.is_empty();
        let calls = calls.into_iter().enumerate().map(|(at, call)| Self::call(about, at, call));
        is_said.then_some(Self::Message(said)).into_iter().chain(calls).collect()
    }

    /// Its id.
    pub fn id(&self) -> &str {
        match self {
            Self::Message(message) => &message.id,
            Self::Call { id, .. } => id,
        }
    }

    /// As it is shown when nothing is added to it.
    pub fn done(&self) -> Value {
        match self {
            Self::Message(message) => message.done(),
            Self::Call { call, .. } => self.calling("completed", &call.arguments),
        }
    }

    /// As it is shown when it begins.
    pub fn begun(&self) -> Value {
        match self {
            Self::Message(message) => message.begun(),
            Self::Call { .. } => self.calling("in_progress", ""),
        }
    }

    fn calling(&self, status: &str, arguments: &str) -> Value {
        let Self::Call { id, call_id, call } = self else { return Value::Null };
        json!({ "id": id, "type": "function_call", "status": status, "call_id": call_id,
            "name": call.name, "arguments": arguments })
    }
}

/// A part of a message.
pub fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}
