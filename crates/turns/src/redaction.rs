//! Keeps secrets out of a turn: of what it takes in, journals, shows to the model and says.
//!
//! There is one redactor for all of it, of the agent's own secrets and the daemon's; why is
//! said in [`insula_registry::secrets`].
//!
//! Deltas need more care than whole texts. A redactor that holds a text back exactly while it
//! could become a secret tells by the moments at which pieces come whether the text so far
//! *begins* one; by having an agent say one beginning after the other, somebody could find a
//! key letter by letter. So a word is let go when it is complete, whatever it is, and only
//! then redacted: what can be seen from outside depends on whole words alone. (A secret of
//! several words still shows whether its first words were said.)

use insula_domain::AgentId;
use insula_models as models;
use insula_models::Event;
use insula_store::Part;
use insula_vault::{Redactor, StreamRedactor};
use std::borrow::Cow;
use std::sync::Arc;

use insula_registry::events::turn::{ChildAct, EditedFile, EditorEvent, TurnEnd, TurnEvent};
use insula_registry::secrets::KnownSecrets;

/// The redactor for one agent, as it is at one moment.
#[derive(Clone)]
pub(crate) struct Redaction {
    own: Arc<Redactor>,
}

impl Redaction {
    pub(crate) fn of(agent: &AgentId, known: &KnownSecrets) -> Self {
        Self { own: known.own(agent) }
    }

    /// What is journalled, and so comes back in later prompts.
    pub(crate) fn kept(&self, mut text: String) -> String {
        scrub(&self.own, &mut text);
        text
    }

    /// What leaves the turn: cleared of the same as what is kept, and of nothing else. Whoever
    /// hears it chose its words, and would find somebody's secret by what is missing.
    pub(crate) fn told(&self, text: String) -> String {
        self.kept(text)
    }

    /// The parts of a message, before they are journalled. A call that the model makes is made
    /// as it is journalled, so a secret does not reach a tool by its arguments either.
    pub(crate) fn parts(&self, mut parts: Vec<Part>) -> Vec<Part> {
        if !self.own.is_empty() {
            parts.iter_mut().for_each(|part| self.part(part));
        }
        parts
    }

    fn part(&self, part: &mut Part) {
        match part {
            Part::Text(text) | Part::Beside(text) => scrub(&self.own, text),
            Part::Attachment { name, .. } => scrub_boxed(&self.own, name),
            Part::Image { source, .. } => scrub_boxed(&self.own, source),
            Part::ToolCall { id, name, arguments } => {
                scrub_boxed(&self.own, id);
                scrub_boxed(&self.own, name);
                scrub(&self.own, arguments);
            }
            Part::ToolResult { call, text, .. } => {
                scrub_boxed(&self.own, call);
                scrub(&self.own, text);
            }
            Part::Reasoning { text, signature } => {
                if let Cow::Owned(redacted) = self.own.redact(text) {
                    *text = redacted;
                    // A provider takes back only what it sealed.
                    *signature = None;
                }
            }
        }
    }

