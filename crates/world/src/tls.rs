//! TLS with one implementation (rustls over ring) and with the clock of the world, for all who
//! connect to somebody. Whom to connect to, and whether, is decided above.

use crate::clock::Clock;
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::TlsConnector;

/// Whether a host may recognise a visitor by a ticket it gave out before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tickets {
    /// It may: the visitor is always the same.
    Kept,
    /// It may not: a ticket would let a host recognise one agent's visit in another's.
    Refused,
}

/// TLS could not be set up, or a root certificate is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("TLS can't be set up: {0}")]
pub struct TlsError(String);

/// Trusts the public authorities and `extra` ones.
pub fn connector(
    clock: Arc<dyn Clock>,
    extra: impl IntoIterator<Item = CertificateDer<'static>>,
    tickets: Tickets,
) -> Result<TlsConnector, TlsError> {
    let told = |error: rustls::Error| TlsError(error.to_string());
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for root in extra {
        roots.add(root).map_err(told)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_details(provider, Arc::new(WorldTime(clock)))
        .with_safe_default_protocol_versions()
        .map_err(told)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    if tickets == Tickets::Refused {
        config.resumption = Resumption::disabled();
    }
    Ok(TlsConnector::from(Arc::new(config)))
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
