//! WhatsApp, by Meta's Cloud API (v25.0).
//!
//! # What it speaks
//!
//! ```text
//! GET  /hooks/whatsapp/<account>?hub.mode=subscribe&hub.verify_token=…&hub.challenge=…
//! POST /hooks/whatsapp/<account>     X-Hub-Signature-256: sha256=<hex HMAC-SHA256(app secret, body)>
//! ```
//!
//! A request holds changes of any number of the app's numbers, in any order, each with `messages`
//! and `statuses`. Whatever is answered but 200 comes again, for up to seven days.
//!
//! | to do | request below `<base_url>/v25.0/`, with the token as bearer |
//! | --- | --- |
//! | our number, and where its events go | `GET <phone_number_id>?fields=…` |
//! | have its events come here | `POST <phone_number_id>`, `webhook_configuration` |
//! | say, react | `POST <phone_number_id>/messages` by `type`: `text`, `interactive`, `image`, `video`, `audio`, `document`, `template`, `reaction` |
//! | mark as read, show writing | the same, `status: read`, `typing_indicator` |
//! | give a file | `POST <phone_number_id>/media`, a form |
//! | get a file | `GET <media id>`, then its `url` with the token |
//!
//! Errors are `{"error": {"code", "message", "error_data": {"details"}}}`; `failure.rs` has what
//! each means.
//!
//! # What to know
//!
//! - A chat is whom we talk with: a number without plus, or the name the platform has for
//!   somebody who hides it; a group where the business has that.
//! - There are no idempotency keys. A message carries a mark of ours
//!   (`biz_opaque_callback_data`) that comes back in `statuses`: what was uncertain is settled by
//!   it, and a message that is sent again after its mark came back is not.
//! - Free text is taken within 24 hours of their last word. Then a template that the operator
//!   names says it. The platform may take a message and refuse it a moment later.
//! - Messages can't be changed. Previews of links are off.

mod api;
mod called;
mod failure;
#[cfg(fuzzing)]
pub mod fuzzing;
mod known;
mod reading;
mod sending;
mod types;

#[cfg(test)]
mod reading_tests;

use crate::class::Repeat;
use crate::declared::{Declared, Support};
use api::Graph;
use async_trait::async_trait;
use bytes::Bytes;
use failure::Failure;
use insula_channel::{
    Adapter, Attachment, Body, BotIdentity, ConnectFault, Features, FetchError, Idempotency, Inbox,
    MessageId, Outbound, OwnSign, Post, PostError, PostTarget, Posted, Tenant, TextLimit,
    WebAnswer, WebRequest,
};
use insula_domain::{AccountId, Platform};
use insula_wire::Transport;
use insula_world::Clock;
use known::Known;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use types::Phone;

/// How long the sign of writing stays.
const TYPING: Duration = Duration::from_secs(25);
/// How often the platform is asked whether our number is well: nothing comes from it by itself
/// while nobody writes.
const CHECKED_EVERY: Duration = Duration::from_secs(300);
/// More than that; the answer may take its time.
const SILENCE_MAX: Duration = Duration::from_secs(900);
/// The longest request: the platform puts many events into one.
const REQUEST_LEN_MAX: usize = 4 * 1024 * 1024;

const FEATURES: Features = Features {
    text: TextLimit::Utf16(sending::TEXT_UNITS_MAX),
    can_edit: None,
    idempotency: Idempotency::Never,
    has_buttons: true,
    can_react: true,
    typing: Some(TYPING),
    silence_max: SILENCE_MAX,
};

/// What WhatsApp can do here.
pub static DECLARED: Declared = Declared {
    platform: "whatsapp",
    name: "WhatsApp (Cloud API)",
    hears_by: "a webhook",
    features: FEATURES,
    topics: None,
    hears_edits: Support::Yes,
    hears_deletions: Support::Yes,
    hears_reactions: Support::Yes,
    files: Support::Yes,
    observes: Support::If("in groups that the business has"),
    roles: None,
    commands: Support::No,
    request_len_max: REQUEST_LEN_MAX,
};

/// An account's settings.
pub struct WhatsAppSettings {
    pub account: AccountId,
    /// The id of our number, which is not the number.
    pub phone_number_id: String,
    /// The access token.
    pub token: SecretString,
    /// The app's secret, which requests are signed with.
    pub secret: SecretString,
    /// What the platform says when it asks whether this is the place.
    pub verify_token: SecretString,
    /// Where the API is, if it is not Meta's own.
    pub base_url: Option<String>,
    /// The address that leads to the daemon's listener; with it our number's events are had sent
    /// there.
    pub public_url: Option<String>,
    /// The template for those whose last word is too old, and its language.
    pub template: Option<Template>,
}

