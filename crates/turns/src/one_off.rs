//! Conversations of one turn: a caller that brings its own history has no use for ours, so what
//! was said is forgotten when the reply is given.
//!
//! Forgetting overwrites pages and empties the log, which is too slow for every turn. So it is
//! done for many at once, a moment later, by a task that lives while there is something to
//! forget. A request with an idempotency key must get the same reply again: its conversation
//! stays for a day. What a crash left behind goes then too.

use insula_capabilities::Capabilities;
use insula_domain::{AgentId, ContextId, Scope, SessionKey};
use insula_registry::context::AgentContext;
use insula_store::session::SESSION_PAGE_MAX;
use insula_store::{AgentCommand, SessionId, SessionState, StoreError};
use insula_world::Timestamp;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// What the name of such a conversation begins with. No caller may choose a name like that.
pub use insula_registry::context::ONE_OFF as PREFIX;
/// How long forgetting waits for more to forget.
const PAUSE: Duration = Duration::from_secs(2);
/// How long the end of the daemon waits for turns that nobody listens to any more.
const ENDING_MAX: Duration = Duration::from_secs(3);
/// Conversations forgotten in one commit: few enough that turns get their say between two.
const AT_ONCE: usize = 128;
/// How long a reply can be had again by its idempotency key.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// How often an agent's old conversations are looked through.
const LOOK_EVERY: Duration = Duration::from_secs(60 * 60);
/// Pages of conversations looked through at a time.
const PAGES_MAX: usize = 20;

/// Whether a scope is that of a conversation of one turn itself, under whatever name: what is
/// remembered there nobody could ever read again.
pub(super) fn is_of_itself(scope: &Scope, key: &SessionKey) -> bool {
    let chat = key.chat.as_str();
    chat.starts_with(PREFIX)
        && match scope {
            Scope::Context(
                ContextId::Chat { chat: of, .. } | ContextId::Topic { chat: of, .. },
            ) => of == &key.chat,
            // The name is random: whatever has it is about this conversation.
            Scope::Context(ContextId::Custom(custom)) => custom.as_str().contains(chat),
            Scope::Context(ContextId::User { .. } | ContextId::Person(_)) | Scope::Global => false,
        }
}

/// The conversations to forget.
#[derive(Clone)]
pub(crate) struct OneOffs {
    caps: Capabilities,
    waiting: Arc<Mutex<Waiting>>,
    /// Those whose turn is not over yet.
    due: Arc<Due>,
}

/// How many conversations will have to be forgotten that are still under way.
#[derive(Default)]
struct Due {
    count: AtomicUsize,
    less: Notify,
}

/// A conversation that will have to be forgotten; counted until this is dropped.
pub(super) struct DueOne(Arc<Due>);

impl Drop for DueOne {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
        self.0.less.notify_waiters();
    }
}

#[derive(Default)]
struct Waiting {
    agents: BTreeMap<AgentId, (Arc<AgentContext>, Vec<SessionId>)>,
    /// When the old ones of an agent were last looked through.
    looked: BTreeMap<AgentId, Duration>,
    is_worked_on: bool,
}

impl OneOffs {
    pub(crate) fn new(caps: Capabilities) -> Self {
        Self { caps, waiting: Arc::default(), due: Arc::default() }
    }

    /// Counts a conversation that is under way and will have to be forgotten.
    pub(super) fn expect(&self) -> DueOne {
        self.due.count.fetch_add(1, Ordering::AcqRel);
        DueOne(self.due.clone())
    }

    /// Waits until none is under way any more, for a moment.
    pub(super) async fn until_none_is_due(&self) {
        let none = async {
            loop {
                let less = self.due.less.notified();
                if self.due.count.load(Ordering::Acquire) == 0 {
                    return;
                }
                less.await;
            }
        };
        tokio::select! {
            biased;
            () = none => {}
            () = self.caps.world.clock.sleep(ENDING_MAX) => {}
        }
    }

    /// Forgets a conversation, soon.
    pub(super) fn forget(&self, agent: Arc<AgentContext>, session: SessionId) {
        let begin = {
            let mut waiting = self.waiting();
            let id = agent.id.clone();
            waiting.agents.entry(id).or_insert_with(|| (agent, Vec::new())).1.push(session);
            !std::mem::replace(&mut waiting.is_worked_on, true)
        };
        if begin {
            let one_offs = self.clone();
            tokio::spawn(async move {
                loop {
                    one_offs.caps.world.clock.sleep(PAUSE).await;
                    if one_offs.settle().await == 0 && one_offs.rest() {
                        return;
                    }
                }
            });
        }
    }

    /// Forgets all that wait, now; how many they were.
    pub(super) async fn settle(&self) -> usize {
        let taken = std::mem::take(&mut self.waiting().agents);
        let mut count = 0;
        for (id, (agent, sessions)) in taken {
            count += sessions.len();
            if let Err(error) = self.settle_agent(&agent, sessions).await {
                tracing::warn!(agent = %id, %error, "conversations of one turn could not be forgotten; they go in a day");
            }
        }
        count
    }

    /// Ends the task unless something came meanwhile; whether it ends.
    fn rest(&self) -> bool {
        let mut waiting = self.waiting();
        waiting.is_worked_on = !waiting.agents.is_empty();
        !waiting.is_worked_on
    }

    async fn settle_agent(
        &self,
        agent: &AgentContext,
        mut sessions: Vec<SessionId>,
    ) -> Result<(), StoreError> {
        let clock = &self.caps.world.clock;
        let (now, elapsed) = (clock.now(), clock.elapsed());
        let is_due = {
            let looked = &mut self.waiting().looked;
            let last = looked.get(&agent.id).copied();
            let is_due = last.is_none_or(|last| elapsed.saturating_sub(last) >= LOOK_EVERY);
            if is_due {
                looked.insert(agent.id.clone(), elapsed);
            }
            is_due
        };
        if is_due {
            let kept = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
            let before = Timestamp::from_millis(now.as_millis().saturating_sub(kept));
            agent.store.commit(vec![AgentCommand::PruneIdempotency { before }]).await?;
            sessions.extend(left_behind(agent, before).await?);
        }
        for some in sessions.chunks(AT_ONCE) {
            let forget =
                |session: &SessionId| AgentCommand::ForgetSession { session: *session, at: now };
            agent.store.commit(some.iter().map(forget).collect()).await?;
            for session in some {
                self.caps.forget_programs(&agent.id, *session).await;
            }
        }
        Ok(())
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        // A panic under this lock is impossible: nothing below it runs foreign code.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Conversations of one turn that ended before this moment and are still there.
async fn left_behind(
    agent: &AgentContext,
    before: Timestamp,
) -> Result<Vec<SessionId>, StoreError> {
    let mut found = Vec::new();
    let mut from = None;
    for _ in 0..PAGES_MAX {
        let page = agent.store.sessions(from, SESSION_PAGE_MAX).await?;
        let Some(last) = page.last() else { break };
        from = Some(last.id);
        let is_one_off = |key: &str| {
            key.parse::<SessionKey>().is_ok_and(|key| key.chat.as_str().starts_with(PREFIX))
        };
        let old = page.iter().filter(|session| {
            session.state == SessionState::Current
                && session.active_at < before
                && is_one_off(&session.key)
        });
        found.extend(old.map(|session| session.id));
    }
    Ok(found)
}
