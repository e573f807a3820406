//! A response as it comes, in the order of events that OpenAI's clients expect.

use super::super::error::OpenAiError;
use super::super::turn::{Listening, Reply, TurnUpdate};
use super::body::{About, Item, Message, Status, part};
use crate::Api;
use crate::events::Stream;
use axum::response::Response;
use insula_turns::{ClientCall, TurnEnd, TurnEvent};
use serde_json::{Value, json};

/// The response as it comes, with a sign of life in long silences. Whoever goes away misses the
/// rest; the turn goes on.
pub fn streamed(api: &Api, listening: Listening, about: About) -> Response {
    listening.streams_words();
    let sent = Sent::new(about);
    let frames =
        futures_util::stream::unfold((listening, sent), async move |(mut listening, mut sent)| {
            if sent.phase == Phase::Created {
                let text = sent.created();
                return Some((text, (listening, sent)));
            }
            while sent.phase != Phase::Ended {
                let text = sent.on(listening.next().await);
                if !text.is_empty() {
                    return Some((text, (listening, sent)));
                }
            }
            None
        });
    Stream::response(api, frames)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Created,
    Going,
    Ended,
}

/// What a client was sent.
struct Sent {
    about: About,
    items: Vec<Item>,
    /// The message that is not whole yet, which comes after those.
    open: Option<Message>,
    /// How many messages were said that count.
    said: usize,
    /// How many were begun since the last of them.
    again: usize,
    /// How many events there were.
    number: u64,
    phase: Phase,
}

impl Sent {
    fn new(about: About) -> Self {
        let (items, phase) = (Vec::new(), Phase::Created);
        Self { about, items, open: None, said: 0, again: 0, number: 0, phase }
    }

    fn event(&mut self, kind: &str, mut body: Value) -> String {
        body["type"] = kind.into();
        body["sequence_number"] = self.number.into();
        self.number += 1;
        format!("event: {kind}\ndata: {body}\n\n")
    }

    fn created(&mut self) -> String {
        self.phase = Phase::Going;
        let response = self.about.response(Status::InProgress);
        let created = self.event("response.created", json!({ "response": response.clone() }));
        created + &self.event("response.in_progress", json!({ "response": response }))
    }

    /// What to send for what was heard.
    fn on(&mut self, heard: TurnUpdate) -> String {
        match heard {
            TurnUpdate::Event(TurnEvent::Text(delta)) => self.more(&delta),
            // What the model said before a call, or before more was asked, is a message of its
            // own.
            TurnUpdate::Event(event @ (TurnEvent::ToolCall { .. } | TurnEvent::Void)) => {
                let is_said = self.open.is_some() && !matches!(event, TurnEvent::Void);
                let text = self.close();
                if is_said {
                    (self.said, self.again) = (self.said + 1, 0);
                }
                text
            }
            TurnUpdate::Event(TurnEvent::Ended(TurnEnd::Replied { text, usage, cut, calls })) => {
                self.replied(Reply { text, usage, cut, calls })
            }
            TurnUpdate::Event(TurnEvent::Ended(TurnEnd::Failed { error })) => self.failed(&error),
            TurnUpdate::Event(TurnEvent::Ended(TurnEnd::OverBudget(refusal))) => {
                self.failed(&refusal.to_string())
            }
            TurnUpdate::Event(TurnEvent::Ended(TurnEnd::Stopped)) => {
                self.failed("the turn was stopped")
            }
            TurnUpdate::Event(
                event @ (TurnEvent::Approval { .. } | TurnEvent::ApprovalDone { .. }),
            ) => {
                // An event that clients of OpenAI's know, with what they don't beside it.
                let (kind, mut data) = event.described();
                data["event"] = kind.into();
                let response = self.about.response(Status::InProgress);
                let body = json!({ "response": response, "insula": data });
                self.event("response.in_progress", body)
            }
            TurnUpdate::Event(_) => String::new(),
            TurnUpdate::Lost => self.cut(),
            TurnUpdate::Nothing => self.failed("the turn ended without a word"),
        }
    }

