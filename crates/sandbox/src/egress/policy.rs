//! What may be reached: one value a generation, asked before a name is looked up and after.
//! Pure; it opens nothing.

use super::address::{Reserved, reserved};
use insula_domain::{Host, HostError, HostPattern, NetworkGrants, Scheme, parse_authority};
use std::fmt;
use std::net::IpAddr;

/// The one name whose entry in the list stands for this machine.
const LOCALHOST: &str = "localhost";

/// Longest piece of what was asked for that a refusal repeats.
const SHOWN_LEN_MAX: usize = 260;

/// Where a connection wants to go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EgressDestination {
    /// The host, in normal form.
    pub host: Host,
    pub port: u16,
    /// What is spoken there.
    pub scheme: Scheme,
}

impl EgressDestination {
    /// Reads `host` or `host:port`, strictly: no user, no other spelling of an address.
    pub fn parse(authority: &str, scheme: Scheme) -> Result<Self, EgressRefusal> {
        let spelling = |error| EgressRefusal::Spelling { asked: shown(authority), error };
        let (host, port) = parse_authority(authority).map_err(spelling)?;
        Ok(Self { host, port: port.unwrap_or(scheme.default_port()), scheme })
    }
}

impl fmt::Display for EgressDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A destination that is on the list, and by which entry. Its addresses are still unchecked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permit {
    pub destination: EgressDestination,
    /// The entry of `network.allow` that covers it.
    pub rule: HostPattern,
}

/// Why something is not reached. Its text is for whoever asked: it names what was refused, the
/// rule, and the setting that would change it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressRefusal {
    /// no entry covers it
    #[error(
        "`{0}` is refused: no entry of `network.allow` covers it; \
         `{0}` in `network.allow` of this agent would grant it"
    )]
    NotListed(EgressDestination),
    /// the host is listed, at another port
    #[error(
        "`{destination}` is refused: `network.allow` has this host, but not this port{}; \
         `{destination}` in `network.allow` of this agent would grant it",
        usual_port(.destination.scheme)
    )]
    Port {
        /// Where to.
        destination: EgressDestination,
    },
    /// not plainly a host
    #[error("`{asked}` is refused: {error}")]
    Spelling {
        /// What was asked for, shortened.
        asked: String,
        /// What is wrong with it.
        error: HostError,
    },
    /// a name that leads inside
    #[error(
        "`{destination}` is refused: it leads to {address}, {class}; {}",
        grant_hint(*.address, .destination.port, *.class)
    )]
    Address {
        /// Where to.
        destination: EgressDestination,
        /// What its name resolved to.
        address: IpAddr,
        /// What that is.
        class: Reserved,
    },
    /// a way back into the proxy
    #[error("`{0}` is refused: it is this proxy")]
    Itself(EgressDestination),
    /// TLS that names another host, or none
    #[error("`{destination}` is refused: {why}")]
    Tls {
        /// Where to.
        destination: EgressDestination,
        /// What the greeting did.
        why: TlsRefusal,
    },
    /// not HTTP as a proxy wants it
    #[error("the request is refused: {0}")]
    Malformed(&'static str),
    /// a limit of this proxy
    #[error("`{destination}` is refused: this child has had its {what}")]
    Exhausted {
        /// Where to.
        destination: EgressDestination,
        /// Which limit.
        what: &'static str,
    },
    /// the decision could not be written down
    #[error("`{0}` is refused: the decision can't be recorded now")]
    Unrecorded(EgressDestination),
}

/// What is wrong with the first message of TLS.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsRefusal {
    /// it is something else
    #[error("a tunnel carries TLS, and this is not TLS")]
    NotTls,
    /// it breaks the rules of TLS
    #[error("its TLS greeting is broken ({0})")]
    Broken(&'static str),
    /// no server name
    #[error("its TLS greeting names no server (SNI), so it can't be checked")]
    Nameless,
    /// encrypted client hello
    #[error("its TLS greeting hides the server's name (ECH); turn ECH off in the client")]
    Hidden,
    /// the names differ
    #[error("its TLS greeting names another server, `{0}`")]
    Other(String),
}

/// The rules of one agent's network, built once a generation.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    grants: NetworkGrants,
}

impl Policy {
    /// A policy that allows what `grants` allow.
    pub fn new(grants: NetworkGrants) -> Self {
        Self { grants }
    }

    /// Whether nothing at all can be reached.
    pub fn is_none(&self) -> bool {
        self.grants.is_none()
    }

    /// The question before a name is looked up: is it on the list? An address that nobody may
    /// reach unless it is granted as such is on the list only as such.
    pub fn decide(&self, destination: &EgressDestination) -> Result<Permit, EgressRefusal> {
        let EgressDestination { host, port, scheme } = destination;
        if let Some(rule) = self.grants.reaches(host, *port, *scheme) {
            return Ok(Permit { destination: destination.clone(), rule: rule.clone() });
        }
        if self.grants.allows(&host.to_string()) {
            return Err(EgressRefusal::Port { destination: destination.clone() });
        }
        Err(EgressRefusal::NotListed(destination.clone()))
    }

    /// The question after: may this address be connected to for that permit? The internet may;
    /// anything else only where the list has this very address, or `localhost` for loopback.
    pub fn check_address(&self, permit: &Permit, address: IpAddr) -> Result<(), EgressRefusal> {
        let Some(class) = reserved(address) else { return Ok(()) };
        let EgressDestination { host, port, scheme } = &permit.destination;
        let local = class == Reserved::Loopback && host.name() == Some(LOCALHOST);
        let exact = || self.grants.reaches(&address.into(), *port, *scheme).is_some();
        if class.grantable() && (local || exact()) {
            return Ok(());
        }
        Err(EgressRefusal::Address { destination: permit.destination.clone(), address, class })
    }
}

fn usual_port(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Http => " (80 is the one for plain HTTP)",
        Scheme::Https => " (443 is the one for TLS)",
    }
}

fn grant_hint(address: IpAddr, port: u16, class: Reserved) -> String {
    if class.grantable() {
        let host = Host::from(address);
        format!("`{host}:{port}` in `network.allow` of this agent would grant that address")
    } else {
        "no setting grants it".to_owned()
    }
}

/// What was asked for, fit to be printed: short, and without control characters.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(SHOWN_LEN_MAX).flat_map(char::escape_default).collect()
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
