//! Messages in the words of a model request, each made once for all the turns that show it.

use crate::client::told;
use crate::redaction::Redaction;
use insula_domain::marks::{note, plain};
use insula_domain::{Actor, Zones};
use insula_models as models;
use insula_store::{Message, MessageSeq, Part, Role};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// What was made so far of one conversation, under the redactor of one moment.
#[derive(Default)]
pub(crate) struct ShownHistory {
    made: HashMap<MessageSeq, Arc<models::Message>>,
    under: Option<Redaction>,
    /// The model that turned out not to take pictures: from then on it is told of them.
    blind: Option<Arc<str>>,
    /// What messages are told the time by.
    times: Option<Times>,
}

/// Which messages of a conversation tell when they were said, and by whose clock. It is the
/// moment that was journalled with them, so they tell the same however often they are shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) zones: Arc<Zones>,
    pub(crate) told: TimesTold,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimesTold {
    /// Every message that somebody wrote to the agent.
    Each,
    /// This one alone: who brings a conversation along brings it anew each time, and when the
    /// rest of it was said nobody knows.
    One(MessageSeq),
}

impl Times {
    /// When a message was said, as the model is told; `None` where it is not.
    fn note(&self, stored: &Message) -> Option<String> {
        let by_somebody = matches!(
            stored.principal,
            Actor::CommandLine | Actor::Token(_) | Actor::User(_) | Actor::Other(_)
        );
        let is_told = match self.told {
            TimesTold::Each => stored.turn.is_some(),
            TimesTold::One(seq) => stored.seq == seq,
        };
        (stored.role == Role::User && by_somebody && is_told).then(|| {
            let zone = self.zones.of(&stored.principal);
            note(&format!("said on {}", zone.describe(stored.at.as_millis())))
        })
    }
}

impl ShownHistory {
    /// Makes anew what another redactor made.
    pub(crate) fn under(&mut self, redaction: &Redaction) {
        if self.under.as_ref().is_none_or(|under| !under.shows_like(redaction)) {
            self.made.clear();
            self.under = Some(redaction.clone());
        }
    }

    /// Makes anew what was told the time by other clocks.
    pub(crate) fn by(&mut self, times: Times) {
        if self.times.as_ref() != Some(&times) {
            self.made.clear();
            self.times = Some(times);
        }
    }

    /// Whether its caller brings the conversation along.
    pub(crate) fn is_brought_along(&self) -> bool {
        self.times.as_ref().is_some_and(|times| times.told != TimesTold::Each)
    }

    /// Shows pictures in words from now on, since this model does not take them.
    pub(crate) fn without_pictures_for(&mut self, model: Arc<str>) {
        self.made.clear();
        self.blind = Some(model);
    }

    /// The model that turned out not to take pictures, where one did.
    pub(crate) fn blind(&self) -> Option<&str> {
        self.blind.as_deref()
    }

    /// Shows pictures again where the model is none of these any more that did not take them.
    pub(crate) fn for_models(&mut self, chain: &models::Chain) {
        let is_blind = |link: &models::Link| self.blind.as_deref() == Some(&*link.to_string());
        if self.blind.is_some() && !chain.links().any(is_blind) {
            self.made.clear();
            self.blind = None;
        }
    }

    /// Drops what is no longer shown.
    pub(crate) fn keep(&mut self, history: &[Message]) {
        if self.made.len() > history.len() {
            let there: std::collections::HashSet<MessageSeq> =
                history.iter().map(|message| message.seq).collect();
            self.made.retain(|seq, _| there.contains(seq));
        }
    }

    /// A stored message as the model sees it; `None` for one it is not shown.
    pub(crate) fn message(&mut self, stored: &Message) -> Option<Arc<models::Message>> {
        if let Some(made) = self.made.get(&stored.seq) {
            return Some(made.clone());
        }
        let role = match stored.role {
            Role::User | Role::System => models::Role::User,
            Role::Assistant => models::Role::Assistant,
            Role::Tool => models::Role::Tool,
        };
        let mut parts = match role {
            models::Role::User => match self.times.as_ref().and_then(|it| it.note(stored)) {
                Some(_) if stored.parts.is_empty() => Vec::new(),
                Some(time) => parts(&with_time(&stored.parts, time)),
                None => parts(&stored.parts),
            },
            _ => parts(&stored.parts),
        };
        if parts.is_empty() {
            return None;
        }
        if role == models::Role::Tool {
            parts = with_pictures(parts);
        }
        if self.blind.is_some() {
            parts.iter_mut().for_each(models::Part::put_in_words);
        }
        let mut message = models::Message::new(role, parts);
        if let Some(redaction) = &self.under {
            redaction.message(&mut message);
        }
        let made = Arc::new(message);
        self.made.insert(stored.seq, made.clone());
        Some(made)
    }
}

/// What was said, and behind it when: what is new comes last, so that whoever compares requests
/// from their beginning finds as much as there is in common. Words beside ours have no marks.
fn with_time(stored: &[Part], time: String) -> Vec<Part> {
    let words = stored.iter().map(|part| match part {
        Part::Text(text) => Part::Text(plain(text)),
        other => other.clone(),
    });
    words.chain([Part::Beside(time)]).collect()
}

/// Files that came along or go along are for people: words beside them name them.
fn without_attachments(stored: &[Part]) -> Cow<'_, [Part]> {
    let is_attached = |part: &Part| matches!(part, Part::Attachment { .. });
    match stored.iter().any(is_attached) {
        false => stored.into(),
        true => stored.iter().filter(|part| !is_attached(part)).cloned().collect(),
    }
}

/// Pictures belong to the result that they stand behind.
fn with_pictures(parts: Vec<models::Part>) -> Vec<models::Part> {
    let mut out: Vec<models::Part> = Vec::new();
    for part in parts {
        match (part, out.last_mut()) {
            (image @ models::Part::Image(_), Some(models::Part::ToolResult { content, .. })) => {
                content.push(image);
            }
            (part, _) => out.push(part),
        }
    }
    out
}

/// What stands beside words is read with them, in one piece.
fn parts(stored: &[Part]) -> Vec<models::Part> {
    let joined = |run: &[Part]| match run {
        [Part::Text(_) | Part::Beside(_), _, ..] => {
            vec![models::Part::Text(crate::messages::text_of(run).into())]
        }
        run => run.iter().filter_map(part).collect(),
    };
    let goes_on = |before: &Part, after: &Part| {
        matches!((before, after), (Part::Beside(_), Part::Text(_) | Part::Beside(_)))
            || matches!((before, after), (Part::Text(_), Part::Beside(_)))
    };
    without_attachments(stored).chunk_by(goes_on).flat_map(joined).collect()
}

fn part(stored: &Part) -> Option<models::Part> {
    Some(match stored {
        Part::Attachment { .. } => return None,
        Part::Text(text) | Part::Beside(text) => models::Part::Text(text.as_str().into()),
        Part::Image { source, media_type } => {
            let mut image = models::Image::from_url(source);
            if image.mime.is_empty() {
                image.mime = (**media_type).into();
            }
            models::Part::Image(image)
        }
        Part::ToolCall { id, name, arguments } => models::Part::ToolCall {
            id: (**id).into(),
            name: told(name).into(),
            arguments: arguments.as_str().into(),
        },
        Part::ToolResult { call, text, is_error, .. } => models::Part::ToolResult {
            call_id: (**call).into(),
            content: vec![models::Part::Text(text.as_str().into())],
            is_error: *is_error,
        },
        Part::Reasoning { text, signature } => models::Part::Reasoning {
            text: text.as_str().into(),
            signature: signature.as_deref().map(Into::into),
        },
    })
}
