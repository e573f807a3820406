//! The agents that are owned here, as the front reaches them. In one process all of it is calls.

use crate::{Api, router};
use async_trait::async_trait;
use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use insula_channel::{
    Arrival, Envelope, EventKey, Examined, Hearing, Ledger, NotTaken, Owner, Refusals, Spoken,
    Taken,
};
use insula_domain::{AccountId, Address, AgentId, Platform};
use insula_owner::{COMMANDS, Messaging, rooms};
use std::sync::Arc;
use tower_service::Service as _;

/// The owner of the agents of this process.
pub struct LocalOwner {
    api: Api,
    router: Router,
    /// What takes events and sends; `None` for a command without a daemon.
    messaging: Option<Arc<Messaging>>,
}

impl LocalOwner {
    /// The owner of these agents.
    pub fn new(api: Api, messaging: Option<Arc<Messaging>>) -> Arc<Self> {
        Arc::new(Self { router: router(api.clone()), api, messaging })
    }

    fn messaging(&self) -> Result<&Messaging, NotTaken> {
        self.messaging.as_deref().ok_or_else(|| NotTaken("no daemon runs".into()))
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
        self.messaging()?.ingress().take(agent, arrival, ledger).await
    }

    async fn has_taken(&self, agent: &AgentId, event: &EventKey) -> Result<bool, NotTaken> {
        self.messaging()?.ingress().has_taken(agent, event).await
    }

    async fn take_unserved(&self, agent: &AgentId, envelope: Envelope) -> Result<bool, NotTaken> {
        self.messaging()?.ingress().take_unserved(agent, &envelope).await
    }

    async fn request(&self, request: Request) -> Response {
        let Ok(answer) = self.router.clone().call(request).await;
        answer
    }

    async fn hearing(&self, agent: &AgentId, address: &Address) -> Option<Hearing> {
        rooms::hearing((&self.api.access, &self.api.forgotten), agent, address).await
    }

    async fn spoken(&self, address: &Address) -> Vec<Spoken> {
        let spoken = rooms::spoken(
            (&self.api.access, &self.api.forgotten),
            self.api.engine.as_ref(),
            address,
        )
        .await;
        spoken.unwrap_or_else(|error| {
            tracing::error!(%error, "what was said in a web chat can't be read");
            Vec::new()
        })
    }

    fn refusals(&self) -> Option<Vec<Refusals>> {
        let refusals = self.api.engine.as_ref()?.budgets().refusals();
        let named = refusals.map(|(level, what, count)| Refusals {
            level: level.as_str(),
            what: what.as_str(),
            count,
        });
        Some(named.collect())
    }

    fn failures(&self) -> Option<Vec<(&'static str, u64)>> {
        let failures = self.api.engine.as_ref()?.failures().all();
        Some(failures.map(|(cause, count)| (cause.as_str(), count)).collect())
    }

    async fn examine(&self, paid: bool) -> Vec<Examined> {
        let Some(engine) = &self.api.engine else { return Vec::new() };
        let tried = engine.try_providers().await.into_iter().map(|it| Examined {
            name: it.name,
            status: it.status,
            detail: it.detail,
        });
        let mut all: Vec<Examined> = tried.collect();
        let searches = insula_capabilities::doctor::searches(&self.api.capabilities, paid).await;
        all.extend(searches.into_iter().map(|found| Examined {
            name: found.name,
            status: found.status.as_str(),
            detail: found.detail,
        }));
        all
    }

    async fn resume(&self) -> Result<(), NotTaken> {
        self.messaging()?.ingress().resume().await
    }

    fn account_is_back(&self, platform: Platform, account: &AccountId) {
        if let Some(messaging) = &self.messaging {
            messaging.delivery().account_is_back(platform, account);
        }
    }

    fn commands(&self) -> &'static [(&'static str, &'static str)] {
        &COMMANDS
    }
}
