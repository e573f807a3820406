//! A server's answer to a call as text, bounded. What is not text is described, not shown.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// Most of an answer that is taken, in bytes. The frame that carries it is bounded too.
pub const RESULT_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Parts of an answer that are looked at.
const PARTS_MAX: usize = 1_000;
/// Longest address or name of a part, in characters.
const LABEL_CHARS_MAX: usize = 300;

/// What a call brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOutcome {
    /// The server's words.
    pub text: String,
    /// Whether the server says that it failed.
    pub is_error: bool,
    /// Bytes at the end of its words that were not taken.
    pub dropped: u64,
}

pub(crate) fn outcome(result: CallToolResult) -> CallOutcome {
    let is_error = result.is_error == Some(true);
    let total = result.content.len();
    let mut parts: Vec<String> = result.content.iter().take(PARTS_MAX).map(part).collect();
    if total > PARTS_MAX {
        parts.push(format!("[{} more parts left out]", total - PARTS_MAX));
    }
    let mut text = parts.join("\n");
    if let Some(structured) = result.structured_content
        && text.trim().is_empty()
    {
        text = structured.to_string();
    }
    let all = text.len();
    text.truncate(text.floor_char_boundary(RESULT_BYTES_MAX));
    let dropped = (all - text.len()) as u64;
    CallOutcome { text, is_error, dropped }
}

fn part(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => opaque("image", &image.mime_type, image.data.len()),
        ContentBlock::Audio(audio) => opaque("sound", &audio.mime_type, audio.data.len()),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[{}]\n{text}", label(uri))
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.as_deref().unwrap_or("unknown kind");
                format!("[{}] {}", label(uri), opaque("file", kind, blob.len()))
            }
            _ => "[a part of a kind that is not known here]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => {
            format!("[link: {} at {}]", label(&link.name), label(&link.uri))
        }
        _ => "[a part of a kind that is not known here]".to_owned(),
    }
}

/// What stands for something that is not text; its bytes are in base64 on the wire.
fn opaque(what: &str, kind: &str, encoded_len: usize) -> String {
    format!("[{what}, {}, about {} bytes: not shown]", label(kind), encoded_len / 4 * 3)
}

fn label(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).take(LABEL_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(result: Value) -> CallOutcome {
        outcome(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn text_is_taken_and_the_rest_described() {
        let read = read(json!({"isError": true, "content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "QUFBQQ==", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "two"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "QUFBQQ=="}},
            {"type": "resource_link", "uri": "file:///c", "name": "c"},
        ]}));
        assert!(read.is_error);
        assert_eq!(
            read.text,
            "one\n[image, image/png, about 6 bytes: not shown]\n[file:///a]\ntwo\n[file:///b] [file, unknown kind, about 6 bytes: not shown]\n[link: c at file:///c]"
        );
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
