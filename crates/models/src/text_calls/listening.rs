//! Between a provider and whoever asks: what a request becomes for a model that prints its calls,
//! and its answer with calls and thoughts where they belong.

use super::constrained::{self, Reply, Turned};
use super::found::{Form, Found, TEXT_CALL_ID, ToolNames};
use super::hearing::{Ended, Heard, Hearing, Natively};
use super::in_words::{Style, in_words};
use super::lenient::{AtEnd, prefix};
use super::meant::is_own;
use super::mode::{ToolCalls, reads_itself};
use super::next_step::with_notes;
use super::scan::Looking;
use super::shape::{self, Setting};
use super::shown::Shown;
use super::thoughts::begins_thinking;
use super::unmarked::SeenThinking;
use crate::error::ModelError;
use crate::event::{Event, StopReason};
use crate::provider::{AnswerStream, EventSource, More};
use crate::request::{Request, ToolChoice};
use async_trait::async_trait;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// How one provider is listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listening {
    tool_calls: ToolCalls,
    is_constrained: bool,
    /// Whether it tells calls and thoughts apart itself.
    reads_itself: bool,
}

impl Listening {
    /// How the models of a host are listened to, by what its operator set.
    pub(crate) fn to(
        host: &str,
        tool_calls: Option<ToolCalls>,
        is_constrained: Option<bool>,
    ) -> Self {
        Self {
            tool_calls: tool_calls.unwrap_or_default(),
            is_constrained: is_constrained.unwrap_or(false),
            reads_itself: reads_itself(host),
        }
    }

    /// Whether answers are held to a schema.
    fn constrains(self, request: &Request) -> bool {
        self.is_constrained && request.format.is_none() && !request.tools.is_empty()
    }

    /// The request as this provider's models are asked it.
    pub(crate) fn asked<'r>(self, request: &'r Request) -> Cow<'r, Request> {
        if self.constrains(request) {
            let mut worded = in_words(request, Style::Objects);
            worded.format = constrained::format(request);
            return Cow::Owned(worded);
        }
        let request = match (self.tool_calls, with_notes(request)) {
            (ToolCalls::Native, _) | (_, None) => Cow::Borrowed(request),
            (_, Some(noted)) => Cow::Owned(noted),
        };
        match self.tool_calls {
            ToolCalls::Text => Cow::Owned(in_words(&request, Style::Tags)),
            ToolCalls::Native | ToolCalls::Auto => request,
        }
    }

    /// The answer to `request`, which is the one that was not changed yet. `seen` is what was seen
    /// of this provider's models before, and learns from this answer.
    pub(crate) fn to_answer(
        self,
        stream: AnswerStream,
        request: &Request,
        seen: &SeenThinking,
    ) -> AnswerStream {
        let may_call = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
        let prints_calls = match self.tool_calls {
            ToolCalls::Native => self.constrains(request),
            ToolCalls::Text => true,
            ToolCalls::Auto => !self.reads_itself || self.constrains(request),
        };
        if self.reads_itself && !prints_calls {
            return stream;
        }
        let looking = match prints_calls && may_call {
            false => Looking::Thoughts,
            // Where JSON was asked for, JSON is the answer.
            true if request.format.is_some() => Looking::Marks,
            true => Looking::Calls,
        };
        let tools = ToolNames::of(&request.tools).and(&request.mistakable);
        let mut hearing = Hearing::new(tools.clone(), looking);
        // From such a model all words are held back until the end of its thought, or of its
        // answer: which of the two they are is not to be told before. Others are passed on as
        // they come, and the first answer that ends a thought it did not begin is taken back.
        if begins_thinking(&request.model) || seen.has(request) {
            hearing = hearing.may_begin_thinking();
        }
        let reply = self.constrains(request).then(Reply::default);
        let adjusted = stream.adjustments();
        let heard = AnswerStream::new(Box::new(Listener {
            stream,
            hearing: Some(hearing),
            reply,
            tools,
            shown: Shown::of(request),
            natively: Natively::Silent,
            asker: request.asker.clone(),
            model: request.model.clone(),
            seen: seen.clone(),
        }));
        heard.adjusted(adjusted)
    }
}

