//! Who holds which connection of a listener, and how many one may hold.
//!
//! A connection is nobody's until a request on it shows a token. Then it counts for that token,
//! and while a request is about an agent for that agent too. What holds a place without asking
//! anything goes first when places get scarce.

use axum::http::StatusCode;
use insula_api::{ApiError, Caller};
use insula_domain::AgentId;
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Connections at once. Each costs a descriptor; a thousand leave most to databases.
pub const CONNECTIONS_MAX: usize = 1_024;

/// Of those, connections that have shown no token of ours.
pub const STRANGERS_MAX: usize = 256;

/// Connections of one token: streams, requests under way, and those that wait for the next one.
pub const TOKEN_MAX: usize = 128;

/// Connections of the admin by this way; the command line has a door of its own.
pub const ADMIN_MAX: usize = 512;

/// Requests under way with tokens that are about one agent.
pub const AGENT_MAX: usize = 256;

/// Connections from one address that is not this machine.
pub const ADDRESS_MAX: usize = 128;

/// Places that are left to tokens which have few, however many others hold.
const RESERVED: usize = 128;

/// How many are few.
const FEW: usize = 4;

/// Whose a connection is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Holder {
    /// Nobody's yet, or somebody's without a token.
    Nobody,
    /// The admin's.
    Admin,
    /// The bearer's of the token with this id.
    Token(Arc<str>),
}

impl Holder {
    fn max(&self) -> usize {
        match self {
            Self::Nobody => STRANGERS_MAX,
            Self::Admin => ADMIN_MAX,
            Self::Token(_) => TOKEN_MAX,
        }
    }
}

impl From<&Caller> for Holder {
    fn from(caller: &Caller) -> Self {
        match caller {
            Caller::Local => Self::Admin,
            Caller::Token(token) => Self::Token((*token.id).into()),
        }
    }
}

/// Why there is no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    /// the holder has as many as it may have
    #[error(
        "this token has {TOKEN_MAX} connections open, as many as one may have; close some, or try again later"
    )]
    OfToken,
    /// the agent is asked by as many as it may be
    #[error("{AGENT_MAX} requests about this agent are under way; try again later")]
    OfAgent,
    /// all are taken
    #[error("too many connections are open; try again later")]
    AtAll,
}

impl From<&NoPlace> for ApiError {
    fn from(why: &NoPlace) -> Self {
        let status = match why {
            NoPlace::OfToken | NoPlace::OfAgent => StatusCode::TOO_MANY_REQUESTS,
            NoPlace::AtAll => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, "too_many_connections", why.to_string())
    }
}

/// The places of one listener.
#[derive(Default)]
pub struct Places {
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// Moves with every change: the order in which seats came to rest.
    moment: u64,
    seats: HashMap<u64, Seated>,
    holders: Counts<Holder>,
    agents: Counts<AgentId>,
    addresses: Counts<IpAddr>,
}

struct Seated {
    holder: Holder,
    address: Option<IpAddr>,
    agent: Option<AgentId>,
    /// Since when nothing is asked on it; `None` while something is.
    at_rest: Option<u64>,
    /// Whether it became a conversation that has no requests any more.
    is_kept: bool,
    closed: CancellationToken,
}

struct Counts<K>(HashMap<K, usize>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash + Clone> Counts<K> {
    fn of(&self, key: &K) -> usize {
        self.0.get(key).copied().unwrap_or(0)
    }

    fn more(&mut self, key: &K) {
        *self.0.entry(key.clone()).or_default() += 1;
    }

    fn less(&mut self, key: &K) {
        if let Some(count) = self.0.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(key);
            }
        }
    }
}

impl Held {
    fn now(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }

    fn leave(&mut self, number: u64) {
        let Some(seated) = self.seats.remove(&number) else { return };
        self.holders.less(&seated.holder);
        seated.address.iter().for_each(|address| self.addresses.less(address));
        seated.agent.iter().for_each(|agent| self.agents.less(agent));
        seated.closed.cancel();
    }

    /// Closes the seat at rest for longest of those that `fits`; whether there was one.
    fn clear(&mut self, fits: impl Fn(&Seated) -> bool) -> bool {
        let resting = self.seats.iter().filter(|(_, seated)| fits(seated));
        let oldest = resting.filter_map(|(number, it)| Some((it.at_rest?, *number))).min();
        if let Some((_, number)) = oldest {
            self.leave(number);
        }
        oldest.is_some()
    }

    /// Closes a seat at rest, of those who hold the most.
    fn clear_any(&mut self) -> bool {
        let resting = self.seats.values().filter(|seated| seated.at_rest.is_some());
        let most = resting.map(|seated| self.holders.of(&seated.holder)).max();
        let Some(most) = most else { return false };
        let held: HashMap<Holder, usize> = self.holders.0.clone();
        self.clear(|seated| held.get(&seated.holder) == Some(&most))
    }

