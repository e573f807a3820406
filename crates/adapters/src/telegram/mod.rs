//! Telegram, by its Bot API.
//!
//! # What it speaks
//!
//! HTTPS requests to `<base_url>/bot<token>/<method>`, arguments as a JSON object, or as a form
//! where files go along. Every answer is `{"ok": true, "result": …}` or
//! `{"ok": false, "error_code": 429, "description": "…", "parameters": {"retry_after": 5}}`.
//!
//! | to do | method | arguments that are used |
//! | --- | --- | --- |
//! | who we are | `getMe` | |
//! | listen by asking | `getUpdates` | `offset`, `timeout`, `limit`, `allowed_updates` |
//! | listen by being called | `setWebhook` | `url`, `secret_token`, `max_connections`, `allowed_updates` |
//! | stop that | `deleteWebhook` | |
//! | whether that works | `getWebhookInfo` | |
//! | say | `sendMessage` | `chat_id`, `message_thread_id`, `text`, `parse_mode`, `reply_parameters`, `reply_markup`, `link_preview_options` |
//! | send a file | `sendPhoto`, `sendVoice`, `sendDocument` | the same, with `caption` for `text` |
//! | change | `editMessageText`, `editMessageCaption` | `chat_id`, `message_id`, and as above |
//! | show writing | `sendChatAction` | `chat_id`, `message_thread_id`, `action` |
//! | react | `setMessageReaction` | `chat_id`, `message_id`, `reaction` |
//! | answer a button | `answerCallbackQuery` | `callback_query_id`, `text` |
//! | get a file | `getFile` | `file_id`; then `GET <base_url>/file/bot<token>/<file_path>` |
//! | the menu | `setMyCommands` | `commands` |
//!
//! An update has an `update_id` and one of `message`, `edited_message`, `channel_post`,
//! `edited_channel_post`, `callback_query`, `message_reaction`, `my_chat_member`, `chat_member`; `types.rs` has the
//! fields that are read. It is delivered again until `getUpdates` is called with an `offset`
//! above its id, or until the webhook is answered with 2xx. A webhook request carries
//! `X-Telegram-Bot-Api-Secret-Token`.
//!
//! # What to know
//!
//! - The platform has no idempotency: a message whose answer was lost may be there
//!   ([`PostError::Uncertain`]).
//! - Bots are not told of deletions, and of reactions in a group only while they are admins there.
//!   A reaction does not say in which topic its message stands.
//! - The General topic of a forum has no id on the wire. Here it is 1, as in clients' links; on the
//!   way out it is left out again, except when showing that we write, where the platform wants it.
//! - What is said in the name of a chat (anonymous admins, linked channels) has no user.
//! - Previews of links are off: a preview is a request that the text of a model would cause.

mod api;
mod failure;
mod format;
#[cfg(fuzzing)]
pub mod fuzzing;
mod listening;
mod reading;
mod sending;
mod types;
mod words;

#[cfg(test)]
mod format_tests;
#[cfg(test)]
mod reading_tests;

use crate::class::Repeat;
use crate::declared::{Declared, REQUEST_LEN_MAX, Support};
use api::Api;
use async_trait::async_trait;
use bytes::Bytes;
use failure::Failure;
use insula_channel::{
    Adapter, Attachment, Body, BotIdentity, ConnectFault, Features, FetchError, Idempotency, Inbox,
    MessageId, Outbound, OwnSign, Post, PostError, PostTarget, Posted, TextLimit, WebAnswer,
    WebMethod, WebRequest,
};
use insula_domain::{AccountId, Platform};
use insula_wire::Transport;
use insula_world::Clock;
use secrecy::{ExposeSecret as _, SecretString};
use sending::Progress;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use types::{Me, RemoteFile, WebhookInfo};
use words::Myself;

/// The platform's limit for the text of a message.
const TEXT_UNITS_MAX: usize = 4096;
/// What people see of an answer to a button.
const TOAST_CHARS_MAX: usize = 200;
/// What a menu holds, and the texts in it.
const COMMANDS_MAX: usize = 100;
const COMMAND_CHARS_MAX: usize = 256;

const FEATURES: Features = Features {
    text: TextLimit::Utf16(TEXT_UNITS_MAX),
    // A group takes twenty messages a minute, edits included.
    can_edit: Some(Duration::from_secs(3)),
    idempotency: Idempotency::Never,
    has_buttons: true,
    can_react: true,
    typing: Some(Duration::from_secs(5)),
    silence_max: listening::SILENCE_MAX,
};

