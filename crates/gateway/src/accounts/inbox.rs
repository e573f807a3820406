//! Where one account's adapter puts what it hears: in order per chat, different chats at the
//! same time, acknowledged when all of it is durable.

use super::AccountConnection;
use super::keep::AccountKeep;
use super::lanes::Lanes;
use async_trait::async_trait;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use insula_channel::{Cursor, Inbox, Keep, NotTaken};
use insula_channel::{Envelope, EventId};
use insula_domain::ChatId;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// Chats of one delivery that are taken at the same time.
const CHATS_AT_ONCE_MAX: usize = 64;

/// How often an event may make us panic before it is set aside. A platform delivers it again
/// until it is acknowledged, and nothing behind it would ever be heard.
const PANICS_MAX: u8 = 3;

/// Events that made us panic and are remembered; the oldest memory is worth nothing.
const PANICKED_MAX: usize = 256;

/// What takes envelopes: the way in, or a test.
#[async_trait]
pub(crate) trait Takes: Send + Sync {
    /// Takes one. When it returns, the envelope is durable or needs no keeping.
    async fn take(&self, envelope: Envelope) -> Result<(), NotTaken>;

    /// Whether one was taken before, in this run or in an earlier one.
    async fn has_taken(&self, envelope: &Envelope) -> Result<bool, NotTaken>;
}

pub(super) struct AccountInbox {
    connection: Arc<AccountConnection>,
    sink: Arc<dyn Takes>,
    lanes: Arc<Lanes>,
    panicked: Mutex<HashMap<EventId, u8>>,
}

impl AccountInbox {
    pub(super) fn new(
        connection: Arc<AccountConnection>,
        sink: Arc<dyn Takes>,
        lanes: Arc<Lanes>,
    ) -> Self {
        Self { connection, sink, lanes, panicked: Mutex::default() }
    }

    /// Takes what was heard in one chat, in order, up to the first that can't be taken.
    async fn take_chat(&self, chat: ChatId, envelopes: Vec<Envelope>) -> Result<(), NotTaken> {
        let _turn = self.lanes.enter(&chat).await;
        for envelope in envelopes {
            self.take_one(envelope).await?;
        }
        Ok(())
    }

    async fn take_one(&self, envelope: Envelope) -> Result<(), NotTaken> {
        let AccountConnection { platform, name, health, .. } = &*self.connection;
        // An adapter speaks for its own account, whatever it heard.
        if envelope.address.platform != *platform || envelope.address.account != *name {
            return Err(NotTaken("the adapter spoke for another account".into()));
        }
        let event = envelope.event.clone();
        let taken = AssertUnwindSafe(self.sink.take(envelope)).catch_unwind().await;
        match taken {
            Ok(Ok(())) => {
                health.counts.events.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Ok(Err(why)) => {
                health.counts.errors.fetch_add(1, Ordering::Relaxed);
                Err(why)
            }
            Err(_) => {
                health.counts.errors.fetch_add(1, Ordering::Relaxed);
                if self.is_hopeless(&event) {
                    tracing::error!(%platform, account = %name, event = %event.0, "an event that could not be taken was set aside");
                    return Ok(());
                }
                Err(NotTaken("taking the event panicked".into()))
            }
        }
    }

    fn is_hopeless(&self, event: &EventId) -> bool {
        let mut panicked = self.panicked.lock().unwrap_or_else(PoisonError::into_inner);
        if panicked.len() >= PANICKED_MAX && !panicked.contains_key(event) {
            panicked.clear();
        }
        let count = panicked.entry(event.clone()).or_default();
        *count += 1;
        if *count < PANICS_MAX {
            return false;
        }
        panicked.remove(event);
        true
    }
}

#[async_trait]
impl Inbox for AccountInbox {
    async fn take(&self, envelopes: Vec<Envelope>, cursor: Option<Cursor>) -> Result<(), NotTaken> {
        self.alive();
        let _taking = self.connection.health.taking();
        let mut chats: Vec<(ChatId, Vec<Envelope>)> = Vec::new();
        let mut places: HashMap<ChatId, usize> = HashMap::new();
        for envelope in envelopes {
            let chat = envelope.address.chat.clone();
            let at = *places.entry(chat.clone()).or_insert_with(|| {
                chats.push((chat, Vec::new()));
                chats.len() - 1
            });
            chats[at].1.push(envelope);
        }
        // All of them to their end: what is durable is recognised when it comes again.
        let taken: Vec<Result<(), NotTaken>> = stream::iter(chats)
            .map(|(chat, envelopes)| self.take_chat(chat, envelopes))
            .buffer_unordered(CHATS_AT_ONCE_MAX)
            .collect()
            .await;
        taken.into_iter().collect::<Result<(), NotTaken>>()?;
        match cursor {
            Some(cursor) => self.connection.notes.write(cursor).await,
            None => Ok(()),
        }
    }

    async fn has_taken(&self, envelope: &Envelope) -> Result<bool, NotTaken> {
        self.sink.has_taken(envelope).await
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        self.connection.notes.read().await
    }

    fn keep(&self) -> Option<Arc<dyn Keep>> {
        let AccountConnection { platform, name, front, .. } = &*self.connection;
        let seal = front.account_seal(*platform, name);
        Some(Arc::new(AccountKeep::new(front.account(*platform, name), seal)))
    }

    fn alive(&self) {
        if self.connection.health.hear() {
            self.connection.log_connected();
        }
    }
}
