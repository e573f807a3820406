//! Sending: text with its tags or without, buttons, files, and changing what was sent.

use super::Telegram;
use super::failure::Failure;
use super::format;
use super::reading::GENERAL_TOPIC;
use super::types::Sent;
use crate::class::Repeat;
use insula_channel::{Body, Button, File, MessageId, Post, PostError, PostTarget, Posted};
use insula_domain::TopicId;
use insula_domain::sound::SoundKind;
use insula_wire::Form;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// What the platform shows as a voice memo.
const VOICES: [SoundKind; 3] = [SoundKind::Opus, SoundKind::Mp3, SoundKind::M4a];
/// What the platform takes below a file, in UTF-16 units.
const CAPTION_UNITS_MAX: usize = 1024;
/// The largest file the platform takes from a bot, and the largest picture.
const FILE_LEN_MAX: usize = 50 * 1000 * 1000;
const PHOTO_LEN_MAX: usize = 10 * 1000 * 1000;
/// How many posts that went out in part are remembered.
const PROGRESS_MAX: usize = 256;
/// What a button can carry.
const BUTTON_BYTES_MAX: usize = 64;

/// How far posts of several messages got, by their idempotency keys: whoever sends one again
/// goes on where it stopped. In memory only, for a crash in between is uncertain anyway.
#[derive(Default)]
pub(super) struct Progress {
    posts: Mutex<VecDeque<(Box<str>, Vec<i64>)>>,
}

impl Progress {
    fn of(&self, key: &str) -> Vec<i64> {
        let mut posts = self.posts.lock().unwrap_or_else(PoisonError::into_inner);
        let at = posts.iter().position(|(known, _)| **known == *key);
        at.and_then(|at| posts.remove(at)).map_or_else(Vec::new, |(_, sent)| sent)
    }

    fn keep(&self, key: &str, sent: Vec<i64>) {
        let mut posts = self.posts.lock().unwrap_or_else(PoisonError::into_inner);
        posts.push_back((key.into(), sent));
        if posts.len() > PROGRESS_MAX {
            posts.pop_front();
        }
    }
}

/// One message of a post.
enum Part<'a> {
    Text(&'a str),
    File { file: &'a File, caption: &'a str },
}

impl Telegram {
    pub(super) async fn send(&self, post: &Post) -> Result<Posted, PostError> {
        let parts = parts(&post.body)?;
        let mut sent = self.progress.of(&post.idempotency);
        let mut to = to(&post.target);
        while let Some(part) = parts.get(sent.len()) {
            let mut arguments = to.clone();
            if sent.is_empty() {
                reply(&mut arguments, post.reply_to.as_ref());
            }
            let has_words = matches!(part, Part::Text(_)) || parts.len() == 1;
            if has_words {
                buttons(&mut arguments, &post.body.buttons);
            }
            match self.send_part(&arguments, part).await {
                Ok(message) => sent.push(message),
                Err(Failure::Told { moved_to: Some(chat), .. }) if to["chat_id"] != json!(chat) => {
                    // The group became a larger kind of group, and nothing was sent.
                    to.insert("chat_id".into(), json!(chat));
                }
                Err(failure) => {
                    if !sent.is_empty() {
                        self.progress.keep(&post.idempotency, sent);
                    }
                    return Err(failure.to_post_error(Repeat::Doubles));
                }
            }
        }
        let first = sent.first().copied().unwrap_or_default();
        Ok(Posted { message: MessageId(first.to_string().into()) })
    }

    async fn send_part(
        &self,
        arguments: &Map<String, Value>,
        part: &Part<'_>,
    ) -> Result<i64, Failure> {
        match part {
            Part::Text(text) => {
                let sent: Sent = self.with_words("sendMessage", arguments, "text", text).await?;
                Ok(sent.message_id)
            }
            Part::File { file, caption } => self.send_file(arguments, file, caption).await,
        }
    }

    /// Calls a method with a text under `key`: with tags, and when the platform can't make
    /// sense of them, as it was written.
    async fn with_words<T: serde::de::DeserializeOwned>(
        &self,
        method: &str,
        arguments: &Map<String, Value>,
        key: &str,
        markdown: &str,
    ) -> Result<T, Failure> {
        let mut arguments = arguments.clone();
        if key == "text" {
            arguments.insert("link_preview_options".into(), json!({"is_disabled": true}));
        }
        if let Some(html) = format::html(markdown) {
            arguments.insert(key.into(), json!(html));
            arguments.insert("parse_mode".into(), json!("HTML"));
            match self.api.call(method, &arguments).await {
                Err(failure) if failure.says("can't parse entities") => {
                    tracing::warn!(account = %self.account, "sent as plain text: {failure}");
                    arguments.remove("parse_mode");
                }
                done => return done,
            }
        }
        arguments.insert(key.into(), json!(markdown));
        self.api.call(method, &arguments).await
    }

