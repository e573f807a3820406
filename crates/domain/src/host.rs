//! Which hosts an agent's programs may reach, by name. Knows nothing of addresses, ports or
//! how a name is looked up.

use std::collections::BTreeSet;
use std::fmt;

/// Longest host name, in bytes: what the domain name system can carry.
pub const HOST_BYTES_MAX: usize = 253;

/// Longest part of a host name between two dots, in bytes.
pub const HOST_LABEL_BYTES_MAX: usize = 63;

/// A host, or every host below a domain (`*.example.org`, which is not `example.org`
/// itself). Lower case, without a final dot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPattern {
    reach: Reach,
    name: Box<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Reach {
    Exact,
    Below,
}

/// Why a text is not a host pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// there is no name
    #[error("a host is empty")]
    Empty,
    /// it has a scheme or a path
    #[error("write the host alone, without `https://` or a path")]
    NotAlone,
    /// it has a port
    #[error("write the host alone, without a port")]
    Port,
    /// the star is not at the beginning, followed by a dot and a domain
    #[error("`*` stands at the beginning only, as in `*.example.org`")]
    Star,
    /// two dots in a row, or one at an end
    #[error("a host has an empty part: look for a dot too many")]
    EmptyLabel,
    /// a part starts or ends with a hyphen
    #[error("a part of a host starts or ends with `-`")]
    Hyphen,
    /// a character that host names don't have
    #[error(
        "a host has letters a-z, digits, `-`, `_` and dots; write other letters as punycode (`xn--…`)"
    )]
    Alphabet,
    /// the whole or a part is longer than names can be
    #[error("a host has at most {HOST_BYTES_MAX} bytes, each part at most {HOST_LABEL_BYTES_MAX}")]
    TooLong,
}

impl HostPattern {
    /// Reads a pattern, strictly: what is not plainly a host is refused, never guessed at.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        if text.contains('/') {
            return Err(HostError::NotAlone);
        }
        if text.contains(':') {
            return Err(HostError::Port);
        }
        let (reach, name) = match text.strip_prefix("*.") {
            Some(name) => (Reach::Below, name),
            None => (Reach::Exact, text),
        };
        if name.contains('*') {
            return Err(HostError::Star);
        }
        if text.len() > HOST_BYTES_MAX {
            return Err(HostError::TooLong);
        }
        let name = name.to_ascii_lowercase().into_boxed_str();
        for label in name.split('.') {
            check_label(label)?;
        }
        Ok(Self { reach, name })
    }

    /// Whether it covers a host in normal form.
    fn covers(&self, host: &str) -> bool {
        match self.reach {
            Reach::Exact => *self.name == *host,
            Reach::Below => is_below(host, &self.name),
        }
    }

    /// Whether everything that `other` covers is covered by this one.
    fn covers_all_of(&self, other: &Self) -> bool {
        match (self.reach, other.reach) {
            (Reach::Exact, Reach::Below) => false,
            (_, Reach::Exact) => self.covers(&other.name),
            (Reach::Below, Reach::Below) => {
                self.name == other.name || is_below(&other.name, &self.name)
            }
        }
    }
}

fn check_label(label: &str) -> Result<(), HostError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if label.is_empty() {
        Err(HostError::EmptyLabel)
    } else if !label.bytes().all(plain) {
        Err(HostError::Alphabet)
    } else if label.starts_with('-') || label.ends_with('-') {
        Err(HostError::Hyphen)
    } else if label.len() > HOST_LABEL_BYTES_MAX {
        Err(HostError::TooLong)
    } else {
        Ok(())
    }
}

fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .and_then(|rest| rest.strip_suffix('.'))
        .is_some_and(|rest| !rest.is_empty())
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reach {
            Reach::Exact => f.write_str(&self.name),
            Reach::Below => write!(f, "*.{}", self.name),
        }
    }
}

/// Which hosts may be reached: those that every list allows. Without a list, none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetworkGrants {
    lists: Vec<BTreeSet<HostPattern>>,
}

impl NetworkGrants {
    /// No network.
    pub fn none() -> Self {
        Self::default()
    }

    /// What one list allows.
    pub fn allow(hosts: impl IntoIterator<Item = HostPattern>) -> Self {
        Self { lists: vec![hosts.into_iter().collect()] }
    }

    /// What these grants and one more list both allow; nothing where nothing was allowed.
    #[must_use]
    pub fn and(&self, hosts: impl IntoIterator<Item = HostPattern>) -> Self {
        let mut lists = self.lists.clone();
        if !lists.is_empty() {
            lists.push(hosts.into_iter().collect());
        }
        Self { lists }
    }

    /// The lists, of which every one must allow a host.
    pub fn lists(&self) -> &[BTreeSet<HostPattern>] {
        &self.lists
    }

