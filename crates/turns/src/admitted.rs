//! As of when it is known that who began a turn may talk to its agent.

use insula_config::DaemonConfig;
use insula_domain::{Actor, Address, Router};
use insula_registry::access::{Access, AccessVersion};
use insula_registry::context::AgentContext;
use insula_registry::routing::Led;
use insula_registry::tokens::Verb;
use std::sync::{Arc, Mutex, PoisonError};

/// As of when it is known that who began a turn may talk to its agent.
#[derive(Default)]
pub(crate) struct Admitted(Mutex<Option<As>>);

#[derive(Clone)]
pub(super) struct As {
    /// Whom rosters and tokens let in.
    pub(super) version: AccessVersion,
    /// The generation that let them in.
    by: Arc<AgentContext>,
    /// What leads chats to agents, and the accounts they are on.
    router: Arc<Router>,
    config: Arc<DaemonConfig>,
    /// Where their chat led.
    pub(super) led: Led,
}

impl As {
    pub(super) fn now(access: &Access, by: &Arc<AgentContext>, address: &Address) -> Self {
        let version = access.version();
        let snapshot = access.snapshot();
        let (router, config) = (snapshot.router.clone(), snapshot.daemon.clone());
        Self { version, by: by.clone(), router, config, led: snapshot.led(address) }
    }

    /// Whether nothing changed since.
    pub(super) fn holds(&self, access: &Access, by: &Arc<AgentContext>) -> bool {
        let snapshot = access.snapshot();
        self.version == access.version()
            && Arc::ptr_eq(&self.by, by)
            && Arc::ptr_eq(&self.router, &snapshot.router)
            && Arc::ptr_eq(&self.config, &snapshot.daemon)
    }
}

impl Admitted {
    /// Somebody whom this generation just let in. A token may have been revoked while its
    /// request was still being read: then nothing is known, and the turn is judged as it begins.
    pub(crate) fn by(
        access: &Access,
        agent: &Arc<AgentContext>,
        principal: &Actor,
        address: &Address,
    ) -> Self {
        let is_known = match principal {
            Actor::Token(bearer) => access.bears(bearer, agent, Verb::Chat),
            _ => true,
        };
        Self(Mutex::new(is_known.then(|| As::now(access, agent, address))))
    }

    /// The same as of another turn of theirs.
    pub(crate) fn like(&self) -> Self {
        Self(Mutex::new(self.get()))
    }

    pub(super) fn get(&self) -> Option<As> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn put(&self, now: As) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }
}
