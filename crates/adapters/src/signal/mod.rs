//! Signal, by the HTTP daemon of signal-cli (0.14.5 and later: Signal refuses older ones).
//!
//! # What it speaks
//!
//! ```text
//! GET  <base_url>/api/v1/check                    whether the daemon is there
//! POST <base_url>/api/v1/rpc                      JSON-RPC 2.0, Content-Type: application/json
//! GET  <base_url>/api/v1/events?account=…         text/event-stream: `event:receive`, `data:{…}`
//! ```
//!
//! The daemon asks nobody who they are; it refuses a `Host` that is not its address (421).
//!
//! | to do | method | arguments that are used, beside `account` |
//! | --- | --- | --- |
//! | which version | `version` | |
//! | who we are | `listContacts` | `recipient`, `allRecipients` |
//! | which groups | `listGroups` | `groupId` |
//! | say, change | `send` | `recipient` or `groupId`, `message`, `textStyle`, `attachments`, `quoteTimestamp`, `quoteAuthor`, `editTimestamp` |
//! | react | `sendReaction` | `recipient` or `groupId`, `emoji`, `targetAuthor`, `targetTimestamp`, `remove` |
//! | show writing | `sendTyping` | `recipient` or `groupId` |
//! | mark as read | `sendReceipt` | `recipient`, `targetTimestamp` |
//! | get a file | `getAttachment` | `id`, `recipient` or `groupId` |
//! | accept an invitation | `updateGroup` | `groupId` |
//! | our name | `updateProfile` | `givenName`, `familyName` |
//!
//! Errors are `{"code", "message", "data": {"response": {"results": […]}}}`; `failure.rs` has what
//! each means.
//!
//! # What to know
//!
//! - A user is a UUID. The number, which people may hide, is another name for it, so that
//!   allow-lists may have either; a direct chat is called like the user.
//! - A message has no id: it is named by when it was sent and by whom.
//! - There is no idempotency: a message whose answer was lost may be there
//!   ([`PostError::Uncertain`]).
//! - The stream acknowledges nothing. What signal-cli hands to a stream that breaks in that moment
//!   is lost, but for daemons that number their events (`Last-Event-ID`).
//! - What our account's owner says with their phone comes as `syncMessage`. What they say in
//!   groups and to themselves is heard, what they write to others is not.
//! - A group we are in from its beginning has no invitation: its revision 0 says that we were added.
//! - Changes of a message name its last revision; here it keeps its first name.
//! - No buttons: questions are answered by words, or by quoting them.

mod api;
mod failure;
#[cfg(fuzzing)]
pub mod fuzzing;
mod known;
mod listening;
mod people;
mod reading;
mod sending;
mod stream;
mod styles;
mod types;
mod words;

#[cfg(test)]
mod reading_tests;

use crate::class::Repeat;
use crate::declared::{Declared, REQUEST_LEN_MAX, Support};
use api::Daemon;
use async_trait::async_trait;
use bytes::Bytes;
use failure::Failure;
use insula_channel::{
    Adapter, Attachment, Body, BotIdentity, ConnectFault, Envelope, Features, FetchError,
    Idempotency, Inbox, MessageId, Outbound, OwnSign, Post, PostError, PostTarget, Posted,
    TextLimit,
};
use insula_domain::{AccountId, ChatType, Platform};
use insula_wire::{Transport, excerpt};
use known::{Known, Membership};
use people::{Us, is_number};
use serde_json::{Value, json};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use types::Version;

/// How long a text may be. Signal names no limit; signal-cli sends what is long as a file that
/// clients show as text.
const TEXT_UNITS_MAX: usize = 8000;
/// How often a message may be changed: each change goes to every member of a group anew.
const EDIT_EVERY: Duration = Duration::from_secs(10);
/// How long the sign of writing stays.
const TYPING: Duration = Duration::from_secs(15);
/// The oldest signal-cli that Signal's servers talk to.
const VERSION_MIN: [u32; 3] = [0, 14, 5];

const FEATURES: Features = Features {
    text: TextLimit::Utf16(TEXT_UNITS_MAX),
    can_edit: Some(EDIT_EVERY),
    idempotency: Idempotency::Never,
    has_buttons: false,
    can_react: true,
    typing: Some(TYPING),
    silence_max: listening::SILENCE_MAX,
};

