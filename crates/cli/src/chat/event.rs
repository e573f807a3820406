//! What a turn tells while it runs.

use super::frames::Frame;
use serde_json::Value;
use std::time::Duration;

/// Something that happened in a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The message is kept and has its turn.
    Accepted { turn: Value },
    /// More of the reply.
    Text(String),
    /// More of what the model thinks before it replies.
    Reasoning(String),
    /// A tool is called.
    ToolCall(ToolCall),
    /// A tool is done.
    ToolDone(ToolDone),
    /// A call waits for an answer.
    Approval(Approval),
    /// A call waits no longer; what became of it.
    ApprovalDone(String),
    /// Something happened to a child.
    Child(ChildEvent),
    /// What came of the reply so far is void.
    Reset,
    /// The older part of the conversation was summarised, to make room.
    Compressed,
    /// The turn is over.
    Ended(Ended),
}

/// Something that happened to a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildEvent {
    /// Which one, as `2.1`: the first child of the second.
    pub child: String,
    pub act: ChildAct,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    pub name: String,
    /// What it runs, reads or looks for; empty where nothing more is to be said.
    pub about: String,
}

/// What happened to a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildAct {
    /// It began, with this to do.
    Started(String),
    /// It calls a tool.
    ToolCall(ToolCall),
    /// It is done with a tool.
    ToolDone(ToolDone),
    /// It is over; how.
    Ended(String),
}

/// A call that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// By which it is answered.
    pub id: String,
    pub tool: String,
    /// What it would do.
    pub what: String,
    /// The rule by which it waits.
    pub rule: String,
    /// How long it waits until silence is a no, where that is known.
    pub wait: Option<Duration>,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDone {
    pub name: String,
    /// Whether it failed.
    pub is_error: bool,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Which way.
    pub status: Status,
    /// The reply.
    pub text: Option<String>,
    /// Why that is not all that the model would have said: `length`, `filtered` or
    /// `repeating`.
    pub cut: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// What it took.
    pub usage: Value,
}

impl Ended {
    /// For people: that the reply breaks off, and why.
    pub fn breaks_off(&self) -> Option<&'static str> {
        match self.cut.as_deref()? {
            "length" => Some("the reply breaks off: the model reached the most it may say"),
            "filtered" => Some("the reply breaks off: the provider withheld the rest"),
            "repeating" => Some("the reply was cut off: it said the same again and again"),
            _ => Some("the reply breaks off"),
        }
    }
}

/// Which way a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// With a reply.
    Replied,
    /// Without one.
    Failed,
    /// Somebody stopped it.
    Stopped,
}

impl Status {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replied => "replied",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

impl Event {
    /// Reads an event; `None` for a kind this version does not know, which is no reason not
    /// to show the rest.
    pub fn read(frame: &Frame) -> Option<Self> {
        let data: Value = serde_json::from_str(&frame.data).unwrap_or_default();
        let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
        Some(match frame.event.as_str() {
            "turn.accepted" => Self::Accepted { turn: data["turn"].clone() },
            "text.delta" => Self::Text(text("text")),
            "reasoning.delta" => Self::Reasoning(text("text")),
            "tool.call" => Self::ToolCall(ToolCall { name: text("name"), about: text("about") }),
            "tool.done" => {
                let is_error = data["is_error"].as_bool().unwrap_or(false);
                Self::ToolDone(ToolDone { name: text("name"), is_error })
            }
            "approval.asked" => Self::Approval(Approval {
                id: text("id"),
                tool: text("tool"),
                what: text("what"),
                rule: text("rule"),
                wait: data["wait_s"].as_u64().map(Duration::from_secs),
            }),
            "approval.done" => Self::ApprovalDone(text("outcome")),
            "child.started" | "child.tool.call" | "child.tool.done" | "child.ended" => {
                let act = match frame.event.as_str() {
                    "child.started" => ChildAct::Started(text("goal")),
                    "child.ended" => ChildAct::Ended(text("outcome")),
                    "child.tool.call" => {
                        ChildAct::ToolCall(ToolCall { name: text("name"), about: text("about") })
                    }
                    _ => {
                        let is_error = data["is_error"].as_bool().unwrap_or(false);
                        ChildAct::ToolDone(ToolDone { name: text("name"), is_error })
                    }
                };
                Self::Child(ChildEvent { child: text("child"), act })
            }
            "text.reset" => Self::Reset,
            "session.compressed" => Self::Compressed,
            "turn.ended" => Self::Ended(Ended {
                status: match data["status"].as_str() {
                    Some("replied") => Status::Replied,
                    Some("stopped") => Status::Stopped,
                    _ => Status::Failed,
                },
                text: data["text"].as_str().map(str::to_owned),
                cut: data["cut"].as_str().map(str::to_owned),
                error: error(&data["error"]),
                usage: data["usage"].clone(),
            }),
            _ => return None,
        })
    }
}

/// Why, as a text or as an object with one.
fn error(value: &Value) -> Option<String> {
    let text = value.as_str().or_else(|| value["message"].as_str());
    text.map(str::to_owned)
}
