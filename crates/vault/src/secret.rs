//! A secret's value while it is in memory: shown by nothing, wiped when dropped.

use std::fmt;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Largest value, in bytes: a certificate chain with its key fits many times.
pub const SECRET_BYTES_MAX: usize = 64 * 1024;

/// The value of a secret: text, as headers, environments and configuration want it.
///
/// `Debug` and `Display` show nothing of it, not even how long it is. It is wiped when it is
/// dropped; what the system swapped out or what a caller copied from [`reveal`](Self::reveal)
/// is beyond this type. Comparing takes the same time wherever the difference is, but tells
/// whether the lengths differ.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes a value. The text given is wiped with the secret, not copied.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The value. Whoever calls this answers for where it goes.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_12_a_secret_prints_as_nothing() {
        let secret = Secret::new("hunter2-hunter2");
        assert_eq!(
            format!("{secret} {secret:?} {secret:#?} {secret:>3}"),
            "[secret] Secret(…) Secret(…) [secret]"
        );
        assert_eq!(secret.reveal(), "hunter2-hunter2");
    }

    #[test]
    fn secrets_are_equal_by_value() {
        assert_eq!(Secret::new("a"), Secret::new("a"));
        assert_ne!(Secret::new("a"), Secret::new("b"));
        assert_ne!(Secret::new("a"), Secret::new("aa"));
    }
}
