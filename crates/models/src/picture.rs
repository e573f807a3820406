//! Asking a provider for a picture: what is asked, and what comes back.

use crate::event::Usage;
use secrecy::SecretString;

/// The largest picture that is taken, in bytes: files of agents are no larger.
pub const PICTURE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What a picture is asked for by.
#[derive(Clone)]
pub struct PictureRequest {
    /// The model, without its provider.
    pub model: Box<str>,
    pub prompt: String,
    /// Width and height, in the provider's words; its own where there is none.
    pub size: Option<Box<str>>,
    /// How well it is made, in the provider's words; its own where there is none.
    pub quality: Option<Box<str>>,
    /// The key that is sent instead of the provider's own.
    pub key: Option<SecretString>,
}

/// Where a picture is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PictureSource {
    /// Here.
    Bytes(Vec<u8>),
    /// At an address, from which nothing was fetched.
    Url(String),
}

/// What a provider answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub source: PictureSource,
    /// The tokens it took, where the provider counts them.
    pub usage: Option<Usage>,
}
