//! What refusals taught of the manner in which a model wants to be asked, so that not every
//! question is put in all of them, one after the other.
//!
//! Only what a server says in words of its own counts, and only once it took the question
//! afterwards. What takes something from the model is not believed at once.

use crate::complaint::complaint;
use crate::error::ModelFault;
use crate::fit::{Calls, System};
use crate::limits::own_words;
use crate::manner::{Extras, LengthName, Manner, has_calls};
use crate::request::{Request, ToolChoice};

/// How many questions a model takes in words alone before it is asked so at once. That gives up
/// its own way of calling tools, and one refusal may be about one conversation.
const IN_WORDS_MIN: u8 = 2;

/// The manner in which a model wants to be asked, as far as it differs from its dialect's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Taught {
    /// Its system prompt has to stand in the first message.
    system_in_first: bool,
    /// One call after the other, person and model in turns.
    in_order: bool,
    /// Nothing but what is needed.
    without_extras: bool,
    /// The most tokens of an answer have the newer name.
    new_length: bool,
    /// For how many questions it took no calls but those in words.
    in_words: u8,
    /// Whether this question is one of them.
    is_in_words: bool,
}

impl Taught {
    /// How to ask first, where a dialect would ask like this.
    pub(crate) fn applied(self, mut first: Manner) -> Manner {
        if self.system_in_first {
            first.fit.system = System::InFirst;
        }
        if self.in_order && first.fit.calls != Calls::InWords {
            first.fit = first.fit.in_order();
        }
        if self.without_extras {
            first.extras = Extras::None;
        }
        if self.new_length {
            first.length = LengthName::MaxCompletionTokens;
        }
        if self.in_words >= IN_WORDS_MIN {
            first.fit = first.fit.in_words();
        }
        first
    }

    /// A question was refused in one manner, and is put in the next.
    pub(crate) fn refused(
        &mut self,
        fault: &ModelFault,
        (manner, next): (Manner, Manner),
        request: &Request,
    ) {
        let ModelFault::Refused { message, .. } = fault else { return };
        let is_told = own_words(message).is_some_and(|words| complaint(&words, false).is_some());
        // What somebody wants of one answer alone may be what was refused.
        let is_usual = request.format.is_none()
            && request.stop.is_empty()
            && request.tool_choice == ToolChoice::Auto;
        if !is_told || !is_usual {
            return;
        }
        self.system_in_first |= next.fit.system != manner.fit.system;
        self.new_length |= next.length != manner.length;
        self.without_extras |= next.extras != manner.extras && request.parallel_calls.is_none();
        if next.fit.calls != manner.fit.calls {
            self.is_in_words = next.fit.calls == Calls::InWords;
            self.in_order |= next.fit.calls == Calls::Single;
        }
    }

    /// A question was taken in this manner.
    pub(crate) fn was_taken(&mut self, manner: Manner, request: &Request) {
        if self.is_in_words {
            // Order alone did not help.
            self.in_order = false;
            self.in_words = self.in_words.saturating_add(1);
        } else if manner.fit.calls != Calls::InWords && has_calls(request) {
            self.in_words = 0;
        }
        self.is_in_words = false;
    }
}