    /// Makes room for one more of `holder`'s.
    fn admit(&mut self, holder: &Holder) -> Result<(), NoPlace> {
        if self.holders.of(holder) >= holder.max() && !self.clear(|it| it.holder == *holder) {
            return Err(match holder {
                Holder::Nobody => NoPlace::AtAll,
                Holder::Admin | Holder::Token(_) => NoPlace::OfToken,
            });
        }
        if *holder != Holder::Nobody {
            let known = self.seats.len() - self.holders.of(&Holder::Nobody);
            let all = CONNECTIONS_MAX - STRANGERS_MAX;
            let has_few = self.holders.of(holder) < FEW;
            let max = if has_few { all } else { all - RESERVED };
            if known >= max && !self.clear_any() {
                return Err(NoPlace::AtAll);
            }
        }
        Ok(())
    }
}

impl Places {
    fn held(&self) -> MutexGuard<'_, Held> {
        // Valid after every single statement.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from this address, nobody's yet.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Result<Seat, NoPlace> {
        let mut held = self.held();
        // On this machine, and behind a proxy, all have the same address.
        let address = Some(address).filter(|address| !address.is_loopback());
        if let Some(address) = address
            && held.addresses.of(&address) >= ADDRESS_MAX
            && !held.clear(|it| it.address == Some(address))
        {
            return Err(NoPlace::AtAll);
        }
        held.admit(&Holder::Nobody)?;
        if held.seats.len() >= CONNECTIONS_MAX && !held.clear_any() {
            return Err(NoPlace::AtAll);
        }
        let (number, closed) = (held.now(), CancellationToken::new());
        held.holders.more(&Holder::Nobody);
        address.iter().for_each(|address| held.addresses.more(address));
        let seated = Seated {
            holder: Holder::Nobody,
            address,
            agent: None,
            at_rest: Some(number),
            is_kept: false,
            closed: closed.clone(),
        };
        held.seats.insert(number, seated);
        drop(held);
        Ok(Seat(Arc::new(Place { places: self.clone(), number, closed })))
    }
}

/// The place of one connection, given back when nobody has it any more.
#[derive(Clone)]
pub struct Seat(Arc<Place>);

struct Place {
    places: Arc<Places>,
    number: u64,
    closed: CancellationToken,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.held().leave(self.number);
    }
}

impl Seat {
    /// Something is asked on it, by this holder.
    pub fn begin(&self, holder: &Holder) -> Result<(), NoPlace> {
        let Place { places, number, .. } = &*self.0;
        let mut held = places.held();
        let Some(seated) = held.seats.get_mut(number) else { return Err(NoPlace::AtAll) };
        seated.at_rest = None;
        if seated.holder == *holder {
            return Ok(());
        }
        held.admit(holder)?;
        let Some(seated) = held.seats.get_mut(number) else { return Err(NoPlace::AtAll) };
        let before = std::mem::replace(&mut seated.holder, holder.clone());
        held.holders.less(&before);
        held.holders.more(holder);
        Ok(())
    }

    /// What is asked is about this agent.
    pub fn about(&self, agent: &AgentId) -> Result<(), NoPlace> {
        let mut held = self.0.places.held();
        let count = held.agents.of(agent);
        let Some(seated) = held.seats.get_mut(&self.0.number) else { return Err(NoPlace::AtAll) };
        if seated.holder == Holder::Admin || seated.agent.as_ref() == Some(agent) {
            return Ok(());
        }
        if count >= AGENT_MAX {
            return Err(NoPlace::OfAgent);
        }
        let before = seated.agent.replace(agent.clone());
        before.iter().for_each(|before| held.agents.less(before));
        held.agents.more(agent);
        Ok(())
    }

    /// What was asked is answered.
    pub fn rest(&self) {
        let mut held = self.0.places.held();
        let now = held.now();
        let Some(seated) = held.seats.get_mut(&self.0.number) else { return };
        if seated.is_kept {
            return;
        }
        seated.at_rest = Some(now);
        let agent = seated.agent.take();
        agent.iter().for_each(|agent| held.agents.less(agent));
    }

    /// It has become a conversation, and is never at rest again.
    pub fn keep(&self) {
        if let Some(seated) = self.0.places.held().seats.get_mut(&self.0.number) {
            (seated.is_kept, seated.at_rest) = (true, None);
        }
    }

    /// Waits until the place is given to somebody else.
    pub async fn lost(&self) {
        self.0.closed.cancelled().await;
    }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod places_tests;
