//! Messages in the words of a model request, each made once for all the turns that show it.

use crate::client::told;
use crate::redaction::Redaction;
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
}

impl ShownHistory {
    /// Makes anew what another redactor made.
    pub(crate) fn under(&mut self, redaction: &Redaction) {
        if self.under.as_ref().is_none_or(|under| !under.shows_like(redaction)) {
            self.made.clear();
            self.under = Some(redaction.clone());
        }
    }

    /// Shows pictures in words from now on, since this model does not take them.
    pub(crate) fn without_pictures_for(&mut self, model: Arc<str>) {
        self.made.clear();
        self.blind = Some(model);
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
            models::Role::User => parts(&stored.parts),
            // What goes along with a reply is for people; the result that it came by names it.
            _ => parts(&without_attachments(&stored.parts)),
        };
        if parts.is_empty() {
            return None;
        }
        if role == models::Role::Tool {
            parts = with_pictures(parts);
        }
        if self.blind.is_some() {
            parts.iter_mut().for_each(in_words);
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

/// Puts a picture in words, wherever it stands.
fn in_words(part: &mut models::Part) {
    match part {
        models::Part::Image(image) => *part = models::Part::Text(image.in_words().into()),
        models::Part::ToolResult { content, .. } => content.iter_mut().for_each(in_words),
        _ => {}
    }
}

/// What stands beside words is read with them, in one piece.
fn parts(stored: &[Part]) -> Vec<models::Part> {
    let joined = |run: &[Part]| match run {
        [Part::Text(_) | Part::Beside(_), _, ..] => {
            vec![models::Part::Text(crate::messages::text_of(run).into())]
        }
        run => run.iter().map(part).collect(),
    };
    let goes_on = |before: &Part, after: &Part| {
        matches!((before, after), (Part::Beside(_), Part::Text(_) | Part::Beside(_)))
            || matches!((before, after), (Part::Text(_), Part::Beside(_)))
    };
    stored.chunk_by(goes_on).flat_map(joined).collect()
}

fn part(stored: &Part) -> models::Part {
    match stored {
        Part::Text(text) | Part::Beside(text) => models::Part::Text(text.as_str().into()),
        Part::Attachment { name, media_type, bytes, .. } => {
            models::Part::Text(format!("[attachment {name}, {media_type}, {bytes} bytes]").into())
        }
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
    }
}
