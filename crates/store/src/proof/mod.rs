//! Parts of an audit chain that a tenant can check alone: the records of one scope, and a signed
//! statement of where they begin and end.
//!
//! What is said here is `text`, how it is checked is `check`; neither needs a database, a daemon or
//! a secret.

mod check;
mod text;

pub use check::{Checker, Earlier, ProofError, Verified};
pub use text::{LINE_BYTES_MAX, begin_line, end_line, left_out_line, record_line};

use crate::audit::AuditRecord;
use crate::digest::{Bytes32, sized};
use crate::error::{Result, StoreError};
use crate::key::AuditKey;
use crate::scope_chain;
use insula_world::Timestamp;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// The bytes of a signature.
pub type Signature = [u8; 64];

/// What the tenant of a record is told of its content, and the salt that proves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    pub text: String,
    pub salt: Bytes32,
}

/// A record as the tenant of its scope may have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeRecord {
    /// Its position among those of the scope, from 1.
    pub seq: u64,
    /// The hash of all of it but its place.
    pub body: Bytes32,
    /// What the chain holds instead of the words.
    pub commitment: Bytes32,
    /// `None` once erased.
    pub words: Option<Words>,
    /// Its link among those of the scope.
    pub link: Bytes32,
    /// The record as it stands in the agent's chain, for whoever chooses: its position there, its
    /// content and its links are nothing for a tenant.
    pub record: AuditRecord,
}

/// What is signed: these are the records of a scope from one to another, and there were no more
/// when it was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub agent: Box<str>,
    pub scope: Box<str>,
    /// The position of the first.
    pub first: u64,
    /// The link that the first follows.
    pub before: Bytes32,
    /// The position of the last; one before the first where there are none.
    pub last: u64,
    /// The link of the last.
    pub head: Bytes32,
    /// When it was said.
    pub at: Timestamp,
}

impl Statement {
    /// What the first record of a scope follows.
    pub fn start(agent: &str, scope: &str) -> Bytes32 {
        scope_chain::start(&scope_chain::owner_of(agent), scope)
    }

    fn digest(&self) -> Bytes32 {
        let mut hasher = blake3::Hasher::new_derive_key("insula store 2026 audit statement v1");
        sized(&mut hasher, self.agent.as_bytes());
        sized(&mut hasher, self.scope.as_bytes());
        hasher.update(&self.first.to_le_bytes()).update(&self.before);
        hasher.update(&self.last.to_le_bytes()).update(&self.head);
        hasher.update(&self.at.as_millis().to_le_bytes());
        *hasher.finalize().as_bytes()
    }

    /// Whether whoever has the private part of this key said it.
    pub fn is_signed(&self, key: &Bytes32, signature: &Signature) -> bool {
        UnparsedPublicKey::new(&ED25519, key).verify(&self.digest(), signature).is_ok()
    }
}

/// Signs statements about one agent's records. Bound to its agent.
#[derive(Clone)]
pub struct Signer {
    seed: Bytes32,
}

impl Signer {
    pub(crate) fn of_agent(key: &AuditKey, agent: &str) -> Self {
        Self { seed: key.of_signatures(&scope_chain::owner_of(agent)) }
    }

    fn pair(&self) -> Result<Ed25519KeyPair> {
        // Every 32 bytes are a seed.
        Ed25519KeyPair::from_seed_unchecked(&self.seed).map_err(|_| StoreError::Closed)
    }

    /// The part of the key that anybody may know: by it a signature is checked.
    pub fn public_key(&self) -> Result<Bytes32> {
        let pair = self.pair()?;
        Bytes32::try_from(pair.public_key().as_ref()).map_err(|_| StoreError::Closed)
    }

    pub fn sign(&self, statement: &Statement) -> Result<Signature> {
        let signature = self.pair()?.sign(&statement.digest());
        Signature::try_from(signature.as_ref()).map_err(|_| StoreError::Closed)
    }
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer(…)")
    }
}

#[cfg(test)]
#[path = "proof_tests.rs"]
mod tests;
