//! Which hosts an agent's programs may reach, by name, address and port. Knows nothing of how
//! a name is looked up, or of which addresses are private.

// From `core`, which has the addresses without the sockets.
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

/// Longest host name, in bytes: what the domain name system can carry.
pub const HOST_BYTES_MAX: usize = 253;

/// Longest part of a host name between two dots, in bytes.
pub const HOST_LABEL_BYTES_MAX: usize = 63;

/// How a connection speaks: which decides the port where none is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Inside TLS.
    Https,
}

impl Scheme {
    /// The port where none is written.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// As in front of an address: `http` or `https`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// One host in normal form: a name in lower case without a final dot, or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// A name, to be looked up.
    Name(Box<str>),
    /// An address, written as one.
    Address(IpAddr),
}

impl Host {
    /// Reads a host, strictly. An address has one spelling: four decimal numbers, or IPv6 in
    /// brackets. What some resolvers take for an address besides (`127.1`, `0x7f000001`,
    /// `017700000001`) is refused, so that it is never looked up as a name either.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if let Some(inside) = text.strip_prefix('[') {
            let inside = inside.strip_suffix(']').ok_or(HostError::Address)?;
            let address: Ipv6Addr = inside.parse().map_err(|_| HostError::Address)?;
            return Ok(Self::Address(address.into()));
        }
        let text = text.strip_suffix('.').unwrap_or(text);
        let name = check_name(text)?;
        if !ends_in_number(&name) {
            return Ok(Self::Name(name));
        }
        let address: Ipv4Addr = name.parse().map_err(|_| HostError::Address)?;
        Ok(Self::Address(address.into()))
    }

    /// The name, unless it is an address.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Address(_) => None,
        }
    }
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Self {
        Self::Address(address)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// A host, every host below a domain (`*.example.org`, which is not `example.org` itself), or
/// every host of the public web (`public`), at the usual ports or at one that is named
/// (`example.org:8443`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPattern {
    reach: Reach,
    /// Where it is absent: 80 in the clear, 443 inside TLS. Where it is there: both ways.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Reach {
    Exact(Host),
    Below(Box<str>),
    /// Every name that has a dot in it, and so not `localhost`; never an address. What such a name
    /// leads to is looked at when it is looked up.
    Public,
}

/// How the whole public web is written.
pub const PUBLIC_WEB: &str = "public";

/// Why a text is not a host pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// there is no name
    #[error("a host is empty")]
    Empty,
    /// it has a scheme or a path
    #[error("write the host alone, without `https://` or a path")]
    NotAlone,
    /// what follows the colon is no port
    #[error("after a host's `:` stands a port from 1 to 65535")]
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
    /// an address in a spelling that not everyone reads the same way
    #[error("write an address as four decimal numbers (`10.0.0.1`) or in brackets (`[::1]`)")]
    Address,
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
        let (host, port) = split_port(text)?;
        let reach = match host.strip_prefix("*.") {
            Some(domain) if domain.contains('*') => return Err(HostError::Star),
            Some(domain) => Reach::Below(check_name(domain)?),
            None if host.contains('*') => return Err(HostError::Star),
            None if host.ends_with('.') => return Err(HostError::EmptyLabel),
            None if host.eq_ignore_ascii_case(PUBLIC_WEB) => Reach::Public,
            None => Reach::Exact(Host::parse(host)?),
        };
        match &reach {
            // No name ends in a number, so what is below one could only be an address.
            Reach::Below(domain) if ends_in_number(domain) => Err(HostError::Address),
            _ => Ok(Self { reach, port }),
        }
    }

    /// Whether it covers a host, at some port.
    pub fn covers_host(&self, host: &Host) -> bool {
        match (&self.reach, host) {
            (Reach::Exact(exact), host) => exact == host,
            (Reach::Below(domain), Host::Name(name)) => is_below(name, domain),
            (Reach::Public, Host::Name(name)) => name.contains('.'),
            (Reach::Below(_) | Reach::Public, Host::Address(_)) => false,
        }
    }

    /// Whether it stands for the whole public web, and so for nobody in particular.
    pub fn is_public_web(&self) -> bool {
        self.reach == Reach::Public
    }

    /// Whether it covers a host at a port.
    pub fn covers(&self, host: &Host, port: u16, scheme: Scheme) -> bool {
        self.port.unwrap_or(scheme.default_port()) == port && self.covers_host(host)
    }

    /// Whether everything that `other` covers is covered by this one.
    pub(crate) fn covers_all_of(&self, other: &Self) -> bool {
        let hosts = match (&self.reach, &other.reach) {
            (_, Reach::Exact(host)) => self.covers_host(host),
            (Reach::Public, Reach::Below(_) | Reach::Public) => true,
            (Reach::Exact(_), Reach::Below(_))
            | (Reach::Exact(_) | Reach::Below(_), Reach::Public) => false,
            (Reach::Below(wide), Reach::Below(narrow)) => wide == narrow || is_below(narrow, wide),
        };
        // A port that is named is open both ways, the usual ones each in their own.
        hosts && self.port == other.port
    }
}

