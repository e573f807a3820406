//! Slack: one app's bot in one workspace, over the Web API, by Socket Mode or HTTP.
//!
//! # What it speaks
//!
//! Requests are `POST <base_url>/<method>` with the bot's token (`xoxb-`) as bearer; answers are
//! `{"ok": true, …}` or `{"ok": false, "error": "…"}` with status 200, and 429 with `Retry-After`.
//!
//! | to do | method |
//! | --- | --- |
//! | who we are, and what we may | `auth.test`, its header `x-oauth-scopes` |
//! | a socket | `apps.connections.open`, with the app's token (`xapp-`) |
//! | people, channels, older messages | `users.info`, `users.conversations`, `conversations.replies` |
//! | what was said while nothing was heard | `conversations.history`, `conversations.replies` |
//! | say, change | `chat.postMessage`, `chat.update` |
//! | show what is being written | `chat.startStream`, `chat.appendStream`, `chat.stopStream` |
//! | a sign | `reactions.add`, `reactions.remove`; in an assistant's thread `assistant.threads.setStatus` |
//! | give files | `files.getUploadURLExternal`, the address it names, `files.completeUploadExternal` |
//! | get a file | `files.info`, its `url_private_download` with the token |
//! | tell one person | `response_url` of what they pressed |
//!
//! **Socket Mode**: frames `hello`, `disconnect`, and envelopes `{"envelope_id", "type", "payload"}` of
//! type `events_api`, `interactive` or `slash_commands`, each answered with `{"envelope_id"}`
//! (`listening.rs`). **HTTP**: the same payloads to `/hooks/slack/<account>`, signed (`called.rs`).
//!
//! # What to know
//!
//! - One mention comes twice, as `app_mention` and as `message`: an event is named by team, channel
//!   and moment of its message, so it is one here.
//! - A topic is a thread: the moment of its first message. An answer stands where its question does:
//!   outside of threads it begins none.
//! - There are no idempotency keys: `client_msg_id` is named in errors and documented nowhere.
//! - A message with `bot_id` may name a person in whose name a program speaks: it is not theirs.
//! - Each event goes to one of an app's sockets, whichever workspace it is from. So the accounts of one
//!   app share a socket (`sharing.rs`).

mod api;
mod buttons;
mod called;
mod failure;
#[cfg(fuzzing)]
pub mod fuzzing;
mod gap;
mod handling;
mod known;
mod listened;
mod listening;
mod reading;
mod sending;
mod sharing;
mod streaming;
mod text;
mod types;

#[cfg(test)]
mod reading_tests;

pub use sharing::Apps;

use crate::declared::{Declared, REQUEST_LEN_MAX, Support};
use crate::seal::Seal;
use api::{Api, Patience};
use async_trait::async_trait;
use bytes::Bytes;
use failure::Failure;
use insula_channel::{
    Adapter, Attachment, Body, BotIdentity, ConnectFault, Features, FetchError, Idempotency, Inbox,
    MessageId, Outbound, OwnSign, Post, PostError, PostTarget, Posted, TextLimit, WebAnswer,
    WebRequest,
};
use insula_domain::{AccountId, ChatType, Platform};
use insula_wire::Transport;
use insula_world::Clock;
use known::{Known, Us};
use listened::Listened;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use sharing::App;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use types::{RemoteFile, Tested, is_id, is_ts, micros};

/// How long a message may be: Slack cuts what is longer than 40,000, and clients hide what is
/// longer than this behind a button. Escapes make of one character five at most.
const TEXT_CHARS_MAX: usize = 4000;

const FEATURES: Features = Features {
    text: TextLimit::Chars(TEXT_CHARS_MAX),
    // Fifty a minute.
    can_edit: Some(Duration::from_millis(1_200)),
    idempotency: Idempotency::Never,
    has_buttons: true,
    can_react: true,
    typing: None,
    silence_max: listening::SILENCE_MAX,
};

/// What Slack can do here.
pub static DECLARED: Declared = Declared {
    platform: "slack",
    name: "Slack",
    hears_by: "a socket, or a webhook; gaps are read",
    features: FEATURES,
    topics: Some("a thread"),
    hears_edits: Support::Yes,
    hears_deletions: Support::If("while connected"),
    hears_reactions: Support::If("while connected"),
    files: Support::Yes,
    observes: Support::If("in channels the bot is in"),
    roles: None,
    commands: Support::If("by one command of yours"),
    request_len_max: REQUEST_LEN_MAX,
};

/// What the app may have to do all that, and what does not work without.
const SCOPES: [(&str, &str); 16] = [
    ("app_mentions:read", "mentions are not heard"),
    ("channels:history", "public channels are not heard"),
    ("channels:read", "it is not seen in which channels the bot is"),
    ("chat:write", "nothing can be said"),
    ("commands", "there is no slash command"),
    ("files:read", "files that people send can't be read"),
    ("files:write", "no files can be sent"),
    ("groups:history", "private channels are not heard"),
    ("groups:read", "it is not seen in which private channels the bot is"),
    ("im:history", "direct messages are not heard"),
    ("im:read", "somebody's first direct message is not found if it came while nothing was heard"),
    ("mpim:history", "group messages are not heard"),
    ("mpim:read", "the first of a group message is not found if it came while nothing was heard"),
    ("reactions:read", "reactions are not heard"),
    ("reactions:write", "it can't be shown that something is being worked on"),
    ("users:read", "people have no names, and bots are not known as such"),
];

