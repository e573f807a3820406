//! Discord: one bot, over its API v10 and its gateway.
//!
//! # What it speaks
//!
//! JSON over HTTPS below `https://discord.com/api/v10`, each request with `Authorization: Bot TOKEN`,
//! and a WebSocket for what happens: the gateway. A refusal is `{"message": "…", "code": 50001}`; too
//! many requests are 429 with `retry_after` in seconds.
//!
//! | what | request |
//! | --- | --- |
//! | who we are | `GET users/@me`, `applications/@me`, `users/@me/guilds` |
//! | listening | `GET gateway/bot`, then a socket: hello, identify or resume, heartbeats, events |
//! | a gap | `GET channels/{id}/messages?after=` |
//! | channels, members | `GET channels/{id}`, `guilds/{id}/members/{id}` |
//! | saying | `POST channels/{id}/messages`, with `nonce` as the key and `enforce_nonce` |
//! | changing | `PATCH channels/{id}/messages/{id}` |
//! | typing | `POST channels/{id}/typing` |
//! | a reaction | `PUT`, `DELETE channels/{id}/messages/{id}/reactions/{emoji}/@me` |
//! | a press or command | `POST interactions/{id}/{token}/callback`, then `webhooks/{application}/{token}` |
//! | the menu | `GET`, `PUT applications/{id}/commands` |
//!
//! # What to know
//!
//! - Ids are numbers that grow with time, so a message tells when it was said, and which of two was
//!   first.
//! - A session is taken up again by its name and the number of the last event, also after a restart
//!   of the daemon (`gateway.rs`). Where Discord has forgotten it, channels are read from the last
//!   message that was taken (`gap.rs`).
//! - Without the intent for it, what is said to others has no words. Direct messages, replies with a
//!   mention, and mentions have them always.
//! - A thread is a chat below its channel, with an id of its own; a post of a forum is one.
//! - A message of a webhook is nobody's.
//! - Nothing we say calls anybody: `allowed_mentions` is always empty.
//! - A press and a command have to be answered within three seconds (`buttons.rs`).

mod api;
mod buttons;
mod cursor;
#[cfg(fuzzing)]
pub mod fuzzing;
mod gap;
mod gateway;
mod hearing;
mod known;
mod limits;
mod menu;
mod reading;
#[cfg(test)]
mod reading_tests;
mod sending;
mod types;
mod words;

use crate::declared::{Declared, REQUEST_LEN_MAX, Support};
use crate::trouble::Trouble;
use api::{Api, Call};
use async_trait::async_trait;
use buttons::Marks;
use bytes::Bytes;
use insula_channel::{
    Adapter, Attachment, Body, BotIdentity, ConnectFault, Features, FetchError, Idempotency, Inbox,
    MessageId, Outbound, OwnSign, Post, PostError, PostTarget, Posted, TextLimit,
};
use insula_domain::{AccountId, Platform};
use insula_wire::{Method, Transport};
use insula_world::{Clock, RandomStream, World};
use known::Known;
use limits::Route;
use secrecy::SecretString;
use serde_json::Value;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use types::{is_id, number};

/// How long a message may be, in characters: Discord counts code points.
const TEXT_CHARS: usize = 2_000;
/// How long Discord recognises a message by its key: "a few minutes".
const KEY_LASTS: Duration = Duration::from_secs(120);
/// What says that we may hear what is said to others: on a few servers, or on any.
const MAY_HEAR_CONTENT: u64 = 1 << 18 | 1 << 19;
/// What the bot has to be allowed on a server: to see channels, write there and in threads, read what
/// was said, send files and react.
const PERMISSIONS: u64 = 1 << 6 | 1 << 10 | 1 << 11 | 1 << 15 | 1 << 16 | 1 << 38;

const FEATURES: Features = Features {
    text: TextLimit::Chars(TEXT_CHARS),
    can_edit: Some(Duration::from_secs(1)),
    idempotency: Idempotency::For(KEY_LASTS),
    has_buttons: true,
    can_react: true,
    typing: Some(Duration::from_secs(10)),
    silence_max: gateway::SILENCE_MAX,
};

/// What Discord can do here.
pub static DECLARED: Declared = Declared {
    platform: "discord",
    name: "Discord",
    hears_by: "a socket, resumed; gaps are read",
    features: FEATURES,
    topics: Some("a thread or a post of a forum, as a chat of its own"),
    hears_edits: Support::Yes,
    hears_deletions: Support::If("while connected"),
    hears_reactions: Support::If("while connected"),
    files: Support::Yes,
    observes: Support::If("with Message Content Intent"),
    roles: Some("a role of the server"),
    commands: Support::Yes,
    request_len_max: REQUEST_LEN_MAX,
};