/// A message that Meta approved, with one gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub name: String,
    pub language: String,
}

impl WhatsAppSettings {
    /// The settings of an account, by the keys they have in the configuration.
    pub fn read<'a>(
        account: AccountId,
        get: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Self, ConnectFault> {
        let needed = |key: &str| {
            let missing = || ConnectFault::Refused(format!("it needs `{key}`").into());
            get(key).filter(|value| !value.is_empty()).ok_or_else(missing)
        };
        let language = get("reopen_language").unwrap_or("en").to_owned();
        let name = get("reopen_template").map(str::to_owned);
        Ok(Self {
            account,
            phone_number_id: needed("phone_number_id")?.to_owned(),
            token: needed("token")?.into(),
            secret: needed("secret")?.into(),
            verify_token: needed("verify_token")?.into(),
            base_url: get("base_url").map(str::to_owned),
            public_url: get("public_url").map(str::to_owned),
            template: name.map(|name| Template { name, language }),
        })
    }
}

/// One number of a business.
pub struct WhatsApp {
    platform: Platform,
    account: AccountId,
    phone: Box<str>,
    graph: Graph,
    secret: SecretString,
    verify_token: SecretString,
    /// Where our number's events are to go, if that is ours to say.
    hook: Option<String>,
    template: Option<Template>,
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
    /// Counts what statuses told.
    settled: watch::Sender<u64>,
}

