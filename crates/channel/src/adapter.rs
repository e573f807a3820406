//! What an adapter is: one account's connection to its platform.
//!
//! An adapter knows no agents and no sessions. It is made from an account's settings, is told to
//! listen, and hands over what it hears; the gateway makes it again when the settings change,
//! and calls [`Adapter::listen`] again, later each time, when it fails.

use crate::envelope::{Attachment, Envelope, MessageId};
use crate::features::Features;
use crate::keep::{Keep, NotTaken};
use crate::post::{Body, FetchError, Post, PostError, PostTarget, Posted};
use crate::reaction::OwnSign;
use crate::tenant::Tenant;
use crate::web::{WebAnswer, WebRequest};
use async_trait::async_trait;
use bytes::Bytes;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// One account's connection to its platform.
#[async_trait]
pub trait Adapter: Outbound + 'static {
    /// Asks the platform who we are there, and whether it lets us do what we need. For
    /// `insula doctor` and the state of the account.
    async fn identify(&self) -> Result<BotIdentity, ConnectFault>;

    /// Listens until `stop`, or until the connection fails. An event is acknowledged to the
    /// platform only after [`Inbox::take`] returned for it.
    async fn listen(&self, inbox: &dyn Inbox, stop: &CancellationToken)
    -> Result<(), ConnectFault>;

    /// Takes a request that reached the daemon's listener for this account, where the
    /// platform calls us.
    async fn receive(&self, request: WebRequest, inbox: &dyn Inbox) -> WebAnswer {
        let (_, _) = (request, inbox);
        WebAnswer::empty(404)
    }

    /// Lets go of whatever is kept of conversations of anybody else than these.
    fn keep_only(&self, tenants: &HashSet<Tenant>) {
        let _ = tenants;
    }

    /// Offers the commands to people who type, where the platform has a menu for that.
    async fn offer_commands(&self, commands: &[(&str, &str)]) -> Result<(), PostError> {
        let _ = commands;
        Ok(())
    }
}

/// What an agent's owner asks of a connected account: all that goes out by it.
#[async_trait]
pub trait Outbound: Send + Sync {
    /// What the platform can do.
    fn features(&self) -> Features;

    /// Whether people talk here, who say one thing in several messages. Where programs do, each
    /// message is one.
    fn is_for_people(&self) -> bool {
        true
    }

    /// Sends a message.
    async fn post(&self, post: &Post) -> Result<Posted, PostError>;

    /// Makes an earlier message of ours read otherwise, where [`Features::can_edit`].
    async fn edit(
        &self,
        target: &PostTarget,
        message: &MessageId,
        body: &Body,
    ) -> Result<(), PostError>;

    /// Shows that something is being written. It fades by itself; failing is not worth telling.
    async fn typing(&self, target: &PostTarget) {
        let _ = target;
    }

    /// Puts a sign of ours on somebody's message, or takes it away, where [`Features::can_react`].
    /// Failing is not worth telling.
    async fn react(&self, target: &PostTarget, message: &MessageId, sign: OwnSign, on: bool) {
        let (_, _, _, _) = (target, message, sign, on);
    }

    /// Marks what came up to `message` as read.
    async fn read(&self, target: &PostTarget, message: &MessageId) {
        let (_, _) = (target, message);
    }

    /// Whether a message of a chat came after another one there, by what the platform itself
    /// tells: by its names for them, or by the order in which it showed them. `None` where it
    /// does not tell, and times have to do.
    fn is_after(
        &self,
        target: &PostTarget,
        later: &MessageId,
        earlier: &MessageId,
    ) -> Option<bool> {
        let (_, _, _) = (target, later, earlier);
        None
    }

    /// Says something to whoever pressed a button, and to nobody else where the platform can.
    async fn acknowledge(&self, press: &str, text: &str) {
        let (_, _) = (press, text);
    }

    /// The content of an attachment, at most `limit` bytes; more is [`FetchError::TooLarge`].
    async fn fetch(&self, attachment: &Attachment, limit: u64) -> Result<Bytes, FetchError>;

    /// Joins a chat our account was invited to, where that takes a step of ours.
    async fn join(&self, target: &PostTarget) -> Result<(), PostError> {
        let _ = target;
        Ok(())
    }
}

/// Who we are on a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotIdentity {
    /// The platform's id for our account.
    pub id: Box<str>,
    /// What people see.
    pub name: Box<str>,
    /// What we lack there, for the operator: a permission that is off, and what to do.
    pub missing: Vec<String>,
    /// What else there is to know of it, for the operator.
    pub about: Vec<String>,
}

/// Why a connection failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectFault {
    /// The platform refused the account's credentials. Trying again soon is pointless.
    #[error("{0}")]
    Refused(Box<str>),
    /// Anything else: the network, the platform's own trouble, an answer that makes no sense.
    #[error("{why}")]
    Broken {
        /// What happened.
        why: Box<str>,
        /// How long the platform asks us to wait.
        wait: Option<Duration>,
    },
}

/// Where an adapter puts what it hears.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// Takes events, in order. When it returns, every one is durable or needs no keeping, and
    /// `cursor`, if given, is stored: acknowledge them. On an error acknowledge nothing; they will
    /// have to come again.
    async fn take(&self, envelopes: Vec<Envelope>, cursor: Option<Cursor>) -> Result<(), NotTaken>;

    /// Whether an event was taken before, in this run or in an earlier one. For who has to
    /// know before it hands the event over; [`Inbox::take`] recognises it by itself.
    async fn has_taken(&self, envelope: &Envelope) -> Result<bool, NotTaken> {
        let _ = envelope;
        Ok(false)
    }

    /// Where listening went on the last time.
    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken>;

    /// Where the account keeps what is secret, where there is such a place.
    fn keep(&self) -> Option<Arc<dyn Keep>> {
        None
    }

    /// The peer was heard, with or without news: the account is connected.
    fn alive(&self);
}

/// An adapter's own note of how far it has listened (an offset, a sync token).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(pub Box<str>);