/// How events come.
#[derive(Clone)]
pub enum Mode {
    /// By Socket Mode, with the app's token.
    Socket(SecretString),
    /// To our address, signed with this secret.
    Webhook(SecretString),
}

/// An account's settings.
pub struct SlackSettings {
    pub account: AccountId,
    /// The bot's token in the workspace.
    pub token: SecretString,
    pub mode: Mode,
    /// Where the API is, if it is not Slack's own.
    pub base_url: Option<String>,
}

impl SlackSettings {
    /// The settings of an account, by the keys they have in the configuration.
    pub fn read<'a>(
        account: AccountId,
        get: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Self, ConnectFault> {
        let refused = |why: &str| ConnectFault::Refused(why.into());
        let given = |key: &str| get(key).filter(|value| !value.is_empty());
        let token = given("token").ok_or_else(|| refused("it needs `token`"))?;
        if token.starts_with("xapp-") {
            return Err(refused(
                "`token` is the app's token: that is `app_token`; the bot's begins with xoxb-",
            ));
        }
        let mode = match get("mode").unwrap_or("socket") {
            "socket" => match given("app_token") {
                Some(app_token) if app_token.starts_with("xoxb-") => {
                    return Err(refused(
                        "`app_token` is the bot's token: that is `token`; the app's begins with xapp-",
                    ));
                }
                Some(app_token) => Mode::Socket(app_token.into()),
                None => return Err(refused("mode `socket` needs `app_token`")),
            },
            "webhook" => match given("secret") {
                Some(secret) => Mode::Webhook(secret.into()),
                None => {
                    let why = "mode `webhook` needs `secret`, the app's signing secret";
                    return Err(refused(why));
                }
            },
            _ => return Err(refused("`mode` is `socket` or `webhook`")),
        };
        let base_url = get("base_url").map(str::to_owned);
        Ok(Self { account, token: token.into(), mode, base_url })
    }
}

/// One app's bot in one workspace.
pub struct Slack {
    platform: Platform,
    account: AccountId,
    api: Api,
    mode: Mode,
    seal: Seal,
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
    listened: Mutex<Listened>,
    /// What we share with other accounts of our app.
    app: Arc<App>,
}

