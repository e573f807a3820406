//! A chat completion as it comes.

use super::completion::{About, counted, finish, tool_call};
use super::error::OpenAiError;
use super::turn::{Listening, TurnUpdate};
use crate::Api;
use crate::events::Stream;
use axum::response::Response;
use insula_turns::{ClientCall, TurnEnd, TurnEvent};
use serde_json::{Value, json};

/// The reply as it comes, with a sign of life in long silences. Whoever goes away misses the rest;
/// the turn goes on.
pub fn streamed(api: &Api, listening: Listening, about: About, usage_asked: bool) -> Response {
    listening.streams_words();
    let sent = Streamed::new(about, usage_asked);
    let frames =
        futures_util::stream::unfold((listening, sent), async move |(mut listening, mut sent)| {
            while !sent.ended {
                let text = sent.on(listening.next().await);
                if !text.is_empty() {
                    return Some((text, (listening, sent)));
                }
            }
            None
        });
    Stream::response(api, frames)
}

/// What a client was sent.
struct Streamed {
    about: About,
    usage_asked: bool,
    /// The text since the last tool call.
    text: String,
    /// Whether what comes next stands apart from what came before.
    gap: bool,
    /// Whether it was said whose words these are: once, in the first chunk.
    begun: bool,
    ended: bool,
}

impl Streamed {
    fn new(about: About, usage_asked: bool) -> Self {
        Self { about, usage_asked, text: String::new(), gap: false, begun: false, ended: false }
    }

    /// What to send for what was heard.
    fn on(&mut self, heard: TurnUpdate) -> String {
        match heard {
            TurnUpdate::Event(TurnEvent::Text(delta)) => self.more(&delta),
            TurnUpdate::Event(TurnEvent::ToolCall { .. } | TurnEvent::Void) => {
                // What the model said before a call, or before more was asked, is no part of
                // its reply.
                self.gap |= !std::mem::take(&mut self.text).is_empty();
                String::new()
            }
            TurnUpdate::Event(
                event @ (TurnEvent::Approval { .. } | TurnEvent::ApprovalDone { .. }),
            ) => self.waits(&event),
            TurnUpdate::Event(TurnEvent::Ended(end)) => self.end(end),
            TurnUpdate::Event(_) => String::new(),
            TurnUpdate::Lost => self.error(&OpenAiError::revoked()),
            TurnUpdate::Nothing => {
                self.error(&OpenAiError::failed("the turn ended without a word"))
            }
        }
    }

    fn more(&mut self, delta: &str) -> String {
        self.text.push_str(delta);
        let apart = if std::mem::take(&mut self.gap) { "\n\n" } else { "" };
        self.chunk(json!({ "content": format!("{apart}{delta}") }), None)
    }

    /// A chunk without words, for clients that look at more than words: the turn waits for an
    /// approval, or no longer does.
    fn waits(&mut self, event: &TurnEvent) -> String {
        let (kind, mut data) = event.described();
        data["event"] = kind.into();
        let choice = self.choice(json!({}), None);
        self.event_with(json!([choice]), Value::Null, Some(data))
    }