/// What Telegram can do here.
pub static DECLARED: Declared = Declared {
    platform: "telegram",
    name: "Telegram",
    hears_by: "asking (long poll), or a webhook",
    features: FEATURES,
    topics: Some("a topic of a forum"),
    hears_edits: Support::Yes,
    hears_deletions: Support::No,
    hears_reactions: Support::If("in groups where the bot is an admin"),
    files: Support::Yes,
    observes: Support::If("with privacy mode off"),
    roles: None,
    commands: Support::Yes,
    request_len_max: REQUEST_LEN_MAX,
};

/// What an account needs to be told.
pub struct TelegramSettings {
    /// The account's name.
    pub account: AccountId,
    /// The bot's token.
    pub token: SecretString,
    /// Where the Bot API is, if it is not Telegram's own.
    pub base_url: Option<String>,
    /// How updates come.
    pub mode: TelegramMode,
}

impl TelegramSettings {
    /// The settings of an account, by the keys they have in the configuration: `token`,
    /// `base_url`, `mode`, `public_url`, `secret`.
    pub fn read<'a>(
        account: AccountId,
        get: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Self, ConnectFault> {
        let refused = |why: String| Err(ConnectFault::Refused(why.into()));
        let Some(token) = get("token") else { return refused("`token` is missing".into()) };
        let mode = match get("mode").unwrap_or("polling") {
            "polling" => TelegramMode::Polling,
            "webhook" => {
                let Some(public_url) = get("public_url") else {
                    let why = "mode `webhook` needs `public_url`, the address Telegram calls";
                    return refused(why.into());
                };
                let url = format!("{}/hooks/telegram/{account}", public_url.trim_end_matches('/'));
                TelegramMode::Webhook { url, secret: get("secret").map(Into::into) }
            }
            other => return refused(format!("Telegram has no mode `{other}`")),
        };
        let base_url = get("base_url").map(str::to_owned);
        Ok(Self { account, token: token.into(), base_url, mode })
    }
}

/// How updates come.
pub enum TelegramMode {
    /// We ask, and the platform holds its answer back until there is something.
    Polling,
    /// The platform calls us.
    Webhook {
        /// The public address that leads to this account's [`Adapter::receive`].
        url: String,
        /// What it has to say each time; derived from the token unless given.
        secret: Option<SecretString>,
    },
}

/// One bot.
pub struct Telegram {
    platform: Platform,
    account: AccountId,
    api: Api,
    mode: Mode,
    clock: Arc<dyn Clock>,
    /// Who we are, once the platform has said so.
    myself: Mutex<Option<Arc<Myself>>>,
    progress: Progress,
}

enum Mode {
    Polling,
    Webhook { url: String, secret: SecretString },
}

