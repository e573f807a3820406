//! The hand by which pictures are made, and what a picture is told by.

mod kind;

pub use insula_models::PICTURE_BYTES_MAX;
pub use kind::{BadPicture, PictureKind};

use crate::output::ToolError;
use async_trait::async_trait;

/// What a picture is asked for by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureWish {
    pub prompt: String,
    /// One of those that may be asked for; the usual one where there is none.
    pub size: Option<String>,
}

/// A picture that was made and paid for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadePicture {
    pub bytes: Vec<u8>,
    pub kind: PictureKind,
    /// Where a copy is kept for whoever the reply goes to; what went wrong, where none is.
    pub kept: Result<String, String>,
}

/// Pictures, as far as one conversation of one agent may have any made.
#[async_trait]
pub trait Pictures: Send + Sync {
    /// The sizes that may be asked for; `None` where nobody is named who makes pictures.
    fn sizes(&self) -> Option<&[Box<str>]>;

    /// Makes one. It is paid for by the agent, and a copy of it is kept for its reply.
    async fn make(&self, wish: PictureWish) -> Result<MadePicture, ToolError>;
}
