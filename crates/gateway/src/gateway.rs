//! The gateway of a running daemon: the accounts, the way in, and the way out, as one thing
//! that starts, follows the configuration, and ends.

use crate::accounts::{AccountState, Accounts, Takes, Workshop};
use crate::adapter::{NotTaken, WebAnswer, WebRequest};
use crate::delivery::Relay;
use crate::envelope::Envelope;
use crate::ingress::Ingress;
use crate::lines::Lines;
use crate::owner::Owner;
use async_trait::async_trait;
use insula_domain::{AccountId, Platform};
use insula_registry::Daemon;
use insula_turns::Engine;
use std::collections::HashSet;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The gateway of a running daemon.
pub struct Gateway {
    house: Arc<Daemon>,
    accounts: Arc<Accounts>,
    ingress: Ingress,
    takes: Arc<dyn Takes>,
    delivery: Arc<Relay>,
}

impl Gateway {
    /// A gateway that hears nothing yet.
    pub fn new(house: Arc<Daemon>, engine: Engine, workshop: Arc<dyn Workshop>) -> Arc<Self> {
        let accounts = Accounts::new(house.clone(), workshop);
        let delivery = Relay::new(house.clone(), engine.clone(), accounts.clone());
        let ingress = Ingress::new(house.clone(), engine, delivery.clone(), accounts.clone());
        let takes = Arc::new(ingress.clone());
        Arc::new(Self { house, accounts, ingress, takes, delivery })
    }

    /// Connects the accounts, follows changes of the configuration and of secrets, and sends
    /// what is to be sent, until told to stop. When it returns, nothing listens any more.
    pub async fn run(&self, stop: CancellationToken) {
        let sending = tokio::spawn(self.delivery.clone().run(stop.clone()));
        // Before anything new is heard, so that every conversation keeps its order.
        if let Err(error) = self.ingress.resume().await {
            tracing::error!(%error, "messages that waited for their turn can't be read");
        }
        let mut changes = self.house.registry.changes();
        let mut forgotten = self.house.forgotten.changes();
        loop {
            changes.mark_unchanged();
            self.reload();
            self.let_go();
            self.ingress.wake().await;
            let is_over = loop {
                tokio::select! {
                    () = stop.cancelled() => break true,
                    changed = changes.changed() => break changed.is_err(),
                    Ok(()) = forgotten.changed() => self.let_go(),
                }
            };
            if is_over {
                break;
            }
        }
        self.accounts.close().await;
        if let Err(error) = sending.await {
            tracing::error!(%error, "sending ended in a panic");
        }
    }

    /// Brings the accounts in line with the configuration and the secrets as they are now.
    fn reload(&self) {
        self.accounts.settle(&self.takes);
        for AccountState { platform, account, .. } in self.accounts.states() {
            self.delivery.account_is_back(platform, &account);
        }
    }

    /// Has adapters let go of what they keep of agents that are gone, and of what was forgotten.
    fn let_go(&self) {
        let snapshot = self.house.snapshot();
        let contexts = snapshot.agents.values().filter_map(|entry| entry.state.context());
        let owners: HashSet<Owner> = contexts
            .flat_map(|agent| {
                [Owner::of(&self.house, agent), Owner::at_the_door(&self.house, agent)]
            })
            .collect();
        for AccountState { platform, account, .. } in self.accounts.states() {
            if let Some(adapter) = self.accounts.adapter(platform, &account) {
                adapter.keep_only(&owners);
            }
        }
    }

    /// The adapters that are there now.
    pub fn lines(&self) -> Arc<dyn Lines> {
        self.accounts.clone()
    }

    /// How every account stands, by platform and name.
    pub fn accounts(&self) -> Vec<AccountState> {
        self.accounts.states()
    }

    /// Takes a request that reached the daemon's listener for an account. A platform or an
    /// account that is not there answers as a wrong secret does.
    pub async fn receive(&self, platform: &str, account: &str, request: WebRequest) -> WebAnswer {
        match (Platform::new(platform), AccountId::new(account)) {
            (Ok(platform), Ok(account)) => {
                self.accounts.receive((platform, account), request, &self.takes).await
            }
            _ => WebAnswer::refused(),
        }
    }
}

#[async_trait]
impl Takes for Ingress {
    async fn take(&self, envelope: Envelope) -> Result<(), NotTaken> {
        Ingress::take(self, envelope).await
    }

    async fn has_taken(&self, envelope: &Envelope) -> Result<bool, NotTaken> {
        Ingress::has_taken(self, envelope).await
    }
}