impl Slack {
    /// The adapter of one account. Nothing is asked yet.
    pub fn new(
        settings: SlackSettings,
        transport: &Transport,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, ConnectFault> {
        let SlackSettings { account, token, mode, base_url } = settings;
        let platform = Platform::new("slack");
        let seal = Seal::new("insula 2026-11 slack buttons", token.expose_secret().as_bytes());
        let app_token = match &mode {
            Mode::Socket(app_token) => Some(app_token.clone()),
            Mode::Webhook(_) => None,
        };
        Ok(Self {
            platform: platform.map_err(|error| ConnectFault::Refused(error.to_string().into()))?,
            api: Api::new(base_url.as_deref(), (token, app_token), transport)?,
            account,
            mode,
            seal,
            clock: clock.clone(),
            known: Mutex::default(),
            listened: Mutex::default(),
            app: Arc::default(),
        })
    }

    /// The same, of an app that other accounts may be of too.
    #[must_use]
    pub fn sharing(mut self, apps: &Apps) -> Self {
        if let Mode::Socket(app_token) = &self.mode {
            self.app = apps.app(app_token, self.api.base());
        }
        self
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listened(&self) -> MutexGuard<'_, Listened> {
        self.listened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns who we are; what Slack says of it, and the scopes that our token has, if it tells.
    async fn learn_us(
        &self,
        stop: &CancellationToken,
    ) -> Result<(Tested, Option<String>), Failure> {
        let reply = self.api.reply("auth.test", &[], Patience::Whole, stop).await?;
        let tested: Tested = reply.json().map_err(Failure::Wire)?;
        if !is_id(&tested.user_id) || !is_id(&tested.team_id) {
            return Err(api::garbage("no names for us and the workspace"));
        }
        self.known().us = Some(Us {
            user: tested.user_id.as_str().into(),
            bot: tested.bot_id.as_str().into(),
            team: tested.team_id.as_str().into(),
            is_everywhere: tested.is_enterprise_install,
        });
        let scopes = reply.headers.get("x-oauth-scopes").and_then(|it| it.to_str().ok());
        let scopes = scopes.map(str::to_owned);
        self.known().scopes.clone_from(&scopes);
        Ok((tested, scopes))
    }

    async fn findings(&self, tested: &Tested, scopes: Option<&str>) -> Vec<String> {
        let mut missing = vec![];
        if tested.bot_id.is_empty() {
            missing.push(
                "the token is a person's; take the Bot User OAuth Token, which begins with xoxb-"
                    .to_owned(),
            );
        }
        if let Some(scopes) = scopes {
            let has = |scope: &str| scopes.split(',').any(|it| it.trim() == scope);
            let lacks = SCOPES.iter().filter(|(scope, _)| !has(scope));
            let lacks: Vec<String> =
                lacks.map(|(scope, what)| format!("`{scope}` ({what})")).collect();
            if !lacks.is_empty() {
                missing.push(format!(
                    "the app lacks scopes: {}; add them at api.slack.com/apps (OAuth & \
                     Permissions) and install the app again",
                    lacks.join(", ")
                ));
            }
        } else {
            // Slack says so where it is asked for something.
            let unread_for = self.known().unread_for.clone();
            missing.extend(unread_for.iter().map(|scope| {
                format!(
                    "the app lacks the scope `{scope}`, and what was said while nothing was heard \
                     is not all read; add it at api.slack.com/apps (OAuth & Permissions) and \
                     install the app again"
                )
            }));
        }
        let about = [("types", "public_channel,private_channel"), ("limit", "1")];
        let channels = self.api.ask::<Value>("users.conversations", &about, Patience::Whole).await;
        let is_in_none = |it: &Value| it["channels"].as_array().is_some_and(Vec::is_empty);
        if channels.is_ok_and(|it| is_in_none(&it)) {
            missing.push(format!(
                "the bot is in no channel, and hears only direct messages; say `/invite @{}` in one",
                insula_wire::excerpt(&tested.user)
            ));
        }
        missing
    }
}

#[async_trait]
impl Adapter for Slack {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        let stop = CancellationToken::new();
        let (tested, scopes) = self.learn_us(&stop).await.map_err(Failure::into_fault)?;
        if matches!(self.mode, Mode::Socket(_)) {
            // Whether the app's token is good, nothing else tells.
            self.ask_for_ticket(&stop).await?;
        }
        let missing = self.findings(&tested, scopes.as_deref()).await;
        let name = format!("@{} ({})", tested.user, tested.team);
        Ok(BotIdentity { id: tested.user_id.into(), name: name.into(), missing, about: Vec::new() })
    }

    async fn listen(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        let ended = match self.mode {
            Mode::Socket(_) => self.hear(inbox, stop).await,
            Mode::Webhook(_) => self.be_called(inbox, stop).await,
        };
        // Whatever was under way when we were told to stop failed for that alone.
        if stop.is_cancelled() { Ok(()) } else { ended }
    }

    async fn receive(&self, request: WebRequest, inbox: &dyn Inbox) -> WebAnswer {
        self.called(&request, inbox).await
    }

    async fn offer_commands(&self, commands: &[(&str, &str)]) -> Result<(), PostError> {
        // A workspace's commands are its own: the app has one, and ours are words behind it.
        self.known().commands = commands.iter().map(|(name, _)| (*name).into()).collect();
        Ok(())
    }
}

#[async_trait]
impl Outbound for Slack {
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
        self.update(target, message, body).await
    }

    async fn react(&self, target: &PostTarget, message: &MessageId, sign: OwnSign, on: bool) {
        let channel = target.chat.as_str();
        // A thread of a direct chat is one with an assistant, which has a sign of its own.
        if let (ChatType::Dm, Some(thread)) = (target.chat_type, &target.topic) {
            let status = if on { "is working on it…" } else { "" };
            let about =
                json!({"channel_id": channel, "thread_ts": thread.as_str(), "status": status});
            let shown: Result<Value, Failure> =
                self.api.tell("assistant.threads.setStatus", &about).await;
            if shown.is_ok() {
                return;
            }
        }
        if is_ts(&message.0) {
            let method = if on { "reactions.add" } else { "reactions.remove" };
            let about = json!({"channel": channel, "timestamp": &*message.0, "name": sign.name()});
            let _: Result<Value, Failure> = self.api.tell(method, &about).await;
        }
    }

    fn is_after(&self, _: &PostTarget, later: &MessageId, earlier: &MessageId) -> Option<bool> {
        Some(micros(&later.0)? > micros(&earlier.0)?)
    }

    async fn acknowledge(&self, press: &str, text: &str) {
        self.tell_presser(press, text).await;
    }

    async fn fetch(&self, attachment: &Attachment, limit: u64) -> Result<Bytes, FetchError> {
        if attachment.size.is_some_and(|size| size > limit) {
            return Err(FetchError::TooLarge);
        }
        if !is_id(&attachment.handle) {
            return Err(PostError::Never { why: "that is no name of a file".into() }.into());
        }
        #[derive(serde::Deserialize)]
        struct Found {
            file: RemoteFile,
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let about = [("file", &*attachment.handle)];
        let found: Result<Found, Failure> =
            self.api.ask("files.info", &about, Patience::Whole).await;
        let found = found.map_err(|failure| FetchError::from(failure.into_harmless()))?;
        match self.api.file(&found.file, limit).await {
            Ok(content) => Ok(content),
            Err(failure) if failure.is_too_much() => Err(FetchError::TooLarge),
            Err(failure) => Err(failure.into_harmless().into()),
        }
    }
}
