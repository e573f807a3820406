//! A reply that is shown while it is written, by Slack's own means for that.
//!
//! In a channel one person alone would see it grow, and everybody else its beginning and its end; so
//! this is for threads of direct chats, where assistants talk, and elsewhere the message is changed.
//! What was written can't be taken back by these means: a text that does not begin with what
//! was shown is put in its place by a change, as is one of which it is not known how much was shown.

use super::Slack;
use super::failure::Failure;
use super::known::Written;
use super::types::is_ts;
use insula_channel::{Body, MessageId, PostError, PostTarget, Posted};
use insula_domain::ChatType;
use serde::Deserialize;
use serde_json::{Value, json};

impl Slack {
    /// Begins to show a reply that is being written; nothing where it has to be a message.
    pub(super) async fn begin_stream(
        &self,
        target: &PostTarget,
        body: &Body,
    ) -> Result<Option<Posted>, PostError> {
        #[derive(Deserialize)]
        struct Begun {
            ts: String,
        }
        let (ChatType::Dm, Some(thread), Some(text)) =
            (target.chat_type, &target.topic, body.so_far())
        else {
            return Ok(None);
        };
        if self.known().lacks_streams || text.trim().is_empty() {
            return Ok(None);
        }
        let channel = target.chat.as_str();
        let about =
            json!({ "channel": channel, "thread_ts": thread.as_str(), "markdown_text": text });
        let begun: Result<Begun, Failure> = self.api.tell("chat.startStream", &about).await;
        match begun {
            Ok(Begun { ts }) if is_ts(&ts) => {
                let place = (channel.into(), ts.as_str().into());
                self.known().streams.insert(place, Written::of(text));
                Ok(Some(Posted { message: MessageId(ts.into()) }))
            }
            Ok(_) => Err(super::api::garbage("no name of the message").into_post_error()),
            // The workspace, or the app, has no such thing: it is not asked again.
            Err(failure) if failure.is_no() => {
                self.known().lacks_streams = true;
                Ok(None)
            }
            Err(failure) => Err(failure.into_post_error()),
        }
    }

    /// Goes on with a message that is being written, or ends it. Whether that was all there is to do.
    pub(super) async fn write_on(&self, channel: &str, ts: &str, body: &Body) -> bool {
        let place = (channel.into(), ts.into());
        // What becomes of it is known when it is done.
        let Some(written) = self.known().streams.remove(&place) else { return false };
        let text = body.so_far().unwrap_or(&body.markdown);
        let rest = written.rest_of(text).filter(|_| body.buttons.is_empty());
        let is_done = match (rest, body.goes_on) {
            (Some(""), true) => true,
            (Some(rest), true) => {
                let about = json!({ "channel": channel, "ts": ts, "markdown_text": rest });
                let written: Result<Value, Failure> =
                    self.api.tell("chat.appendStream", &about).await;
                written.is_ok()
            }
            (Some(rest), false) => return self.end_stream(channel, ts, rest).await,
            (None, _) => false,
        };
        if is_done {
            self.known().streams.insert(place, Written::of(text));
        } else {
            self.end_stream(channel, ts, "").await;
        }
        is_done
    }

    /// Ends what is being written, with these last words. Whether it has.
    pub(super) async fn end_stream(&self, channel: &str, ts: &str, rest: &str) -> bool {
        let mut about = json!({ "channel": channel, "ts": ts });
        if !rest.is_empty() {
            about["markdown_text"] = rest.into();
        }
        let ended: Result<Value, Failure> = self.api.tell("chat.stopStream", &about).await;
        ended.is_ok()
    }
}
