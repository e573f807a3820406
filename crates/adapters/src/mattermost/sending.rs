//! What we say: messages, files, changes.

use super::Mattermost;
use super::types::{Entry, Uploaded, is_id};
use crate::trouble::Trouble;
use insula_channel::{Body, File, MessageId, Post, PostError, PostTarget, Posted};
use insula_wire::{Form, Method};
use serde_json::{Value, json};

/// Files of one message.
const FILES_MAX: usize = 10;

impl Mattermost {
    pub(super) async fn send(&self, post: &Post) -> Result<Posted, PostError> {
        let Post { target, idempotency, body, .. } = post;
        let us = self.our_id().await.map_err(Trouble::into_harmless)?;
        let mut first = None;
        // Nothing was said yet: a file that did not go up is no doubt about the message.
        let mut batches = body.files.chunks(FILES_MAX).enumerate().peekable();
        if batches.peek().is_none() && body.markdown.trim().is_empty() {
            return Err(PostError::Never { why: "there is nothing in the message".into() });
        }
        loop {
            let batch = batches.next();
            let number = batch.map_or(0, |(number, _)| number);
            let mut files = Vec::new();
            for file in batch.map(|(_, files)| files).unwrap_or_default() {
                files.push(self.upload(target, file).await.map_err(Trouble::into_harmless)?);
            }
            let is_first = first.is_none();
            let words = if is_first { body.markdown.as_str() } else { "" };
            let mut content = json!({
                "channel_id": target.chat.as_str(),
                "message": words,
                "root_id": target.topic.as_ref().map(|it| it.as_str()).unwrap_or_default(),
                "file_ids": files,
                // The server compares keys of everybody: ours begin with our id.
                "pending_post_id": format!("{us}:{idempotency}:{number}"),
            });
            if is_first && !body.buttons.is_empty() && self.has_buttons() {
                content["props"] = self.props(target.chat.as_str(), &body.buttons);
            }
            let sent: Result<Entry, Trouble> =
                self.server.send(Method::POST, "/posts", &content).await;
            let entry = sent.map_err(Trouble::into_post_error)?;
            if !entry.is_sound() {
                return Err(PostError::Uncertain { why: "the server names no message".into() });
            }
            self.keep_note(&entry);
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

    /// Gives the server a file; its name for it.
    async fn upload(&self, target: &PostTarget, file: &File) -> Result<String, Trouble> {
        let form = Form::new().text("channel_id", target.chat.as_str()).file(
            "files",
            &file.name,
            &file.media_type,
            file.content.clone(),
        );
        let uploaded: Uploaded = self.server.upload("/files", form).await?;
        let id = uploaded.file_infos.into_iter().next().map(|info| info.id).filter(|id| is_id(id));
        id.ok_or_else(|| {
            let what = "no name of the file".to_owned();
            Trouble::Wire(insula_wire::WireFault::Garbage { what })
        })
    }

    pub(super) async fn change(
        &self,
        target: &PostTarget,
        message: &MessageId,
        body: &Body,
    ) -> Result<(), PostError> {
        if !is_id(&message.0) {
            return Err(PostError::Never { why: "that is no name of a message".into() });
        }
        // What is not named stays: buttons that are over have to be taken away.
        let mut props = self.props(target.chat.as_str(), &body.buttons);
        // What is given takes the place of all there was, and the server marks only new messages.
        props["from_bot"] = "true".into();
        let content = json!({ "message": body.markdown, "props": props });
        let path = format!("/posts/{}/patch", message.0);
        let changed: Result<Value, Trouble> = self.server.send(Method::PUT, &path, &content).await;
        changed.map(drop).map_err(Trouble::into_harmless)
    }
}
