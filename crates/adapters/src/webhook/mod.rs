//! The generic webhook: any program that can sign a request can say something.
//!
//! # Wire format
//!
//! ```text
//! POST /hooks/webhook/<account>
//! X-Insula-Timestamp: 1794708747                     seconds since 1970
//! X-Insula-Signature: sha256=<hex>[, sha256=<hex>]   HMAC-SHA256(secret, timestamp "." body)
//! Content-Type: application/json                     not looked at; the body has to be JSON
//!
//! {"any": "JSON"}
//! ```
//!
//! | answer | meaning |
//! | --- | --- |
//! | 202 | taken, and durable |
//! | 400 | signed, and no JSON, or its timestamp is none |
//! | 401 | not signed with this account's secret, or there is no such account |
//! | 409 | signed, and taken before, or at another time than now (`window`) |
//! | 413 | longer than a request may be |
//! | 503 | could not be taken: send the same request again |
//!
//! `template` makes the message out of the payload, `chat` the chat it is said in, `event` what
//! a repetition of the same event has in common. The sender is always `webhook:<account>`:
//! nothing in a payload decides who is talking.
//!
//! A reply goes to `deliver` (a chat of another account), to `callback`, or nowhere:
//!
//! ```text
//! POST <callback>
//! X-Insula-Timestamp, X-Insula-Signature             as above, by the same secret
//! Idempotency-Key: <id>                              the same when it is sent again
//!
//! {"account": "ci", "chat": "…", "event": "…", "id": "…", "text": "…"}
//! ```

mod delivery;
#[cfg(fuzzing)]
pub mod fuzzing;
mod replay;
mod signature;
mod template;
#[cfg(test)]
mod webhook_tests;

use crate::declared::{Declared, REQUEST_LEN_MAX, Support};
use crate::others::{OtherAccounts, needed, wrong};
use async_trait::async_trait;
use bytes::Bytes;
use delivery::Delivery;
use insula_channel::{
    AccountSettings, Adapter, Attachment, Body, BotIdentity, ConnectFault, Envelope, EventId,
    Features, FetchError, Happening, Idempotency, Inbox, Message, MessageId, Outbound, Post,
    PostError, PostTarget, Posted, Sender, TextLimit, WebAnswer, WebMethod, WebRequest,
};
use insula_config::rules;
use insula_domain::{AccountId, Address, ChatId, ChatType, Platform, UserId, WordSource, Words};
use insula_wire::Transport;
use insula_world::World;
use replay::Replays;
use serde_json::Value;
use signature::{SECRET_BYTES_MIN, SIGNATURE, Signer, TIMESTAMP, Unsigned};
use std::time::Duration;
use template::{RESULT_BYTES_MAX, Template, cut};
use tokio_util::sync::CancellationToken;

/// How old or how far ahead a request may be unless somebody says otherwise.
const WINDOW: Duration = Duration::from_secs(300);

/// The longest window: a captured request must lose its worth.
const WINDOW_MAX: Duration = Duration::from_secs(60 * 60);

/// Longest name of a chat or an event that a template may come to.
const NAME_BYTES_MAX: usize = 200;

/// How long a message may be where nobody but a program reads it.
const TEXT_UNITS: usize = 256 * 1024;

const FEATURES: Features = Features {
    text: TextLimit::Utf16(TEXT_UNITS),
    can_edit: None,
    idempotency: Idempotency::Always,
    has_buttons: false,
    can_react: false,
    typing: None,
    silence_max: Duration::MAX,
};

/// What webhooks can do.
pub static DECLARED: Declared = Declared {
    platform: "webhook",
    name: "Webhooks",
    hears_by: "signed requests of a program",
    features: FEATURES,
    topics: None,
    hears_edits: Support::No,
    hears_deletions: Support::No,
    hears_reactions: Support::No,
    files: Support::No,
    observes: Support::No,
    roles: None,
    commands: Support::No,
    request_len_max: REQUEST_LEN_MAX,
};