/// What Signal can do here.
pub static DECLARED: Declared = Declared {
    platform: "signal",
    name: "Signal",
    hears_by: "a stream of signal-cli's daemon",
    features: FEATURES,
    topics: None,
    hears_edits: Support::Yes,
    hears_deletions: Support::Yes,
    hears_reactions: Support::Yes,
    files: Support::Yes,
    observes: Support::Yes,
    roles: None,
    commands: Support::No,
    request_len_max: REQUEST_LEN_MAX,
};

/// An account's settings.
pub struct SignalSettings {
    pub account: AccountId,
    /// Our number, as `+4915112345678`, or our UUID.
    pub number: String,
    /// Where the daemon is, if it is not `http://127.0.0.1:8080`.
    pub base_url: Option<String>,
    /// What people are to see as our name.
    pub profile_name: Option<String>,
}

/// One account of a signal-cli daemon.
pub struct Signal {
    platform: Platform,
    account: AccountId,
    /// Who we are by the settings.
    ours: Box<str>,
    profile_name: Option<Box<str>>,
    daemon: Daemon,
    known: Mutex<Known>,
    /// Events that were heard and could not be taken.
    untaken: Mutex<Vec<Envelope>>,
}

impl Signal {
    /// An account from its settings. Nothing is sent yet.
    pub fn new(settings: SignalSettings, transport: &Transport) -> Result<Self, ConnectFault> {
        let SignalSettings { account, number, base_url, profile_name } = settings;
        let refused = |why: String| ConnectFault::Refused(why.into());
        let ours: Box<str> = number.trim().into();
        if !is_number(&ours) && !is_uuid(&ours) {
            let why = "`number` must be the account's number with its country, as +4915112345678, or its UUID";
            return Err(refused(why.to_owned()));
        }
        Ok(Self {
            platform: Platform::new("signal").map_err(|error| refused(error.to_string()))?,
            account,
            profile_name: profile_name.map(Into::into),
            daemon: Daemon::new(transport, base_url.as_deref(), &ours)?,
            known: Mutex::new(Known::new(Us::named(&ours))),
            untaken: Mutex::default(),
            ours,
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn untaken(&self) -> MutexGuard<'_, Vec<Envelope>> {
        self.untaken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That the daemon is too old, if it is.
    async fn age(&self, cancel: &CancellationToken) -> Result<Option<String>, Failure> {
        let Version { version } = self.daemon.ask("version", cancel).await?;
        let told = || {
            let wanted = VERSION_MIN.map(|it| it.to_string()).join(".");
            format!(
                "signal-cli {} is too old: Signal's servers no longer talk to it; update it to \
                 {wanted} or newer",
                excerpt(&version)
            )
        };
        Ok(is_too_old(&version).then(told))
    }

    /// What an operator has to know of the daemon and the account.
    fn findings(&self) -> Vec<String> {
        let mut missing = vec![];
        if !self.daemon.is_local() {
            missing.push(
                "signal-cli's daemon asks nobody who they are, and `base_url` is not this machine: \
                 see that nobody else reaches it"
                    .to_owned(),
            );
        }
        let known = self.known();
        if known.us.uuid.is_none() {
            missing.push(
                "signal-cli does not tell the account's own UUID, so mentions of it are recognised \
                 by number alone"
                    .to_owned(),
            );
        }
        if known.us.name.is_empty() && self.profile_name.is_none() {
            missing.push(
                "the account has no profile name, so people see a number: set `profile_name`"
                    .to_owned(),
            );
        }
        missing
    }
}

#[async_trait]
impl Adapter for Signal {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        let cancel = CancellationToken::new();
        let fault = |failure: Failure| failure.to_fault();
        self.daemon.check(&cancel).await.map_err(fault)?;
        let age = self.age(&cancel).await.map_err(fault)?;
        if let Err(failure) = self.learn_who_we_are(&cancel).await {
            // Who has an old daemon needs to know both.
            return Err(match (failure.to_fault(), age) {
                (ConnectFault::Refused(why), Some(age)) => {
                    ConnectFault::Refused(format!("{why}; {age}").into())
                }
                (fault, _) => fault,
            });
        }
        let missing = age.into_iter().chain(self.findings()).collect();
        let us = self.known().us.clone();
        let name = if us.name.is_empty() { self.ours.clone() } else { us.name };
        Ok(BotIdentity {
            id: us.uuid.unwrap_or_else(|| self.ours.clone()),
            name,
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
}

#[async_trait]
impl Outbound for Signal {
    fn features(&self) -> Features {
        FEATURES
    }

    async fn post(&self, post: &Post) -> Result<Posted, PostError> {
        self.post_one(post).await
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
        let arguments = sending::to(target);
        // Failing is not worth telling: the sign is a courtesy.
        let cancel = CancellationToken::new();
        let _ = self.daemon.call::<Value>("sendTyping", arguments.into(), &cancel).await;
    }

    async fn react(&self, target: &PostTarget, message: &MessageId, sign: OwnSign, on: bool) {
        let Some((sent, author)) = sending::parts_of(message) else { return };
        let mut arguments = sending::to(target);
        arguments.insert("emoji".into(), json!(sign.emoji()));
        arguments.insert("targetAuthor".into(), json!(author.unwrap_or(&self.ours)));
        arguments.insert("targetTimestamp".into(), json!(sent));
        arguments.insert("remove".into(), json!(!on));
        let _ = self.daemon.send::<Value>("sendReaction", arguments.into()).await;
    }

    async fn read(&self, _: &PostTarget, message: &MessageId) {
        let Some((sent, Some(author))) = sending::parts_of(message) else { return };
        let arguments = json!({ "recipient": author, "targetTimestamp": [sent] });
        let cancel = CancellationToken::new();
        let _ = self.daemon.call::<Value>("sendReceipt", arguments, &cancel).await;
    }

    async fn fetch(&self, attachment: &Attachment, limit: u64) -> Result<Bytes, FetchError> {
        let never = |why: &str| FetchError::Failed(PostError::Never { why: why.into() });
        let parts = attachment.handle.split_once(':').and_then(|(place, rest)| {
            let (chat, id) = rest.rsplit_once(':')?;
            Some((place, chat, id))
        });
        let place = match parts {
            Some(("u", chat, id)) => Some((("recipient", chat), id)),
            Some(("g", chat, id)) => Some((("groupId", chat), id)),
            _ => None,
        };
        let Some((place, id)) = place.filter(|(_, id)| api::is_file_id(id)) else {
            return Err(never("this is no file of Signal's"));
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        match self.daemon.file(place, id, limit).await {
            Ok(Some(content)) => Ok(content),
            Ok(None) => Err(FetchError::TooLarge),
            Err(failure) => Err(failure.to_post_error(Repeat::Harmless).into()),
        }
    }

    async fn join(&self, target: &PostTarget) -> Result<(), PostError> {
        let group = target.chat.as_str();
        let is_pending = self.known().membership(group) == Membership::Pending;
        if target.chat_type == ChatType::Dm || !is_pending {
            return Ok(());
        }
        let arguments = json!({ "groupId": group });
        let joined = self.daemon.send::<Value>("updateGroup", arguments).await;
        joined.map_err(|failure| failure.to_post_error(Repeat::Harmless))?;
        self.known().learn_membership(group, Membership::Member);
        Ok(())
    }
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    let is_hex = |b: u8| b.is_ascii_hexdigit() || b == b'-';
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(is_hex)
}

/// Whether a version is one that Signal no longer talks to. One that can't be read is not.
fn is_too_old(version: &str) -> bool {
    let numbers: Vec<u32> =
        version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect();
    match numbers.as_slice() {
        [major, minor, patch, ..] => [*major, *minor, *patch] < VERSION_MIN,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_compared_by_its_numbers() {
        for (version, is_old) in [
            ("0.13.19", true),
            ("0.14.4", true),
            ("0.14.5", false),
            ("0.14.10", false),
            ("0.14.5-SNAPSHOT", false),
            ("1.0.0", false),
            ("unknown", false),
            ("", false),
        ] {
            assert_eq!(is_too_old(version), is_old, "{version}");
        }
    }

    #[test]
    fn an_account_is_a_number_or_a_uuid() {
        let world = insula_testkit::world(1).0;
        let transport = Transport::new(&world, &[]).unwrap();
        let made = |number: &str, base_url: Option<&str>| {
            let account = AccountId::new("main").unwrap();
            let base_url = base_url.map(str::to_owned);
            let number = number.to_owned();
            Signal::new(
                SignalSettings { account, number, base_url, profile_name: None },
                &transport,
            )
        };
        assert!(made("+4915112345678", None).is_ok());
        assert!(made("0b0b0b0b-0000-4000-8000-000000000002", Some("http://signal:8080/")).is_ok());
        for bad in ["4915112345678", "+49 151", "Ann", "+", "0b0b0b0b"] {
            assert!(made(bad, None).is_err(), "{bad}");
        }
        for bad in ["signal:8080", "http://u@h", "http://h/?a", "ftp://h"] {
            assert!(made("+4915112345678", Some(bad)).is_err(), "{bad}");
        }
    }
}
