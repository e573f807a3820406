//! A text that comes in pieces: a piece is let go as soon as nothing that may follow can make
//! its bytes part of a secret, so an ordinary text passes with no delay at all.

use super::search::{Ending, Redactor, into_text};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Redacts a stream of text. What it lets go, put together, is what [`Redactor::redact`] makes
/// of the whole, however the text was cut.
///
/// At most as many bytes as the longest form of a secret are held back, and only while they
/// are the beginning of one. Call [`finish`](Self::finish) at the end, or the last of them are
/// lost; after a cancelled turn that is what one wants.
pub struct StreamRedactor(ByteStreamRedactor);

impl StreamRedactor {
    /// A stream that begins now.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self(ByteStreamRedactor::new(redactor))
    }

    /// Takes a piece; what can be let go.
    pub fn push<'p>(&mut self, piece: &'p str) -> Cow<'p, str> {
        match self.0.push(piece.as_bytes()) {
            // A part of text, cut where a character begins.
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => Cow::Owned(into_text(bytes)),
        }
    }

    /// What was held back, now that nothing follows.
    pub fn finish(self) -> String {
        into_text(self.0.finish())
    }
}

/// Redacts a stream of bytes that are text, most of the time: the output of a program. Never
/// cuts a character in two, however it came.
pub struct ByteStreamRedactor {
    redactor: Arc<Redactor>,
    /// Taken and not let go.
    held: Vec<u8>,
    /// The byte before those.
    before: Option<u8>,
}

impl ByteStreamRedactor {
    /// A stream that begins now.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, held: vec![], before: None }
    }

    /// Takes a piece; what can be let go.
    pub fn push<'p>(&mut self, piece: &'p [u8]) -> Cow<'p, [u8]> {
        if self.held.is_empty() {
            let (out, decided) = self.redactor.advance(piece, self.before, Ending::Open);
            self.held.extend_from_slice(&piece[decided..]);
            self.before = last(&piece[..decided]).or(self.before);
            return out;
        }
        self.held.extend_from_slice(piece);
        let (out, decided) = self.redactor.advance(&self.held, self.before, Ending::Open);
        let out = out.into_owned();
        self.before = last(&self.held[..decided]).or(self.before);
        self.held.drain(..decided);
        Cow::Owned(out)
    }

    /// What was held back, now that nothing follows.
    pub fn finish(self) -> Vec<u8> {
        self.redactor.advance(&self.held, self.before, Ending::Whole).0.into_owned()
    }
}

fn last(bytes: &[u8]) -> Option<u8> {
    bytes.last().copied()
}

impl fmt::Debug for StreamRedactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamRedactor(…)")
    }
}

impl fmt::Debug for ByteStreamRedactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByteStreamRedactor(…)")
    }
}
