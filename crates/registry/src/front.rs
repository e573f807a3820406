//! What the front may know of the daemon: accounts, routes, and the ledgers of events. It can
//! name agents and reach none of their state.

use crate::access::InboundOutcome;
use crate::daemon::Daemon;
use crate::registry::{AgentState, Snapshot};
use crate::routing::RouteRefusal;
use crate::signal::Changes;
use insula_config::account::Account;
use insula_domain::{AccountId, Address, AgentId, Platform};
use insula_store::{AccountLease, StoreError};
use insula_vault::Secret;
use insula_world::{Timestamp, World};
use std::sync::Arc;

/// The daemon, as the front sees it. Cheap to clone.
#[derive(Clone)]
pub struct Front {
    daemon: Arc<Daemon>,
}

impl Front {
    /// The front of a daemon.
    pub fn of(daemon: &Arc<Daemon>) -> Self {
        Self { daemon: daemon.clone() }
    }

    /// The world outside.
    pub fn world(&self) -> &World {
        &self.daemon.world
    }

    /// The accounts of the configuration.
    pub fn accounts(&self) -> Vec<Account> {
        self.daemon.snapshot().daemon.accounts.clone()
    }

    /// What an account may write: its cursor and its ledger.
    pub fn account(&self, platform: Platform, account: &AccountId) -> AccountLease {
        self.daemon.owner.account(platform, account)
    }

    /// A setting with its references to secrets of the daemon filled in.
    pub fn filled_in(&self, text: &str) -> Result<Secret, String> {
        self.daemon.filled_in(text)
    }

    /// A reason as it may be shown: what a platform or a library says may quote a token.
    pub fn redacted(&self, reason: &str) -> String {
        self.daemon.secrets.known().records().redact(reason).into_owned()
    }

    /// Tells of every change of the configuration and of secrets.
    pub fn changes(&self) -> Changes {
        self.daemon.registry.changes()
    }

    /// The agent that answers at an address.
    pub fn route(&self, address: &Address) -> Result<AgentId, RouteRefusal> {
        self.daemon.snapshot().route(address).map(|found| found.context.id.clone())
    }

    /// The agent of this name, if a rule for the address leads to it, it can be reached from
    /// there, and it serves.
    pub fn leads(&self, address: &Address, to: &str) -> Option<AgentId> {
        let id = AgentId::new(to).ok()?;
        let snapshot = self.daemon.snapshot();
        let router = &snapshot.router;
        let by_rule = router.explain(address).considered.iter().any(|considered| {
            let binding = &router.bindings()[considered.binding];
            considered.matched && binding.agent == id && binding.refusal.is_none()
        });
        let by_default = router.defaults().everywhere.as_ref() == Some(&id);
        let leads = (by_rule || by_default)
            && serves(&snapshot, &id)
            && self.daemon.can_reach(&id, address);
        leads.then_some(id)
    }

    /// Whether an agent serves.
    pub fn serves(&self, agent: &AgentId) -> bool {
        serves(&self.daemon.snapshot(), agent)
    }

    /// Counts what became of an event.
    pub fn count(&self, visit: InboundOutcome) {
        self.daemon.inbound.count(visit);
    }

    /// Forgets which agents events belonged to that came before this.
    pub async fn forget_events(&self, before: Timestamp) -> Result<(), StoreError> {
        let prune = insula_store::DaemonCommand::PruneEvents { before };
        self.daemon.owner.daemon().commit(vec![prune]).await.map(drop)
    }
}

fn serves(snapshot: &Snapshot, agent: &AgentId) -> bool {
    matches!(snapshot.agents.get(agent).map(|entry| &entry.state), Some(AgentState::Ready(_)))
}
