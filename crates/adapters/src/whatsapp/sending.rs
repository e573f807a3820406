//! Sending: text, files, choices, and templates where their last word is too old.

use super::WhatsApp;
use super::failure::Failure;
use super::known::{Outcome, Unconfirmed, Window};
use crate::class::Repeat;
use crate::signs;
use insula_channel::{Body, Button, File, MessageId, Post, PostError, PostTarget, Posted};
use insula_domain::ChatType;
use insula_domain::sound::SoundKind;
use serde_json::{Value, json};
use std::time::Duration;

/// The platform's limits, in UTF-16 units: a text, what stands below a file, beside buttons, in a
/// list, and what fills a template's gap.
pub(super) const TEXT_UNITS_MAX: usize = 4096;
const CAPTION_UNITS_MAX: usize = 1024;
const BESIDE_BUTTONS_UNITS_MAX: usize = 1024;
const GAP_UNITS_MAX: usize = 1000;
/// Buttons, and what each says.
const BUTTONS_MAX: usize = 3;
const BUTTON_CHARS_MAX: usize = 20;
/// Rows of a list, what each says, and what stands below.
const ROWS_MAX: usize = 10;
const ROW_CHARS_MAX: usize = 24;
const ROW_MORE_CHARS_MAX: usize = 72;
/// What a choice can carry.
const DATA_BYTES_MAX: usize = 200;
/// What the platform shows as a voice memo, as it wants that to be called.
const OPUS: &str = "audio/ogg; codecs=opus";
/// The largest files, by what they are shown as.
const IMAGE_LEN_MAX: usize = 5 * 1000 * 1000;
const SOUND_LEN_MAX: usize = 16 * 1000 * 1000;
const FILE_LEN_MAX: usize = 100 * 1000 * 1000;
/// How long a message that may have arrived is waited for to be told of.
const SETTLED_WITHIN: Duration = Duration::from_secs(5);

/// One message of a post.
enum Part<'a> {
    Text { text: &'a str, buttons: &'a [Vec<Button>] },
    File { file: &'a File, caption: &'a str },
}

impl WhatsApp {
    pub(super) async fn send(&self, post: &Post) -> Result<Posted, PostError> {
        let parts = parts(&post.body)?;
        let mut first: Option<Box<str>> = None;
        for (number, part) in parts.iter().enumerate() {
            let mark = self.mark(&post.idempotency, number);
            let known = self.known().outcome(&mark).cloned();
            let message = match known {
                // It went out before, and a status or an answer said so.
                Some(Outcome::Taken(message)) => message,
                _ => {
                    self.known().forget_failure(&mark);
                    let reply_to = post.reply_to.as_ref().filter(|_| number == 0);
                    self.send_part(&post.target, reply_to, part, &mark).await?
                }
            };
            first.get_or_insert(message);
        }
        let first = first.ok_or_else(|| never("there is nothing in it to send"))?;
        Ok(Posted { message: MessageId(first) })
    }

    async fn send_part(
        &self,
        target: &PostTarget,
        reply_to: Option<&MessageId>,
        part: &Part<'_>,
        mark: &str,
    ) -> Result<Box<str>, PostError> {
        let window = match target.chat_type {
            ChatType::Dm => self.known().window(target.chat.as_str(), self.now()),
            _ => Window::Open,
        };
        if window == Window::Over {
            return self.by_template(target, part, mark).await;
        }
        let mut message = self.content(part).await?;
        address(&mut message, target, mark);
        if let Some(earlier) = reply_to {
            message["context"] = json!({ "message_id": &*earlier.0 });
        }
        let sent = match self.graph.send(&message).await {
            Err(failure) if failure.is_uncertain() => match self.settled(mark).await {
                Some(Outcome::Taken(message)) => Ok(message),
                Some(Outcome::Failed(told)) => Err(told),
                None => Err(failure),
            },
            sent => sent,
        };
        match sent {
            Ok(sent) => {
                let mut known = self.known();
                // A status may have come before the answer.
                if known.outcome(mark).is_none() {
                    known.settle(mark, Outcome::Taken(sent.clone()));
                    if window == Window::Unknown {
                        let text = part.text().to_owned();
                        known.wait_for(&sent, Unconfirmed { target: target.clone(), text });
                    }
                }
                Ok(sent)
            }
            Err(failure) if failure.is_window_over() => {
                self.known().close(target.chat.as_str());
                self.by_template(target, part, mark).await
            }
            Err(failure) => Err(failure.to_post_error(Repeat::Doubles)),
        }
    }

