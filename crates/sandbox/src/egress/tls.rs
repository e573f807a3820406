//! TLS towards hosts, for requests that we make ourselves.

use insula_domain::Host;
use insula_world::tls::{Tickets, connector};
use insula_world::{Clock, Stream};
use rustls::pki_types::{CertificateDer, ServerName};
use std::io;
use std::sync::Arc;
use tokio_rustls::TlsConnector;

pub use insula_world::tls::TlsError;

/// Whom we trust. Made once for the daemon and cloned into each [`Egress`](super::Egress).
#[derive(Clone)]
pub struct Tls(TlsConnector);

impl Tls {
    /// Trusts the public authorities and `roots`, which are certificates in DER.
    pub fn new(clock: Arc<dyn Clock>, roots: &[Vec<u8>]) -> Result<Self, TlsError> {
        let roots = roots.iter().cloned().map(CertificateDer::from);
        connector(clock, roots, Tickets::Refused).map(Self)
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
