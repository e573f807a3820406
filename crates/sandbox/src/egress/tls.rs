//! TLS towards hosts, for requests that we make ourselves.

use insula_domain::Host;
use insula_world::{Clock, Stream};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::TlsConnector;

/// Whom we trust. Made once for the daemon and cloned into each [`Egress`](super::Egress).
#[derive(Clone)]
pub struct Tls(TlsConnector);

/// TLS could not be set up, or a root certificate is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("TLS can't be set up: {0}")]
pub struct TlsError(String);

impl Tls {
    /// Trusts the public authorities and `roots`, which are certificates in DER. Sessions are
    /// not resumed: a ticket would let a host recognise one agent's visit in another's.
    pub fn new(clock: Arc<dyn Clock>, roots: &[Vec<u8>]) -> Result<Self, TlsError> {
        let told = |error: rustls::Error| TlsError(error.to_string());
        let mut trusted = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for root in roots {
            trusted.add(CertificateDer::from(root.clone())).map_err(told)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_details(provider, Arc::new(WorldTime(clock)))
            .with_safe_default_protocol_versions()
            .map_err(told)?
            .with_root_certificates(trusted)
            .with_no_client_auth();
        config.resumption = rustls::client::Resumption::disabled();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// Greets a host over a connection to it.
    pub(super) async fn greet(
        &self,
        host: &Host,
        stream: Box<dyn Stream>,
    ) -> io::Result<Box<dyn Stream>> {
        let name = match host {
            Host::Address(address) => ServerName::from(*address),
            Host::Name(name) => ServerName::try_from(name.to_string()).map_err(io::Error::other)?,
        };
        Ok(Box::new(self.0.connect(name, stream).await?))
    }
}

/// The moment certificates are checked at.
struct WorldTime(Arc<dyn Clock>);

impl fmt::Debug for WorldTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorldTime")
    }
}

impl TimeProvider for WorldTime {
    fn current_time(&self) -> Option<UnixTime> {
        let now_ms = u64::try_from(self.0.now().as_millis()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_millis(now_ms)))
    }
}
