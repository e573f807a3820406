//! Mattermost: one bot on one server, over its API v4 (servers since 6.1).
//!
//! # What it speaks
//!
//! JSON over HTTPS below `<base_url>/api/v4`, each request with `Authorization: Bearer TOKEN`, and a
//! WebSocket for what happens. A refusal is `{"id": "api.…", "message": "…"}`; too many requests are
//! 429 with `X-Ratelimit-Reset` in seconds.
//!
//! | what | request |
//! | --- | --- |
//! | who we are | `GET users/me`, `config/client?format=old`, `users/me/channels` |
//! | listening | `GET websocket?connection_id=&sequence_number=`, then `authentication_challenge` |
//! | a gap | `GET channels/{id}/posts?since=`, or by pages where there is more than one answer holds |
//! | people, channels, messages | `GET users/{id}`, `channels/{id}`, `posts/{id}` |
//! | saying | `POST posts`, with `pending_post_id` as the key |
//! | changing | `PUT posts/{id}/patch` |
//! | typing, read | `POST users/me/typing`, `POST channels/members/me/view` |
//! | a reaction | `POST reactions`, `DELETE users/{us}/posts/{id}/reactions/{name}` |
//! | files | `POST files?channel_id=`, `GET files/{id}` |
//! | buttons | `props.attachments[].actions[].integration`; the server posts to its `url` |
//!
//! # What to know
//!
//! - `posted.data.post` is JSON in a text. Whom a message mentions is read from its own words: the
//!   server's list names all of a channel for `@all` too.
//! - A connection that comes back with its name and the number of the next event is sent what it
//!   missed; `hello` under another name means that something may be missing (`listening.rs`).
//! - A key is recognised for half a minute, by the whole server: ours begin with our id. While
//!   another request of the same key is under way, it answers 500.
//! - A topic is a thread: the id of its first message. An answer stands where its question does:
//!   outside of threads it begins none, and in a direct chat neither.
//! - A message of a webhook or plugin carries the id of somebody who made that: it is nobody's.
//! - Requests of buttons are unsigned (`buttons.rs`).

mod api;
mod buttons;
#[cfg(fuzzing)]
pub mod fuzzing;
mod known;
mod listening;
mod looking_up;
mod reading;
#[cfg(test)]
mod reading_tests;
mod sending;
mod types;

use crate::declared::{Declared, REQUEST_LEN_MAX, Support};
use crate::trouble::Trouble;
use api::Server;
use async_trait::async_trait;
use buttons::Hook;
use bytes::Bytes;
use insula_channel::{
    Adapter, Attachment, Body, BotIdentity, ConnectFault, Features, FetchError, Idempotency, Inbox,
    MessageId, Outbound, OwnSign, Post, PostError, PostTarget, Posted, TextLimit, WebAnswer,
    WebRequest,
};
use insula_domain::{AccountId, Platform};
use insula_wire::{Method, Transport};
use insula_world::{Clock, World};
use known::{Known, Us};
use reading::Reader;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use types::{Channel, ClientConfig, Person, is_id};

/// How long a message may be where the server says nothing else, in characters.
const TEXT_CHARS: usize = 16_383;
/// The bounds of what a server may say about that.
const TEXT_CHARS_SAID: std::ops::RangeInclusive<usize> = 1_000..=65_535;
/// How long the server recognises a key.
const KEY_LASTS: Duration = Duration::from_secs(30);

const FEATURES: Features = Features {
    text: TextLimit::Chars(TEXT_CHARS),
    can_edit: Some(Duration::from_secs(1)),
    idempotency: Idempotency::For(KEY_LASTS),
    has_buttons: true,
    can_react: true,
    typing: Some(Duration::from_secs(5)),
    silence_max: listening::SILENCE_MAX,
};

/// What Mattermost can do here.
pub static DECLARED: Declared = Declared {
    platform: "mattermost",
    name: "Mattermost",
    hears_by: "a socket, resumed; gaps are read",
    features: FEATURES,
    topics: Some("a thread"),
    hears_edits: Support::Yes,
    hears_deletions: Support::If("while connected"),
    hears_reactions: Support::If("while connected"),
    files: Support::Yes,
    observes: Support::If("in channels the bot is in"),
    roles: None,
    commands: Support::No,
    request_len_max: REQUEST_LEN_MAX,
};

/// An account's settings.
pub struct Settings {
    pub account: AccountId,
    /// Where the server is, as in `https://chat.example.org`.
    pub base_url: String,
    /// The bot's token.
    pub token: SecretString,
    /// Where the server reaches this daemon; without it there are no buttons.
    pub public_url: Option<String>,
    /// What buttons are marked with; derived from the token unless given.
    pub secret: Option<SecretString>,
}

/// One bot on a server.
pub struct Mattermost {
    platform: Platform,
    account: AccountId,
    server: Server,
    hook: Option<Hook>,
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
    /// How long a message may be, as the server says.
    text_chars: AtomicUsize,
}