/// The webhook of one account.
pub struct Webhook {
    world: World,
    platform: Platform,
    account: AccountId,
    user: UserId,
    signer: Signer,
    window: Duration,
    replays: Replays,
    template: Option<Template>,
    chat: Option<Template>,
    event: Option<Template>,
    delivery: Delivery,
}

impl Webhook {
    /// The webhook that these settings describe.
    pub fn new(
        world: &World,
        transport: &Transport,
        accounts: &OtherAccounts,
        settings: &AccountSettings,
    ) -> Result<Self, ConnectFault> {
        let secret = needed(settings, "secret")?;
        if secret.len() < SECRET_BYTES_MIN {
            return Err(wrong(&format!("`secret` is shorter than {SECRET_BYTES_MIN} characters")));
        }
        let window = match settings.get("window") {
            None => WINDOW,
            Some(text) => rules::duration(text)
                .filter(|window| *window <= WINDOW_MAX)
                .ok_or_else(|| wrong("`window` is at most an hour, such as `5m`"))?,
        };
        let template = |key: &str| {
            let parsed = settings.get(key).map(Template::parse).transpose();
            parsed.map_err(|why| wrong(&format!("`{key}`: {why}")))
        };
        let delivery = match (settings.get("deliver"), settings.get("callback")) {
            (Some(_), Some(_)) => {
                return Err(wrong("it has both `deliver` and `callback`; keep one"));
            }
            (Some(text), None) => {
                let to = rules::destination(text).map_err(|problem| wrong(&problem.message))?;
                if to.platform == settings.platform {
                    return Err(wrong("`deliver` names a webhook, where nobody reads"));
                }
                Delivery::Chat { to, accounts: accounts.clone() }
            }
            (None, Some(url)) => {
                let uri = url.parse().map_err(|_| wrong("`callback` is no address"))?;
                Delivery::Callback { uri, transport: transport.clone() }
            }
            (None, None) => Delivery::Nowhere,
        };
        Ok(Self {
            world: world.clone(),
            platform: settings.platform,
            account: settings.name.clone(),
            user: UserId::new(settings.name.as_str()).map_err(|why| wrong(&why.to_string()))?,
            signer: Signer::new(secret, window),
            window,
            replays: Replays::default(),
            template: template("template")?,
            chat: template("chat")?,
            event: template("event")?,
            delivery,
        })
    }

    fn envelope(&self, payload: &Value, signature: &[u8; 32]) -> Result<Envelope, WebAnswer> {
        let signature: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
        let named = |template: &Option<Template>| {
            let name = template.as_ref().map(|it| it.fill(payload).trim().to_owned());
            name.filter(|name| !name.is_empty() && name.len() <= NAME_BYTES_MAX)
        };
        // A template that comes to nothing must not make all events one.
        let event = match named(&self.event) {
            Some(name) => format!("event:{name}"),
            None => format!("signature:{signature}"),
        };
        let chat = match &self.chat {
            None => self.account.as_str().to_owned(),
            Some(_) => named(&self.chat).ok_or_else(|| {
                answer(400, "no_chat", "`chat` comes to nothing, or to too much, for this payload")
            })?,
        };
        let chat = ChatId::new(chat)
            .map_err(|_| answer(400, "no_chat", "`chat` comes to no name for this payload"))?;
        // A program sends it: nobody typed any of it, and nothing in it is a command.
        let words = match &self.template {
            Some(template) => template.words(payload),
            None => {
                let pretty = serde_json::to_string_pretty(payload).unwrap_or_default();
                Words::foreign(WordSource::Fields, &cut(pretty, RESULT_BYTES_MAX))
            }
        };
        Ok(Envelope {
            event: EventId(event.as_str().into()),
            address: Address {
                platform: self.platform,
                account: self.account.clone(),
                chat,
                chat_type: ChatType::Channel,
                topic: None,
                parent: None,
                community: None,
                user: Some(self.user.clone()),
                roles: Vec::new(),
            },
            sender: Sender { name: self.account.as_str().into(), also: Vec::new(), is_bot: false },
            at: self.world.clock.now(),
            what: Happening::Said(Message {
                id: MessageId(event.into()),
                words,
                mentions_us: true,
                is_for_another: false,
                attachments: Vec::new(),
                quoted: None,
                group: None,
            }),
        })
    }
}