    async fn by_template(
        &self,
        target: &PostTarget,
        part: &Part<'_>,
        mark: &str,
    ) -> Result<Box<str>, PostError> {
        let sent = self.reopen(target, part.text(), Some(mark)).await?;
        self.known().settle(mark, Outcome::Taken(sent.clone()));
        Ok(sent)
    }

    /// Waits a moment for the platform to tell what became of a message.
    async fn settled(&self, mark: &str) -> Option<Outcome> {
        let mut changes = self.settled.subscribe();
        let told = async {
            loop {
                changes.mark_unchanged();
                if let Some(outcome) = self.known().outcome(mark).cloned() {
                    return Some(outcome);
                }
                if changes.changed().await.is_err() {
                    return None;
                }
            }
        };
        tokio::select! {
            biased;
            told = told => told,
            () = self.clock.sleep(SETTLED_WITHIN) => None,
        }
    }

    /// Says something by the template that the operator named, since free text is not taken.
    pub(super) async fn reopen(
        &self,
        target: &PostTarget,
        text: &str,
        mark: Option<&str>,
    ) -> Result<Box<str>, PostError> {
        let Some(template) = &self.template else {
            return Err(never(
                "their last message is more than 24 hours old, so WhatsApp takes a template only; \
                 name an approved one in `reopen_template`, or wait until they write",
            ));
        };
        let gap = gap(text);
        if gap.is_empty() {
            return Err(never(
                "their last message is more than 24 hours old, and the template takes no files",
            ));
        }
        let mut message = json!({
            "type": "template",
            "template": {
                "name": template.name,
                "language": { "code": template.language },
                "components": [{ "type": "body", "parameters": [{ "type": "text", "text": gap }] }],
            },
        });
        // A mark of its own: the message it stands for has failed.
        let mark = mark.map_or_else(String::new, |mark| format!("{mark}/template"));
        address(&mut message, target, &mark);
        let sent = self.graph.send(&message).await;
        sent.map_err(|failure| failure.to_post_error(Repeat::Doubles))
    }

    /// What a message is called in statuses: nothing that tells of agents.
    fn mark(&self, idempotency: &str, number: usize) -> String {
        let key = format!("{}\n{idempotency}", self.phone);
        let hash = blake3::derive_key("insula 2026-11 whatsapp mark of a message", key.as_bytes());
        let hex = blake3::Hash::from_bytes(hash).to_hex();
        format!("{}/{number}", &hex[..32])
    }

    async fn content(&self, part: &Part<'_>) -> Result<Value, PostError> {
        match part {
            Part::Text { text, buttons } => Ok(worded(text, buttons)),
            Part::File { file, caption } => {
                let kind = kind(file)?;
                let is_voice = kind == "audio" && file.speech() == Some(SoundKind::Opus);
                let media_type = if is_voice { OPUS } else { media_type(file) };
                let uploaded =
                    self.graph.upload(&file.name, media_type, file.content.clone()).await;
                let id = uploaded.map_err(|failure: Failure| {
                    // A file that nobody was sent may be there twice.
                    failure.to_post_error(Repeat::Harmless)
                })?;
                let mut about = json!({ "id": id });
                if !caption.is_empty() && kind != "audio" {
                    about["caption"] = json!(signs::text(caption, CAPTION_UNITS_MAX));
                }
                if is_voice {
                    about["voice"] = json!(true);
                }
                if kind == "document" {
                    about["filename"] = json!(&*file.name);
                }
                Ok(json!({ "type": kind, kind: about }))
            }
        }
    }
}

impl Part<'_> {
    fn text(&self) -> &str {
        match self {
            Self::Text { text, .. } => text,
            Self::File { caption, .. } => caption,
        }
    }
}

