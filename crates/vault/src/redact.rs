//! Takes the values of secrets out of texts: whole ones, and ones that come in pieces.
//!
//! What is looked for is in `forms`, how it is found in `search`, how a text that comes in
//! pieces is held back in `stream`. Nothing here knows whose a secret is or what it is
//! called, and the [`MARK`] is the same for all: what an agent sees of it tells nothing about
//! others.

mod filter;
mod forms;
mod search;
mod stream;

pub use forms::{ANYWHERE_BYTES_MIN, WORD_BYTES_MIN};
pub use search::Redactor;
pub use stream::{ByteStreamRedactor, StreamRedactor};

/// What stands where a secret was.
pub const MARK: &str = "[secret]";

#[cfg(test)]
mod redact_tests;
