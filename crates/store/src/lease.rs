//! Who may write: whoever holds the lease, and nobody before them. What a lease is and what it is
//! for; what is written under one: `holder`.

use insula_domain::id::{AccountId, AgentId};
use insula_domain::{BoardName, Platform};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What can be owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owned {
    /// What is nobody's in particular: who there is, tokens.
    Daemon,
    /// All state of an agent.
    Agent(AgentId),
    /// What is known of an account on a platform: its events, and where listening goes on.
    Account(Platform, AccountId),
    /// A board, with all its cards.
    Board(BoardName),
}

impl fmt::Display for Owned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Daemon => f.write_str("the state of the daemon"),
            Self::Agent(id) => write!(f, "agent `{id}`"),
            Self::Board(name) => write!(f, "board `{name}`"),
            Self::Account(platform, account) => write!(f, "account `{platform}:{account}`"),
        }
    }
}

/// A claim on everything in a store: by whom, and with which epoch. A database that has seen a
/// higher epoch refuses what is written under a lower one, so an owner that was replaced but still
/// runs can't write.
#[derive(Debug)]
pub struct Claim {
    /// Who owns it, for people to read: a host and process, say.
    pub(crate) owner: Box<str>,
    /// Each is higher than all before it.
    pub(crate) epoch: u64,
    is_released: AtomicBool,
}

impl Claim {
    pub(crate) fn new(owner: &str, epoch: u64) -> Self {
        Self { owner: owner.into(), epoch, is_released: AtomicBool::new(false) }
    }

    /// Gives it up, for good.
    pub(crate) fn give_up(&self) {
        self.is_released.store(true, Ordering::SeqCst);
    }

    /// Whether it was given up.
    pub(crate) fn is_released(&self) -> bool {
        self.is_released.load(Ordering::SeqCst)
    }
}

impl PartialEq for Claim {
    fn eq(&self, other: &Self) -> bool {
        (&self.owner, self.epoch) == (&other.owner, other.epoch)
    }
}

impl Eq for Claim {}

/// Proof that something is owned. Only a claim makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub(crate) what: Owned,
    pub(crate) claim: Arc<Claim>,
}

impl Lease {
    pub fn what(&self) -> &Owned {
        &self.what
    }

    /// Which claim this is: each is higher than all before it.
    pub fn epoch(&self) -> u64 {
        self.claim.epoch
    }
}