/// Puts onto a message where it goes and what it is called.
pub(super) fn address(message: &mut Value, target: &PostTarget, mark: &str) {
    let chat = target.chat.as_str();
    let is_number = chat.bytes().all(|it| it.is_ascii_digit());
    message["messaging_product"] = json!("whatsapp");
    match target.chat_type {
        ChatType::Dm => message["recipient_type"] = json!("individual"),
        _ => message["recipient_type"] = json!("group"),
    }
    // Who hides their number is addressed by another name.
    let to = if is_number || target.chat_type != ChatType::Dm { "to" } else { "recipient" };
    message[to] = json!(chat);
    if !mark.is_empty() {
        message["biz_opaque_callback_data"] = json!(mark);
    }
}

/// The messages that a body becomes.
fn parts(body: &Body) -> Result<Vec<Part<'_>>, PostError> {
    for file in &body.files {
        kind(file)?;
    }
    let text = body.markdown.as_str();
    let has_text = !text.trim().is_empty();
    let fits_below = text.encode_utf16().count() <= CAPTION_UNITS_MAX;
    let takes_caption = body.files.len() == 1 && body.buttons.is_empty() && fits_below;
    let takes_caption = takes_caption && body.files.iter().all(|it| kind(it) != Ok("audio"));
    let mut parts = vec![];
    if has_text && !takes_caption {
        parts.push(Part::Text { text, buttons: &body.buttons });
    }
    let caption = if has_text && takes_caption { text } else { "" };
    parts.extend(body.files.iter().map(|file| Part::File { file, caption }));
    if parts.is_empty() {
        return Err(never("there is nothing in it to send"));
    }
    Ok(parts)
}

/// A text with as good a way to choose as there is: buttons, a list, or none, since the text says
/// it too.
fn worded(markdown: &str, rows: &[Vec<Button>]) -> Value {
    let is_usable = |button: &&Button| {
        (1..=DATA_BYTES_MAX).contains(&button.data.len()) && !button.label.trim().is_empty()
    };
    let buttons: Vec<&Button> = rows.iter().flatten().filter(is_usable).collect();
    let plain = || {
        let text = signs::text(markdown, TEXT_UNITS_MAX);
        json!({ "type": "text", "text": { "body": text, "preview_url": false } })
    };
    let are_short = buttons.iter().all(|it| it.label.chars().count() <= BUTTON_CHARS_MAX);
    let beside = signs::text(markdown, BESIDE_BUTTONS_UNITS_MAX);
    let fits_beside = beside.encode_utf16().count() <= BESIDE_BUTTONS_UNITS_MAX;
    match buttons.len() {
        0 => plain(),
        1..=BUTTONS_MAX if are_short && fits_beside && differ(&buttons, BUTTON_CHARS_MAX) => {
            let shown = buttons.iter().map(|button| {
                json!({ "type": "reply", "reply": { "id": &*button.data, "title": &*button.label } })
            });
            json!({
                "type": "interactive",
                "interactive": {
                    "type": "button",
                    "body": { "text": beside },
                    "action": { "buttons": shown.collect::<Vec<_>>() },
                },
            })
        }
        1..=ROWS_MAX => {
            let shown = buttons.iter().map(|button| {
                let title: String = button.label.chars().take(ROW_CHARS_MAX).collect();
                let mut row = json!({ "id": &*button.data, "title": title });
                if title.len() < button.label.len() {
                    let more: String = button.label.chars().take(ROW_MORE_CHARS_MAX).collect();
                    row["description"] = json!(more);
                }
                row
            });
            json!({
                "type": "interactive",
                "interactive": {
                    "type": "list",
                    "body": { "text": signs::text(markdown, TEXT_UNITS_MAX) },
                    "action": {
                        "button": "Choose",
                        "sections": [{ "rows": shown.collect::<Vec<_>>() }],
                    },
                },
            })
        }
        _ => plain(),
    }
}

/// Whether what buttons say differs, which the platform wants.
fn differ(buttons: &[&Button], chars: usize) -> bool {
    let mut shown: Vec<String> =
        buttons.iter().map(|it| it.label.chars().take(chars).collect()).collect();
    shown.sort();
    shown.windows(2).all(|pair| pair[0] != pair[1])
}

