//! What the chains are made of: hashes of sized texts, and commitments under a salt.

/// The bytes of a link, a commitment and a salt.
pub(crate) type Bytes32 = [u8; 32];

/// Its length first, so that no two records have the same bytes in all.
pub(crate) fn sized(hasher: &mut blake3::Hasher, text: &[u8]) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text);
}

/// What stands for a content in a chain.
pub(crate) fn commitment(salt: &Bytes32, content: &[u8]) -> Bytes32 {
    *blake3::Hasher::new().update(salt).update(content).finalize().as_bytes()
}