struct Listener {
    stream: AnswerStream,
    /// `None` after the end.
    hearing: Option<Hearing>,
    /// While the answer may be an object that it was held to.
    reply: Option<Reply>,
    tools: ToolNames,
    shown: Shown,
    natively: Natively,
    asker: Arc<str>,
    model: Arc<str>,
    seen: SeenThinking,
}

#[async_trait]
impl EventSource for Listener {
    async fn fill(&mut self, ready: &mut VecDeque<Event>) -> Result<More, ModelError> {
        let Some(event) = self.stream.next().await else { return Ok(More::No) };
        match event? {
            Event::TextDelta(text) => self.hear(&text, ready),
            Event::Done(stop) => {
                let stop = self.finish(stop, ready);
                ready.push_back(Event::Done(stop));
            }
            event => {
                match &event {
                    Event::ToolCallStart { .. } => self.natively = Natively::Called,
                    Event::ReasoningDelta(_) => {
                        if let Some(hearing) = &mut self.hearing {
                            hearing.thinks_apart();
                        }
                    }
                    _ => {}
                }
                ready.push_back(event);
            }
        }
        Ok(More::Yes)
    }
}

impl Listener {
    fn hear(&mut self, text: &str, ready: &mut VecDeque<Event>) {
        if let Some(reply) = &mut self.reply {
            match reply.push(text) {
                (Turned::Reply, words) if !words.is_empty() => {
                    ready.push_back(Event::TextDelta(words));
                }
                (Turned::Other, _) if !reply.is_object() => {
                    let all = self.reply.take().map(Reply::into_text).unwrap_or_default();
                    self.hear_words(&all, ready);
                }
                _ => {}
            }
            return;
        }
        self.hear_words(text, ready);
    }

    fn hear_words(&mut self, text: &str, ready: &mut VecDeque<Event>) {
        let Some(hearing) = &mut self.hearing else { return };
        ready.extend(hearing.push(text).into_iter().map(event));
        if hearing.began_thinking() {
            self.seen.note(&self.asker, &self.model);
        }
    }

    /// What is left of the answer, and why it ended.
    fn finish(&mut self, stop: StopReason, ready: &mut VecDeque<Event>) -> StopReason {
        let Some(mut hearing) = self.hearing.take() else { return stop };
        let mut calls = vec![];
        if let Some(mut reply) = self.reply.take() {
            if reply.push("").0 == Turned::Reply {
                return stop;
            }
            let text = reply.into_text();
            match self.held_to(&text) {
                Some(held) => calls = held,
                // Nobody held it to anything: it is an answer like any other.
                None => ready.extend(hearing.push(&text).into_iter().map(event)),
            }
        }
        if calls.is_empty() {
            let Ended { heard, calls: meant } = hearing.finish(self.natively, &self.shown);
            ready.extend(heard.into_iter().map(event));
            match meant {
                Ok(meant) => calls = meant,
                Err(why) => tracing::trace!(?why, "no calls in the text of an answer"),
            }
        }
        if calls.is_empty() {
            return stop;
        }
        for (index, (Found { name, arguments }, form)) in calls.into_iter().enumerate() {
            // Told apart from all calls before it by how much was said when it was made.
            let place = self.shown.messages.len();
            let id = format!("{TEXT_CALL_ID}{}_{place}_{index}", form.as_str()).into();
            ready.push_back(Event::ToolCallStart { index, id, name: name.into() });
            ready.push_back(Event::ToolCallDelta { index, json: arguments });
        }
        match stop {
            StopReason::Finished => StopReason::ToolCalls,
            other => other,
        }
    }

    /// The call in an answer that was held to a schema.
    fn held_to(&self, text: &str) -> Option<Vec<(Found, Form)>> {
        let document = prefix(text, AtEnd::Closed).ok()?;
        let calls = shape::calls(&document.node, text, &self.tools, Setting::Plain)?;
        let is_all = text.get(document.len..)?.trim().is_empty();
        let is_own = is_own(calls.iter(), &self.tools, &self.shown).is_ok();
        (is_all && is_own && self.natively == Natively::Silent)
            .then(|| calls.into_iter().map(|call| (call, Form::Schema)).collect())
    }
}

fn event(heard: Heard) -> Event {
    match heard {
        Heard::Words(text) => Event::TextDelta(text),
        Heard::Thought(text) => Event::ReasoningDelta(text),
        Heard::ThoughtSoFar => Event::ThoughtSoFar,
    }
}