impl Telegram {
    /// A bot from its settings. Nothing is sent yet.
    pub fn new(
        settings: TelegramSettings,
        transport: &Transport,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, ConnectFault> {
        let TelegramSettings { account, token, base_url, mode } = settings;
        let refused = |why: String| ConnectFault::Refused(why.into());
        let api = Api::new(transport, base_url.as_deref(), token)?;
        let mode = match mode {
            TelegramMode::Polling => Mode::Polling,
            TelegramMode::Webhook { url, secret } => {
                let secret = secret.unwrap_or_else(|| api.derived_secret().into());
                let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
                let text = secret.expose_secret();
                if text.is_empty() || text.len() > 256 || !text.bytes().all(is_plain) {
                    let why =
                        "`secret` of the webhook must have 1 to 256 of A-Z, a-z, 0-9, _ and -";
                    return Err(refused(why.into()));
                }
                Mode::Webhook { url, secret }
            }
        };
        Ok(Self {
            platform: Platform::new("telegram").map_err(|error| refused(error.to_string()))?,
            account,
            api,
            mode,
            clock: clock.clone(),
            myself: Mutex::default(),
            progress: Progress::default(),
        })
    }

    /// Who we are, asking the platform the first time.
    async fn myself(&self) -> Result<Arc<Myself>, Failure> {
        let known = self.myself.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match known {
            Some(myself) => Ok(myself),
            None => self.ask_who().await.map(|(myself, _)| myself),
        }
    }

    async fn ask_who(&self) -> Result<(Arc<Myself>, Me), Failure> {
        let me: Me = self.api.call("getMe", &json!({})).await?;
        let myself = Arc::new(Myself { id: me.id, username: me.username.as_str().into() });
        *self.myself.lock().unwrap_or_else(PoisonError::into_inner) = Some(myself.clone());
        Ok((myself, me))
    }

    /// What the webhook that is set, if any, means for us.
    fn webhook_findings(&self, info: &WebhookInfo) -> Option<String> {
        match &self.mode {
            Mode::Polling if !info.url.is_empty() => Some(format!(
                "a webhook is set, at {}; it is taken away when this account connects, and what \
                 listens there hears nothing more",
                host(&info.url)
            )),
            Mode::Webhook { url, .. } if !info.url.is_empty() && info.url != *url => Some(format!(
                "a webhook is set elsewhere, at {}; it is replaced when this account connects",
                host(&info.url)
            )),
            Mode::Webhook { url, .. }
                if info.url == *url && !info.last_error_message.is_empty() =>
            {
                let words = insula_wire::excerpt(&info.last_error_message);
                Some(format!("Telegram could not reach our webhook the last time: {words}"))
            }
            _ => None,
        }
    }
}

#[async_trait]
impl Adapter for Telegram {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        let (_, me) = self.ask_who().await.map_err(|failure| failure.to_fault())?;
        let info: WebhookInfo = self
            .api
            .call("getWebhookInfo", &json!({}))
            .await
            .map_err(|failure| failure.to_fault())?;
        let mut missing = vec![];
        if !me.can_read_all_group_messages {
            missing.push(
                "privacy mode is on: in groups the bot gets only commands, mentions and replies; \
                 turn it off with /setprivacy at @BotFather, then take the bot out of the group \
                 and add it again"
                    .to_owned(),
            );
        }
        if !me.can_join_groups {
            missing.push(
                "the bot can't be added to groups; allow it with /setjoingroups at @BotFather"
                    .to_owned(),
            );
        }
        missing.extend(self.webhook_findings(&info));
        let name = if me.username.is_empty() { me.first_name } else { format!("@{}", me.username) };
        Ok(BotIdentity {
            id: me.id.to_string().into(),
            name: name.into(),
            missing,
            about: Vec::new(),
        })
    }

    async fn listen(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        match &self.mode {
            Mode::Polling => self.poll(inbox, stop).await,
            Mode::Webhook { url, secret } => self.be_called(url, secret, inbox, stop).await,
        }
    }

    async fn receive(&self, request: WebRequest, inbox: &dyn Inbox) -> WebAnswer {
        match &self.mode {
            // As to a request that shows no secret: whoever asks learns nothing.
            Mode::Polling => WebAnswer::refused(),
            Mode::Webhook { .. } if request.method != WebMethod::Post => WebAnswer::refused(),
            Mode::Webhook { secret, .. } => self.called(&request, secret, inbox).await,
        }
    }

    async fn offer_commands(&self, commands: &[(&str, &str)]) -> Result<(), PostError> {
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        let offered: Vec<Value> = commands
            .iter()
            .map(|&(name, about)| (name.trim_start_matches('/'), about.trim()))
            .filter(|(name, about)| {
                (1..=32).contains(&name.len()) && name.bytes().all(is_plain) && !about.is_empty()
            })
            .take(COMMANDS_MAX)
            .map(|(name, about)| {
                let about: String = about.chars().take(COMMAND_CHARS_MAX).collect();
                json!({"command": name, "description": about})
            })
            .collect();
        let sent = self.api.call::<Value>("setMyCommands", &json!({"commands": offered})).await;
        sent.map(|_| ()).map_err(|failure| failure.to_post_error(Repeat::Harmless))
    }
}

#[async_trait]
impl Outbound for Telegram {
    fn features(&self) -> Features {
        FEATURES
    }

    async fn post(&self, post: &Post) -> Result<Posted, PostError> {
        self.send(post).await
    }

    fn is_after(&self, _: &PostTarget, later: &MessageId, earlier: &MessageId) -> Option<bool> {
        // The platform counts the messages of a chat.
        let number = |id: &MessageId| id.0.parse::<i64>().ok();
        Some(number(later)? > number(earlier)?)
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
        let mut arguments = sending::to(target);
        // The one method that wants the General topic by its number.
        let general = target.topic.as_ref().is_some_and(sending::is_general);
        if general {
            arguments.insert("message_thread_id".into(), json!(1));
        }
        arguments.insert("action".into(), json!("typing"));
        let _: Result<Value, Failure> = self.api.call("sendChatAction", &arguments).await;
    }

