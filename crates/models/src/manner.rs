//! The manner in which a question is put to a server, and how it is put again, otherwise, to one
//! that says it can't take it so. A question that was answered once has to be answerable for as
//! long as its conversation lasts, on whatever server.

use crate::complaint::{Complaint, complaint, may_be_about_pictures, names_a_cause};
use crate::error::ModelFault;
use crate::fit::{Calls, Fit, Pictures, System};
use crate::limits;
use crate::provider::Adjusted;
use crate::request::{Part, Request};

/// How a question is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manner {
    pub(crate) fit: Fit,
    pub(crate) extras: Extras,
    pub(crate) length: LengthName,
    /// The most tokens of an answer that the server takes, where it said so.
    pub(crate) answer_max: Option<u32>,
}

/// Which members a request has besides what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extras {
    /// All that its dialect knows.
    All,
    /// None.
    None,
}

/// What the most tokens of an answer are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LengthName {
    MaxTokens,
    MaxCompletionTokens,
}

impl Manner {
    /// What is put so, with all that its dialect knows.
    pub(crate) fn new(fit: Fit, length: LengthName) -> Self {
        Self { fit, extras: Extras::All, length, answer_max: None }
    }

    /// The most tokens of an answer, of those that were asked for.
    pub(crate) fn capped(&self, tokens: u32) -> u32 {
        self.answer_max.map_or(tokens, |most| most.min(tokens))
    }

    /// How to put a question that was refused with this fault; `None` when there is no other way.
    /// `tokens` is how long the answer was allowed to be.
    pub(crate) fn after_fault(
        self,
        fault: &ModelFault,
        request: &Request,
        tokens: Option<u32>,
    ) -> Option<Self> {
        match fault {
            ModelFault::Refused { status, message } => {
                let shorter = || self.shorter(message, None, tokens);
                let plainer = || self.plainer(*status, message, request);
                shorter().or_else(|| self.after(message, request)).or_else(plainer)
            }
            ModelFault::TooLong { status, message, window } => {
                let plainer = || self.plainer(*status, message, request);
                self.shorter(message, *window, tokens).or_else(plainer)
            }
            // What forwards questions has no place for some of them, and calls that so.
            ModelFault::Missing { message, .. } if may_be_about_pictures(message) => {
                self.after(message, request).or_else(|| self.in_words(request))
            }
            _ => None,
        }
    }

    /// The same with a shorter answer, where the server says how long it may be.
    fn shorter(self, message: &str, window: Option<u32>, tokens: Option<u32>) -> Option<Self> {
        if complaint(message, false) == Some(Complaint::LengthName) {
            return None;
        }
        let most = limits::answer(message, window, self.capped(tokens?))?;
        Some(Self { answer_max: Some(most), ..self })
    }

    /// The same with pictures in words, where there are any.
    fn in_words(self, request: &Request) -> Option<Self> {
        let shows = self.fit.pictures != Pictures::InWords && has_pictures(request);
        shows.then_some(Self { fit: Fit { pictures: Pictures::InWords, ..self.fit }, ..self })
    }

    /// A plainer way, where a server finds a request broken and does not say why: pictures are
    /// what most often is, then calls. A request that has neither has no plainer form.
    fn plainer(self, status: u16, message: &str, request: &Request) -> Option<Self> {
        if !matches!(status, 400 | 413 | 415 | 422) || names_a_cause(message) {
            return None;
        }
        let flat = || {
            let is_other = self.fit.calls != Calls::InWords;
            let has_calls = matches!(status, 400 | 422) && is_other && has_calls(request);
            has_calls.then(|| Self { fit: self.fit.in_words(), extras: Extras::None, ..self })
        };
        self.in_words(request).or_else(flat)
    }

