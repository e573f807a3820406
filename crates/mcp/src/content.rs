//! What a server brings, as text and pictures, bounded. What is neither is described, not shown.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// Most of an answer that is taken, in bytes. The frame that carries it is bounded too.
pub const RESULT_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Pictures of one answer that a model is shown: as many as of one message.
pub const PICTURES_MAX: usize = 8;
/// Bytes of pictures that one answer shows, for the same reason as those of a message: a message
/// as a whole has a limit, and base64 takes a third more.
pub const PICTURE_BYTES_MAX: usize = 600 * 1024;
/// Parts of an answer that are looked at.
const PARTS_MAX: usize = 1_000;
/// Longest address or name of a part, in characters.
const LABEL_CHARS_MAX: usize = 300;

/// What a call brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallOutcome {
    /// The server's words.
    pub text: String,
    /// Its pictures. The words say where among them each stands.
    pub pictures: Vec<Picture>,
    /// Whether the server says that it failed.
    pub is_error: bool,
    /// Bytes at the end of its words that were not taken.
    pub dropped: u64,
}

/// A picture, which is what it says it is: by its own first bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub media_type: &'static str,
    /// The picture in base64.
    pub data: String,
}

/// What a picture is, by its first bytes.
fn kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

pub(crate) fn outcome(result: CallToolResult) -> CallOutcome {
    let is_error = result.is_error == Some(true);
    let mut read = Reading::default();
    read.all(result.content.iter(), |read, block| read.block(block));
    let mut outcome = read.end();
    if let Some(structured) = result.structured_content
        && outcome.text.trim().is_empty()
    {
        let mut read = Reading { pictures: outcome.pictures, ..Reading::default() };
        read.parts.push(structured.to_string());
        outcome = read.end();
    }
    CallOutcome { is_error, ..outcome }
}

/// What a resource holds.
pub(crate) fn contents(contents: &[ResourceContents]) -> CallOutcome {
    let mut read = Reading::default();
    read.all(contents.iter(), |read, it| read.resource(it));
    read.end()
}

/// Parts as they are read, one after the other.
#[derive(Default)]
pub(crate) struct Reading {
    parts: Vec<String>,
    pictures: Vec<Picture>,
    /// Bytes of the pictures so far.
    shown: usize,
}

impl Reading {
    fn all<T>(
        &mut self,
        parts: impl ExactSizeIterator<Item = T>,
        read: impl Fn(&mut Self, T) -> String,
    ) {
        let total = parts.len();
        for part in parts.take(PARTS_MAX) {
            let said = read(self, part);
            self.parts.push(said);
        }
        if total > PARTS_MAX {
            self.parts.push(format!("[{} more parts left out]", total - PARTS_MAX));
        }
    }

    /// Takes one part, with what stands before it.
    pub(crate) fn push(&mut self, before: &str, block: &ContentBlock) {
        let said = self.block(block);
        self.parts.push(format!("{before}{said}"));
    }

    pub(crate) fn end(self) -> CallOutcome {
        let mut text = self.parts.join("\n");
        let all = text.len();
        text.truncate(text.floor_char_boundary(RESULT_BYTES_MAX));
        let dropped = (all - text.len()) as u64;
        CallOutcome { text, pictures: self.pictures, is_error: false, dropped }
    }

    fn block(&mut self, block: &ContentBlock) -> String {
        match block {
            ContentBlock::Text(text) => text.text.clone(),
            ContentBlock::Image(image) => self.picture(&image.mime_type, &image.data),
            ContentBlock::Audio(audio) => opaque("sound", &audio.mime_type, audio.data.len()),
            ContentBlock::Resource(resource) => self.resource(&resource.resource),
            ContentBlock::ResourceLink(link) => {
                format!("[link: {} at {}]", label(&link.name), label(&link.uri))
            }
            _ => UNKNOWN.to_owned(),
        }
    }

    fn resource(&mut self, contents: &ResourceContents) -> String {
        match contents {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[{}]\n{text}", label(uri))
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let said = mime_type.as_deref().unwrap_or("unknown kind");
                let what = match said.starts_with("image/") {
                    true => self.picture(said, blob),
                    false => opaque("file", said, blob.len()),
                };
                format!("[{}] {what}", label(uri))
            }
            _ => UNKNOWN.to_owned(),
        }
    }

    /// Keeps a picture, where it is one and there is room; what stands in its place.
    fn picture(&mut self, said: &str, data: &str) -> String {
        let bytes = STANDARD.decode(data.trim_ascii()).unwrap_or_default();
        let Some(media_type) = kind(&bytes) else {
            return opaque("image", said, data.len());
        };
        let size = bytes.len().div_ceil(1_000);
        if self.pictures.len() >= PICTURES_MAX || self.shown + bytes.len() > PICTURE_BYTES_MAX {
            return format!(
                "[picture, {media_type}, {size} KB: not shown, since an answer shows {PICTURES_MAX} pictures of {} KB together at the most]",
                PICTURE_BYTES_MAX / 1_000
            );
        }
        self.shown += bytes.len();
        self.pictures.push(Picture { media_type, data: STANDARD.encode(&bytes) });
        format!("[picture {}, {media_type}, {size} KB]", self.pictures.len())
    }
}

