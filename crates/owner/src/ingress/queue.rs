//! What waits for an agent in one chat: messages that may go on, or whose attachments are still to
//! be fetched, and whatever came after them. All of it is durable; here is only its order.

use super::burst::{Open, Sign};
use insula_domain::{AccountId, Address, AgentId, ChatId, Platform, SessionKey, TopicId};
use insula_registry::AgentContext;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedMutexGuard};

/// Messages that wait for one agent in one chat; one more is not taken.
const WAITING_MAX: usize = 1_000;

/// A chat and topic of one account.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ChatTopicKey {
    platform: Platform,
    account: AccountId,
    chat: ChatId,
    topic: Option<TopicId>,
}

impl ChatTopicKey {
    /// Where something was said.
    pub(super) fn of(address: &Address) -> Self {
        Self {
            platform: address.platform,
            account: address.account.clone(),
            chat: address.chat.clone(),
            topic: address.topic.clone(),
        }
    }
}

/// Messages that become one turn.
#[derive(Clone)]
pub(super) struct Group {
    /// The agent that took them.
    pub(super) agent: Arc<AgentContext>,
    /// The conversation.
    pub(super) session: SessionKey,
    pub(super) rows: Vec<i64>,
    /// What they are so far, while more may follow.
    open: Option<Open>,
    /// When they are complete at the latest, in time since the start.
    until: Duration,
}

/// What one chat has waiting.
#[derive(Default)]
pub(super) struct Queue {
    groups: VecDeque<Group>,
    is_worked_on: bool,
}

/// One chat, to one agent.
#[derive(Default)]
pub(super) struct Chat {
    /// Held while something that happened there is taken: so the order is that of arrival.
    order: Arc<tokio::sync::Mutex<()>>,
    queue: Mutex<Queue>,
    /// Rings when what is first may be complete.
    pub(super) wake: Notify,
}

impl Chat {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing below runs foreign code, so a poisoned lock guards nothing broken.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing waits here.
    pub(super) fn is_empty(&self) -> bool {
        self.queue().groups.is_empty()
    }

    /// Whether there is room for one more.
    pub(super) fn has_room(&self) -> bool {
        let queue = self.queue();
        queue.groups.iter().map(|group| group.rows.len()).sum::<usize>() < WAITING_MAX
    }

    /// Puts a message at the end, into the group that it belongs to; whether somebody has to
    /// begin to work here.
    pub(super) fn push(
        &self,
        (agent, session): (&Arc<AgentContext>, &SessionKey),
        (row, sign): (i64, Sign),
        until: Duration,
    ) -> bool {
        let mut queue = self.queue();
        let joins = queue.groups.back_mut().is_some_and(|last| {
            let is_same = last.session == *session;
            let joins = is_same && last.open.as_mut().is_some_and(|open| open.join(&sign));
            if joins {
                last.rows.push(row);
                last.until = until;
            }
            // What is followed by something else is complete, and so is what can't go on.
            last.open = last.open.take().filter(|open| joins && open.goes_on());
            joins
        });
        if !joins {
            let open = Some(Open::new(sign)).filter(Open::goes_on);
            let (agent, session) = (agent.clone(), session.clone());
            queue.groups.push_back(Group { agent, session, rows: vec![row], open, until });
        }
        self.wake.notify_one();
        !std::mem::replace(&mut queue.is_worked_on, true)
    }

    /// The first group if it is complete at `now`; otherwise for how long it may wait. `None`
    /// when nothing waits: then nobody works here any more.
    pub(super) fn first(&self, now: Duration) -> Option<Result<Group, Duration>> {
        let mut queue = self.queue();
        let Some(first) = queue.groups.front_mut() else {
            queue.is_worked_on = false;
            return None;
        };
        if first.open.is_some() && first.until > now {
            return Some(Err(first.until - now));
        }
        // From here on nothing joins it.
        first.open = None;
        Some(Ok(first.clone()))
    }

    /// Takes the first group away: it has its turn.
    pub(super) fn done(&self) {
        self.queue().groups.pop_front();
    }
}

/// The chats in which something is being taken, or waits, for each agent: what one has waiting
/// there keeps no other waiting.
#[derive(Default)]
pub(super) struct Chats {
    chats: Mutex<HashMap<(AgentId, ChatTopicKey), Arc<Chat>>>,
}

impl Chats {
    fn chats(&self) -> MutexGuard<'_, HashMap<(AgentId, ChatTopicKey), Arc<Chat>>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nothing else of a chat is being taken for an agent. Whoever comes first goes
    /// first.
    pub(super) async fn enter(&self, agent: &AgentId, chat_key: ChatTopicKey) -> Entered<'_> {
        let of = (agent.clone(), chat_key);
        let chat = self.chats().entry(of.clone()).or_default().clone();
        let order = chat.order.clone();
        // Made before the wait, so that whoever gives up waiting leaves no entry either.
        let mut entered = Entered { chats: self, of, held: None, chat };
        entered.held = Some(order.lock_owned().await);
        entered
    }

    /// Forgets a chat in which nothing goes on.
    pub(super) fn tidy(&self, of: &(AgentId, ChatTopicKey)) {
        let mut chats = self.chats();
        // Ours and the map's: nobody else can get one without the map.
        let is_idle = |chat: &Arc<Chat>| Arc::strong_count(chat) <= 2 && chat.is_empty();
        if chats.get(of).is_some_and(is_idle) {
            chats.remove(of);
        }
    }
}

/// A chat of which something is being taken, until this is dropped.
pub(super) struct Entered<'c> {
    chats: &'c Chats,
    of: (AgentId, ChatTopicKey),
    held: Option<OwnedMutexGuard<()>>,
    pub(super) chat: Arc<Chat>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.held = None;
        self.chats.tidy(&self.of);
    }
}
