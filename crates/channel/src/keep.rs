//! What an account keeps between runs and nobody may read: keys of its own making.

use async_trait::async_trait;
use zeroize::Zeroizing;

/// Where an account keeps what is secret: sealed, durable, and its own. Names are not secret.
#[async_trait]
pub trait Keep: Send + Sync {
    /// What is kept under a name.
    async fn get(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, NotTaken>;

    /// What is kept under names that begin so, by name.
    async fn list(&self, prefix: &str) -> Result<Vec<(String, Zeroizing<Vec<u8>>)>, NotTaken>;

    /// Makes these changes, all of them or none. When it returns, they are durable.
    async fn write(&self, changes: Vec<KeepChange>) -> Result<(), NotTaken>;

    /// Seals something that is to be kept elsewhere, as text.
    async fn seal(&self, what: &[u8]) -> Result<String, NotTaken>;

    /// Opens what was sealed so.
    async fn unseal(&self, sealed: &str) -> Result<Zeroizing<Vec<u8>>, NotTaken>;
}

/// One change to what is kept.
#[derive(Clone)]
pub enum KeepChange {
    /// Keeps this under the name.
    Put(Box<str>, Zeroizing<Vec<u8>>),
    /// Keeps nothing under the name any more.
    Drop(Box<str>),
}

/// Something could not be made durable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotTaken(pub Box<str>);
