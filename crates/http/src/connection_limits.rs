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

/// Connections of the admin by this way; the command line has a socket of its own.
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
pub enum ConnectionOwner {
    /// Nobody's yet, or somebody's without a token.
    Nobody,
    /// The admin's.
    Admin,
    /// The bearer's of the token with this id.
    Token(Arc<str>),
}

impl ConnectionOwner {
    fn max(&self) -> usize {
        match self {
            Self::Nobody => STRANGERS_MAX,
            Self::Admin => ADMIN_MAX,
            Self::Token(_) => TOKEN_MAX,
        }
    }
}

impl From<&Caller> for ConnectionOwner {
    fn from(caller: &Caller) -> Self {
        match caller {
            Caller::Local => Self::Admin,
            Caller::Token(token) => Self::Token((*token.id).into()),
        }
    }
}

/// Why there is no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitReached {
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

impl From<&LimitReached> for ApiError {
    fn from(why: &LimitReached) -> Self {
        let status = match why {
            LimitReached::OfToken | LimitReached::OfAgent => StatusCode::TOO_MANY_REQUESTS,
            LimitReached::AtAll => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, "too_many_connections", why.to_string())
    }
}

/// The places of one listener.
#[derive(Default)]
pub struct ConnectionLimiter {
    held: Mutex<OpenConnections>,
}

#[derive(Default)]
struct OpenConnections {
    /// Moves with every change: the order in which seats came to rest.
    moment: u64,
    connections: HashMap<u64, OpenConnection>,
    holders: Counts<ConnectionOwner>,
    agents: Counts<AgentId>,
    addresses: Counts<IpAddr>,
}

struct OpenConnection {
    holder: ConnectionOwner,
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

impl OpenConnections {
    fn now(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }

    fn leave(&mut self, number: u64) {
        let Some(connection) = self.connections.remove(&number) else { return };
        self.holders.less(&connection.holder);
        connection.address.iter().for_each(|address| self.addresses.less(address));
        connection.agent.iter().for_each(|agent| self.agents.less(agent));
        connection.closed.cancel();
    }

    /// Closes the seat at rest for longest of those that `fits`; whether there was one.
    fn clear(&mut self, fits: impl Fn(&OpenConnection) -> bool) -> bool {
        let resting = self.connections.iter().filter(|(_, connection)| fits(connection));
        let oldest = resting.filter_map(|(number, it)| Some((it.at_rest?, *number))).min();
        if let Some((_, number)) = oldest {
            self.leave(number);
        }
        oldest.is_some()
    }

    /// Closes a seat at rest, of those who hold the most.
    fn clear_any(&mut self) -> bool {
        let resting = self.connections.values().filter(|connection| connection.at_rest.is_some());
        let most = resting.map(|connection| self.holders.of(&connection.holder)).max();
        let Some(most) = most else { return false };
        let held: HashMap<ConnectionOwner, usize> = self.holders.0.clone();
        self.clear(|connection| held.get(&connection.holder) == Some(&most))
    }

