//! TLS with one implementation (rustls over ring), and with the clock of the world.

use insula_world::Clock;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::TlsConnector;

/// Trusts the public authorities and `extra` ones.
pub(super) fn connector(
    clock: Arc<dyn Clock>,
    extra: impl Iterator<Item = CertificateDer<'static>>,
) -> Result<TlsConnector, rustls::Error> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for root in extra {
        roots.add(root)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_details(provider, Arc::new(WorldTime(clock)))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
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
