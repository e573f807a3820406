//! What takes events for agents and sends what they say, as one thing that runs.

use crate::boards::Workers;
use crate::delivery::Relay;
use crate::ingress::Ingress;
use crate::jobs::Clockwork;
use crate::notices::Notices;
use crate::tenant;
use insula_capabilities::Opened;
use insula_channel::Accounts;
use insula_registry::Registry;
use insula_registry::forgotten::Forgotten;
use insula_turns::Engine;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Takes events for the agents of a daemon, and sends what they say.
pub struct Messaging {
    registry: Arc<Registry>,
    forgotten: Arc<Forgotten>,
    accounts: Arc<dyn Accounts>,
    ingress: Ingress,
    delivery: Arc<Relay>,
    clockwork: Arc<Clockwork>,
    workers: Arc<Workers>,
}

impl Messaging {
    /// For the agents of a daemon, sending by these accounts.
    pub fn new(opened: &Opened, engine: Engine, accounts: Arc<dyn Accounts>) -> Arc<Self> {
        let delivery = Relay::new(&opened.parts, engine.clone(), accounts.clone());
        let clockwork = Clockwork::new(opened, engine.clone(), delivery.clone());
        let workers = Workers::new(opened, engine.clone(), delivery.clone());
        let ingress = Ingress::new(opened, engine, (delivery.clone(), accounts.clone()));
        let parts = &opened.parts;
        let out = Arc::downgrade(&delivery);
        let clock = parts.world.clock.clone();
        let notices = Notices::new(parts.registry.clone(), parts.homes.clone(), clock, out);
        parts.lives.add(notices);
        let (registry, forgotten) = (opened.parts.registry.clone(), opened.parts.forgotten.clone());
        Arc::new(Self { registry, forgotten, accounts, ingress, delivery, clockwork, workers })
    }

    /// What takes events.
    pub fn ingress(&self) -> &Ingress {
        &self.ingress
    }

    /// What sends.
    pub fn delivery(&self) -> &Arc<Relay> {
        &self.delivery
    }

    /// What begins jobs.
    pub fn clockwork(&self) -> &Arc<Clockwork> {
        &self.clockwork
    }

    /// What has agents work on cards.
    pub fn workers(&self) -> &Arc<Workers> {
        &self.workers
    }

    /// Sends what agents have to send and goes on with what waits for them, until told to stop.
    pub async fn run(&self, stop: CancellationToken) {
        let sending = tokio::spawn(self.delivery.clone().run(stop.clone()));
        let clock = tokio::spawn(self.clockwork.clone().run(stop.clone()));
        let workers = tokio::spawn(self.workers.clone().run(stop.clone()));
        let mut changes = self.registry.changes();
        let mut forgotten = self.forgotten.changes();
        loop {
            changes.mark_unchanged();
            forgotten.mark_unchanged();
            self.accounts.keep_only(&tenant::all(&self.registry, &self.forgotten));
            self.ingress.wake().await;
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = changes.changed() => {}
                () = forgotten.changed() => {}
            }
        }
        if let Err(error) = clock.await {
            tracing::error!(%error, "the clock of jobs ended in a panic");
        }
        if let Err(error) = workers.await {
            tracing::error!(%error, "work on boards ended in a panic");
        }
        if let Err(error) = sending.await {
            tracing::error!(%error, "sending ended in a panic");
        }
    }
}
