//! What we say: messages, files, changes.

use super::Slack;
use super::api::{Patience, garbage};
use super::failure::Failure;
use super::text::mrkdwn;
use super::types::{Entry, RemoteFile, is_id, is_ts};
use insula_channel::{Body, File, MessageId, Post, PostError, PostTarget, Posted};
use serde::Deserialize;
use serde_json::{Value, json};

/// Files of one message.
const FILES_MAX: usize = 10;
/// What Slack says of blocks that it does not take.
const BAD_BLOCKS: [&str; 3] = ["invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"];

impl Slack {
    pub(super) async fn send(&self, post: &Post) -> Result<Posted, PostError> {
        let Post { target, body, .. } = post;
        if !is_id(target.chat.as_str())
            || target.topic.as_ref().is_some_and(|it| !is_ts(it.as_str()))
        {
            return Err(PostError::Never { why: "that is no place of Slack's".into() });
        }
        if let Some(posted) = self.begin_stream(target, body).await? {
            return Ok(posted);
        }
        match body.files.is_empty() {
            true => self.say(target, body).await,
            false => self.say_with_files(target, body).await,
        }
    }

    async fn say(&self, target: &PostTarget, body: &Body) -> Result<Posted, PostError> {
        let text = mrkdwn(&body.markdown);
        if text.trim().is_empty() {
            return Err(PostError::Never { why: "there is nothing in the message".into() });
        }
        let channel = target.chat.as_str();
        let mut about = json!({
            "channel": channel, "text": text, "unfurl_links": false, "unfurl_media": false,
        });
        if let Some(thread) = &target.topic {
            about["thread_ts"] = thread.as_str().into();
        }
        let blocks = self.blocks(channel, &text, &body.buttons);
        if !blocks.is_empty() {
            about["blocks"] = blocks.into();
        }
        let mut sent = self.api.tell("chat.postMessage", &about).await;
        if sent.as_ref().is_err_and(|it: &Failure| it.is_one_of(&BAD_BLOCKS)) {
            // The text says it too.
            about.as_object_mut().map(|about| about.remove("blocks"));
            sent = self.api.tell("chat.postMessage", &about).await;
        }
        let said: Said = sent.map_err(Failure::into_post_error)?;
        if !is_ts(&said.ts) {
            return Err(garbage("no name of the message").into_post_error());
        }
        let channel = if is_id(&said.channel) { said.channel.as_str() } else { channel };
        let user = self.known().us.as_ref().map(|us| us.user.to_string()).unwrap_or_default();
        let thread_ts = target.topic.as_ref().map(|it| it.as_str().to_owned()).unwrap_or_default();
        let entry = Entry { user, thread_ts, ts: said.ts, ..Entry::default() };
        self.keep_note(channel, &entry);
        Ok(Posted { message: MessageId(entry.ts.into()) })
    }

    /// Text and files are one request, so that one never comes without the other.
    async fn say_with_files(&self, target: &PostTarget, body: &Body) -> Result<Posted, PostError> {
        let channel = target.chat.as_str();
        let mut first = None;
        for (number, batch) in body.files.chunks(FILES_MAX).enumerate() {
            let mut files = vec![];
            for file in batch {
                // Nothing was said yet: a file that did not go up is no doubt about the message.
                files.push(self.upload(file).await.map_err(Failure::into_harmless)?);
            }
            let mut about = json!({ "files": files, "channel_id": channel });
            let text = if number == 0 { mrkdwn(&body.markdown) } else { String::new() };
            if !text.trim().is_empty() {
                about["initial_comment"] = text.into();
            }
            if let Some(thread) = &target.topic {
                about["thread_ts"] = thread.as_str().into();
            }
            let done: Completed = self
                .api
                .tell("files.completeUploadExternal", &about)
                .await
                .map_err(Failure::into_post_error)?;
            if first.is_none() {
                first = self.shown_in(channel, done.files).await;
            }
        }
        // What has no name of a message can't be changed later; it is there all the same.
        let message = MessageId(first.unwrap_or_else(|| "files".to_owned()).into());
        Ok(Posted { message })
    }

    /// The message that a file was shown in, or else the file.
    async fn shown_in(&self, channel: &str, files: Vec<RemoteFile>) -> Option<String> {
        #[derive(Deserialize)]
        struct Found {
            file: RemoteFile,
        }
        let file = files.into_iter().next().filter(|file| is_id(&file.id))?;
        if let Some(ts) = share(&file, channel) {
            return Some(ts);
        }
        // Slack may still be about it, and then does not tell.
        let found = self.api.ask("files.info", &[("file", &file.id)], Patience::Aside).await;
        let told = found.ok().and_then(|Found { file }| share(&file, channel));
        Some(told.unwrap_or(file.id))
    }

    /// Gives Slack a file; what it is called there.
    async fn upload(&self, file: &File) -> Result<Value, Failure> {
        #[derive(Deserialize)]
        struct Place {
            upload_url: String,
            file_id: String,
        }
        let len = file.content.len().to_string();
        let about = [("filename", &*file.name), ("length", &*len)];
        let method = "files.getUploadURLExternal";
        let place: Place = self.api.ask(method, &about, Patience::Whole).await?;
        self.api.upload(&place.upload_url, file.content.clone()).await?;
        Ok(json!({ "id": place.file_id, "title": &*file.name }))
    }

    pub(super) async fn update(
        &self,
        target: &PostTarget,
        message: &MessageId,
        body: &Body,
    ) -> Result<(), PostError> {
        if !is_ts(&message.0) {
            return Err(PostError::Never { why: "that is no name of a message".into() });
        }
        if self.write_on(target.chat.as_str(), &message.0, body).await {
            return Ok(());
        }
        let (channel, text) = (target.chat.as_str(), mrkdwn(&body.markdown));
        // What is not named stays: buttons that are over have to be taken away.
        let blocks = self.blocks(channel, &text, &body.buttons);
        let about =
            json!({ "channel": channel, "ts": &*message.0, "text": text, "blocks": blocks });
        let mut changed: Result<Value, Failure> = self.api.tell("chat.update", &about).await;
        if changed.as_ref().is_err_and(|it| it.is_one_of(&["streaming_state_conflict"])) {
            // An earlier run had begun to write it.
            self.end_stream(channel, &message.0, "").await;
            changed = self.api.tell("chat.update", &about).await;
        }
        changed.map(drop).map_err(Failure::into_harmless)
    }
}

/// The message by which a file is shown in a channel.
fn share(file: &RemoteFile, channel: &str) -> Option<String> {
    let kinds = ["public", "private"].into_iter().filter_map(|kind| file.shares.get(kind));
    let mut shares = kinds.filter_map(|kind| kind.get(channel)?.get(0)?.get("ts")?.as_str());
    shares.find(|ts| is_ts(ts)).map(str::to_owned)
}

#[derive(Deserialize)]
struct Said {
    ts: String,
    #[serde(default)]
    channel: String,
}

#[derive(Deserialize)]
struct Completed {
    #[serde(default)]
    files: Vec<RemoteFile>,
}
