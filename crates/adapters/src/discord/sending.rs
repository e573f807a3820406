//! What we say: messages, files, changes; and files that people sent.

use super::Discord;
use super::api::Call;
use super::limits::Route;
use super::types::{Entry, is_id};
use crate::trouble::Trouble;
use bytes::Bytes;
use insula_channel::{
    Attachment, Body, FetchError, MessageId, Post, PostError, PostTarget, Posted,
};
use insula_wire::{Form, Method};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Files of one message.
const FILES_MAX: usize = 10;
/// No previews of links: a preview is a request that the text of a model would cause.
const NO_PREVIEWS: u64 = 1 << 2;
/// The longest name of a message, as Discord compares them.
const NONCE_LEN: usize = 24;

impl Discord {
    pub(super) async fn send(&self, post: &Post) -> Result<Posted, PostError> {
        let Post { target, idempotency, body, reply_to } = post;
        let channel = channel(target)?;
        let mut batches = body.files.chunks(FILES_MAX).enumerate().peekable();
        if batches.peek().is_none() && body.markdown.trim().is_empty() {
            return Err(PostError::Never { why: "there is nothing in the message".into() });
        }
        let mut first = None;
        loop {
            let batch = batches.next();
            let number = batch.map_or(0, |(number, _)| number);
            let is_first = first.is_none();
            let mut content = json!({
                "content": if is_first { body.markdown.as_str() } else { "" },
                // Discord gives back what is there where it knows this already.
                "nonce": nonce(idempotency, number),
                "enforce_nonce": true,
                // Whatever a model writes calls nobody.
                "allowed_mentions": { "parse": [], "replied_user": false },
                "flags": NO_PREVIEWS,
            });
            if let Some(earlier) = reply_to.as_ref().filter(|it| is_first && is_id(&it.0)) {
                content["message_reference"] = json!({
                    "message_id": &*earlier.0, "fail_if_not_exists": false,
                });
            }
            if is_first && !body.buttons.is_empty() {
                content["components"] = self.marks.rows(&self.account, channel, &body.buttons);
            }
            let call = Call {
                route: Route::of("POST messages", channel),
                method: Method::POST,
                path: format!("/channels/{channel}/messages"),
            };
            let files = batch.map(|(_, files)| files).unwrap_or_default();
            let sent: Result<Entry, Trouble> = if files.is_empty() {
                self.api.send(call, &content).await
            } else {
                let named = files.iter().enumerate();
                let named = named.map(|(id, file)| json!({ "id": id, "filename": &*file.name }));
                content["attachments"] = named.collect();
                let mut form = Form::new().text("payload_json", content.to_string());
                for (id, file) in files.iter().enumerate() {
                    let field = format!("files[{id}]");
                    form = form.file(&field, &file.name, &file.media_type, file.content.clone());
                }
                self.api.upload(call, form).await
            };
            let entry = sent.map_err(Trouble::into_post_error)?;
            if !is_id(&entry.id) {
                return Err(PostError::Uncertain { why: "Discord names no message".into() });
            }
            self.known().ours.insert(entry.id.as_str().into(), ());
            first.get_or_insert(MessageId(entry.id.into()));
            if batches.peek().is_none() {
                break;
            }
        }
        match first {
            Some(message) => Ok(Posted { message }),
            None => Err(PostError::Never { why: "there is nothing in the message".into() }),
        }
    }

    pub(super) async fn change(
        &self,
        target: &PostTarget,
        message: &MessageId,
        body: &Body,
    ) -> Result<(), PostError> {
        let channel = channel(target)?;
        if !is_id(&message.0) {
            return Err(PostError::Never { why: "that is no name of a message".into() });
        }
        let content = json!({
            "content": body.markdown,
            // What is not named stays: buttons that are over have to be taken away.
            "components": self.marks.rows(&self.account, channel, &body.buttons),
            "allowed_mentions": { "parse": [] },
            "flags": NO_PREVIEWS,
        });
        let call = Call {
            route: Route::of("PATCH messages", channel),
            method: Method::PATCH,
            path: format!("/channels/{channel}/messages/{}", message.0),
        };
        let changed: Result<Value, Trouble> = self.api.send(call, &content).await;
        changed.map(drop).map_err(Trouble::into_harmless)
    }

    pub(super) async fn content(
        &self,
        attachment: &Attachment,
        limit: u64,
    ) -> Result<Bytes, FetchError> {
        if attachment.size.is_some_and(|size| size > limit) {
            return Err(FetchError::TooLarge);
        }
        let never = |why: &str| FetchError::from(PostError::Never { why: why.into() });
        let mut parts = attachment.handle.split('/').filter(|part| is_id(part));
        let (Some(channel), Some(message), Some(file), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(never("that is no name of a file"));
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let failed = |trouble: Trouble| match trouble.is_too_much() {
            true => FetchError::TooLarge,
            false => trouble.into_harmless().into(),
        };
        let known = self.known().files.get(file).cloned();
        if let Some(url) = known {
            match self.api.file(&url, limit).await {
                // Its address is no longer good.
                Err(trouble) if trouble.is_no() => {}
                fetched => return fetched.map_err(failed),
            }
        }
        let route = Route::of("GET message", channel);
        let path = format!("/channels/{channel}/messages/{message}");
        let asked = self.api.get(route, path, &CancellationToken::new()).await;
        let entry: Entry = asked.map_err(failed)?;
        self.keep_files(&entry);
        let known = self.known().files.get(file).cloned();
        let url = known.ok_or_else(|| never("Discord no longer has this file"))?;
        self.api.file(&url, limit).await.map_err(failed)
    }
}

/// The channel of a target. A thread is one.
pub(super) fn channel(target: &PostTarget) -> Result<&str, PostError> {
    let channel = target.chat.as_str();
    match is_id(channel) {
        true => Ok(channel),
        false => Err(PostError::Never { why: "that is no name of a channel".into() }),
    }
}

/// The name of a part of a message, the same whenever it is sent.
fn nonce(idempotency: &str, part: usize) -> String {
    let hash = blake3::hash(format!("{part}\0{idempotency}").as_bytes());
    hash.to_hex().as_str().chars().take(NONCE_LEN).collect()
}
