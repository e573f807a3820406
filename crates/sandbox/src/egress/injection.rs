//! Credentials that are added on the way out, and that neither child nor model ever sees.

use super::policy::EgressDestination;
use http::{HeaderName, HeaderValue};
use insula_domain::network::is_credential_header;
use insula_domain::{HostPattern, Scheme};
use secrecy::{ExposeSecret as _, SecretString};
use std::fmt;

/// One credential for one host: a header that is set on requests to it.
#[derive(Clone)]
pub struct Injection {
    host: HostPattern,
    header: HeaderName,
    value: SecretString,
    carriage: Carriage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carriage {
    InsideTls,
    AlsoInTheClear,
}

/// Why a credential can't be a header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InjectionError {
    /// the name is no header's, or one that frames the message
    #[error("`{0}` can't be set on requests: it is no header's name, or it frames the message")]
    Header(String),
    /// the value has characters that headers don't carry; it is not shown
    #[error("the value for header `{0}` has characters that headers can't carry")]
    Value(HeaderName),
}

impl Injection {
    /// Takes a credential, checked once, so that setting it can't fail later.
    pub fn new(
        host: HostPattern,
        header: &str,
        value: SecretString,
    ) -> Result<Self, InjectionError> {
        let name: HeaderName =
            header.parse().map_err(|_| InjectionError::Header(super::policy::shown(header)))?;
        if !is_credential_header(name.as_str()) {
            return Err(InjectionError::Header(name.to_string()));
        }
        if HeaderValue::from_str(value.expose_secret()).is_err() {
            return Err(InjectionError::Value(name));
        }
        Ok(Self { host, header: name, value, carriage: Carriage::InsideTls })
    }

    /// Lets it go out over plain HTTP as well. Without this a child could ask for `http://…`
    /// and have the credential sent where everyone on the way reads it.
    #[must_use]
    pub fn also_in_the_clear(self) -> Self {
        Self { carriage: Carriage::AlsoInTheClear, ..self }
    }

    /// The header it sets.
    pub fn header(&self) -> &HeaderName {
        &self.header
    }

    /// Whether it belongs to a destination.
    pub fn is_for(&self, destination: &EgressDestination) -> bool {
        let EgressDestination { host, port, scheme } = destination;
        let carried = *scheme == Scheme::Https || self.carriage == Carriage::AlsoInTheClear;
        carried && self.host.covers(host, *port, *scheme)
    }

    /// The value itself, to be looked for in what its host answers.
    pub(super) fn reveal(&self) -> &str {
        self.value.expose_secret()
    }

    /// The value, marked so that nothing downstream prints it.
    pub(super) fn value(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(self.value.expose_secret()).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Injection({} on {})", self.header, self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn injection(host: &str, header: &str, value: &str) -> Result<Injection, InjectionError> {
        Injection::new(HostPattern::parse(host).unwrap(), header, value.to_owned().into())
    }

    #[test]
    fn rule_12_a_credential_prints_as_its_header_and_host() {
        let one = injection("api.org", "Authorization", "Bearer hunter2").unwrap();
        assert_eq!(format!("{one:?}"), "Injection(authorization on api.org)");
        assert_eq!(format!("{:?}", one.value().unwrap()), "Sensitive");
        let broken = injection("api.org", "x-key", "hunter2\r\nx: y").unwrap_err();
        assert!(!broken.to_string().contains("hunter2"));
    }

    #[test]
    fn a_credential_is_for_its_host_and_port_and_never_frames_a_message() {
        let one = injection("api.org:8443", "x-key", "k").unwrap();
        let to = |authority| EgressDestination::parse(authority, Scheme::Https).unwrap();
        assert!(one.is_for(&to("API.org.:8443")));
        assert!(!one.is_for(&to("api.org")) && !one.is_for(&to("evil.org:8443")));
        let plain = EgressDestination::parse("api.org:8443", Scheme::Http).unwrap();
        assert!(!one.is_for(&plain) && one.also_in_the_clear().is_for(&plain));
        for header in ["host", "Content-Length", "transfer-encoding", "a b", ""] {
            assert!(injection("api.org", header, "k").is_err(), "{header}");
        }
    }
}
