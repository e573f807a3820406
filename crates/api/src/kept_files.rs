//! What came along in a conversation, or was made in it, as files: what people sent, and pictures
//! and speech that were made. A text that came along stands in its message.

use insula_store::{Message, Part};
use insula_tools::pictures::PictureKind;
use serde::Serialize;
use utoipa::ToSchema;

/// A file of a message.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FileView {
    /// Which part of its message it is.
    part: usize,
    name: String,
    media_type: String,
    /// How long it is; nothing for a picture that stands in its message.
    bytes: Option<u64>,
}

impl FileView {
    /// The files of a message.
    pub(crate) fn all(message: &Message) -> Vec<Self> {
        let file = |(part, it): (usize, &Part)| match it {
            Part::Attachment { name, media_type, bytes, .. } => {
                let (name, media_type) = (name.to_string(), media_type.to_string());
                Some(Self { part, name, media_type, bytes: Some(*bytes) })
            }
            Part::Image { source, .. } => {
                let (kind, _) = picture(source)?;
                let name = format!("picture-{}-{part}.{}", message.seq.0, kind.ending());
                Some(Self { part, name, media_type: kind.media_type().to_owned(), bytes: None })
            }
            _ => None,
        };
        message.parts.iter().enumerate().filter_map(file).collect()
    }

    /// The same, with secrets taken out of its name.
    pub(crate) fn told(self, told: impl FnOnce(String) -> String) -> Self {
        Self { name: told(self.name), ..self }
    }
}

/// A picture that stands in its message, and its bytes in base64. One that stands elsewhere is not
/// fetched.
pub(crate) fn picture(source: &str) -> Option<(PictureKind, &str)> {
    let (kind, content) = source.strip_prefix("data:")?.split_once(";base64,")?;
    PictureKind::from_media_type(kind).map(|kind| (kind, content))
}