/// A host and the port behind it. Colons inside brackets belong to the address.
fn split_port(text: &str) -> Result<(&str, Option<u16>), HostError> {
    let after_address = text.rfind(']').map_or(0, |bracket| bracket + 1);
    let Some(colon) = text[after_address..].find(':').map(|at| after_address + at) else {
        return Ok((text, None));
    };
    let digits = &text[colon + 1..];
    if text[..colon].is_empty() {
        return Err(HostError::Empty);
    }
    if digits.contains(':') {
        return Err(HostError::Address);
    }
    Ok((&text[..colon], Some(parse_port(digits)?)))
}

/// A port in decimal digits and nothing else.
fn parse_port(digits: &str) -> Result<u16, HostError> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let port = digits.parse().ok().filter(|&port| plain && port != 0);
    port.ok_or(HostError::Port)
}

/// A host with its port, as in `example.org:8443`; `None` where no port is written.
pub fn parse_authority(text: &str) -> Result<(Host, Option<u16>), HostError> {
    let (host, port) = split_port(text)?;
    Ok((Host::parse(host)?, port))
}

/// The name in lower case, if every part of it is one.
fn check_name(name: &str) -> Result<Box<str>, HostError> {
    if name.is_empty() {
        return Err(HostError::EmptyLabel);
    }
    for label in name.split('.') {
        check_label(label)?;
    }
    if name.len() > HOST_BYTES_MAX {
        return Err(HostError::TooLong);
    }
    Ok(name.to_ascii_lowercase().into_boxed_str())
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

/// Whether the last part of a name is a number, in decimal, octal or hexadecimal: then some
/// resolver takes the whole for an address.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let hexadecimal = last
        .strip_prefix("0x")
        .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hexadecimal || last.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .and_then(|rest| rest.strip_suffix('.'))
        .is_some_and(|rest| !rest.is_empty())
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reach {
            Reach::Exact(host) => host.fmt(f)?,
            Reach::Below(domain) => write!(f, "*.{domain}")?,
            Reach::Public => f.write_str(PUBLIC_WEB)?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_host_or_a_star_and_a_domain_and_nothing_else() {
        for good in [
            "api.github.com",
            "*.example.org",
            "localhost",
            "10.0.0.1",
            "xn--bcher-kva.ch",
            "a.com:443",
            "*.a.com:8443",
            "127.0.0.1:3000",
            "[::1]",
            "[fd00::1]:8080",
            "[fd00::]:8080",
            "1password.com",
            "0xcafe.example",
            "public",
            "public:8443",
        ] {
            assert_eq!(HostPattern::parse(good).unwrap().to_string(), good);
        }
        assert_eq!(HostPattern::parse("API.GitHub.Com").unwrap().to_string(), "api.github.com");
        let long = [&*"a".repeat(63); 4].join(".");
        for (bad, why) in [
            ("", HostError::Empty),
            ("https://a.com", HostError::NotAlone),
            ("a.com/x", HostError::NotAlone),
            ("a.com:", HostError::Port),
            ("a.com:0", HostError::Port),
            ("a.com:65536", HostError::Port),
            ("a.com:+80", HostError::Port),
            ("a.com:80a", HostError::Port),
            (":80", HostError::Empty),
            ("::1", HostError::Empty),
            ("fd00::1", HostError::Address),
            ("[::1", HostError::Address),
            ("[::1]x", HostError::Address),
            ("[fe80::1%eth0]", HostError::Address),
            ("[127.0.0.1]", HostError::Address),
            ("127.1", HostError::Address),
            ("2130706433", HostError::Address),
            ("0x7f000001", HostError::Address),
            ("127.0.0.0x1", HostError::Address),
            ("0177.0.0.1", HostError::Address),
            ("1.2.3.4.5", HostError::Address),
            ("256.0.0.1", HostError::Address),
            ("a.1", HostError::Address),
            ("*.0.0.1", HostError::Address),
            ("*.0x1", HostError::Address),
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
        // As long as it may be: four parts of 62 letters and their dots are 251.
        let longest = format!("{}.a", [&*"a".repeat(62); 4].join("."));
        assert_eq!((longest.len(), HostPattern::parse(&longest).is_ok()), (253, true));
        assert!(HostPattern::parse(&"a".repeat(63)).is_ok());
    }

    #[test]
    fn a_host_has_a_name_or_an_address_and_a_scheme_has_a_port() {
        assert_eq!(Host::parse("Docs.rs.").unwrap().name(), Some("docs.rs"));
        assert_eq!(Host::parse("10.0.0.1").unwrap().name(), None);
        let schemes = [Scheme::Http, Scheme::Https];
        assert_eq!(schemes.map(Scheme::as_str), ["http", "https"]);
        assert_eq!(schemes.map(Scheme::default_port), [80, 443]);
    }

    #[test]
    fn the_public_web_is_every_name_with_a_dot_and_no_address() {
        let public = HostPattern::parse(PUBLIC_WEB).unwrap();
        for yes in ["example.org", "a.b.c", "PUBLIC.example."] {
            assert!(public.covers_host(&Host::parse(yes).unwrap()), "{yes}");
        }
        for no in
            ["localhost", "intranet", "public", "8.8.8.8", "127.0.0.1", "[::1]", "[2001:db8::1]"]
        {
            assert!(!public.covers_host(&Host::parse(no).unwrap()), "{no}");
        }
    }

    #[test]
    fn one_pattern_covers_another_by_hosts_and_port() {
        let covers = |one: &str, other: &str| {
            let parse = |text| HostPattern::parse(text).unwrap();
            parse(one).covers_all_of(&parse(other))
        };
        for (wide, narrow) in [
            ("a.org", "a.org"),
            ("*.a.org", "x.a.org"),
            ("*.a.org", "*.a.org"),
            ("*.a.org", "*.x.a.org"),
            ("*.a.org:80", "x.a.org:80"),
            ("public", "a.org"),
            ("public", "*.a.org"),
            ("public:80", "public:80"),
        ] {
            assert!(covers(wide, narrow), "{wide} {narrow}");
        }
        for (one, other) in [
            ("a.org", "b.org"),
            ("a.org", "*.a.org"),
            ("*.a.org", "a.org"),
            ("*.x.a.org", "*.a.org"),
            ("*.a.org", "*.ba.org"),
            ("a.org", "a.org:80"),
            ("a.org:80", "a.org"),
            ("*.a.org", "*.a.org:443"),
            ("*.org", "public"),
            ("a.org", "public"),
            ("public", "localhost"),
            ("public", "10.0.0.1"),
            ("public", "a.org:8443"),
        ] {
            assert!(!covers(one, other), "{one} {other}");
        }
    }
}