const UNKNOWN: &str = "[a part of a kind that is not known here]";

/// What stands for something that is not text; its bytes are in base64 on the wire.
fn opaque(what: &str, kind: &str, encoded_len: usize) -> String {
    format!("[{what}, {}, about {} bytes: not shown]", label(kind), encoded_len / 4 * 3)
}

pub(crate) fn label(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).take(LABEL_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(result: Value) -> CallOutcome {
        outcome(serde_json::from_value(result).unwrap())
    }

    fn png(len: usize) -> String {
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        bytes.resize(len, 7);
        STANDARD.encode(bytes)
    }

    #[test]
    fn text_is_taken_and_what_is_neither_text_nor_picture_described() {
        let read = read(json!({"isError": true, "content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "QUFBQQ==", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "two"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "QUFBQQ=="}},
            {"type": "resource_link", "uri": "file:///c", "name": "c"},
        ]}));
        assert!(read.is_error && read.pictures.is_empty());
        assert_eq!(
            read.text,
            "one\n[image, image/png, about 6 bytes: not shown]\n[file:///a]\ntwo\n[file:///b] [file, unknown kind, about 6 bytes: not shown]\n[link: c at file:///c]"
        );
    }

    #[test]
    fn a_picture_is_what_its_bytes_say_wherever_it_stands() {
        let read = read(json!({"content": [
            {"type": "image", "data": png(2_500), "mimeType": "image/jpeg"},
            {"type": "resource", "resource": {"uri": "file:///p", "mimeType": "image/x", "blob": png(10)}},
            {"type": "image", "data": STANDARD.encode("<svg onload=x>"), "mimeType": "image/svg+xml"},
            {"type": "image", "data": "no base64!", "mimeType": "image/png"},
        ]}));
        let kinds: Vec<&str> = read.pictures.iter().map(|it| it.media_type).collect();
        assert_eq!(kinds, ["image/png", "image/png"]);
        assert_eq!(read.pictures[0].data, png(2_500));
        let lines: Vec<&str> = read.text.lines().collect();
        assert_eq!(lines[0], "[picture 1, image/png, 3 KB]");
        assert_eq!(lines[1], "[file:///p] [picture 2, image/png, 1 KB]");
        assert!(lines[2].contains("image/svg+xml") && lines[2].ends_with("not shown]"));
        assert!(lines[3].ends_with("not shown]"), "{}", lines[3]);
    }

    #[test]
    fn pictures_are_shown_as_far_as_there_is_room() {
        let many: Vec<Value> = (0..20)
            .map(|_| json!({"type": "image", "data": png(9), "mimeType": "image/png"}))
            .collect();
        let shown = read(json!({"content": many}));
        assert_eq!(shown.pictures.len(), PICTURES_MAX);
        assert_eq!(shown.text.matches("not shown").count(), 20 - PICTURES_MAX);
        let image = |len| json!({"type": "image", "data": png(len), "mimeType": "image/png"});
        let large = read(json!({"content": [image(PICTURE_BYTES_MAX + 1), image(9)]}));
        assert_eq!(large.pictures.len(), 1, "what does not fit keeps nothing else out");
    }

    #[test]
    fn structure_stands_in_where_there_are_no_words() {
        assert_eq!(read(json!({"content": [], "structuredContent": {"a": 1}})).text, r#"{"a":1}"#);
        let both = json!({"content": [{"type": "text", "text": "x"}], "structuredContent": {}});
        assert_eq!(read(both).text, "x");
    }

    #[test]
    fn a_long_answer_is_cut_and_says_by_how_much() {
        let long = format!("x{}", "é".repeat(RESULT_BYTES_MAX));
        let read = read(json!({"content": [{"type": "text", "text": long}]}));
        assert_eq!(read.text.len(), RESULT_BYTES_MAX - 1);
        assert_eq!(read.dropped, RESULT_BYTES_MAX as u64 + 2);
    }
}
