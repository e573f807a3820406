//! Whether a request is from whoever has the secret, and lately.

use crate::hex::{hex, unhexed};
use insula_world::Timestamp;
use ring::hmac;
use std::time::Duration;

/// The header with the moment of signing, in seconds since 1970.
pub const TIMESTAMP: &str = "x-insula-timestamp";

/// The header with the signature, or with several, separated by commas.
pub const SIGNATURE: &str = "x-insula-signature";

/// Signatures that are looked at in one request. Two are enough while a secret is replaced.
const SIGNATURES_MAX: usize = 4;

/// Shortest secret: what is shorter can be guessed.
pub const SECRET_BYTES_MIN: usize = 16;

/// What signatures are made and checked with.
pub struct Signer {
    key: hmac::Key,
    window: Duration,
}

/// What is wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsigned {
    /// It is not signed with our secret.
    Stranger,
    /// It is, at another time than now.
    NotNow,
    /// It is, at no time at all.
    NoTime,
}

impl Signer {
    /// Checks and signs with `secret`; requests are good for `window` before and after.
    pub fn new(secret: &str, window: Duration) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), window }
    }

    /// The signature of a body at a time, as its header has it.
    pub fn sign(&self, timestamp_s: i64, body: &[u8]) -> String {
        let tag = hmac::sign(&self.key, &signed(&timestamp_s.to_string(), body));
        format!("sha256={}", hex(tag))
    }

    /// Checks a request, and tells which signature it carries. Takes the same time wherever a
    /// wrong signature differs from the right one.
    pub fn check(
        &self,
        timestamp: Option<&str>,
        signatures: Option<&str>,
        body: &[u8],
        now: Timestamp,
    ) -> Result<[u8; 32], Unsigned> {
        let (Some(timestamp), Some(signatures)) = (timestamp, signatures) else {
            return Err(Unsigned::Stranger);
        };
        let signed = signed(timestamp, body);
        let found = signatures
            .split(',')
            .take(SIGNATURES_MAX)
            .filter_map(|text| unhexed(text.trim().strip_prefix("sha256=")?))
            .find(|tag| hmac::verify(&self.key, &signed, tag).is_ok());
        let found = found.ok_or(Unsigned::Stranger)?;
        // Ten digits: no sum below overflows.
        let seconds: i64 = match timestamp.len() {
            1..=10 => timestamp.parse().map_err(|_| Unsigned::NoTime)?,
            _ => return Err(Unsigned::NoTime),
        };
        let apart_ms = now.as_millis().abs_diff(seconds * 1_000);
        let window_ms = u64::try_from(self.window.as_millis()).unwrap_or(u64::MAX);
        if apart_ms > window_ms { Err(Unsigned::NotNow) } else { Ok(found) }
    }
}

/// What is signed: the moment as it was sent, a dot, and the body. The dot can't be part of
/// the moment, so nothing can be moved from one to the other.
fn signed(timestamp: &str, body: &[u8]) -> Vec<u8> {
    [timestamp.as_bytes(), b".", body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_794_708_747_004);
    const NOW_S: i64 = 1_794_708_747;

    #[test]
    fn a_signature_is_the_well_known_one() {
        // printf '1794708747.{"a":1}' | openssl dgst -sha256 -hmac 0123456789abcdef
        let signer = Signer::new("0123456789abcdef", Duration::from_secs(300));
        let signature = signer.sign(NOW_S, br#"{"a":1}"#);
        assert_eq!(signature, OPENSSL);
    }

    #[test]
    fn only_what_is_signed_by_the_secret_and_lately_is_taken() {
        use Unsigned::{NoTime, NotNow, Stranger};
        let signer = Signer::new("0123456789abcdef", Duration::from_secs(300));
        let body = b"{}";
        let signature = signer.sign(NOW_S, body);
        let check = |timestamp: &str, signature: &str, body: &[u8]| {
            signer.check(Some(timestamp), Some(signature), body, NOW).map(drop)
        };
        let now = NOW_S.to_string();
        assert_eq!(check(&now, &signature, body), Ok(()));
        assert_eq!(check(&now, &format!("sha256=00, {signature}"), body), Ok(()));
        assert_eq!(check(&now, &signature, b"{ }"), Err(Stranger));
        assert_eq!(check(&(NOW_S + 1).to_string(), &signature, body), Err(Stranger));
        assert_eq!(check(&now, "", body), Err(Stranger));
        assert_eq!(check(&now, "sha256=zz", body), Err(Stranger));
        assert_eq!(signer.check(None, Some(&signature), body, NOW), Err(Stranger));
        assert_eq!(signer.check(Some(&now), None, body, NOW), Err(Stranger));
        let other = Signer::new("fedcba9876543210", Duration::from_secs(300));
        assert_eq!(check(&now, &other.sign(NOW_S, body), body), Err(Stranger));
        for (at, expected) in
            [(-299, Ok(())), (300, Ok(())), (-301, Err(NotNow)), (301, Err(NotNow))]
        {
            let at = NOW_S + at;
            assert_eq!(check(&at.to_string(), &signer.sign(at, body), body), expected, "{at}");
        }
        for no_time in ["abc", "", "1794708747004", "17947.5"] {
            let tag = hmac::sign(&signer.key, &signed(no_time, body));
            let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(check(no_time, &format!("sha256={hex}"), body), Err(NoTime), "{no_time}");
        }
        // Signed, and no moment at all.
        for moment in ["99999999999999999999", "-1x", "", "1e9"] {
            let tag = hmac::sign(&signer.key, &signed(moment, body));
            let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(check(moment, &format!("sha256={hex}"), body).is_err(), "{moment}");
        }
    }

    const OPENSSL: &str = "sha256=8bd93d92fea777aa82d5df7a1ca242e618bdbec0752341ea2a379838e0503ab4";
}