    /// Whether it hides the same from the model.
    pub(crate) fn shows_like(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.own, &other.own)
    }

    /// The fixed part of what the model is shown.
    pub(crate) fn system(&self, request: &mut models::Request) {
        if self.own.is_empty() {
            return;
        }
        for block in &mut request.system {
            scrub_shared(&self.own, &mut block.text);
        }
    }

    /// A message that the model is shown. The journal is redacted when it is written; this finds
    /// what was said before its secret was set, and what stands in the agent's own files.
    pub(crate) fn message(&self, message: &mut models::Message) {
        if !self.own.is_empty() {
            message.parts.iter_mut().for_each(|part| self.shown(part));
        }
    }

    fn shown(&self, part: &mut models::Part) {
        match part {
            models::Part::Text(text) => scrub_shared(&self.own, text),
            models::Part::Image(image) => match &mut image.data {
                models::ImageData::Url(url) => scrub_shared(&self.own, url),
                models::ImageData::Base64(data) => scrub_shared(&self.own, data),
            },
            models::Part::ToolCall { id, name, arguments } => {
                for text in [id, name, arguments] {
                    scrub_shared(&self.own, text);
                }
            }
            models::Part::ToolResult { call_id, content, .. } => {
                scrub_shared(&self.own, call_id);
                content.iter_mut().for_each(|part| self.shown(part));
            }
            models::Part::Reasoning { text, signature } => {
                if let Cow::Owned(redacted) = self.own.redact(text) {
                    *text = redacted.into();
                    *signature = None;
                }
            }
        }
    }

    /// What happens in a turn, on its way out.
    pub(crate) fn event(&self, event: TurnEvent) -> TurnEvent {
        match event {
            TurnEvent::ToolCall { name, about } => {
                TurnEvent::ToolCall { name: self.told(name), about: self.told(about) }
            }
            TurnEvent::ToolDone { name, is_error } => {
                TurnEvent::ToolDone { name: self.told(name), is_error }
            }
            TurnEvent::Approval { id, tool, what, rule, wait_s } => {
                TurnEvent::Approval { id, tool, what: self.told(what), rule, wait_s }
            }
            TurnEvent::Child { child, act } => TurnEvent::Child { child, act: self.act(act) },
            TurnEvent::Editor(event) => TurnEvent::Editor(Box::new(self.editor(*event))),
            TurnEvent::Ended(end) => TurnEvent::Ended(self.end(end)),
            other => other,
        }
    }

    /// What an editor is told. A file that it is handed is not: that is on its disk as it is.
    fn editor(&self, event: EditorEvent) -> EditorEvent {
        match event {
            EditorEvent::Call { id, name, arguments, paths } => EditorEvent::Call {
                id,
                name: self.told(name),
                arguments: self.told(arguments),
                paths,
            },
            EditorEvent::Done { id, name, is_error, refused, text, changes } => EditorEvent::Done {
                id,
                name: self.told(name),
                is_error,
                refused,
                text: self.told(text),
                changes: changes
                    .into_iter()
                    .map(|EditedFile { path, old, new }| EditedFile {
                        path,
                        old: old.map(|old| self.told(old)),
                        new: self.told(new),
                    })
                    .collect(),
            },
            asked @ (EditorEvent::Read { .. } | EditorEvent::Write { .. }) => asked,
        }
    }

    fn act(&self, act: ChildAct) -> ChildAct {
        match act {
            ChildAct::Started { role, goal } => ChildAct::Started { role, goal: self.told(goal) },
            ChildAct::ToolCall { name, about } => {
                ChildAct::ToolCall { name: self.told(name), about: self.told(about) }
            }
            ChildAct::ToolDone { name, is_error } => {
                ChildAct::ToolDone { name: self.told(name), is_error }
            }
            ended @ ChildAct::Ended { .. } => ended,
        }
    }

    /// How a turn ended, on its way out.
    pub(crate) fn end(&self, end: TurnEnd) -> TurnEnd {
        match end {
            TurnEnd::Replied { text, usage, cut, mut calls } => {
                for call in &mut calls {
                    call.arguments = self.told(std::mem::take(&mut call.arguments));
                }
                TurnEnd::Replied { text: self.told(text), usage, cut, calls }
            }
            TurnEnd::Failed { error } => TurnEnd::Failed { error: self.told(error) },
            // A refusal has names of settings and figures, and no words of anybody's.
            end @ (TurnEnd::OverBudget(_) | TurnEnd::Stopped) => end,
        }
    }

    /// What was said of an answer that was stopped, without the word it was stopped in: that
    /// may be the beginning of a secret, which nothing would recognise.
    pub(crate) fn cut_off(&self, mut text: String) -> String {
        if !self.own.is_empty() {
            text.truncate(whole_words(&text));
        }
        text
    }

    /// For the deltas of one answer.
    pub(crate) fn deltas(self) -> Deltas {
        let words = || (!self.own.is_empty()).then(|| Words::new(&self));
        Deltas { text: words(), reasoning: words(), redaction: self }
    }
}

