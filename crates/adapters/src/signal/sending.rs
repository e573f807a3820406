//! Sending: text with its styles, files, quotations, and changing what was sent.

use super::Signal;
use super::failure::Failure;
use super::styles;
use super::types::Sent;
use crate::class::Repeat;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use insula_channel::{Body, File, MessageId, Post, PostError, PostTarget, Posted};
use insula_domain::ChatType;
use serde_json::{Map, Value, json};

/// The largest file that is sent. Signal takes 100 MB; a file goes to signal-cli as text.
const FILE_LEN_MAX: usize = 50 * 1000 * 1000;
/// How much of a file's name is told.
const NAME_CHARS_MAX: usize = 100;

impl Signal {
    pub(super) async fn post_one(&self, post: &Post) -> Result<Posted, PostError> {
        let Post { target, reply_to, body, .. } = post;
        let mut arguments = to(target);
        words(&mut arguments, body);
        if !body.files.is_empty() {
            let files: Result<Vec<String>, PostError> = body.files.iter().map(data_uri).collect();
            arguments.insert("attachments".into(), json!(files?));
            if body.files.iter().all(|file| file.speech().is_some()) {
                arguments.insert("voiceNote".into(), json!(true));
            }
        }
        if body.markdown.trim().is_empty() && body.files.is_empty() {
            return Err(never("there is nothing in it to send"));
        }
        if let Some((sent, author)) = reply_to.as_ref().and_then(parts_of) {
            let ours = self.ours.as_ref();
            arguments.insert("quoteTimestamp".into(), json!(sent));
            arguments.insert("quoteAuthor".into(), json!(author.unwrap_or(ours)));
        }
        let sent = self.send(arguments, Repeat::Doubles).await?;
        Ok(Posted { message: MessageId(sent.timestamp.to_string().into()) })
    }

    pub(super) async fn change(
        &self,
        target: &PostTarget,
        message: &MessageId,
        body: &Body,
    ) -> Result<(), PostError> {
        let Some((first, None)) = parts_of(message) else {
            return Err(never("this is no message of ours"));
        };
        let mut arguments = to(target);
        words(&mut arguments, body);
        let chat = target.chat.as_str();
        let last = self.known().last(chat, first);
        arguments.insert("editTimestamp".into(), json!(last));
        let sent = self.send(arguments, Repeat::Harmless).await?;
        self.known().learn_own_change(chat, first, sent.timestamp);
        Ok(())
    }

    async fn send(&self, arguments: Map<String, Value>, repeat: Repeat) -> Result<Sent, PostError> {
        let sent: Sent = self
            .daemon
            .send("send", arguments.into())
            .await
            .map_err(|failure| failure.to_post_error(repeat))?;
        Failure::of(&sent).map_err(|failure| failure.to_post_error(repeat))?;
        if sent.timestamp <= 0 {
            return Err(PostError::Uncertain {
                why: "signal-cli did not say when it was sent".into(),
            });
        }
        Ok(sent)
    }
}

/// The arguments that say where to.
pub(super) fn to(target: &PostTarget) -> Map<String, Value> {
    let chat = target.chat.as_str();
    let mut arguments = Map::new();
    match target.chat_type {
        ChatType::Dm => arguments.insert("recipient".into(), json!([chat])),
        _ => arguments.insert("groupId".into(), json!(chat)),
    };
    arguments
}

fn words(arguments: &mut Map<String, Value>, body: &Body) {
    let (text, styles) = match body.markdown.trim().is_empty() {
        true => (String::new(), vec![]),
        false => styles::text(&body.markdown),
    };
    arguments.insert("message".into(), json!(text));
    if !styles.is_empty() {
        arguments.insert("textStyle".into(), json!(styles));
    }
}

/// When a message was sent, and by whom if it was not us.
pub(super) fn parts_of(message: &MessageId) -> Option<(i64, Option<&str>)> {
    let (sent, author) = match message.0.split_once('/') {
        Some((sent, author)) => (sent, Some(author).filter(|author| *author != "?")),
        None => (&*message.0, None),
    };
    Some((sent.parse().ok().filter(|&sent: &i64| sent > 0)?, author))
}

/// A file as signal-cli takes it inside a call.
fn data_uri(file: &File) -> Result<String, PostError> {
    let File { name, media_type, content } = file;
    if content.len() > FILE_LEN_MAX {
        let mb = FILE_LEN_MAX / 1_000_000;
        return Err(never(&format!("the file `{name}` is larger than {mb} MB")));
    }
    if content.is_empty() {
        return Err(never(&format!("the file `{name}` is empty, which Signal does not take")));
    }
    // What parts such an address must not stand in it.
    let is_plain = |c: &char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ');
    let name: String = name.chars().filter(is_plain).take(NAME_CHARS_MAX).collect();
    let is_type = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '+' | '-');
    let is_usable = media_type.contains('/') && media_type.chars().all(is_type);
    let media_type = if is_usable { media_type } else { "application/octet-stream" };
    let name = if name.trim().is_empty() { "file" } else { name.trim() };
    Ok(format!("data:{media_type};filename={name};base64,{}", STANDARD.encode(content)))
}

fn never(why: &str) -> PostError {
    PostError::Never { why: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn a_message_is_named_by_its_time_and_by_whose_it_is() {
        let parts = |text: &str| {
            let id = MessageId(text.into());
            parts_of(&id).map(|(sent, author)| (sent, author.map(str::to_owned)))
        };
        assert_eq!(parts("17"), Some((17, None)));
        assert_eq!(parts("17/ann"), Some((17, Some("ann".into()))));
        assert_eq!(parts("17/?"), Some((17, None)));
        for nonsense in ["", "x", "0", "-5", "/ann", "17.5"] {
            assert_eq!(parts(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_file_keeps_to_its_part_of_the_address() {
        let uri = |name: &str, media_type: &str, content: &'static [u8]| {
            let content = Bytes::from_static(content);
            data_uri(&File { name: name.into(), media_type: media_type.into(), content })
        };
        assert_eq!(
            uri("a;b=c,d.txt", "text/plain", b"hi").unwrap(),
            "data:text/plain;filename=abcd.txt;base64,aGk="
        );
        assert_eq!(
            uri("/", "text/plain; charset=x", b"hi").unwrap(),
            "data:application/octet-stream;filename=file;base64,aGk="
        );
        assert!(uri("a", "text/plain", b"").is_err());
    }
}
