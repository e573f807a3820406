//! The name of a secret, and what a listing tells about it. Knows no values.

use insula_world::Timestamp;
use std::fmt;

/// Longest name, in bytes: it is a file's name and an environment variable's.
pub const SECRET_NAME_BYTES_MAX: usize = 128;

/// The name of a secret: `^[A-Za-z_][A-Za-z0-9_]{0,127}$`, as for environment variables.
///
/// The alphabet has no dot and no slash, so a name is a file's name as it stands, and never
/// that of a temporary file.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SecretName(Box<str>);

/// Why a text is no name of a secret. Does not repeat the text, which may well be a value
/// that was put in the wrong place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the name of a secret starts with a letter or `_` and continues with up to 127 letters, digits or `_`"
)]
pub struct SecretNameError;

impl SecretName {
    /// Checks and takes a name.
    pub fn new(text: &str) -> Result<Self, SecretNameError> {
        let head = |c: char| c.is_ascii_alphabetic() || c == '_';
        let body = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let valid =
            text.starts_with(head) && text.chars().all(body) && text.len() <= SECRET_NAME_BYTES_MAX;
        if valid { Ok(Self(text.into())) } else { Err(SecretNameError) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretEntry {
    pub name: SecretName,
    /// When its value was last set, by the file system's clock.
    pub modified: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_environment_variables() {
        for good in ["A", "_", "_1", "GITHUB_TOKEN", "x9", &"x".repeat(128)] {
            assert_eq!(SecretName::new(good).unwrap().as_str(), good);
        }
        for bad in
            ["", "1A", "A-B", "A.B", "../A", "A/B", "A B", "É", "A\0", ".A", &"x".repeat(129)]
        {
            assert_eq!(SecretName::new(bad), Err(SecretNameError), "{bad:?}");
        }
    }
}