    /// Where in the response the open message stands, and more.
    fn at_place(&self, more: Value) -> Value {
        let id = self.open.as_ref().map(|message| message.id.as_str());
        let mut place =
            json!({ "item_id": id, "output_index": self.items.len(), "content_index": 0 });
        if let (Value::Object(place), Value::Object(more)) = (&mut place, more) {
            place.extend(more);
        }
        place
    }

    fn more(&mut self, delta: &str) -> String {
        let mut text = String::new();
        if self.open.is_none() {
            let message = Message::empty(&self.about, self.said, self.again);
            self.again += 1;
            let body = json!({ "output_index": self.items.len(), "item": message.begun() });
            self.open = Some(message);
            text += &self.event("response.output_item.added", body);
            let body = self.at_place(json!({ "part": part("") }));
            text += &self.event("response.content_part.added", body);
        }
        if let Some(message) = &mut self.open {
            message.text.push_str(delta);
        }
        let body = self.at_place(json!({ "delta": delta, "logprobs": [] }));
        text + &self.event("response.output_text.delta", body)
    }

    fn close(&mut self) -> String {
        let Some(message) = &self.open else { return String::new() };
        let (said, done) = (message.text.clone(), message.done());
        let body = self.at_place(json!({ "text": said, "logprobs": [] }));
        let mut text = self.event("response.output_text.done", body);
        let body = self.at_place(json!({ "part": part(&said) }));
        text += &self.event("response.content_part.done", body);
        let body = json!({ "output_index": self.items.len(), "item": done });
        text += &self.event("response.output_item.done", body);
        self.items.extend(self.open.take().map(Item::Message));
        text
    }

    /// A call that the client is to make: what it is first, then its arguments.
    fn call(&mut self, at: usize, call: ClientCall) -> String {
        let arguments = call.arguments.clone();
        let name = call.name.clone();
        let item = Item::call(&self.about, at, call);
        let index = self.items.len();
        let body = json!({ "output_index": index, "item": item.begun() });
        let mut text = self.event("response.output_item.added", body);
        let body = json!({ "item_id": item.id(), "output_index": index, "delta": arguments });
        text += &self.event("response.function_call_arguments.delta", body);
        let body = json!({ "item_id": item.id(), "output_index": index, "name": name,
            "arguments": arguments });
        text += &self.event("response.function_call_arguments.done", body);
        let body = json!({ "output_index": index, "item": item.done() });
        text += &self.event("response.output_item.done", body);
        self.items.push(item);
        text
    }

    fn replied(&mut self, reply: Reply) -> String {
        let Reply { text: reply, usage, cut, calls } = reply;
        let said = self.open.as_ref().map_or("", |message| message.text.as_str());
        let mut text = String::new();
        // Deltas are provisional: what was missed, or came from a tool, follows now.
        match reply.strip_prefix(said).map(str::to_owned) {
            Some(rest) if !rest.is_empty() => text += &self.more(&rest),
            Some(_) => {}
            None => {
                text += &self.close();
                text += &self.more(&reply);
            }
        }
        if let Some(message) = &mut self.open {
            message.cut = cut;
        }
        text += &self.close();
        for (at, call) in calls.into_iter().enumerate() {
            text += &self.call(at, call);
        }
        self.phase = Phase::Ended;
        let (output, usage) = (&self.items, &usage);
        let response = self.about.response(Status::Given { output, usage, cut });
        let kind = if cut.is_some() { "response.incomplete" } else { "response.completed" };
        text + &self.event(kind, json!({ "response": response }))
    }

    fn failed(&mut self, error: &str) -> String {
        let text = self.close();
        self.phase = Phase::Ended;
        let response = self.about.response(Status::Failed { output: &self.items, error });
        text + &self.event("response.failed", json!({ "response": response }))
    }

    /// The caller lost its right to listen: it is told so, and nothing else.
    fn cut(&mut self) -> String {
        self.phase = Phase::Ended;
        let error = OpenAiError::revoked();
        let (code, message) = error.said();
        let body = json!({ "code": code, "message": message, "param": null });
        self.event("error", body)
    }
}