    fn choice(&mut self, mut delta: Value, finish: Option<&str>) -> Value {
        if !std::mem::replace(&mut self.begun, true) {
            delta["role"] = "assistant".into();
        }
        json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish })
    }

    fn chunk(&mut self, delta: Value, finish: Option<&str>) -> String {
        let choice = self.choice(delta, finish);
        self.event(json!([choice]), Value::Null)
    }

    fn event(&self, choices: Value, usage: Value) -> String {
        self.event_with(choices, usage, None)
    }

    fn event_with(&self, choices: Value, usage: Value, insula: Option<Value>) -> String {
        let mut body = json!({
            "id": self.about.id(),
            "object": "chat.completion.chunk",
            "created": self.about.created,
            "model": self.about.model,
            "choices": choices,
        });
        if self.usage_asked {
            body["usage"] = usage;
        }
        if let Some(insula) = insula {
            body["insula"] = insula;
        }
        format!("data: {body}\n\n")
    }

    /// A call that the client is to make: what it is first, then its arguments.
    fn call(&mut self, at: usize, call: &ClientCall) -> String {
        let mut begun = tool_call(&self.about, at, call);
        begun["index"] = at.into();
        begun["function"]["arguments"] = "".into();
        let arguments = json!({ "index": at, "function": { "arguments": call.arguments } });
        self.chunk(json!({ "tool_calls": [begun] }), None)
            + &self.chunk(json!({ "tool_calls": [arguments] }), None)
    }

    /// An error ends a stream without `[DONE]`: what came before it is not a whole reply.
    fn error(&mut self, error: &OpenAiError) -> String {
        self.ended = true;
        format!("data: {}\n\n", error.body())
    }

    fn end(&mut self, end: TurnEnd) -> String {
        self.ended = true;
        let mut text = String::new();
        match end {
            TurnEnd::Replied { text: reply, usage, cut, calls } => {
                // Deltas are provisional: what was missed, or came from a tool, follows now.
                let rest = reply.strip_prefix(self.text.as_str()).unwrap_or(&reply).to_owned();
                if !rest.is_empty() {
                    self.gap |= !self.text.is_empty() && rest == reply;
                    text += &self.more(&rest);
                }
                for (at, call) in calls.iter().enumerate() {
                    text += &self.call(at, call);
                }
                text += &self.last(finish(cut, &calls));
                if self.usage_asked {
                    text += &self.event(json!([]), counted(&usage));
                }
            }
            TurnEnd::Failed { error } => return self.error(&OpenAiError::failed(error)),
            TurnEnd::OverBudget(over) => return self.error(&OpenAiError::over_budget(over)),
            TurnEnd::Stopped => text += &self.last("stop"),
        }
        text + "data: [DONE]\n\n"
    }

    fn last(&mut self, finish: &str) -> String {
        let empty = if self.begun { json!({}) } else { json!({ "content": "" }) };
        self.chunk(empty, Some(finish))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_store::Usage;

    fn stream() -> Streamed {
        let about = About { sealed: "0".repeat(48), model: "a".to_owned(), created: 1 };
        Streamed::new(about, false)
    }

    fn chunks(text: &str) -> Vec<Value> {
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|it| *it != "[DONE]").map(|it| serde_json::from_str(it).unwrap()).collect()
    }

    fn replied(text: &str, calls: Vec<ClientCall>) -> TurnUpdate {
        let (text, usage) = (text.to_owned(), Usage::default());
        TurnUpdate::Event(TurnEvent::Ended(TurnEnd::Replied { text, usage, cut: None, calls }))
    }

    fn deltas(text: &str) -> Vec<Value> {
        chunks(text).iter().map(|it| it["choices"][0]["delta"].clone()).collect()
    }

    #[test]
    fn whose_words_they_are_is_said_once() {
        let mut sent = stream();
        let mut text = sent.on(TurnUpdate::Event(TurnEvent::Text("a".to_owned())));
        text += &sent.on(TurnUpdate::Event(TurnEvent::Text("b".to_owned())));
        text += &sent.on(replied("abc", Vec::new()));
        let deltas = deltas(&text);
        assert_eq!(deltas[0]["role"], "assistant");
        assert!(deltas[1..].iter().all(|it| it.get("role").is_none()), "{deltas:?}");
        let said = deltas.iter().filter_map(|it| it["content"].as_str()).collect::<String>();
        assert_eq!(said, "abc");
        // Where nothing is said at all, too.
        let text = stream().on(replied("", Vec::new()));
        assert_eq!(chunks(&text)[0]["choices"][0]["delta"]["role"], "assistant");
        assert_eq!(chunks(&text)[0]["choices"][0]["finish_reason"], "stop");
    }

    #[test]
    fn calls_come_in_deltas_that_add_up() {
        let call = |name: &str| ClientCall {
            id: "x".into(),
            name: name.into(),
            arguments: r#"{"a":1}"#.to_owned(),
        };
        let text = stream().on(replied("", vec![call("f"), call("g")]));
        let all = chunks(&text);
        let deltas = deltas(&text);
        let pieces: Vec<&Value> =
            deltas.iter().filter_map(|it| it["tool_calls"].as_array()).flatten().collect();
        for (index, name) in ["f", "g"].into_iter().enumerate() {
            let own: Vec<_> = pieces.iter().filter(|it| it["index"] == index).collect();
            assert_eq!(own[0]["function"]["name"], name);
            assert_eq!(own[0]["id"], format!("call_{}{index:02x}", "0".repeat(48)));
            let arguments = own.iter().filter_map(|it| it["function"]["arguments"].as_str());
            assert_eq!(arguments.collect::<String>(), r#"{"a":1}"#);
            assert!(own[1..].iter().all(|it| it.get("id").is_none()), "{own:?}");
        }
        assert_eq!(all.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
        assert!(text.ends_with("data: [DONE]\n\n"));
    }
}
