//! From a destination to a connection: decide, resolve once, check every address, connect to
//! one that was checked.

use super::Egress;
use super::ledger::{Decision, Door, Ending, Traffic, Verdict};
use super::meter::{Allowance, Meter, Metered, within};
use super::policy::{Destination, Permit, Refusal};
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
    pub(super) decision: Decision,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum DialError {
    Refused(Refusal),
    Unreachable { destination: Destination, why: io::Error },
}

impl Egress {
    /// Tells the ledger of a refusal, and gives it back. A refusal holds whether or not it
    /// could be recorded.
    pub(super) async fn refuse(
        &self,
        door: Door,
        destination: Option<&Destination>,
        refusal: Refusal,
    ) -> Refusal {
        let address = match (&refusal, destination) {
            (Refusal::Address { address, .. }, Some(to)) => {
                Some(SocketAddr::new(*address, to.port))
            }
            _ => None,
        };
        let verdict = Verdict::Refused(refusal.clone());
        let destination = destination.cloned();
        let decision = Decision { door, destination, address, verdict };
        let _ = self.ledger.decided(&decision).await;
        refusal
    }

    /// Connects, if the policy lets it. `itself` is the listener the request came in by.
    pub(super) async fn dial(
        &self,
        door: Door,
        destination: &Destination,
        patience: Patience,
        allowance: &Arc<Allowance>,
        itself: Option<SocketAddr>,
    ) -> Result<Dialled, DialError> {
        let permit = match self.policy.decide(destination) {
            Ok(permit) => permit,
            Err(refusal) => return Err(self.refused(door, destination, refusal).await),
        };
        let found = match self.resolve(destination, patience).await {
            Ok(found) => found,
            Err(why) => {
                // The question went out to the network, so it is on record too.
                let decision = self.allow(door, &permit, None).await?;
                self.ledger.ended(&decision, Traffic::default(), Ending::Failed).await;
                return Err(DialError::Unreachable { destination: destination.clone(), why });
            }
        };
        let addresses = match self.check(&permit, &found, itself) {
            Ok(addresses) => addresses,
            Err(refusal) => return Err(self.refused(door, destination, refusal).await),
        };
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for &address in addresses.iter().take(ATTEMPTS_MAX) {
            let decision = self.allow(door, &permit, Some(address)).await?;
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

    async fn refused(&self, door: Door, to: &Destination, refusal: Refusal) -> DialError {
        DialError::Refused(self.refuse(door, Some(to), refusal).await)
    }

    async fn allow(
        &self,
        door: Door,
        permit: &Permit,
        address: Option<SocketAddr>,
    ) -> Result<Decision, DialError> {
        let decision = Decision {
            door,
            destination: Some(permit.destination.clone()),
            address,
            verdict: Verdict::Allowed { rule: permit.rule.to_string() },
        };
        match self.ledger.decided(&decision).await {
            Ok(()) => Ok(decision),
            Err(_) => Err(DialError::Refused(Refusal::Unrecorded(permit.destination.clone()))),
        }
    }

    async fn resolve(
        &self,
        destination: &Destination,
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
    ) -> Result<Vec<SocketAddr>, Refusal> {
        let pin = |&address: &IpAddr| {
            self.policy.check_address(permit, address)?;
            let pinned = SocketAddr::new(address, permit.destination.port);
            match itself {
                Some(itself) if is_same_door(itself, pinned) => {
                    Err(Refusal::Itself(permit.destination.clone()))
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