    async fn react(&self, target: &PostTarget, message: &MessageId, sign: OwnSign, on: bool) {
        let signs = if on { json!([{"type": "emoji", "emoji": sign.emoji()}]) } else { json!([]) };
        let Ok(number) = message.0.parse::<i64>() else { return };
        let mut arguments = sending::to(target);
        // A message has one name in all of a chat.
        arguments.remove("message_thread_id");
        arguments.insert("message_id".into(), json!(number));
        arguments.insert("reaction".into(), signs);
        let _: Result<Value, Failure> = self.api.call("setMessageReaction", &arguments).await;
    }

    async fn acknowledge(&self, press: &str, text: &str) {
        let text: String = text.chars().take(TOAST_CHARS_MAX).collect();
        let arguments = json!({"callback_query_id": press, "text": text});
        let _: Result<Value, Failure> = self.api.call("answerCallbackQuery", &arguments).await;
    }

    async fn fetch(&self, attachment: &Attachment, limit: u64) -> Result<Bytes, FetchError> {
        let fail = |failure: Failure| failure.to_post_error(Repeat::Harmless);
        if attachment.size.is_some_and(|size| size > limit) {
            return Err(FetchError::TooLarge);
        }
        let arguments = json!({"file_id": attachment.handle});
        let file: RemoteFile = self.api.call("getFile", &arguments).await.map_err(fail)?;
        if file.file_size.is_some_and(|size| size > limit) {
            return Err(FetchError::TooLarge);
        }
        let never = |why: &str| FetchError::from(PostError::Never { why: why.into() });
        let path = file.file_path.ok_or_else(|| never("Telegram no longer has this file"))?;
        if !is_relative(&path) {
            return Err(never("Telegram named the file by a path that leads elsewhere"));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        match self.api.download(&path, limit).await {
            Ok(content) => Ok(content),
            Err(Failure::Wire(insula_wire::WireFault::TooMuch { .. })) => Err(FetchError::TooLarge),
            // The file is gone; that the token is known was seen a moment ago.
            Err(
                failure
                @ (Failure::Told { status: 404, .. } | Failure::Foreign { status: 404, .. }),
            ) => Err(never(&failure.to_string())),
            Err(failure) => Err(fail(failure).into()),
        }
    }
}

/// Whether a path stays below where it is put, and is one in an address as it stands.
fn is_relative(path: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/');
    path.len() <= 512
        && path.bytes().all(is_plain)
        && path.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
}

/// The host of an address; the rest of it may be a secret.
fn host(url: &str) -> String {
    let uri: Option<insula_wire::Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(|uri| uri.host());
    insula_wire::excerpt(host.unwrap_or("an address that can't be read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_by_their_keys() {
        let read = |keys: &[(&str, &'static str)]| {
            let account = AccountId::new("main").unwrap();
            let get = |key: &str| keys.iter().find(|(known, _)| *known == key).map(|(_, v)| *v);
            TelegramSettings::read(account, get)
        };
        let polling = read(&[("token", "7:abc")]).unwrap();
        assert!(matches!(polling.mode, TelegramMode::Polling) && polling.base_url.is_none());
        let hook = [("token", "7:abc"), ("mode", "webhook"), ("public_url", "https://e.org/in/")];
        match read(&hook).unwrap().mode {
            TelegramMode::Webhook { url, secret: None } => {
                assert_eq!(url, "https://e.org/in/hooks/telegram/main");
            }
            _ => panic!("no webhook"),
        }
        assert!(read(&[]).is_err());
        assert!(read(&hook[..2]).is_err());
        assert!(read(&[("token", "7:abc"), ("mode", "socket")]).is_err());
    }

    #[test]
    fn a_path_from_outside_leads_nowhere_else() {
        for good in ["documents/file_1.pdf", "photos/a-b.jpg", "x"] {
            assert!(is_relative(good), "{good}");
        }
        for bad in [
            "",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a//b",
            "a/./b",
            "a?b",
            "a#b",
            "a b",
            "a%2e",
            "http://x/y",
            "a\\b",
            "ä",
            ".hidden",
            "a/",
        ] {
            assert!(!is_relative(bad), "{bad}");
        }
    }
}
