//! The server that puppets answer from: it speaks the chat completions of OpenAI, keeps every
//! request, and knows agents only by the name of the model they ask for.

use super::{Act, Asked, Script};
use anyhow::Result;
use insula_testkit::Upstream;
use insula_testkit::upstream::{Seen, Step, answer, chunk, end, head};
use insula_world::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What stands around the number of a script in a message.
const TAG: (&str, &str) = ("[[", "]]");

/// How much of a conversation a puppet gives back as its summary.
const NOTES_CHARS: usize = 6_000;

/// The scripts by number, and the last words of those that came to an end.
#[derive(Default)]
struct Known {
    scripts: BTreeMap<usize, Script>,
    ended: BTreeMap<String, String>,
    by_tag: BTreeMap<String, Vec<Value>>,
    by_model: BTreeMap<String, Vec<Arc<Vec<u8>>>>,
    count: usize,
    summaries: usize,
}

type Scripts = Arc<Mutex<Known>>;

/// A running server of puppets.
pub struct Puppets {
    upstream: Upstream,
    scripts: Scripts,
}

impl Puppets {
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
        self.learn_above(0, script)
    }

    /// The same with a number above this, where a small one might pass for something that was
    /// said.
    pub fn learn_above(&self, above: usize, script: Script) -> String {
        let mut known = self.scripts.lock().unwrap_or_else(PoisonError::into_inner);
        let number = above + known.scripts.len() + 1;
        known.scripts.insert(number, script);
        format!("{}{number}{}", TAG.0, TAG.1)
    }

    /// The last words of the script of this tag, once it has said them.
    pub fn last_words(&self, tag: &str) -> Option<String> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner).ended.get(tag).cloned()
    }

    /// Every request for a model, in order, as bytes.
    pub fn prompts_of(&self, model: &str) -> Vec<Arc<Vec<u8>>> {
        self.known().by_model.get(model).cloned().unwrap_or_default()
    }

    /// The model that these words reached, if there is one.
    pub fn model_that_heard(&self, words: &str) -> Option<String> {
        let heard = |prompts: &[Arc<Vec<u8>>]| {
            prompts.iter().any(|prompt| String::from_utf8_lossy(prompt).contains(words))
        };
        let known = self.known();
        known.by_model.iter().find(|(_, prompts)| heard(prompts)).map(|(model, _)| model.clone())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often a summary of a conversation was asked for.
    pub fn summaries(&self) -> usize {
        self.known().summaries
    }

    /// How many requests there were so far.
    pub fn count(&self) -> usize {
        self.known().count
    }

    /// Waits until there were so many.
    pub async fn until(&self, count: usize) {
        self.upstream.requests(count).await;
    }

    /// Connections that the daemon closed.
    pub async fn until_closed(&self, count: usize) {
        self.upstream.closed_by_client(count).await;
    }

    /// The requests that answer to this tag, in order.
    pub fn with_tag(&self, tag: &str) -> Vec<Value> {
        self.known().by_tag.get(tag).cloned().unwrap_or_default()
    }
}

/// An answer that says it took so many tokens.
pub fn costly(text: &str, tokens: u64) -> Act {
    let choice = json!({ "index": 0, "delta": { "content": text }, "finish_reason": "stop" });
    let usage = json!({ "prompt_tokens": tokens, "completion_tokens": 1 });
    let event = json!({ "choices": [choice], "usage": usage });
    Act::Raw(vec![
        head("text/event-stream"),
        chunk(format!("data: {event}\n\n")),
        chunk("data: [DONE]\n\n"),
        end(),
    ])
}

/// Whether the daemon has a conversation summarised: it says so in the first message.
fn asks_for_notes(request: &Value) -> bool {
    text(&request["messages"][0]).contains("You write the notes")
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
    {
        let mut known = scripts.lock().unwrap_or_else(PoisonError::into_inner);
        known.count += 1;
        let model = request["model"].as_str().unwrap_or_default().to_owned();
        known.by_model.entry(model).or_default().push(Arc::new(seen.body.clone()));
        if asks_for_notes(&request) {
            known.summaries += 1;
        } else if let Some((_, tag)) = last_tagged(&request) {
            known.by_tag.entry(tag).or_default().push(request.clone());
        }
    }
    let tagged = last_tagged(&request).filter(|_| !asks_for_notes(&request));
    let Some((at, tag)) = tagged else {
        // Somebody asks for a summary, a title or an opinion: the leakiest model gives back what
        // it was shown, as far as that is shorter.
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let all: Vec<String> = messages.iter().skip(1).map(text).collect();
        return said(&all.join("\n").chars().take(NOTES_CHARS).collect::<String>());
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