/// What fills a template's gap: one line, and not long.
fn gap(text: &str) -> String {
    let plain = crate::lines::styled(text).text;
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut units = 0;
    let kept: String = line
        .chars()
        .take_while(|it| {
            units += it.len_utf16();
            units < GAP_UNITS_MAX
        })
        .collect();
    if kept.len() < line.len() { format!("{kept}…") } else { kept }
}

/// A media type without what stands behind it.
fn media_type(file: &File) -> &str {
    file.media_type.split(';').next().unwrap_or_default().trim()
}

/// What a file is shown as, by what the platform takes as that.
fn kind(file: &File) -> Result<&'static str, PostError> {
    let (name, length) = (&file.name, file.content.len());
    if length == 0 {
        return Err(never(&format!("the file `{name}` is empty, which WhatsApp does not take")));
    }
    if length > FILE_LEN_MAX {
        let mb = FILE_LEN_MAX / 1_000_000;
        return Err(never(&format!("the file `{name}` is larger than {mb} MB")));
    }
    Ok(match media_type(file) {
        "image/jpeg" | "image/png" if length <= IMAGE_LEN_MAX => "image",
        "video/mp4" | "video/3gpp" if length <= SOUND_LEN_MAX => "video",
        "audio/aac" | "audio/amr" | "audio/mpeg" | "audio/mp4" | "audio/ogg"
            if length <= SOUND_LEN_MAX =>
        {
            "audio"
        }
        _ => "document",
    })
}

fn never(why: &str) -> PostError {
    PostError::Never { why: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn button(label: &str, data: &str) -> Button {
        Button { label: label.into(), data: data.into() }
    }

    #[test]
    fn choices_are_buttons_or_a_list_or_words() {
        let kind = |rows: &[Vec<Button>], text: &str| {
            let message = worded(text, rows);
            message["interactive"]["type"].as_str().unwrap_or("text").to_owned()
        };
        let many = |count: usize| {
            vec![(0..count).map(|it| button(&format!("b{it}"), "d")).collect::<Vec<_>>()]
        };
        assert_eq!(kind(&[], "x"), "text");
        assert_eq!(kind(&many(3), "x"), "button");
        assert_eq!(kind(&many(4), "x"), "list");
        assert_eq!(kind(&many(10), "x"), "list");
        assert_eq!(kind(&many(11), "x"), "text");
        let long = vec![vec![button("more than twenty characters", "d")]];
        assert_eq!(kind(&long, "x"), "list");
        let listed = &worded("x", &long)["interactive"]["action"]["sections"][0]["rows"][0];
        assert_eq!(listed["title"], "more than twenty charact");
        assert_eq!(listed["description"], "more than twenty characters");
        assert_eq!(kind(&many(2), &"x".repeat(1025)), "list");
        assert_eq!(kind(&[vec![button("same", "a"), button("same", "b")]], "x"), "list");
        assert_eq!(kind(&[vec![button("", "a"), button("x", "")]], "x"), "text");
    }

    #[test]
    fn files_are_shown_as_the_platform_takes_them() {
        let file = |media_type: &str, length: usize| File {
            name: "f".into(),
            media_type: media_type.into(),
            content: Bytes::from(vec![0; length]),
        };
        for (media_type, length, expected) in [
            ("image/png", 10, "image"),
            ("image/png", IMAGE_LEN_MAX + 1, "document"),
            ("image/webp", 10, "document"),
            ("audio/ogg; codecs=opus", 10, "audio"),
            ("video/mp4", SOUND_LEN_MAX + 1, "document"),
            ("text/plain", 10, "document"),
        ] {
            assert_eq!(kind(&file(media_type, length)), Ok(expected), "{media_type} {length}");
        }
        assert!(kind(&file("text/plain", 0)).is_err());
        assert!(kind(&file("text/plain", FILE_LEN_MAX + 1)).is_err());
    }

    #[test]
    fn a_gap_is_one_line_and_short() {
        assert_eq!(gap("**a**\n\n- b\t c"), "a • b c");
        let long = gap(&"\u{1f600}".repeat(2000));
        assert!(long.encode_utf16().count() <= GAP_UNITS_MAX && long.ends_with('…'));
        assert_eq!(gap(" \n "), "");
    }
}
