//! What a key is called where usage is counted by key: whose provider it is for, where it came
//! from, and a mark by which two can be told apart. Never the key.

use insula_vault::strength::is_guessable;
use std::fmt;

/// Hexadecimal digits of a mark: enough to tell keys of one home apart.
const MARK_LEN: usize = 8;
/// Stands for the mark of a value that has none.
const UNMARKED: &str = "-";

/// Where a key came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeySource {
    /// The agent's own vault.
    Own,
    /// The daemon's vault.
    Shared,
    /// The environment the daemon was started with.
    Environment,
    /// It stands in the configuration.
    File,
    /// There is none.
    Nowhere,
}

impl KeySource {
    const ALL: [Self; 5] = [Self::Own, Self::Shared, Self::Environment, Self::File, Self::Nowhere];

    /// As it is written down and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Shared => "shared",
            Self::Environment => "environment",
            Self::File => "file",
            Self::Nowhere => "none",
        }
    }
}

/// The name of a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyName {
    pub provider: Box<str>,
    pub source: KeySource,
    /// `None` for a value that has none: no key, or one that could be found by trying words, of
    /// which a mark would tell whether a guess is right.
    pub mark: Option<Box<str>>,
}

impl KeyName {
    /// The name of a key with this value, where there is one.
    pub fn new(provider: &str, source: KeySource, value: Option<&str>) -> Self {
        let value = value.map(str::trim).filter(|it| !is_guessable(it));
        let mark = value.map(|value| {
            let mut hasher = blake3::Hasher::new_derive_key("insula mark of a provider key 1");
            hasher.update(value.as_bytes());
            hasher.finalize().to_hex().chars().take(MARK_LEN).collect()
        });
        Self { provider: provider.into(), source, mark }
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ' ');
        let (source, mark, provider) = (parts.next()?, parts.next()?, parts.next()?);
        let source = KeySource::ALL.into_iter().find(|it| it.as_str() == source)?;
        let mark = (mark != UNMARKED).then(|| mark.into());
        Some(Self { provider: provider.into(), source, mark })
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = self.mark.as_deref().unwrap_or(UNMARKED);
        write!(f, "{} {mark} {}", self.source.as_str(), self.provider)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mark_tells_keys_apart_and_words_have_none() {
        let of = |value: &str| KeyName::new("p", KeySource::Own, Some(value)).mark;
        let (one, other) = ("sk-Zk3v9QpL0xWm2RtYb8Hd", "sk-Zk3v9QpL0xWm2RtYb8He");
        assert_eq!(of(one), of(&format!(" {one}\n")));
        assert_ne!(of(one), of(other));
        assert_eq!(of(one).unwrap().len(), MARK_LEN);
        assert_eq!(of("lm-studio"), None);
        assert_eq!(KeyName::new("p", KeySource::Nowhere, None).mark, None);
    }

    proptest! {
        #[test]
        fn a_name_is_read_back_and_has_nothing_of_the_key(
            provider in "[a-z][a-z0-9 -]{0,20}", at in 0..5usize, key in "[A-Za-z0-9]{24,60}"
        ) {
            let name = KeyName::new(&provider, KeySource::ALL[at], Some(&key));
            let text = name.to_string();
            prop_assert_eq!(KeyName::parse(&text), Some(name));
            prop_assert!(!text.contains(&key[..9]));
        }
    }
}
