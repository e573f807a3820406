//! Making connections: names, addresses, TLS. All through the network of the world.

use hyper::rt::{Read, ReadBufCursor, Sleep, Timer, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use insula_world::{Clock, Network, Stream, World};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio_rustls::TlsConnector;

/// How long the first family of addresses (IPv6 or IPv4) is tried alone. What RFC 8305
/// recommends: a broken family costs a moment and not the whole time-out.
const FAMILY_HEAD_START: Duration = Duration::from_millis(250);

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

#[derive(Clone)]
pub(crate) struct Connector {
    network: Arc<dyn Network>,
    clock: Arc<dyn Clock>,
    tls: TlsConnector,
}

impl Connector {
    pub(crate) fn new(world: &World, tls: TlsConnector) -> Self {
        Self { network: world.network.clone(), clock: world.clock.clone(), tls }
    }

    /// The same with tickets of its own: a server sees no session go on that somebody else began.
    pub(crate) fn apart(&self) -> Self {
        let mut config = ClientConfig::clone(self.tls.config());
        config.resumption = Resumption::default();
        Self { tls: TlsConnector::from(Arc::new(config)), ..self.clone() }
    }

    /// A connection for itself, by the scheme of `uri`: `https` and `wss` with TLS.
    pub(crate) async fn open(&self, uri: &http::Uri) -> io::Result<Box<dyn Stream>> {
        let host = uri.host().ok_or(io::ErrorKind::InvalidInput)?;
        // A literal IPv6 address stands in brackets in a URI and nowhere else.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let secure = matches!(uri.scheme_str(), Some("https" | "wss"));
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let addresses = self.network.resolve(host, port).await?;
        let stream = self.race(&addresses).await?;
        if !secure {
            return Ok(stream);
        }
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(Box::new(self.tls.connect(name, stream).await?))
    }

    /// Tries the addresses of the first one's family in order, and beside them, a moment
    /// later or when those have failed, the others.
    async fn race(&self, addresses: &[SocketAddr]) -> io::Result<Box<dyn Stream>> {
        let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
        let (first, second): (Vec<SocketAddr>, Vec<SocketAddr>) =
            addresses.iter().partition(|address| address.is_ipv6() == first_is_v6);
        if second.is_empty() {
            return self.try_each(&first).await;
        }
        let mut tried_first = std::pin::pin!(self.try_each(&first));
        let why = tokio::select! {
            biased;
            tried = &mut tried_first => match tried {
                Ok(stream) => return Ok(stream),
                Err(error) => Some(error),
            },
            () = self.clock.sleep(FAMILY_HEAD_START) => None,
        };
        if why.is_some() {
            return self.try_each(&second).await;
        }
        let mut tried_second = std::pin::pin!(self.try_each(&second));
        tokio::select! {
            biased;
            tried = &mut tried_first => match tried {
                Ok(stream) => Ok(stream),
                Err(_) => tried_second.await,
            },
            tried = &mut tried_second => match tried {
                Ok(stream) => Ok(stream),
                Err(_) => tried_first.await,
            },
        }
    }

    async fn try_each(&self, addresses: &[SocketAddr]) -> io::Result<Box<dyn Stream>> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for &address in addresses {
            match self.network.connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl tower_service::Service<http::Uri> for Connector {
    type Response = Wire;
    type Error = io::Error;
    type Future = Boxed<io::Result<Wire>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: http::Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move { Ok(Wire(TokioIo::new(connector.open(&uri).await?))) })
    }
}

/// One connection, as the HTTP client wants it.
pub(crate) struct Wire(TokioIo<Box<dyn Stream>>);

impl Connection for Wire {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl Write for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, slices)
    }
}

/// Lets the pool wait by the clock of the world.
#[derive(Clone)]
pub(crate) struct WorldTimer(pub(crate) Arc<dyn Clock>);

impl Timer for WorldTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        let clock = self.0.clone();
        Box::pin(Sleeping(Mutex::new(Box::pin(async move { clock.sleep(duration).await }))))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        self.sleep(deadline.saturating_duration_since(self.now()))
    }
}

/// A sleep that may be looked at from several threads, which the trait asks for. The lock is
/// never contended: it is only reached through `&mut`.
struct Sleeping(Mutex<Boxed<()>>);

impl Future for Sleeping {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut().poll(cx)
    }
}

impl Sleep for Sleeping {}
