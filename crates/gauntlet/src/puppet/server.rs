//! The server that puppets answer from: it speaks the chat completions of OpenAI, keeps every
//! request, and knows agents only by the name of the model they ask for.

use super::{Act, Asked, Script};
use anyhow::Result;
use insula_testkit::Upstream;
use insula_testkit::upstream::{Seen, Step, answer, chunk, end, head};
use insula_world::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What stands around the number of a script in a message.
const TAG: (&str, &str) = ("[[", "]]");

/// A request of the daemon to a model.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// The model that was asked for, which is the agent's name.
    pub model: String,
    /// The bytes of the request.
    pub body: Vec<u8>,
}

/// The scripts by number, and the last words of those that came to an end.
#[derive(Default)]
struct Known {
    scripts: BTreeMap<usize, Script>,
    ended: BTreeMap<String, String>,
}

type Scripts = Arc<Mutex<Known>>;

/// A running server of puppets.
pub struct Puppets {
    upstream: Upstream,
    scripts: Scripts,
}

impl Puppets {
    /// Starts it.
    pub async fn start(world: &World) -> Result<Self> {
        let scripts = Scripts::default();
        let known = scripts.clone();
        let upstream =
            Upstream::start(world, move |seen, number| steps(&known, seen, number)).await?;
        Ok(Self { upstream, scripts })
    }

    /// What to give as `base_url`.
    pub fn url(&self) -> String {
        self.upstream.url("/v1")
    }

    /// Keeps a script, and gives the tag that names it in a message.
    pub fn learn(&self, script: Script) -> String {
        let mut known = self.scripts.lock().unwrap_or_else(PoisonError::into_inner);
        let number = known.scripts.len() + 1;
        known.scripts.insert(number, script);
        format!("{}{number}{}", TAG.0, TAG.1)
    }

    /// The last words of the script of this tag, once it has said them.
    pub fn last_words(&self, tag: &str) -> Option<String> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner).ended.get(tag).cloned()
    }

    /// Every request so far, in order.
    pub fn prompts(&self) -> Vec<Prompt> {
        let seen = self.upstream.seen().into_iter();
        seen.map(|seen| {
            let model = seen.json()["model"].as_str().unwrap_or_default().to_owned();
            Prompt { model, body: seen.body }
        })
        .collect()
    }

    /// How many requests there were so far.
    pub fn count(&self) -> usize {
        self.upstream.seen().len()
    }

    /// Waits until there were so many.
    pub async fn until(&self, count: usize) {
        self.upstream.requests(count).await;
    }

    /// Connections that the daemon closed.
    pub async fn until_closed(&self, count: usize) {
        self.upstream.closed_by_client(count).await;
    }

    /// The last request of those that answer to this tag.
    pub fn last(&self, tag: &str) -> Option<Value> {
        let seen = self.upstream.seen().into_iter().rev();
        seen.map(|seen| seen.json())
            .find(|request| last_tagged(request).is_some_and(|it| it.1 == tag))
    }

    /// The requests that answer to this tag, in order.
    pub fn with_tag(&self, tag: &str) -> Vec<Value> {
        let seen = self.upstream.seen().into_iter().map(|seen| seen.json());
        seen.filter(|request| last_tagged(request).is_some_and(|it| it.1 == tag)).collect()
    }
}

/// The text of a message, wherever it stands.
fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The tag in a text, with its marks.
fn tag(text: &str) -> Option<String> {
    let from = text.rfind(TAG.0)?;
    let rest = &text[from + TAG.0.len()..];
    let number = &rest[..rest.find(TAG.1)?];
    let number: usize = number.parse().ok()?;
    Some(format!("{}{number}{}", TAG.0, TAG.1))
}

/// Where the last message of a person's with a tag is, and the tag.
fn last_tagged(request: &Value) -> Option<(usize, String)> {
    let messages = request["messages"].as_array()?;
    let users = messages.iter().enumerate().rev().filter(|(_, it)| it["role"] == "user");
    users.filter_map(|(at, it)| Some((at, tag(&text(it))?))).next()
}

/// What the calls of one turn came to, as the model was told: everything since the last message
/// with a tag.
pub fn results(request: &Value) -> Vec<String> {
    let from = last_tagged(request).map_or(0, |(at, _)| at);
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    messages[from..].iter().filter(|it| it["role"] == "tool").map(text).collect()
}

fn steps(scripts: &Scripts, seen: &Seen, number: usize) -> Vec<Step> {
    let request = seen.json();
    let Some((at, tag)) = last_tagged(&request) else {
        // Somebody asks for a summary, a title or an opinion: the leakiest model gives back all
        // that it was shown.
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let all: Vec<String> = messages.iter().map(text).collect();
        return said(&all.join("\n"));
    };
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let step = messages[at..].iter().filter(|it| it["role"] == "assistant").count();
    let asked = Asked { step, results: results(&request), request };
    let number_of_script =
        tag.trim_start_matches(TAG.0).trim_end_matches(TAG.1).parse().unwrap_or(0);
    let known = || scripts.lock().unwrap_or_else(PoisonError::into_inner);
    let script = known().scripts.get(&number_of_script).cloned();
    let Some(script) = script else { return said("there is no such script") };
    let act = script.act(&asked);
    if let Act::Say(text) = &act {
        known().ended.insert(tag, text.clone());
    }
    performed(act, number)
}

fn performed(act: Act, number: usize) -> Vec<Step> {
    match act {
        Act::Say(text) => said(&text),
        Act::Call(calls) => {
            let calls: Vec<Value> = calls.iter().enumerate().map(|(index, call)| {
                let function = json!({ "name": call.tool, "arguments": call.arguments.to_string() });
                json!({ "index": index, "id": format!("c{number}x{index}"), "type": "function", "function": function })
            }).collect();
            stream(&json!({ "tool_calls": calls }), "tool_calls")
        }
        Act::Hold(go, act) => {
            let mut steps = vec![Step::Wait(go)];
            steps.extend(performed(*act, number));
            steps
        }
        Act::Fail(status, body) => {
            vec![answer(status, &[("content-type", "application/json")], &body)]
        }
        Act::Raw(steps) => steps,
        Act::Stall(text) => {
            let begun = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
            vec![head("text/event-stream"), chunk(format!("data: {begun}\n\n")), Step::Hang]
        }
    }
}

fn said(text: &str) -> Vec<Step> {
    stream(&json!({ "content": text }), "stop")
}

fn stream(delta: &Value, reason: &str) -> Vec<Step> {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 3 });
    let event = json!({ "choices": [choice], "usage": usage });
    vec![
        head("text/event-stream"),
        chunk(format!("data: {event}\n\n")),
        chunk("data: [DONE]\n\n"),
        end(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_its_script_and_the_last_one_counts() {
        let request = json!({ "messages": [
            { "role": "user", "content": "first [[3]]" },
            { "role": "assistant", "content": "x" },
            { "role": "user", "content": [{ "type": "text", "text": "second [[12]] please" }] },
            { "role": "assistant", "tool_calls": [] },
            { "role": "tool", "content": "a result" },
        ]});
        assert_eq!(last_tagged(&request), Some((2, "[[12]]".to_owned())));
        assert_eq!(results(&request), ["a result"]);
        assert_eq!(tag("no tag [[x]]"), None);
    }
}
