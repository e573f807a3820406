//! The way out: one policy an agent, and the two doors that ask it.
//!
//! Child processes get a [`Proxy`], whose listener is all the network they have. Tools of
//! ours get a [`Client`]. Both decide by the same [`Policy`]: first by name, then by every
//! address the name resolves to; and they connect to an address that was checked, never to a
//! name. Every decision is told to a [`Ledger`] before it takes effect.
//!
//! What it can't see: what is said inside a tunnel. A tunnel carries TLS to one pinned host
//! whose name the greeting repeats, but which site a shared front serves behind that name is
//! between the child and the front.

mod address;
mod cleaning;
mod client;
mod dial;
mod exchange;
mod framing;
mod head;
mod hello;
mod injection;
mod ledger;
mod lookups;
mod meter;
mod passage;
mod policy;
mod proxy;
mod tls;
mod tunnel;

pub use address::{Reserved, reserved};
pub use client::{Client, ClientLimits, Fetch, FetchError, Response};
pub use injection::{Injection, InjectionError};
pub use ledger::{EgressDecision, EgressVerdict, EgressVia, Ending, Ledger, Traffic, Unrecorded};
pub use lookups::Lookups;
pub use passage::ProxyLimits;
pub use policy::{EgressDestination, EgressRefusal, Permit, Policy, TlsRefusal};
pub use proxy::{Proxy, environment};
pub use tls::{Tls, TlsError};

use cleaning::Cleaner;
use insula_world::World;
use std::sync::Arc;

/// What both doors of one agent share, made once a generation. Cheap to clone.
#[derive(Clone)]
pub struct Egress {
    world: World,
    policy: Arc<Policy>,
    ledger: Arc<dyn Ledger>,
    tls: Tls,
    injections: Arc<[Injection]>,
    lookups: Lookups,
}

impl Egress {
    /// The way out under a policy. `injections` are set on requests to their hosts, and taken
    /// out of what these answer; `lookups` are those of the agent whose way out it is.
    pub fn new(
        world: World,
        policy: Policy,
        ledger: Arc<dyn Ledger>,
        tls: Tls,
        injections: Vec<Injection>,
        lookups: Lookups,
    ) -> Self {
        let (policy, injections) = (Arc::new(policy), injections.into());
        Self { world, policy, ledger, tls, injections, lookups }
    }

    /// The rules.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The credentials for a destination.
    fn injections_for<'a>(
        &'a self,
        destination: &'a EgressDestination,
    ) -> impl Iterator<Item = &'a Injection> {
        self.injections.iter().filter(|injection| injection.is_for(destination))
    }

    /// What takes them out of its answers, where there are any.
    fn cleaner_for(&self, destination: &EgressDestination) -> Option<Cleaner> {
        let mut values = self.injections_for(destination).map(Injection::reveal).peekable();
        values.peek()?;
        Some(Cleaner::new(values))
    }
}
