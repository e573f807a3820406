//! The owner of the agents of this process: what the front asks is a call.

use crate::delivery::Relay;
use crate::ingress::{COMMANDS, Ingress, not_taken};
use crate::tenant;
use async_trait::async_trait;
use insula_channel::{Accounts, Arrival, Envelope, EventKey, Ledger, NotTaken, Owner, Taken};
use insula_domain::{AccountId, AgentId, Platform};
use insula_registry::Daemon;
use insula_turns::Engine;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Owns the agents of this process.
pub struct LocalOwner {
    daemon: Arc<Daemon>,
    accounts: Arc<dyn Accounts>,
    ingress: Ingress,
    delivery: Arc<Relay>,
}

impl LocalOwner {
    /// The owner of a daemon's agents, which sends by these accounts.
    pub fn new(daemon: Arc<Daemon>, engine: Engine, accounts: Arc<dyn Accounts>) -> Arc<Self> {
        let delivery = Relay::new(daemon.clone(), engine.clone(), accounts.clone());
        let ingress = Ingress::new(daemon.clone(), engine, delivery.clone(), accounts.clone());
        Arc::new(Self { daemon, accounts, ingress, delivery })
    }

    /// What takes events.
    pub fn ingress(&self) -> &Ingress {
        &self.ingress
    }

    /// What sends.
    pub fn delivery(&self) -> &Arc<Relay> {
        &self.delivery
    }

    /// Sends what agents have to send and goes on with what waits for them, until told to stop.
    pub async fn run(&self, stop: CancellationToken) {
        let sending = tokio::spawn(self.delivery.clone().run(stop.clone()));
        let mut changes = self.daemon.registry.changes();
        let mut forgotten = self.daemon.forgotten.changes();
        loop {
            changes.mark_unchanged();
            forgotten.mark_unchanged();
            self.accounts.keep_only(&tenant::all(&self.daemon));
            self.ingress.wake().await;
            let is_over = tokio::select! {
                () = stop.cancelled() => true,
                changed = changes.changed() => changed.is_err(),
                changed = forgotten.changed() => changed.is_err(),
            };
            if is_over {
                break;
            }
        }
        if let Err(error) = sending.await {
            tracing::error!(%error, "sending ended in a panic");
        }
    }
}

#[async_trait]
impl Owner for LocalOwner {
    async fn take(
        &self,
        agent: &AgentId,
        arrival: Arrival,
        ledger: &dyn Ledger,
    ) -> Result<Taken, NotTaken> {
        self.ingress.take(agent, arrival, ledger).await
    }

    async fn has_taken(&self, agent: &AgentId, event: &EventKey) -> Result<bool, NotTaken> {
        self.ingress.has_taken(agent, event).await
    }

    async fn take_unserved(&self, agent: &AgentId, envelope: Envelope) -> Result<bool, NotTaken> {
        self.ingress.take_unserved(agent, &envelope).await
    }

    async fn resume(&self) -> Result<(), NotTaken> {
        self.ingress.resume().await.map_err(|error| not_taken(&error))
    }

    fn account_is_back(&self, platform: Platform, account: &AccountId) {
        self.delivery.account_is_back(platform, account);
    }

    fn commands(&self) -> &'static [(&'static str, &'static str)] {
        &COMMANDS
    }
}
