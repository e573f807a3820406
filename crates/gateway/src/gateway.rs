//! The gateway of a running daemon: the accounts and what brings their events to agents, as one
//! thing that starts, follows the configuration, and ends.

use crate::accounts::{AccountState, Connections, Takes};
use crate::intake::Intake;
use async_trait::async_trait;
use insula_channel::{Envelope, NotTaken, Owner, WebAnswer, WebRequest};
use insula_domain::{AccountId, Platform};
use insula_registry::Front;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The gateway of a running daemon.
pub struct Gateway {
    front: Front,
    accounts: Arc<Connections>,
    owner: Arc<dyn Owner>,
    intake: Intake,
    takes: Arc<dyn Takes>,
}

impl Gateway {
    /// A gateway that hears nothing yet, and gives what these accounts hear to `owner`.
    pub fn new(front: Front, accounts: Arc<Connections>, owner: Arc<dyn Owner>) -> Arc<Self> {
        let intake = Intake::new(front.clone(), owner.clone());
        let takes = Arc::new(intake.clone());
        Arc::new(Self { front, accounts, owner, intake, takes })
    }

    /// Connects the accounts and follows changes of the configuration and of secrets, until told
    /// to stop. When it returns, nothing listens any more.
    pub async fn run(&self, stop: CancellationToken) {
        // Before anything new is heard, so that every conversation keeps its order.
        if let Err(error) = self.intake.resume().await {
            tracing::error!(%error, "messages that waited for their turn can't be read");
        }
        let mut changes = self.front.changes();
        loop {
            changes.mark_unchanged();
            self.reload();
            tokio::select! {
                () = stop.cancelled() => break,
                () = changes.changed() => {}
            }
        }
        self.accounts.close().await;
    }

    /// Brings the accounts in line with the configuration and the secrets as they are now.
    fn reload(&self) {
        self.accounts.settle(&self.takes, self.owner.commands());
        for AccountState { platform, account, .. } in self.accounts.states() {
            self.owner.account_is_back(platform, &account);
        }
    }

    /// Its accounts.
    pub fn connections(&self) -> &Arc<Connections> {
        &self.accounts
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
impl Takes for Intake {
    async fn take(&self, envelope: Envelope) -> Result<(), NotTaken> {
        Intake::take(self, envelope).await
    }

    async fn has_taken(&self, envelope: &Envelope) -> Result<bool, NotTaken> {
        Intake::has_taken(self, envelope).await
    }
}
