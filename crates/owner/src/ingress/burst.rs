//! Which messages are one: a client cuts a long text into several, and sends the pictures of an
//! album one by one. Pure: it decides from what is waiting and what came.

use insula_channel::TextLimit;
use insula_domain::Actor;

/// Messages that are joined at most; a client cuts nothing into more.
pub(super) const PARTS_MAX: usize = 16;
/// Bytes of text that are joined at most, well below what one message may have.
pub(super) const BYTES_MAX: usize = 256 * 1024;

/// The part of a platform's longest message, in tenths, from which a text looks cut off.
const LONG_TENTHS: usize = 9;
/// Platforms with shorter messages than this cut nothing: their people do.
const UNITS_MIN: usize = 500;

/// What a message shows of whether more of it follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sign {
    /// The conversation.
    pub(super) session: Box<str>,
    /// Who said it.
    pub(super) sender: Actor,
    /// Whether its text is about as long as the platform allows.
    pub(super) is_long: bool,
    /// The album it is a part of.
    pub(super) album: Option<Box<str>>,
    /// How long its text is, in bytes.
    pub(super) bytes: usize,
}

impl Sign {
    /// Whether it waits for more.
    pub(super) fn goes_on(&self) -> bool {
        self.is_long || self.album.is_some()
    }
}

/// Whether a text is about as long as a platform's messages may be.
pub(super) fn is_long(text: &str, limit: TextLimit) -> bool {
    limit.most() >= UNITS_MIN && limit.len_of(text) * 10 >= limit.most() * LONG_TENTHS
}

/// Messages that are one so far, and may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    last: Sign,
    parts: usize,
    bytes: usize,
}

impl Open {
    /// Begins with a message.
    pub(super) fn new(first: Sign) -> Self {
        let bytes = first.bytes;
        Self { last: first, parts: 1, bytes }
    }

    /// Takes another message in, if it belongs to these.
    pub(super) fn join(&mut self, next: &Sign) -> bool {
        let same = self.last.session == next.session && self.last.sender == next.sender;
        let fits = self.parts < PARTS_MAX && self.bytes + next.bytes <= BYTES_MAX;
        let belongs = match (&self.last.album, &next.album) {
            (Some(one), Some(other)) => one == other,
            // The rest of a text that was cut.
            (None, None) => self.last.is_long,
            _ => false,
        };
        if !(same && fits && belongs) {
            return false;
        }
        self.parts += 1;
        self.bytes += next.bytes;
        self.last = next.clone();
        true
    }

    /// Whether more may follow.
    pub(super) fn goes_on(&self) -> bool {
        self.last.goes_on() && self.parts < PARTS_MAX
    }
}

#[cfg(test)]
#[path = "burst_tests.rs"]
mod burst_tests;
