//! Where every decision is told, so that the runtime can write it into the audit.

use super::policy::{EgressDestination, EgressRefusal};
use async_trait::async_trait;
use std::net::SocketAddr;

/// By which way something wanted out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EgressVia {
    /// A child process, by the proxy.
    Proxy,
    /// A tool of ours, by the client.
    Client,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressDecision {
    /// By which way.
    pub via: EgressVia,
    /// Where to; `None` where what was asked for can't be read as a place.
    pub destination: Option<EgressDestination>,
    /// The address that was pinned, or refused.
    pub address: Option<SocketAddr>,
    /// What was decided.
    pub verdict: EgressVerdict,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EgressVerdict {
    /// Allowed by an entry of `network.allow`.
    Allowed {
        /// The entry, as it is written.
        rule: String,
    },
    /// Refused.
    Refused(EgressRefusal),
}

/// What went over a connection that was allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Bytes from the child or tool to the host.
    pub up: u64,
    /// Bytes from the host.
    pub down: u64,
}

/// How a connection that was allowed came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Both sides were done.
    Finished,
    /// The host could not be reached, or broke off.
    Failed,
    /// Nothing moved for too long.
    TimedOut,
    /// The bytes ran out.
    LimitReached,
    /// It broke a rule after it was allowed; a decision of its own says which.
    Refused,
    /// The child or the daemon ended first.
    Stopped,
}

/// The decision could not be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the decision can't be recorded")]
pub struct Unrecorded;

/// Hears of every decision before it takes effect, and of every end.
///
/// An answer that says "not recorded" turns a permission into a refusal: what can't be
/// audited does not happen. Whoever implements it holds back a flood by answering slowly.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// A decision was made, and waits for this to return.
    async fn decided(&self, decision: &EgressDecision) -> Result<(), Unrecorded>;

    /// A connection that was allowed has ended.
    async fn ended(&self, decision: &EgressDecision, traffic: Traffic, ending: Ending);
}