/// An account's settings.
pub struct Settings {
    pub account: AccountId,
    /// The bot's token.
    pub token: SecretString,
    /// Where Discord is, if it is not Discord itself.
    pub base_url: Option<String>,
}

/// One bot.
pub struct Discord {
    platform: Platform,
    account: AccountId,
    api: Api,
    marks: Marks,
    clock: Arc<dyn Clock>,
    chance: Mutex<RandomStream>,
    known: Mutex<Known>,
    /// How often in a row a session could not be taken up.
    resumes_failed: AtomicU32,
}

impl Discord {
    /// The adapter of one account. Nothing is asked yet.
    pub fn new(
        settings: Settings,
        transport: &Transport,
        world: &World,
    ) -> Result<Self, ConnectFault> {
        let Settings { account, token, base_url } = settings;
        let platform = Platform::new("discord")
            .map_err(|error| ConnectFault::Refused(error.to_string().into()))?;
        let api = Api::new(base_url.as_deref(), token, transport)?;
        Ok(Self {
            platform,
            marks: Marks::new(api.token()),
            api,
            clock: world.clock.clone(),
            chance: Mutex::new(world.random.stream(&["discord", account.as_str()])),
            account,
            known: Mutex::default(),
            resumes_failed: AtomicU32::new(0),
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn chance<const N: usize>(&self) -> [u8; N] {
        self.chance.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }
}

#[async_trait]
impl Adapter for Discord {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        let stop = CancellationToken::new();
        let (us, application) = self.learn_us(&stop).await.map_err(Trouble::into_fault)?;
        let route = Route::of("GET guilds", "");
        let path = "/users/@me/guilds?limit=1".to_owned();
        let guilds: Result<Vec<Value>, Trouble> = self.api.get(route, path, &stop).await;
        let is_lonely = match guilds {
            Ok(guilds) => guilds.is_empty(),
            // Not told, it lacks nothing that we know of.
            Err(trouble) if trouble.is_no() => false,
            Err(trouble) => return Err(trouble.into_fault()),
        };
        let mut missing = vec![];
        if !us.hears_content {
            missing.push(
                "Message Content Intent is off: on servers the bot hears only what mentions it; \
                 turn it on in the Developer Portal, page Bot, Privileged Gateway Intents"
                    .to_owned(),
            );
        }
        if !application.interactions_endpoint_url.is_empty() {
            missing.push(
                "buttons and commands go to another address: take `Interactions Endpoint URL` away \
                 in the Developer Portal, page General Information"
                    .to_owned(),
            );
        }
        if is_lonely {
            missing.push(format!(
                "the bot is on no server; add it with \
                 https://discord.com/oauth2/authorize?client_id={}&scope=bot+applications.commands\
                 &permissions={PERMISSIONS}",
                us.application
            ));
        }
        Ok(BotIdentity {
            id: us.id,
            name: format!("@{}", us.username).into(),
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

    async fn offer_commands(&self, commands: &[(&str, &str)]) -> Result<(), PostError> {
        self.offer(commands).await.map_err(Trouble::into_harmless)
    }
}

#[async_trait]
impl Outbound for Discord {
    fn features(&self) -> Features {
        FEATURES
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
        let Ok(channel) = sending::channel(target) else { return };
        let call = Call {
            route: Route::of("POST typing", channel),
            method: Method::POST,
            path: format!("/channels/{channel}/typing"),
        };
        let _ = self.api.tell(call, None).await;
    }

    async fn react(&self, target: &PostTarget, message: &MessageId, sign: OwnSign, on: bool) {
        let Ok(channel) = sending::channel(target) else { return };
        if !is_id(&message.0) {
            return;
        }
        let sign: String = sign.emoji().bytes().map(|byte| format!("%{byte:02X}")).collect();
        let call = Call {
            route: Route::of("PUT reactions", channel),
            method: if on { Method::PUT } else { Method::DELETE },
            path: format!("/channels/{channel}/messages/{}/reactions/{sign}/@me", message.0),
        };
        let _ = self.api.tell(call, None).await;
    }

    fn is_after(&self, _: &PostTarget, later: &MessageId, earlier: &MessageId) -> Option<bool> {
        Some(number(&later.0)? > number(&earlier.0)?)
    }

    async fn acknowledge(&self, press: &str, text: &str) {
        self.tell_presser(press, text).await;
    }

    async fn fetch(&self, attachment: &Attachment, limit: u64) -> Result<Bytes, FetchError> {
        self.content(attachment, limit).await
    }
}