impl Mattermost {
    /// The adapter of one account. Nothing is asked yet.
    pub fn new(
        settings: Settings,
        transport: &Transport,
        world: &World,
    ) -> Result<Self, ConnectFault> {
        let Settings { account, base_url, token, public_url, secret } = settings;
        let refused = |why: &str| ConnectFault::Refused(why.into());
        if !is_id(token.expose_secret()) {
            return Err(refused(
                "`token` is no access token of a bot: that is letters and digits alone",
            ));
        }
        let key = secret.as_ref().unwrap_or(&token);
        let hook = public_url.map(|url| Hook::new(&account, &url, key.expose_secret().as_bytes()));
        Ok(Self {
            platform: Platform::new("mattermost").map_err(|error| refused(&error.to_string()))?,
            server: Server::new(&base_url, token, transport)?,
            account,
            hook,
            clock: world.clock.clone(),
            known: Mutex::default(),
            text_chars: AtomicUsize::new(TEXT_CHARS),
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who we are, which was asked before anything else.
    fn us(&self) -> Result<Us, ConnectFault> {
        let us = self.known().us.clone();
        us.ok_or_else(|| listening::broken("it is not known yet who we are"))
    }

    async fn learn_us(&self, stop: &CancellationToken) -> Result<Person, Trouble> {
        let me: Person = self.server.get("/users/me", stop).await?;
        let us = Us { id: me.id.as_str().into(), username: me.username.as_str().into() };
        self.known().us = Some(us);
        Ok(me)
    }

    /// Our id: remembered, or asked for.
    async fn our_id(&self) -> Result<Box<str>, Trouble> {
        if let Some(us) = &self.known().us {
            return Ok(us.id.clone());
        }
        Ok(self.learn_us(&CancellationToken::new()).await?.id.into())
    }

    fn reader<'a>(&'a self, us: &'a Us) -> Reader<'a> {
        Reader { platform: self.platform, account: &self.account, us }
    }
}

#[async_trait]
impl Adapter for Mattermost {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        let stop = CancellationToken::new();
        let me = self.learn_us(&stop).await.map_err(Trouble::into_fault)?;
        let asked = self.server.get("/config/client?format=old", &stop).await;
        let config: ClientConfig = asked.map_err(Trouble::into_fault)?;
        let said: Option<usize> = config.max_post_size.parse().ok();
        if let Some(chars) = said.filter(|said| TEXT_CHARS_SAID.contains(said)) {
            self.text_chars.store(chars, Ordering::Relaxed);
        }
        let asked = self.server.get("/users/me/channels", &stop).await;
        let channels: Vec<Channel> = asked.map_err(Trouble::into_fault)?;
        let mut missing = vec![];
        if !me.is_bot {
            missing.push(
                "the token is a person's, so messages of theirs are not heard; make a bot account \
                 (Integrations > Bot Accounts) and use its token"
                    .to_owned(),
            );
        }
        if !channels.iter().any(|it| matches!(it.kind.as_str(), "O" | "P")) {
            missing.push(format!(
                "the bot is in no channel, and hears only direct messages; add it with `/invite @{}` \
                 in a channel, after adding it to the team",
                me.username
            ));
        }
        if !self.has_buttons() {
            missing.push(
                "without `public_url` questions have no buttons; they are answered in words or by \
                 a reaction"
                    .to_owned(),
            );
        }
        Ok(BotIdentity {
            id: me.id.into(),
            name: format!("@{}", me.username).into(),
            missing,
            about: Vec::new(),
        })
    }

    async fn listen(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        self.hear(inbox, stop).await
    }

    async fn receive(&self, request: WebRequest, inbox: &dyn Inbox) -> WebAnswer {
        self.pressed(&request, inbox).await
    }
}

#[async_trait]
impl Outbound for Mattermost {
    fn features(&self) -> Features {
        Features {
            text: TextLimit::Chars(self.text_chars.load(Ordering::Relaxed)),
            has_buttons: self.has_buttons(),
            ..FEATURES
        }
    }

    async fn post(&self, post: &Post) -> Result<Posted, PostError> {
        self.send(post).await
    }

    async fn edit(
        &self,
        target: &PostTarget,
        message: &MessageId,
        body: &Body,
    ) -> Result<(), PostError> {
        self.change(target, message, body).await
    }

    async fn typing(&self, target: &PostTarget) {
        let root = target.topic.as_ref().map(|topic| topic.as_str()).unwrap_or_default();
        let about = json!({ "channel_id": target.chat.as_str(), "parent_id": root });
        let _: Result<Value, Trouble> =
            self.server.send(Method::POST, "/users/me/typing", &about).await;
    }

    async fn react(&self, _: &PostTarget, message: &MessageId, sign: OwnSign, on: bool) {
        let Ok(us) = self.our_id().await else { return };
        if !is_id(&message.0) {
            return;
        }
        if on {
            let about = json!({
                "user_id": &*us, "post_id": &*message.0, "emoji_name": sign.name(),
            });
            let _: Result<Value, Trouble> =
                self.server.send(Method::POST, "/reactions", &about).await;
        } else {
            let path = format!("/users/{us}/posts/{}/reactions/{}", message.0, sign.name());
            let _ = self.server.tell(Method::DELETE, &path).await;
        }
    }

    async fn read(&self, target: &PostTarget, _: &MessageId) {
        let about = json!({ "channel_id": target.chat.as_str() });
        let _: Result<Value, Trouble> =
            self.server.send(Method::POST, "/channels/members/me/view", &about).await;
    }

    async fn acknowledge(&self, press: &str, text: &str) {
        if !text.is_empty() {
            self.known().answers.insert(press.into(), text.to_owned());
        }
    }

    async fn fetch(&self, attachment: &Attachment, limit: u64) -> Result<Bytes, FetchError> {
        if attachment.size.is_some_and(|size| size > limit) {
            return Err(FetchError::TooLarge);
        }
        if !is_id(&attachment.handle) {
            return Err(PostError::Never { why: "that is no name of a file".into() }.into());
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let path = format!("/files/{}", attachment.handle);
        match self.server.file(&path, limit).await {
            Ok(content) => Ok(content),
            Err(trouble) if trouble.is_too_much() => Err(FetchError::TooLarge),
            Err(trouble) => Err(trouble.into_harmless().into()),
        }
    }
}
