//! Order per chat: what one account hears in one chat is taken one after the other, in the
//! order it was handed over; different chats go at the same time, up to a limit.

use insula_domain::ChatId;
use insula_registry::keyed::{KeyedGuard, KeyedLocks};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Events of one account that are being taken at the same time. Each waits for a commit; more
/// would only wait for the same disk.
const AT_ONCE_MAX: usize = 64;

/// The lanes of one account, one a chat that something is being taken for.
pub(super) struct Lanes {
    chats: KeyedLocks<ChatId>,
    places: Arc<Semaphore>,
}

impl Default for Lanes {
    fn default() -> Self {
        Self { chats: KeyedLocks::default(), places: Arc::new(Semaphore::new(AT_ONCE_MAX)) }
    }
}

impl Lanes {
    /// Waits for this chat's turn. Whoever calls first, goes first.
    pub(super) async fn enter(&self, chat: &ChatId) -> Turn {
        let chat = self.chats.lock(chat).await;
        // The semaphore is never closed.
        let place = self.places.clone().acquire_owned().await.ok();
        Turn { _chat: chat, _place: place }
    }
}

/// A chat's turn; ends when it is dropped.
pub(super) struct Turn {
    _chat: KeyedGuard<ChatId>,
    _place: Option<OwnedSemaphorePermit>,
}
