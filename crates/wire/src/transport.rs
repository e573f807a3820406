//! The way out: one pool of connections for everyone, over the network of the world.
//!
//! A connection carries no identity; keys are headers of single requests. It goes back to
//! the pool only after its answer was read to the end, so that no byte of one answer can
//! reach another. Redirects are not followed: a server does not choose where keys go.

use crate::body::Body;
use crate::connect::{Connector, WorldTimer};
use crate::fault::{Phase, Timeouts, WireFault};
use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::rt::TokioExecutor;
pub use insula_world::tls::TlsError;
use insula_world::tls::{Tickets, connector};
use insula_world::{Clock, World};
use rustls::pki_types::CertificateDer;
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Connections kept open to one server while nobody uses them. More are made when needed;
/// what is above this is closed after use.
const IDLE_CONNECTIONS_MAX: usize = 64;
/// How long an unused connection is kept. Below the minute after which common servers close, and
/// no longer than it takes to see that it is not needed: one holds some thirty kilobytes.
const IDLE_CONNECTION_KEPT: Duration = Duration::from_secs(20);

/// The pool of connections, shared by all who clone it.
#[derive(Clone)]
pub struct Transport {
    client: Client<Connector, Full<Bytes>>,
    connector: Arc<Connector>,
    clock: Arc<dyn Clock>,
}

impl Transport {
    /// A pool over the network of `world`. `roots` are certificate authorities, in DER, to
    /// trust beside the public ones.
    pub fn new(world: &World, roots: &[Vec<u8>]) -> Result<Self, TlsError> {
        let roots = roots.iter().map(|der| CertificateDer::from(der.clone()));
        let tls = connector(world.clock.clone(), roots, Tickets::Kept)?;
        Ok(Self::over(Connector::new(world, tls), world.clock.clone()))
    }

    fn over(connector: Connector, clock: Arc<dyn Clock>) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
            .pool_idle_timeout(IDLE_CONNECTION_KEPT)
            .pool_timer(WorldTimer(clock.clone()))
            .build(connector.clone());
        Self { client, connector: Arc::new(connector), clock }
    }

    /// Another pool over the same network: for somebody whose connections nobody else may use,
    /// so that neither a server nor its answers can tell one by the other.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self::over(self.connector.apart(), self.clock.clone())
    }

    /// What makes connections that are no requests.
    pub(crate) fn connector(&self) -> &Connector {
        &self.connector
    }

    /// The clock that answers are waited for by.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Sends one request and waits for the head of its answer. Dropping the future closes
    /// the connection the request went out on.
    pub async fn send(
        &self,
        mut request: http::Request<Full<Bytes>>,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<http::Response<Body>, WireFault> {
        let mut connection = capture_connection(&mut request);
        let late = async {
            tokio::select! {
                _ = connection.wait_for_connection_metadata() => {}
                () = self.clock.sleep(limits.connect) => {
                    return WireFault::TimedOut { phase: Phase::Connect, waited: limits.connect };
                }
            }
            self.clock.sleep(limits.first_byte).await;
            WireFault::TimedOut { phase: Phase::FirstByte, waited: limits.first_byte }
        };
        let response = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(WireFault::Cancelled),
            response = self.client.request(request) => response.map_err(|error| fault(&error))?,
            fault = late => return Err(fault),
        };
        Ok(response.map(|incoming| Body::new(incoming, self.clock.clone(), limits, cancel)))
    }
}

/// What a failed exchange means. The innermost cause is the one worth telling.
fn fault(error: &hyper_util::client::legacy::Error) -> WireFault {
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        why = inner.to_string();
        if inner.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
            return WireFault::Garbage { what: format!("not HTTP: {why}") };
        }
        cause = inner.source();
    }
    // A request that a kept connection refused before its first byte was sent is tried again
    // by the pool, on another one. So whatever else fails here may have been read.
    if error.is_connect() { WireFault::Unreachable { why } } else { WireFault::Lost { why } }
}
