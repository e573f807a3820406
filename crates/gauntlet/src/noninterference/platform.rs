//! A platform in memory, with an account for every agent.

use super::cast::WATCHED;
use super::observe::Observed;
use async_trait::async_trait;
use bytes::Bytes;
use insula_channel::{
    Adapter, Attachment, Body, BotIdentity, ConnectFault, Features, FetchError, Idempotency, Inbox,
    MessageId, Outbound, Pacing, Post, PostError, PostTarget, Posted, TextLimit,
};
use insula_domain::{AccountId, Platform};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub struct Accounts {
    observed: Arc<Observed>,
    /// How much was posted by each, by chat.
    posted: Arc<Mutex<BTreeMap<(String, String), u64>>>,
    /// The web chat of the daemon that is open.
    web: Mutex<Option<Arc<dyn Adapter>>>,
    pacing: Arc<Pacing>,
}

impl Accounts {
    /// None has posted anything.
    pub fn new(observed: &Arc<Observed>) -> Arc<Self> {
        let (posted, web, pacing) = (Arc::default(), Mutex::default(), Arc::default());
        Arc::new(Self { observed: observed.clone(), posted, web, pacing })
    }

    /// The rooms of the daemon that is open now.
    pub fn open_web(&self, adapter: &Arc<dyn Adapter>) {
        *self.web.lock().unwrap_or_else(PoisonError::into_inner) = Some(adapter.clone());
    }
}

impl insula_channel::Accounts for Accounts {
    fn pacing(&self) -> &Arc<Pacing> {
        &self.pacing
    }

    fn outbound(&self, platform: Platform, account: &AccountId) -> Option<Arc<dyn Outbound>> {
        if platform == Platform::WEB {
            let web = self.web.lock().unwrap_or_else(PoisonError::into_inner).clone();
            return web.map(|web| web as Arc<dyn Outbound>);
        }
        Some(Arc::new(ObservedAdapter {
            account: account.clone(),
            is_watched: account.as_str() == format!("{WATCHED}bot"),
            observed: self.observed.clone(),
            posted: self.posted.clone(),
        }))
    }
}

struct ObservedAdapter {
    account: AccountId,
    is_watched: bool,
    observed: Arc<Observed>,
    posted: Arc<Mutex<BTreeMap<(String, String), u64>>>,
}

impl ObservedAdapter {
    /// Notes what a chat sees. Which of two chats sees something first in one moment is nothing
    /// that anybody in either sees.
    fn note(&self, chat: &str, what: impl FnOnce() -> String) {
        if self.is_watched {
            self.observed.note(&format!("post:{chat}"), what());
        }
    }
}

#[async_trait]
impl Adapter for ObservedAdapter {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        Ok(BotIdentity { id: "bot".into(), name: "bot".into(), missing: vec![], about: Vec::new() })
    }

    async fn listen(&self, _: &dyn Inbox, _: &CancellationToken) -> Result<(), ConnectFault> {
        Ok(())
    }
}

#[async_trait]
impl Outbound for ObservedAdapter {
    fn features(&self) -> Features {
        Features {
            text: TextLimit::Utf16(4_096),
            can_edit: None,
            idempotency: Idempotency::Always,
            has_buttons: true,
            can_react: false,
            typing: None,
            silence_max: Duration::from_secs(120),
        }
    }

    async fn post(&self, post: &Post) -> Result<Posted, PostError> {
        self.note(post.target.chat.as_str(), || {
            let reply_to = post.reply_to.as_ref().map(|id| &*id.0);
            let sent = json!({ "idempotency": post.idempotency, "reply_to": reply_to });
            format!("post {} {sent} {}", there(&post.target), said(&post.body))
        });
        let mut posted = self.posted.lock().unwrap_or_else(PoisonError::into_inner);
        let chat = post.target.chat.to_string();
        let count = posted.entry((self.account.to_string(), chat)).or_default();
        *count += 1;
        Ok(Posted { message: MessageId(format!("p{count}").into()) })
    }

    async fn edit(
        &self,
        target: &PostTarget,
        id: &MessageId,
        body: &Body,
    ) -> Result<(), PostError> {
        self.note(target.chat.as_str(), || {
            format!("edit {} {} {}", there(target), id.0, said(body))
        });
        Ok(())
    }

    async fn acknowledge(&self, _: &str, text: &str) {
        self.note("", || format!("acknowledged: {text}"));
    }

    async fn fetch(&self, _: &Attachment, _: u64) -> Result<Bytes, FetchError> {
        Err(PostError::Never { why: "gone".into() }.into())
    }

    async fn join(&self, target: &PostTarget) -> Result<(), PostError> {
        self.note(target.chat.as_str(), || format!("joined {}", there(target)));
        Ok(())
    }
}

/// A place to post to, as text that does not depend on our types.
fn there(target: &PostTarget) -> Value {
    json!({
        // The mark says nothing by itself; recorded runs have this in its place.
        "owner": "Owner",
        "chat": target.chat.as_str(),
        "type": target.chat_type.as_str(),
        "topic": target.topic.as_ref().map(|topic| topic.as_str()),
    })
}

/// What a message says, likewise.
fn said(body: &Body) -> Value {
    let buttons = body.buttons.iter().flatten();
    let buttons: Vec<Value> = buttons.map(|button| json!([button.label, button.data])).collect();
    let files = body.files.iter().map(|file| json!([file.name, file.content.len()]));
    let files: Vec<Value> = files.collect();
    json!({ "text": body.markdown, "buttons": buttons, "files": files })
}