fn answer(status: u16, code: &str, message: &str) -> WebAnswer {
    let body = serde_json::json!({ "error": { "code": code, "message": message } });
    WebAnswer::json(status, body.to_string())
}

#[async_trait]
impl Adapter for Webhook {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        let name = format!("/hooks/{}/{}", self.platform, self.account).into();
        Ok(BotIdentity {
            id: self.account.as_str().into(),
            name,
            missing: Vec::new(),
            about: Vec::new(),
        })
    }

    async fn listen(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        // Who calls us is heard when they call.
        inbox.alive();
        stop.cancelled().await;
        Ok(())
    }

    async fn receive(&self, request: WebRequest, inbox: &dyn Inbox) -> WebAnswer {
        if request.method != WebMethod::Post {
            return WebAnswer::refused();
        }
        let header = |name: &str| request.header(name);
        let now = self.world.clock.now();
        let checked = self.signer.check(header(TIMESTAMP), header(SIGNATURE), &request.body, now);
        let signature = match checked {
            Ok(signature) => signature,
            Err(Unsigned::Stranger) => return WebAnswer::refused(),
            Err(Unsigned::NoTime) => {
                let message =
                    "`X-Insula-Timestamp` is no number of seconds since 1970, such as 1794708747";
                return answer(400, "no_time", message);
            }
            Err(Unsigned::NotNow) => {
                let message = format!(
                    "the timestamp is more than {} s from now; look at both clocks",
                    self.window.as_secs()
                );
                return answer(409, "not_now", &message);
            }
        };
        if self.replays.knows(&signature) {
            return answer(409, "taken_before", "this request was taken before");
        }
        let Ok(payload) = serde_json::from_slice::<Value>(&request.body) else {
            return answer(400, "no_json", "the body is no JSON");
        };
        let envelope = match self.envelope(&payload, &signature) {
            Ok(envelope) => envelope,
            Err(answer) => return answer,
        };
        match inbox.take(vec![envelope], None).await {
            Ok(()) => {
                // A request signed ahead of time stays good that much longer.
                let keep = self.window.saturating_mul(2);
                self.replays.remember(signature, self.world.clock.elapsed(), keep);
                WebAnswer::json(202, Bytes::from_static(br#"{"taken":true}"#))
            }
            Err(_) => answer(503, "not_taken", "it could not be taken; send it again"),
        }
    }
}

#[async_trait]
impl Outbound for Webhook {
    fn is_for_people(&self) -> bool {
        false
    }

    fn features(&self) -> Features {
        match self.delivery.other() {
            // As the chat takes it; nothing there is edited from here.
            Some(other) => Features {
                can_edit: None,
                typing: None,
                can_react: false,
                silence_max: Duration::MAX,
                ..other.features()
            },
            None => FEATURES,
        }
    }

    async fn post(&self, post: &Post) -> Result<Posted, PostError> {
        self.delivery.deliver(post, self.account.as_str(), &self.signer, &self.world).await
    }

    async fn edit(&self, _: &PostTarget, _: &MessageId, _: &Body) -> Result<(), PostError> {
        Err(PostError::Never { why: "a delivered reply stays as it is".into() })
    }

    async fn fetch(&self, _: &Attachment, _: u64) -> Result<Bytes, FetchError> {
        Err(PostError::Never { why: "a webhook has no attachments".into() }.into())
    }
}
