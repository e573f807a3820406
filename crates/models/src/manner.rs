//! The manner in which a question is put to a server, and how it is put again, otherwise, to one
//! that says it can't take it so. A question that was answered once has to be answerable for as
//! long as its conversation lasts, on whatever server.

use crate::complaint::{Complaint, complaint};
use crate::endpoint::Endpoint;
use crate::error::{ModelError, ModelFault};
use crate::fit::{Calls, Fit, Ids, Pictures, Turns};
use crate::provider::Adjusted;
use crate::request::{Part, Request};
use bytes::Bytes;
use insula_wire::{Body, Timeouts};
use tokio_util::sync::CancellationToken;

/// How a question is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manner {
    pub(crate) fit: Fit,
    pub(crate) extras: Extras,
    pub(crate) length: LengthName,
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
    /// How to put a question that was refused like this; `None` when there is no other way.
    fn after(self, message: &str, request: &Request) -> Option<Self> {
        let shows = self.fit.pictures != Pictures::InWords && has_pictures(request);
        let mut next = self;
        match complaint(message, shows)? {
            Complaint::Pictures => next.fit.pictures = Pictures::InWords,
            Complaint::LengthName => next.length = LengthName::MaxCompletionTokens,
            Complaint::Extras => next.extras = Extras::None,
            Complaint::Tools => next.fit = flat(next.fit),
            Complaint::Template => {
                let strict = Fit {
                    calls: Calls::Single,
                    turns: Turns::Alternating,
                    ids: Ids::Nine,
                    ..next.fit
                };
                let is_strict = next.fit == strict || next.fit.calls == Calls::InWords;
                next.fit = if is_strict { flat(next.fit) } else { strict };
            }
        }
        (next != self).then_some(next)
    }

    /// How to put it after refusals in these words, one after the other.
    pub(crate) fn after_all(self, refused: &[String], request: &Request) -> Option<Self> {
        refused.iter().try_fold(self, |manner, words| manner.after(words, request))
    }

    /// What is different from how it would have been put at first.
    fn since(self, first: Self) -> Adjusted {
        let blind = |manner: Self| manner.fit.pictures == Pictures::InWords;
        let flat = |manner: Self| manner.fit.calls == Calls::InWords;
        Adjusted {
            without_pictures: blind(self) && !blind(first),
            calls_in_words: flat(self) && !flat(first),
        }
    }
}

fn flat(fit: Fit) -> Fit {
    Fit { calls: Calls::InWords, turns: Turns::Alternating, ..fit }
}

fn has_pictures(request: &Request) -> bool {
    fn is_picture(part: &Part) -> bool {
        match part {
            Part::Image(_) => true,
            Part::ToolResult { content, .. } => content.iter().any(is_picture),
            _ => false,
        }
    }
    request.messages.iter().flat_map(|message| &message.parts).any(is_picture)
}

/// Puts a question, again where the server says why it can't take it so. Each manner is tried
/// once, and there are few of them. What comes with the answer is what was asked, as it was sent.
pub(crate) async fn put(
    endpoint: &Endpoint,
    request: &Request,
    first: Manner,
    limits: &Timeouts,
    cancel: &CancellationToken,
    encode: impl Fn(&Manner) -> Result<Vec<u8>, serde_json::Error> + Send + Sync,
) -> Result<(Body, Adjusted, Bytes), ModelError> {
    let mut manner = first;
    loop {
        let body = encode(&manner).map_err(|error| {
            let message = error.to_string();
            endpoint.error(&request.model, ModelFault::Refused { status: 0, message })
        })?;
        let asked = Bytes::from(body);
        let fault = match endpoint.post(asked.clone(), limits, cancel).await {
            Ok(body) => return Ok((body, manner.since(first), asked)),
            Err(fault) => fault,
        };
        let next = match &fault {
            ModelFault::Refused { message, .. } => manner.after(message, request),
            _ => None,
        };
        let Some(next) = next else { return Err(endpoint.error(&request.model, fault)) };
        let error = endpoint.error(&request.model, fault).without_words();
        tracing::info!(?next, "{error}; it is asked in another manner");
        manner = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{Taken, ToolPictures};
    use crate::request::{Image, Message, Role};

    const FIRST: Manner = Manner {
        fit: Fit {
            pictures: Pictures::Shown(Taken::Anywhere),
            tool_pictures: ToolPictures::After,
            calls: Calls::Together,
            turns: Turns::Free,
            ids: Ids::Kept,
        },
        extras: Extras::All,
        length: LengthName::MaxTokens,
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