/// What a model says while it says it, on its way out.
pub(crate) struct Deltas {
    /// `None` where there is nothing to look for, which then costs and delays nothing.
    text: Option<Words>,
    reasoning: Option<Words>,
    redaction: Redaction,
}

impl Deltas {
    /// Takes what the model said; `tell` gets what may be passed on now.
    pub(crate) fn hear(&mut self, event: &Event, tell: impl Fn(TurnEvent)) {
        match event {
            Event::TextDelta(piece) => {
                // Thoughts end where words begin: the last of them is not kept waiting.
                self.end_reasoning(&tell);
                pass(&mut self.text, piece, |text| tell(TurnEvent::Text(text)));
            }
            Event::ThoughtSoFar => {
                self.text = self.text.take().map(|_| Words::new(&self.redaction));
                tell(TurnEvent::Void);
            }
            Event::ReasoningDelta(piece) => {
                pass(&mut self.reasoning, piece, |text| tell(TurnEvent::Reasoning(text)));
            }
            _ => {}
        }
    }

    /// The answer is over: what was held back.
    pub(crate) fn finish(mut self, tell: impl Fn(TurnEvent)) {
        self.end_reasoning(&tell);
        let rest = self.text.take().map(Words::finish).unwrap_or_default();
        if !rest.is_empty() {
            tell(TurnEvent::Text(rest));
        }
    }

    fn end_reasoning(&mut self, tell: &impl Fn(TurnEvent)) {
        let Some(words) = &mut self.reasoning else { return };
        if !words.begun {
            return;
        }
        let rest = std::mem::replace(words, Words::new(&self.redaction)).finish();
        if !rest.is_empty() {
            tell(TurnEvent::Reasoning(rest));
        }
    }
}

fn pass(words: &mut Option<Words>, piece: &str, tell: impl FnOnce(String)) {
    let text = match words {
        Some(words) => words.push(piece),
        None => piece.to_owned(),
    };
    if !text.is_empty() {
        tell(text);
    }
}

/// A text that comes in pieces and goes in whole words, redacted.
struct Words {
    /// The beginning of a word that is not complete.
    word: String,
    own: StreamRedactor,
    begun: bool,
}

impl Words {
    fn new(redaction: &Redaction) -> Self {
        let own = StreamRedactor::new(redaction.own.clone());
        Self { word: String::new(), own, begun: false }
    }

    fn push(&mut self, piece: &str) -> String {
        self.begun = true;
        let end = whole_words(piece);
        if end == 0 {
            self.word.push_str(piece);
            return String::new();
        }
        self.word.push_str(&piece[..end]);
        let whole = std::mem::replace(&mut self.word, piece[end..].to_owned());
        self.own.push(&whole).into_owned()
    }

    fn finish(mut self) -> String {
        let mut text = self.own.push(&self.word).into_owned();
        text += &self.own.finish();
        text
    }
}

/// How far the complete words of a text reach. A word is a run of visible ASCII, which is what
/// keys are made of; text of other scripts does not wait.
fn whole_words(text: &str) -> usize {
    let goes_on = |c: char| c.is_ascii_graphic();
    text.trim_end_matches(goes_on).len()
}

fn scrub(redactor: &Redactor, text: &mut String) {
    if let Cow::Owned(redacted) = redactor.redact(text) {
        *text = redacted;
    }
}

fn scrub_boxed(redactor: &Redactor, text: &mut Box<str>) {
    if let Cow::Owned(redacted) = redactor.redact(text) {
        *text = redacted.into();
    }
}

fn scrub_shared(redactor: &Redactor, text: &mut Arc<str>) {
    if let Cow::Owned(redacted) = redactor.redact(text) {
        *text = redacted.into();
    }
}

#[cfg(test)]
#[path = "redaction_tests.rs"]
mod tests;

#[cfg(test)]
pub(crate) use tests::redaction as redaction_of;
