//! Who may write: the latest claimant, and nobody before it.

/// Proof of a claim. Every commit carries one; a database that has seen a higher epoch
/// refuses it, so a daemon that was replaced but still runs can't write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// Who claimed, for people to read: a host and process, say.
    pub owner: Box<str>,
    /// Which claim this is: each is higher than all before it.
    pub epoch: u64,
}