    async fn send_file(
        &self,
        arguments: &Map<String, Value>,
        file: &File,
        caption: &str,
    ) -> Result<i64, Failure> {
        let rendered = format::html(caption).filter(|_| !caption.is_empty());
        let mut tries = vec![];
        let is_photo = matches!(&*file.media_type, "image/jpeg" | "image/png" | "image/webp");
        if is_photo && file.content.len() <= PHOTO_LEN_MAX {
            tries.push(("sendPhoto", "photo", true));
        }
        // Some keep voice memos from being sent to them: those get a file.
        if file.speech().is_some_and(|kind| VOICES.contains(&kind)) {
            tries.push(("sendVoice", "voice", true));
        }
        tries.push(("sendDocument", "document", true));
        tries.push(("sendDocument", "document", false));
        let mut last = None;
        for (method, field, is_html) in tries {
            let mut form = Form::new();
            for (name, value) in arguments {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                form = form.text(name, value);
            }
            match &rendered {
                Some(html) if is_html => {
                    form = form.text("caption", html.clone()).text("parse_mode", "HTML");
                }
                _ if !caption.is_empty() => form = form.text("caption", caption),
                _ => {}
            }
            let form = form.file(field, &file.name, &file.media_type, file.content.clone());
            match self.api.upload::<Sent>(method, form).await {
                Ok(sent) => return Ok(sent.message_id),
                // A picture of an odd shape goes as a file, a caption of odd tags without them.
                Err(failure)
                    if (method == "sendPhoto" && failure.says("photo"))
                        || (method == "sendVoice" && failure.says("voice"))
                        || failure.says("image_process_failed")
                        || (is_html && failure.says("can't parse entities")) =>
                {
                    last = Some(failure);
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(last.unwrap_or(Failure::Wire(insula_wire::WireFault::Cancelled)))
    }

    pub(super) async fn change(
        &self,
        target: &PostTarget,
        message: &MessageId,
        body: &Body,
    ) -> Result<(), PostError> {
        let mut arguments = to(target);
        // A message is found in its chat, whatever the topic.
        arguments.remove("message_thread_id");
        let never = |why: &str| PostError::Never { why: why.into() };
        let id: i64 =
            message.0.parse().map_err(|_| never("this is no id of a Telegram message"))?;
        arguments.insert("message_id".into(), json!(id));
        buttons(&mut arguments, &body.buttons);
        let text = body.markdown.as_str();
        let changed = |_: Value| ();
        let mut done =
            self.with_words("editMessageText", &arguments, "text", text).await.map(changed);
        if matches!(&done, Err(failure) if failure.says("there is no text in the message")) {
            let again = self.with_words("editMessageCaption", &arguments, "caption", text).await;
            done = again.map(changed);
        }
        match done {
            Ok(()) => Ok(()),
            Err(failure) if failure.says("message is not modified") => Ok(()),
            // Saying the same again changes nothing.
            Err(failure) => Err(failure.to_post_error(Repeat::Harmless)),
        }
    }
}

/// The messages that a body becomes.
fn parts(body: &Body) -> Result<Vec<Part<'_>>, PostError> {
    let never = |why: String| PostError::Never { why: why.into() };
    if let Some(file) = body.files.iter().find(|file| file.content.len() > FILE_LEN_MAX) {
        let (name, mb) = (&file.name, FILE_LEN_MAX / 1_000_000);
        return Err(never(format!("the file `{name}` is larger than {mb} MB")));
    }
    let text = body.markdown.as_str();
    let fits_below = text.encode_utf16().count() <= CAPTION_UNITS_MAX;
    let has_text = !text.trim().is_empty();
    let mut parts = vec![];
    if has_text && (!fits_below || body.files.len() != 1) {
        parts.push(Part::Text(text));
    }
    let caption = if has_text && parts.is_empty() { text } else { "" };
    parts.extend(body.files.iter().map(|file| Part::File { file, caption }));
    if parts.is_empty() {
        return Err(never("there is nothing in it to send".into()));
    }
    Ok(parts)
}

/// Whether this is the topic that must not be named on the way out.
pub(super) fn is_general(topic: &TopicId) -> bool {
    topic.as_str() == GENERAL_TOPIC
}

/// The arguments that say where to.
pub(super) fn to(target: &PostTarget) -> Map<String, Value> {
    let number = |text: &str| text.parse::<i64>().map_or_else(|_| json!(text), |id| json!(id));
    let mut arguments = Map::new();
    arguments.insert("chat_id".into(), number(target.chat.as_str()));
    if let Some(topic) = target.topic.as_ref().filter(|topic| !is_general(topic)) {
        arguments.insert("message_thread_id".into(), number(topic.as_str()));
    }
    arguments
}

fn reply(arguments: &mut Map<String, Value>, to: Option<&MessageId>) {
    let Some(id) = to.and_then(|id| id.0.parse::<i64>().ok()) else { return };
    // The message may be deleted by now; the answer is worth sending anyway.
    let parameters = json!({"message_id": id, "allow_sending_without_reply": true});
    arguments.insert("reply_parameters".into(), parameters);
}

fn buttons(arguments: &mut Map<String, Value>, rows: &[Vec<Button>]) {
    let is_usable = |button: &&Button| {
        (1..=BUTTON_BYTES_MAX).contains(&button.data.len()) && !button.label.trim().is_empty()
    };
    let rows: Vec<Vec<Value>> = rows
        .iter()
        .map(|row| {
            let usable = row.iter().filter(is_usable);
            usable
                .map(|button| json!({"text": button.label, "callback_data": button.data}))
                .collect()
        })
        .filter(|row: &Vec<Value>| !row.is_empty())
        .collect();
    if !rows.is_empty() {
        arguments.insert("reply_markup".into(), json!({"inline_keyboard": rows}));
    }
}