    /// Makes room for one more of `holder`'s.
    fn admit(&mut self, holder: &ConnectionOwner) -> Result<(), LimitReached> {
        if self.holders.of(holder) >= holder.max() && !self.clear(|it| it.holder == *holder) {
            return Err(match holder {
                ConnectionOwner::Nobody => LimitReached::AtAll,
                ConnectionOwner::Admin | ConnectionOwner::Token(_) => LimitReached::OfToken,
            });
        }
        if *holder != ConnectionOwner::Nobody {
            let known = self.connections.len() - self.holders.of(&ConnectionOwner::Nobody);
            let all = CONNECTIONS_MAX - STRANGERS_MAX;
            let has_few = self.holders.of(holder) < FEW;
            let max = if has_few { all } else { all - RESERVED };
            if known >= max && !self.clear_any() {
                return Err(LimitReached::AtAll);
            }
        }
        Ok(())
    }
}

impl ConnectionLimiter {
    fn held(&self) -> MutexGuard<'_, OpenConnections> {
        // Valid after every single statement.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from this address, nobody's yet.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Result<ConnectionPermit, LimitReached> {
        let mut held = self.held();
        // On this machine, and behind a proxy, all have the same address.
        let address = Some(address).filter(|address| !address.is_loopback());
        if let Some(address) = address
            && held.addresses.of(&address) >= ADDRESS_MAX
            && !held.clear(|it| it.address == Some(address))
        {
            return Err(LimitReached::AtAll);
        }
        held.admit(&ConnectionOwner::Nobody)?;
        if held.connections.len() >= CONNECTIONS_MAX && !held.clear_any() {
            return Err(LimitReached::AtAll);
        }
        let (number, closed) = (held.now(), CancellationToken::new());
        held.holders.more(&ConnectionOwner::Nobody);
        address.iter().for_each(|address| held.addresses.more(address));
        let connection = OpenConnection {
            holder: ConnectionOwner::Nobody,
            address,
            agent: None,
            at_rest: Some(number),
            is_kept: false,
            closed: closed.clone(),
        };
        held.connections.insert(number, connection);
        drop(held);
        Ok(ConnectionPermit(Arc::new(PermitInner { limiter: self.clone(), number, closed })))
    }
}

/// The place of one connection, given back when nobody has it any more.
#[derive(Clone)]
pub struct ConnectionPermit(Arc<PermitInner>);

struct PermitInner {
    limiter: Arc<ConnectionLimiter>,
    number: u64,
    closed: CancellationToken,
}

impl Drop for PermitInner {
    fn drop(&mut self) {
        self.limiter.held().leave(self.number);
    }
}

impl ConnectionPermit {
    /// Something is asked on it, by this holder.
    pub fn begin(&self, holder: &ConnectionOwner) -> Result<(), LimitReached> {
        let PermitInner { limiter, number, .. } = &*self.0;
        let mut held = limiter.held();
        let Some(connection) = held.connections.get_mut(number) else {
            return Err(LimitReached::AtAll);
        };
        connection.at_rest = None;
        if connection.holder == *holder {
            return Ok(());
        }
        held.admit(holder)?;
        let Some(connection) = held.connections.get_mut(number) else {
            return Err(LimitReached::AtAll);
        };
        let before = std::mem::replace(&mut connection.holder, holder.clone());
        held.holders.less(&before);
        held.holders.more(holder);
        Ok(())
    }

    /// What is asked is about this agent.
    pub fn about(&self, agent: &AgentId) -> Result<(), LimitReached> {
        let mut held = self.0.limiter.held();
        let count = held.agents.of(agent);
        let Some(connection) = held.connections.get_mut(&self.0.number) else {
            return Err(LimitReached::AtAll);
        };
        if connection.holder == ConnectionOwner::Admin || connection.agent.as_ref() == Some(agent) {
            return Ok(());
        }
        if count >= AGENT_MAX {
            return Err(LimitReached::OfAgent);
        }
        let before = connection.agent.replace(agent.clone());
        before.iter().for_each(|before| held.agents.less(before));
        held.agents.more(agent);
        Ok(())
    }

    /// What was asked is answered.
    pub fn rest(&self) {
        let mut held = self.0.limiter.held();
        let now = held.now();
        let Some(connection) = held.connections.get_mut(&self.0.number) else { return };
        if connection.is_kept {
            return;
        }
        connection.at_rest = Some(now);
        let agent = connection.agent.take();
        agent.iter().for_each(|agent| held.agents.less(agent));
    }

    /// It has become a conversation, and is never at rest again.
    pub fn keep(&self) {
        if let Some(connection) = self.0.limiter.held().connections.get_mut(&self.0.number) {
            (connection.is_kept, connection.at_rest) = (true, None);
        }
    }

    /// Waits until the place is given to somebody else.
    pub async fn lost(&self) {
        self.0.closed.cancelled().await;
    }
}

#[cfg(test)]
#[path = "connection_limits_tests.rs"]
mod connection_limits_tests;
