//! Marks that only this daemon can make: for what is put into a button and comes back from outside.

use crate::hex::{hex, unhexed};
use ring::hmac;

/// What marks are made and checked with.
pub(crate) struct Seal {
    key: hmac::Key,
}

impl Seal {
    /// Of a secret, for one purpose. What is sealed for another is not good here.
    pub(crate) fn new(purpose: &str, secret: &[u8]) -> Self {
        let key = blake3::derive_key(purpose, secret);
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, &key) }
    }

    /// The mark of these parts, in this order. None of them may have a zero byte in it.
    pub(crate) fn mark(&self, parts: &[&str]) -> String {
        hex(hmac::sign(&self.key, parts.join("\0").as_bytes()))
    }

    /// Whether a mark is the one of these parts. Takes the same time wherever it differs.
    pub(crate) fn is_of(&self, parts: &[&str], mark: &str) -> bool {
        let sealed = parts.join("\0");
        unhexed(mark).is_some_and(|mark| hmac::verify(&self.key, sealed.as_bytes(), &mark).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_good_for_its_secret_purpose_and_parts_alone() {
        let seal = Seal::new("one", b"secret");
        let mark = seal.mark(&["a", "b"]);
        assert!(seal.is_of(&["a", "b"], &mark));
        assert!(!seal.is_of(&["ab", ""], &mark) && !seal.is_of(&["a", "b"], &mark[..62]));
        assert!(!Seal::new("two", b"secret").is_of(&["a", "b"], &mark));
        assert!(!Seal::new("one", b"other").is_of(&["a", "b"], &mark));
    }
}