    /// How to put a question that was refused like this; `None` when there is no other way.
    fn after(self, message: &str, request: &Request) -> Option<Self> {
        let shows = self.fit.pictures != Pictures::InWords && has_pictures(request);
        let mut next = self;
        match complaint(message, shows)? {
            Complaint::Pictures => next.fit.pictures = Pictures::InWords,
            Complaint::LengthName => next.length = LengthName::MaxCompletionTokens,
            Complaint::Extras => next.extras = Extras::None,
            Complaint::Tools => next.fit = next.fit.in_words(),
            Complaint::System if next.fit.has_system() && !request.system.is_empty() => {
                next.fit.system = System::InFirst;
            }
            Complaint::System | Complaint::Template => {
                let strict = next.fit.in_order();
                let is_strict = next.fit == strict || next.fit.calls == Calls::InWords;
                next.fit = if is_strict { next.fit.in_words() } else { strict };
            }
        }
        (next != self).then_some(next)
    }

    /// How to put it after refusals in these words, one after the other.
    pub(crate) fn after_all(self, refused: &[String], request: &Request) -> Option<Self> {
        refused.iter().try_fold(self, |manner, words| manner.after(words, request))
    }

    /// What is different from how it would have been put at first.
    pub(crate) fn since(self, first: Self) -> Adjusted {
        let blind = |manner: Self| manner.fit.pictures == Pictures::InWords;
        let flat = |manner: Self| manner.fit.calls == Calls::InWords;
        Adjusted {
            without_pictures: blind(self) && !blind(first),
            calls_in_words: flat(self) && !flat(first),
        }
    }
}

/// Whether there are calls in the conversation of a request.
pub(crate) fn has_calls(request: &Request) -> bool {
    let is_of_call = |part: &Part| matches!(part, Part::ToolCall { .. } | Part::ToolResult { .. });
    request.messages.iter().flat_map(|message| &message.parts).any(is_of_call)
}

/// Whether there are pictures in a request.
pub(crate) fn has_pictures(request: &Request) -> bool {
    request.messages.iter().flat_map(|message| &message.parts).any(Part::has_picture)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{Ids, Taken, ToolPictures, Turns};
    use crate::request::{Image, Message, Role};

    const FIRST: Manner = Manner {
        fit: Fit {
            pictures: Pictures::Shown(Taken::Anywhere),
            tool_pictures: ToolPictures::After,
            calls: Calls::Together,
            turns: Turns::Free,
            ids: Ids::Kept,
            system: System::Apart,
        },
        extras: Extras::All,
        length: LengthName::MaxTokens,
        answer_max: None,
    };

    #[test]
    fn every_complaint_is_met_once_and_then_it_is_final() {
        let image = Part::Image(Image::from_url("data:image/png;base64,AAAA"));
        let request = Request::new("m", vec![Message::new(Role::User, vec![image])]);
        for said in [
            "roles must alternate",
            "does not support tools",
            "image input is not supported",
            "unsupported parameter",
            "use 'max_completion_tokens'",
        ] {
            let mut manner = FIRST;
            let mut tries = 0;
            while let Some(next) = manner.after(said, &request) {
                manner = next;
                tries += 1;
                assert!(tries < 4, "{said} goes on and on");
            }
            assert!(tries > 0, "{said}");
        }
        assert_eq!(FIRST.after("something else", &request), None);
    }

    #[test]
    fn a_template_is_met_with_order_first_and_with_words_alone_then() {
        let request = Request::new("m", vec![Message::user("hi")]);
        let strict = FIRST.after("roles must alternate", &request).unwrap();
        assert_eq!((strict.fit.calls, strict.fit.turns), (Calls::Single, Turns::Alternating));
        assert_eq!(strict.since(FIRST), Adjusted::default());
        let flat = strict.after("System role not supported", &request).unwrap();
        assert_eq!(flat.fit.calls, Calls::InWords);
        assert!(flat.since(FIRST).calls_in_words);
        assert_eq!(flat.after("roles must alternate", &request), None);
    }
}
