//! Order per chat: what one account hears in one chat is taken one after the other, in the
//! order it was handed over; different chats go at the same time, up to a limit.

use insula_domain::ChatId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

/// Events of one account that are being taken at the same time. Each waits for a commit; more
/// would only wait for the same disk.
const AT_ONCE_MAX: usize = 64;

/// The lanes of one account, one a chat that something is being taken for.
pub(super) struct Lanes {
    chats: Arc<Mutex<Chats>>,
    places: Arc<Semaphore>,
}

type Chats = HashMap<ChatId, Arc<tokio::sync::Mutex<()>>>;

impl Default for Lanes {
    fn default() -> Self {
        Self { chats: Arc::default(), places: Arc::new(Semaphore::new(AT_ONCE_MAX)) }
    }
}

impl Lanes {
    /// Waits for this chat's turn. Whoever calls first, goes first.
    pub(super) async fn enter(&self, chat: &ChatId) -> Turn {
        let lane = locked(&self.chats).entry(chat.clone()).or_default().clone();
        let mut turn =
            Turn { chats: self.chats.clone(), chat: chat.clone(), held: None, _place: None };
        turn.held = Some(lane.lock_owned().await);
        // The semaphore is never closed.
        turn._place = self.places.clone().acquire_owned().await.ok();
        turn
    }
}

fn locked(chats: &Mutex<Chats>) -> MutexGuard<'_, Chats> {
    // Nothing below runs foreign code, so a poisoned lock guards nothing broken.
    chats.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A chat's turn; ends when it is dropped.
pub(super) struct Turn {
    chats: Arc<Mutex<Chats>>,
    chat: ChatId,
    held: Option<OwnedMutexGuard<()>>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.held = None;
        let mut chats = locked(&self.chats);
        // Only the map still knows it: nobody waits.
        if chats.get(&self.chat).is_some_and(|lane| Arc::strong_count(lane) == 1) {
            chats.remove(&self.chat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn a_chat_goes_in_order_and_another_beside_it_and_nothing_is_kept() {
        let lanes = Lanes::default();
        let (a, b) = (ChatId::new("a").unwrap(), ChatId::new("b").unwrap());
        let first = lanes.enter(&a).await;
        let mut second = Box::pin(lanes.enter(&a));
        let mut third = Box::pin(lanes.enter(&a));
        assert!((&mut second).now_or_never().is_none());
        assert!((&mut third).now_or_never().is_none());
        drop(lanes.enter(&b).await);
        drop(first);
        assert!((&mut third).now_or_never().is_none(), "the second came before it");
        drop(second.await);
        drop(third.await);
        assert!(locked(&lanes.chats).is_empty());
        assert_eq!(lanes.places.available_permits(), AT_ONCE_MAX);
    }

    #[tokio::test]
    async fn who_gives_up_waiting_leaves_nothing_behind() {
        let lanes = Lanes::default();
        let a = ChatId::new("a").unwrap();
        let first = lanes.enter(&a).await;
        let mut second = Box::pin(lanes.enter(&a));
        assert!((&mut second).now_or_never().is_none());
        drop(second);
        drop(first);
        assert!(locked(&lanes.chats).is_empty());
    }
}
