//! What the front may know of the daemon: accounts, routes, and the ledgers of events. It can
//! name agents and reach none of their state.

use crate::access::{Access, InboundCounts, InboundOutcome};
use crate::daemon::Parts;
use crate::environment::Environment;
use crate::home_chats::{HomeChat, HomeChats};
use crate::lives::{LifeKind, Lives};
use crate::registry::{AgentState, Registry, Snapshot};
use crate::routing::RouteRefusal;
use crate::secrets::SecretBook;
use crate::signal::Changes;
use insula_config::account::Account;
use insula_domain::{AccountId, Address, AgentId, Platform};
use insula_store::{AccountLease, DaemonStore, Due, LeaseHolder, Store, StoreError};
use insula_vault::{AccountSeal, Secret};
use insula_world::{Timestamp, World};
use std::sync::Arc;

/// The daemon, as the front sees it. Cheap to clone.
#[derive(Clone)]
pub struct Front {
    world: World,
    env: Environment,
    store: Store,
    registry: Arc<Registry>,
    owner: LeaseHolder,
    secrets: Arc<SecretBook>,
    access: Arc<Access>,
    inbound: Arc<InboundCounts>,
    lives: Arc<Lives>,
    homes: Arc<HomeChats>,
}

impl Front {
    /// The front of a daemon.
    pub fn of(parts: &Parts) -> Self {
        Self {
            world: parts.world.clone(),
            env: parts.env.clone(),
            store: parts.store.clone(),
            registry: parts.registry.clone(),
            owner: parts.owner.clone(),
            secrets: parts.secrets.clone(),
            access: parts.access.clone(),
            inbound: parts.inbound.clone(),
            lives: parts.lives.clone(),
            homes: parts.homes.clone(),
        }
    }

    /// The world outside.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// What is kept of the daemon itself, as its audit trail.
    pub fn records(&self) -> &DaemonStore {
        self.store.daemon()
    }

    /// How many databases of agents are open.
    pub fn databases_open(&self) -> usize {
        self.store.open_count()
    }

    /// The agents whose jobs come next, the soonest first. No database of an agent is opened.
    pub async fn next_runs(&self, limit: usize) -> Result<Vec<Due>, StoreError> {
        self.store.daemon().due(Timestamp::from_millis(i64::MAX), limit).await
    }

    /// The accounts of the configuration.
    pub fn accounts(&self) -> Vec<Account> {
        self.registry.snapshot().daemon.accounts.clone()
    }

    /// What an account may write: its cursor and its ledger.
    pub fn account(&self, platform: Platform, account: &AccountId) -> AccountLease {
        self.owner.account(platform, account)
    }

    /// What seals what an account keeps.
    pub fn account_seal(&self, platform: Platform, account: &AccountId) -> AccountSeal {
        self.secrets.vault.account(platform.as_str(), account.as_str())
    }

    /// A setting with its references to secrets of the daemon filled in.
    pub fn filled_in(&self, text: &str) -> Result<Secret, String> {
        self.secrets.filled_in(text, &self.env)
    }

    /// A reason as it may be shown: what a platform or a library says may quote a token.
    pub fn redacted(&self, reason: &str) -> String {
        self.secrets.known().records().redact(reason).into_owned()
    }

    /// Tells of every change of the configuration and of secrets.
    pub fn changes(&self) -> Changes {
        self.registry.changes()
    }

    /// The agent that answers at an address: the one it leads to, or whom that one handed the
    /// conversation to.
    pub fn route(&self, address: &Address) -> Result<AgentId, RouteRefusal> {
        let found = self.registry.snapshot().route(address)?.context;
        Ok(self.access.handed_to(&found, address).unwrap_or_else(|| found.id.clone()))
    }

    /// The agent of this name, if a rule for the address leads to it, it can be reached from
    /// there, and it serves.
    pub fn leads(&self, address: &Address, to: &str) -> Option<AgentId> {
        let id = AgentId::new(to).ok()?;
        let snapshot = self.registry.snapshot();
        let router = &snapshot.router;
        let by_rule = router.explain(address).considered.iter().any(|considered| {
            let binding = &router.bindings()[considered.binding];
            considered.matched && binding.agent == id && binding.refusal.is_none()
        });
        let by_default = router.defaults().everywhere.as_ref() == Some(&id);
        let leads = (by_rule || by_default)
            && serves(&snapshot, &id)
            && self.access.can_reach(&id, address);
        leads.then_some(id)
    }

    /// Where an agent tells what becomes of it.
    pub fn home_of(&self, agent: &AgentId) -> Option<Arc<HomeChat>> {
        self.homes.of(agent)
    }

    /// Tells the agents that an account is bound to that it is connected, or why it is not.
    pub fn account_became(
        &self,
        (platform, account): (Platform, &AccountId),
        became: Result<(), &str>,
    ) {
        let (kind, why) = match became {
            Ok(()) => (LifeKind::AccountUp, None),
            Err(why) => (LifeKind::AccountDown, Some(why)),
        };
        let snapshot = self.registry.snapshot();
        self.lives.tell_of_account(&snapshot, kind, (platform, account), why);
    }

    /// Counts what became of an event.
    pub fn count(&self, outcome: InboundOutcome) {
        self.inbound.count(outcome);
    }

    /// Forgets which agents events belonged to that came before this.
    pub async fn forget_events(&self, before: Timestamp) -> Result<(), StoreError> {
        let prune = insula_store::DaemonCommand::PruneEvents { before };
        self.owner.daemon().commit(vec![prune]).await.map(drop)
    }
}

fn serves(snapshot: &Snapshot, agent: &AgentId) -> bool {
    matches!(snapshot.agents.get(agent).map(|entry| &entry.state), Some(AgentState::Ready(_)))
}