impl WhatsApp {
    /// A number from its settings. Nothing is sent yet.
    pub fn new(
        settings: WhatsAppSettings,
        transport: &Transport,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, ConnectFault> {
        let WhatsAppSettings { account, phone_number_id: phone, token, secret, .. } = &settings;
        let graph = Graph::new(transport, settings.base_url.as_deref(), phone, token.clone())?;
        let hook = settings
            .public_url
            .as_deref()
            .map(|url| format!("{}/hooks/whatsapp/{account}", url.trim_end_matches('/')));
        let platform = Platform::new("whatsapp");
        Ok(Self {
            platform: platform.map_err(|error| ConnectFault::Refused(error.to_string().into()))?,
            account: account.clone(),
            phone: phone.as_str().into(),
            graph,
            secret: secret.clone(),
            verify_token: settings.verify_token,
            hook,
            template: settings.template,
            clock: clock.clone(),
            known: Mutex::default(),
            settled: watch::channel(0).0,
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seconds since 1970.
    fn now(&self) -> i64 {
        self.clock.now().as_millis() / 1000
    }

    /// Has our number's events come to us, where they don't.
    async fn be_called(&self, phone: &Phone, cancel: &CancellationToken) -> Result<(), Failure> {
        let Some(hook) = &self.hook else { return Ok(()) };
        if place_of(phone) == Some(hook) {
            return Ok(());
        }
        let settings = json!({
            "webhook_configuration": {
                "override_callback_uri": hook,
                "verify_token": self.verify_token.expose_secret(),
            },
        });
        self.graph.configure(&settings, cancel).await
    }

    fn findings(&self, phone: &Phone) -> Vec<String> {
        let mut missing = vec![];
        let place = place_of(phone);
        let path = format!("/hooks/whatsapp/{}", self.account);
        match (place, &self.hook) {
            (Some(place), Some(hook)) if place != hook => missing.push(format!(
                "events of this number go to {}; they are had sent to {hook} when this account \
                 connects",
                host(place)
            )),
            (Some(place), None) if !place.ends_with(&path) => missing.push(format!(
                "events of this number go to {}, at a path that is not {path}: set `public_url`, \
                 or the callback URL in Meta's dashboard (WhatsApp, Configuration)",
                host(place)
            )),
            (None, None) if phone.webhook_configuration.is_some() => missing.push(format!(
                "events of this number go nowhere: set `public_url`, or the callback URL in Meta's \
                 dashboard (WhatsApp, Configuration) to https://…{path}"
            )),
            _ => {}
        }
        if phone.quality_rating == "RED" {
            missing.push(
                "WhatsApp rates this number's quality as low: it may be limited soon, since people \
                 block or report it"
                    .to_owned(),
            );
        }
        if self.template.is_none() {
            missing.push(
                "no `reopen_template`: whoever has not written for 24 hours can't be sent anything"
                    .to_owned(),
            );
        }
        missing
    }

    async fn tell(&self, message: Value) {
        // Failing is not worth telling: it is a courtesy.
        let _: Result<Value, Failure> = self.graph.tell(&message).await;
    }
}

#[async_trait]
impl Adapter for WhatsApp {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        let phone = self.graph.phone(&CancellationToken::new()).await;
        let phone = phone.map_err(|failure| failure.to_fault())?;
        let missing = self.findings(&phone);
        let name = match phone.verified_name.is_empty() {
            true => phone.display_phone_number,
            false => format!("{} ({})", phone.verified_name, phone.display_phone_number),
        };
        Ok(BotIdentity { id: self.phone.clone(), name: name.into(), missing, about: Vec::new() })
    }

    async fn listen(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        let fault = |failure: Failure| failure.to_fault();
        let broken = |why: &str| ConnectFault::Broken { why: why.into(), wait: None };
        self.load(inbox).await.map_err(|error| broken(&error.0))?;
        loop {
            let asked = self.graph.phone(stop).await;
            if stop.is_cancelled() {
                return Ok(());
            }
            let phone = asked.map_err(fault)?;
            self.be_called(&phone, stop).await.map_err(fault)?;
            inbox.alive();
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                () = self.clock.sleep(CHECKED_EVERY) => {}
            }
        }
    }

    async fn receive(&self, request: WebRequest, inbox: &dyn Inbox) -> WebAnswer {
        self.called(&request, inbox).await
    }

    fn keep_only(&self, tenants: &HashSet<Tenant>) {
        self.known().keep_only(tenants);
    }
}

#[async_trait]
impl Outbound for WhatsApp {
    fn features(&self) -> Features {
        FEATURES
    }

    async fn post(&self, post: &Post) -> Result<Posted, PostError> {
        self.send(post).await
    }

    async fn edit(&self, _: &PostTarget, _: &MessageId, _: &Body) -> Result<(), PostError> {
        Err(PostError::Never { why: "WhatsApp can't change a message that was sent".into() })
    }

    async fn typing(&self, target: &PostTarget) {
        let Some(last) = self.known().last_message(target.chat.as_str()) else { return };
        self.tell(json!({
            "messaging_product": "whatsapp",
            "status": "read",
            "message_id": &*last.0,
            "typing_indicator": { "type": "text" },
        }))
        .await;
    }

    async fn read(&self, _: &PostTarget, message: &MessageId) {
        let id = &*message.0;
        self.tell(json!({
            "messaging_product": "whatsapp", "status": "read", "message_id": id,
        }))
        .await;
    }

    async fn react(&self, target: &PostTarget, message: &MessageId, sign: OwnSign, on: bool) {
        let emoji = if on { sign.emoji() } else { "" };
        let about = json!({ "message_id": &*message.0, "emoji": emoji });
        let mut reaction = json!({ "type": "reaction", "reaction": about });
        sending::address(&mut reaction, target, "");
        self.tell(reaction).await;
    }

    async fn fetch(&self, attachment: &Attachment, limit: u64) -> Result<Bytes, FetchError> {
        let id = &*attachment.handle;
        if !api::is_file_id(id) {
            let why = "this is no file of WhatsApp's".into();
            return Err(FetchError::Failed(PostError::Never { why }));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        match self.graph.file(id, limit).await {
            Ok(Some(content)) => Ok(content),
            Ok(None) => Err(FetchError::TooLarge),
            Err(failure) => Err(failure.to_post_error(Repeat::Harmless).into()),
        }
    }
}

/// Where the events of a number go: what is nearest to it counts.
fn place_of(phone: &Phone) -> Option<&String> {
    let configured = phone.webhook_configuration.as_ref()?;
    ["phone_number", "whatsapp_business_account", "application"].into_iter().find_map(|key| {
        match configured.get(key) {
            Some(Value::String(place)) if !place.is_empty() => Some(place),
            _ => None,
        }
    })
}

/// The host of an address; the rest of it may be a secret.
fn host(url: &str) -> String {
    let uri: Option<insula_wire::Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(|uri| uri.host());
    insula_wire::excerpt(host.unwrap_or("an address that can't be read"))
}
