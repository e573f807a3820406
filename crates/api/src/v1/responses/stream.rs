//! A response as it comes, in the order of events that OpenAI's clients expect.

use super::super::chat::event_stream;
use super::super::error::OpenAiError;
use super::super::turn::{Listening, TurnUpdate};
use super::body::{About, Item, Status, part};
use axum::response::Response;
use insula_store::{Cut, Usage};
use insula_turns::{TurnEnd, TurnEvent};
use serde_json::{Value, json};

/// The response as it comes. Whoever goes away misses the rest; the turn goes on.
pub fn streamed(listening: Listening, about: About) -> Response {
    let sent = Sent { about, items: Vec::new(), is_open: false, number: 0, phase: Phase::Created };
    event_stream(futures_util::stream::unfold(
        (listening, sent),
        async move |(mut listening, mut sent)| {
            if sent.phase == Phase::Created {
                let text = sent.created();
                return Some((Ok(text), (listening, sent)));
            }
            while sent.phase != Phase::Ended {
                let text = sent.on(listening.next().await);
                if !text.is_empty() {
                    return Some((Ok(text), (listening, sent)));
                }
            }
            None
        },
    ))
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
    /// Whether the last item is not whole yet.
    is_open: bool,
    /// How many events there were.
    number: u64,
    phase: Phase,
}

impl Sent {
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
            TurnUpdate::Event(TurnEvent::ToolCall { .. } | TurnEvent::Void) => self.close(),
            TurnUpdate::Event(TurnEvent::Ended(TurnEnd::Replied { text, usage, cut })) => {
                self.replied(&text, &usage, cut)
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

    /// Where in the response the open item stands.
    fn place(&self) -> Value {
        let index = self.items.len().saturating_sub(1);
        let id = self.items.last().map(|item| item.id.as_str());
        json!({ "item_id": id, "output_index": index, "content_index": 0 })
    }

    fn at_place(&self, more: Value) -> Value {
        let mut place = self.place();
        if let (Value::Object(place), Value::Object(more)) = (&mut place, more) {
            place.extend(more);
        }
        place
    }

    fn more(&mut self, delta: &str) -> String {
        let mut text = String::new();
        if !self.is_open {
            let item = Item::empty(&self.about, self.items.len());
            let body = json!({ "output_index": self.items.len(), "item": item.begun() });
            self.items.push(item);
            self.is_open = true;
            text += &self.event("response.output_item.added", body);
            let body = self.at_place(json!({ "part": part("") }));
            text += &self.event("response.content_part.added", body);
        }
        if let Some(item) = self.items.last_mut() {
            item.text.push_str(delta);
        }
        let body = self.at_place(json!({ "delta": delta, "logprobs": [] }));
        text + &self.event("response.output_text.delta", body)
    }

    fn close(&mut self) -> String {
        let Some(item) = self.items.last().filter(|_| self.is_open) else { return String::new() };
        let (said, done) = (item.text.clone(), item.done());
        self.is_open = false;
        let body = self.at_place(json!({ "text": said, "logprobs": [] }));
        let mut text = self.event("response.output_text.done", body);
        let body = self.at_place(json!({ "part": part(&said) }));
        text += &self.event("response.content_part.done", body);
        let body = json!({ "output_index": self.items.len() - 1, "item": done });
        text + &self.event("response.output_item.done", body)
    }

    fn replied(&mut self, reply: &str, usage: &Usage, cut: Option<Cut>) -> String {
        let open = if self.is_open { self.items.last() } else { None };
        let said = open.map_or("", |item| item.text.as_str());
        let mut text = String::new();
        // Deltas are provisional: what was missed, or came from a tool, follows now.
        match reply.strip_prefix(said).map(str::to_owned) {
            Some(rest) if !rest.is_empty() => text += &self.more(&rest),
            Some(_) => {}
            None => {
                text += &self.close();
                text += &self.more(reply);
            }
        }
        if let Some(item) = self.items.last_mut() {
            item.cut = cut;
        }
        text += &self.close();
        self.phase = Phase::Ended;
        let response = self.about.response(Status::Given { output: &self.items, usage, cut });
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
