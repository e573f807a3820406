//! From a destination to a connection: decide, resolve once, check every address, connect to
//! one that was checked.

use super::Egress;
use super::ledger::{EgressDecision, EgressVerdict, EgressVia, Ending, Traffic};
use super::meter::{Allowance, Meter, Metered, within};
use super::policy::{EgressDestination, EgressRefusal, Permit};
use insula_domain::Host;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Addresses of one name that are tried. All that it has are checked.
const ATTEMPTS_MAX: usize = 4;

/// How long the steps of getting a connection may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    pub(super) resolve: Duration,
    pub(super) connect: Duration,
}

/// A connection, and the decision that allowed it.
pub(super) struct Dialled {
    pub(super) stream: Metered,
    pub(super) meter: Arc<Meter>,
    pub(super) decision: EgressDecision,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum DialError {
    Refused(EgressRefusal),
    Unreachable { destination: EgressDestination, why: io::Error },
}

impl Egress {
    /// Tells the ledger of a refusal, and gives it back. A refusal holds whether or not it
    /// could be recorded.
    pub(super) async fn refuse(
        &self,
        via: EgressVia,
        destination: Option<&EgressDestination>,
        refusal: EgressRefusal,
    ) -> EgressRefusal {
        let address = match (&refusal, destination) {
            (EgressRefusal::Address { address, .. }, Some(to)) => {
                Some(SocketAddr::new(*address, to.port))
            }
            _ => None,
        };
        let verdict = EgressVerdict::Refused(refusal.clone());
        let destination = destination.cloned();
        let decision = EgressDecision { via, destination, address, verdict };
        let _ = self.ledger.decided(&decision).await;
        refusal
    }

    /// Connects, if the policy lets it. `itself` is the listener the request came in by.
    pub(super) async fn dial(
        &self,
        via: EgressVia,
        destination: &EgressDestination,
        patience: Patience,
        allowance: &Arc<Allowance>,
        itself: Option<SocketAddr>,
    ) -> Result<Dialled, DialError> {
        let permit = match self.policy.decide(destination) {
            Ok(permit) => permit,
            Err(refusal) => return Err(self.refused(via, destination, refusal).await),
        };
        let found = match self.resolve(destination, patience).await {
            Ok(found) => found,
            Err(why) => {
                // The question went out to the network, so it is on record too.
                let decision = self.allow(via, &permit, None).await?;
                self.ledger.ended(&decision, Traffic::default(), Ending::Failed).await;
                return Err(DialError::Unreachable { destination: destination.clone(), why });
            }
        };
        let addresses = match self.check(&permit, &found, itself) {
            Ok(addresses) => addresses,
            Err(refusal) => return Err(self.refused(via, destination, refusal).await),
        };
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for &address in addresses.iter().take(ATTEMPTS_MAX) {
            let decision = self.allow(via, &permit, Some(address)).await?;
            let connecting = self.world.network.connect(address);
            match within(&*self.world.clock, patience.connect, connecting).await {
                Ok(stream) => {
                    let meter = Meter::new(allowance.clone());
                    let stream = Metered::new(stream, meter.clone());
                    return Ok(Dialled { stream, meter, decision });
                }
                Err(error) => {
                    self.ledger.ended(&decision, Traffic::default(), Ending::Failed).await;
                    last = error;
                }
            }
        }
        Err(DialError::Unreachable { destination: destination.clone(), why: last })
    }

    async fn refused(
        &self,
        via: EgressVia,
        to: &EgressDestination,
        refusal: EgressRefusal,
    ) -> DialError {
        DialError::Refused(self.refuse(via, Some(to), refusal).await)
    }

    async fn allow(
        &self,
        via: EgressVia,
        permit: &Permit,
        address: Option<SocketAddr>,
    ) -> Result<EgressDecision, DialError> {
        let decision = EgressDecision {
            via,
            destination: Some(permit.destination.clone()),
            address,
            verdict: EgressVerdict::Allowed { rule: permit.rule.to_string() },
        };
        match self.ledger.decided(&decision).await {
            Ok(()) => Ok(decision),
            Err(_) => {
                Err(DialError::Refused(EgressRefusal::Unrecorded(permit.destination.clone())))
            }
        }
    }

    async fn resolve(
        &self,
        destination: &EgressDestination,
        patience: Patience,
    ) -> io::Result<Vec<IpAddr>> {
        match &destination.host {
            Host::Address(address) => Ok(vec![*address]),
            Host::Name(name) => {
                let resolving = self.lookups.resolve(&self.world, name, destination.port);
                let found = within(&*self.world.clock, patience.resolve, resolving).await?;
                // What a resolver says of ports and scopes is not what is checked.
                Ok(found.iter().map(SocketAddr::ip).collect())
            }
        }
    }

    /// The addresses to connect to, all of them checked. One that leads inside refuses the
    /// whole: a name that mixes them is either broken or trying.
    fn check(
        &self,
        permit: &Permit,
        found: &[IpAddr],
        itself: Option<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, EgressRefusal> {
        let pin = |&address: &IpAddr| {
            self.policy.check_address(permit, address)?;
            let pinned = SocketAddr::new(address, permit.destination.port);
            match itself {
                Some(itself) if is_same_door(itself, pinned) => {
                    Err(EgressRefusal::Itself(permit.destination.clone()))
                }
                _ => Ok(pinned),
            }
        };
        found.iter().map(pin).collect()
    }
}

/// Whether connecting to `address` ends at the listener. One that listens everywhere is met at
/// every address of the machine, of which we only know loopback.
fn is_same_door(listener: SocketAddr, address: SocketAddr) -> bool {
    let everywhere = listener.ip().is_unspecified() && address.ip().is_loopback();
    listener.port() == address.port() && (listener.ip() == address.ip() || everywhere)
}
