//! What commits changed, for whoever keeps something of it in memory.
//!
//! A change is told after its commit and before the commit's caller is answered. So what was
//! revoked is revoked everywhere in this process once the call that revoked it returns.

use crate::agent::AgentCommand;
use crate::approval::ApprovalDecision;
use crate::daemon::DaemonCommand;
use crate::ingress::IngressCommand;
use crate::outbox::OutboxCommand;
use arc_swap::ArcSwap;
use insula_domain::id::AgentId;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedChange {
    /// A named value of the daemon is another, or gone.
    Value {
        /// Its name.
        key: Box<str>,
        value: Option<Box<str>>,
    },
    /// An agent has something more to deliver, or to deliver again.
    Outbox(AgentId),
    /// A use of an agent's database met something that no version of ours writes: it may be damaged.
    Damaged(AgentId),
    /// Whom people let in at an agent is another.
    Access(AgentId),
    /// A question waits no longer.
    Approval {
        /// The agent that asked.
        agent: AgentId,
        /// The question.
        id: Box<str>,
        /// What became of it.
        decision: ApprovalDecision,
    },
}

type Subscriber = dyn Fn(&FeedChange) + Send + Sync;

/// Where changes are told. Cheap to clone.
#[derive(Clone, Default)]
pub struct Feed(Arc<Subscribers>);

#[derive(Default)]
struct Subscribers {
    all: ArcSwap<Vec<Weak<Subscriber>>>,
    /// Held by whoever adds one.
    adding: Mutex<()>,
}

/// Hears of changes until it is dropped.
pub struct Subscription {
    _subscriber: Arc<Subscriber>,
}

impl Feed {
    /// Has `hear` called with every change from now on, on the thread that commits: it must be
    /// short, and must not wait.
    #[must_use]
    pub fn subscribe(&self, hear: impl Fn(&FeedChange) + Send + Sync + 'static) -> Subscription {
        let subscriber: Arc<Subscriber> = Arc::new(hear);
        // Nothing below runs foreign code, so a poisoned lock guards nothing broken.
        let _adding = self.0.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = (**self.0.all.load()).clone();
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&subscriber));
        self.0.all.store(Arc::new(all));
        Subscription { _subscriber: subscriber }
    }

    /// Tells whoever subscribed. For backends.
    pub fn tell(&self, change: &FeedChange) {
        for subscriber in self.0.all.load().iter().filter_map(Weak::upgrade) {
            subscriber(change);
        }
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Feed({})", self.0.all.load().len())
    }
}

/// What a batch of an agent changes, for its feed.
pub(crate) fn of_agent(agent: &AgentId, batch: &[AgentCommand]) -> Vec<FeedChange> {
    let mut changes = Vec::new();
    for command in batch {
        let change = match command {
            AgentCommand::Outbox(OutboxCommand::Enqueue(_) | OutboxCommand::Resend { .. }) => {
                FeedChange::Outbox(agent.clone())
            }
            AgentCommand::Ingress(command) if lets_in_or_out(command) => {
                FeedChange::Access(agent.clone())
            }
            AgentCommand::SettleApproval { id, decision, .. } => FeedChange::Approval {
                agent: agent.clone(),
                id: id.clone(),
                decision: decision.clone(),
            },
            _ => continue,
        };
        if !changes.contains(&change) {
            changes.push(change);
        }
    }
    changes
}

/// Whether a command changes who may talk to the agent.
fn lets_in_or_out(command: &IngressCommand) -> bool {
    matches!(
        command,
        IngressCommand::Pair(_)
            | IngressCommand::Unpair { .. }
            | IngressCommand::Join(_)
            | IngressCommand::Leave { .. }
    )
}

/// What a batch of the daemon changes, for its feed.
pub(crate) fn of_daemon(batch: &[DaemonCommand]) -> Vec<FeedChange> {
    let changes = batch.iter().filter_map(|command| match command {
        DaemonCommand::PutValue { key, value } => {
            Some(FeedChange::Value { key: key.clone(), value: Some(value.as_str().into()) })
        }
        DaemonCommand::DropValue { key } => {
            Some(FeedChange::Value { key: key.clone(), value: None })
        }
        _ => None,
    });
    changes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subscriber_hears_until_it_is_dropped() {
        let (feed, heard) = (Feed::default(), Arc::new(Mutex::new(Vec::new())));
        let subscribe = |name: &'static str| {
            let heard = heard.clone();
            feed.subscribe(move |change| heard.lock().unwrap().push((name, change.clone())))
        };
        let (one, two) = (subscribe("one"), subscribe("two"));
        let change = FeedChange::Value { key: "k".into(), value: None };
        feed.tell(&change);
        drop(one);
        feed.tell(&change);
        drop(two);
        feed.tell(&change);
        let names: Vec<&str> = heard.lock().unwrap().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["one", "two", "two"]);
    }
}