    /// Whether nothing may be reached at all.
    pub fn is_none(&self) -> bool {
        self.lists.is_empty() || self.lists.iter().any(BTreeSet::is_empty)
    }

    /// Whether a host may be reached. Case and one final dot make no difference.
    pub fn allows(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if host.len() > HOST_BYTES_MAX || host.split('.').any(|label| check_label(label).is_err()) {
            return false;
        }
        !self.lists.is_empty()
            && self.lists.iter().all(|list| list.iter().any(|pattern| pattern.covers(&host)))
    }

    /// Whether these grants could allow a host that `other` does not: true unless each list
    /// of `other` is seen to allow all that one of these does.
    pub fn exceeds(&self, other: &Self) -> bool {
        let within = |list: &BTreeSet<HostPattern>, bound: &BTreeSet<HostPattern>| {
            list.iter().all(|it| bound.iter().any(|bound| bound.covers_all_of(it)))
        };
        let bounded = !other.lists.is_empty()
            && other.lists.iter().all(|bound| self.lists.iter().any(|list| within(list, bound)));
        !self.is_none() && !bounded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(texts: &[&str]) -> Vec<HostPattern> {
        texts.iter().map(|text| HostPattern::parse(text).unwrap()).collect()
    }

    #[test]
    fn a_pattern_is_a_host_or_a_star_and_a_domain_and_nothing_else() {
        for good in ["api.github.com", "*.example.org", "localhost", "10.0.0.1", "xn--bcher-kva.ch"]
        {
            assert_eq!(HostPattern::parse(good).unwrap().to_string(), good);
        }
        assert_eq!(HostPattern::parse("API.GitHub.Com").unwrap().to_string(), "api.github.com");
        let long = [&*"a".repeat(63); 4].join(".");
        for (bad, why) in [
            ("", HostError::Empty),
            ("https://a.com", HostError::NotAlone),
            ("a.com/x", HostError::NotAlone),
            ("a.com:443", HostError::Port),
            ("[::1]", HostError::Port),
            ("*", HostError::Star),
            ("a.*.com", HostError::Star),
            ("*a.com", HostError::Star),
            ("*.*.com", HostError::Star),
            ("*.", HostError::EmptyLabel),
            ("a..com", HostError::EmptyLabel),
            (".a.com", HostError::EmptyLabel),
            ("a.com.", HostError::EmptyLabel),
            ("a b.com", HostError::Alphabet),
            (" a.com", HostError::Alphabet),
            ("a.com\0", HostError::Alphabet),
            ("user@a.com", HostError::Alphabet),
            ("bücher.ch", HostError::Alphabet),
            ("-a.com", HostError::Hyphen),
            (&long, HostError::TooLong),
            (&"a".repeat(64), HostError::TooLong),
        ] {
            assert_eq!(HostPattern::parse(bad), Err(why), "{bad}");
        }
    }

    #[test]
    fn a_host_must_be_in_every_list_and_no_list_allows_nothing() {
        let grants = NetworkGrants::allow(hosts(&["api.github.com", "*.example.org"]));
        for yes in ["api.github.com", "API.github.com.", "a.example.org", "a.b.example.org"] {
            assert!(grants.allows(yes), "{yes}");
        }
        for no in [
            "github.com",
            "example.org",
            "evilexample.org",
            ".example.org",
            "a..example.org",
            "api.github.com.evil.net",
            "api.github.com..",
            "x@a.example.org",
            "",
            ".",
        ] {
            assert!(!grants.allows(no), "{no}");
        }
        let fewer = grants.and(hosts(&["api.github.com", "crates.io"]));
        assert!(fewer.allows("api.github.com"));
        assert!(!fewer.allows("a.example.org") && !fewer.allows("crates.io"));
        assert!(!NetworkGrants::none().allows("api.github.com"));
        assert!(!NetworkGrants::none().and(hosts(&["crates.io"])).allows("crates.io"));
        assert!(!NetworkGrants::allow([]).allows("crates.io"));
    }

    #[test]
    fn more_lists_never_exceed_fewer() {
        let wide = NetworkGrants::allow(hosts(&["*.example.org", "crates.io"]));
        let narrow = NetworkGrants::allow(hosts(&["a.example.org", "*.b.example.org"]));
        assert!(!narrow.exceeds(&wide) && wide.exceeds(&narrow));
        assert!(!wide.and(hosts(&["elsewhere.net"])).exceeds(&wide));
        assert!(!NetworkGrants::none().exceeds(&NetworkGrants::none()));
        assert!(wide.exceeds(&NetworkGrants::none()));
        let below = NetworkGrants::allow(hosts(&["*.crates.io"]));
        assert!(below.exceeds(&wide));
    }
}
