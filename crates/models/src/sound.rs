//! Asking a provider what a recording says, or to say something: what is asked, and what comes
//! back.

use crate::event::Usage;
use bytes::Bytes;
use secrecy::SecretString;
use std::time::Duration;

/// The largest recording that is sent, in bytes: what well-known providers take.
pub const RECORDING_BYTES_MAX: usize = 25 * 1024 * 1024;
/// The largest sound that is taken, in bytes: files of agents are no larger.
pub const SPEECH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What is to be written down.
#[derive(Clone)]
pub struct HearRequest {
    /// The model, without its provider.
    pub model: Box<str>,
    /// What the file is called: what it ends with says what it is.
    pub name: Box<str>,
    pub media_type: Box<str>,
    pub content: Bytes,
    /// What is spoken, where that is known.
    pub language: Option<Box<str>>,
    /// The key that is sent instead of the provider's own.
    pub key: Option<SecretString>,
}

/// What a recording says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    pub text: String,
    /// How long it was, where the provider counts that.
    pub length: Option<Duration>,
    /// The tokens it took, where the provider counts those.
    pub usage: Option<Usage>,
}

/// What is to be said.
#[derive(Clone)]
pub struct SpeakRequest {
    /// The model, without its provider.
    pub model: Box<str>,
    pub text: String,
    /// Whose voice, in the provider's words; `None` leaves it to the provider.
    pub voice: Option<Box<str>>,
    /// What kind of file, in the provider's words.
    pub format: Box<str>,
    /// The key that is sent instead of the provider's own.
    pub key: Option<SecretString>,
}
