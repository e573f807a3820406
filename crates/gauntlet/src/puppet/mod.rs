//! Puppets: models that do what they are told, over the real wire of a provider.
//!
//! A prompt attack works when it makes a model try something; a puppet tries it every time.
//! What it is to do stands in a [`Script`], which the message only names by a tag, so that
//! nothing of it is in the prompt. Three ways to write one: [`obey`], [`spray`] and [`probe`].

pub mod obey;
pub mod probe;
mod server;
pub mod spray;

pub use server::{Puppets, costly, results};

use insula_testkit::upstream::Step;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Notify;

/// One thing a puppet does when it is asked.
#[derive(Clone)]
pub enum Act {
    /// Calls tools, all in one answer.
    Call(Vec<Call>),
    /// Says something, which ends the turn.
    Say(String),
    /// Waits until it is let go, and goes on with the other.
    Hold(Arc<Notify>, Box<Act>),
    /// Answers as a server in trouble: status and body.
    Fail(u16, String),
    /// Begins to say something, and never ends.
    Stall(String),
    /// Answers with these bytes, whatever they are.
    Raw(Vec<Step>),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub tool: String,
    pub arguments: Value,
}

impl Call {
    /// A call.
    pub fn new(tool: &str, arguments: Value) -> Self {
        Self { tool: tool.to_owned(), arguments }
    }
}

/// What a puppet is asked: the request as it came, and how far its script is.
#[derive(Debug, Clone)]
pub struct Asked {
    /// How many answers it has given since the message that named the script.
    pub step: usize,
    /// The whole request.
    pub request: Value,
    /// What the calls since that message came to, in order.
    pub results: Vec<String>,
}

impl Asked {
    /// Names and parameter schemas of the tools it is shown.
    pub fn tools(&self) -> Vec<(String, Value)> {
        let tools = self.request["tools"].as_array().cloned().unwrap_or_default();
        let tool = |tool: &Value| {
            let function = &tool["function"];
            Some((function["name"].as_str()?.to_owned(), function["parameters"].clone()))
        };
        tools.iter().filter_map(tool).collect()
    }
}

/// What a puppet does in one turn.
#[derive(Clone)]
pub struct Script(Arc<dyn Fn(&Asked) -> Act + Send + Sync>);

impl Script {
    /// These acts, one an answer; then it says `done`.
    pub fn steps(acts: Vec<Act>) -> Self {
        Self::live(move |asked| {
            acts.get(asked.step).cloned().unwrap_or_else(|| Act::Say("done".to_owned()))
        })
    }

    /// Says this and nothing more.
    pub fn say(text: &str) -> Self {
        Self::steps(vec![Act::Say(text.to_owned())])
    }

    /// Whatever `decide` decides.
    pub fn live(decide: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }

    pub(crate) fn act(&self, asked: &Asked) -> Act {
        (self.0)(asked)
    }
}
