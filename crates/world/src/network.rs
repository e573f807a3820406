//! How connections are made and accepted.

use async_trait::async_trait;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use tokio::io::{AsyncRead, AsyncWrite};

/// A connection: bytes both ways.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// What accepts connections.
#[async_trait]
pub trait Listener: Send + Sync {
    /// Waits for the next connection.
    async fn accept(&self) -> io::Result<(Box<dyn Stream>, SocketAddr)>;

    /// Where it listens; a port of 0 was replaced by the one it got.
    fn local_addr(&self) -> io::Result<SocketAddr>;
}

/// Makes and accepts connections.
#[async_trait]
pub trait Network: Send + Sync {
    /// Begins to listen.
    async fn listen(&self, address: SocketAddr) -> io::Result<Box<dyn Listener>>;

    /// Takes over a listening TCP socket that was opened elsewhere, such as inside the network
    /// namespace of a child.
    fn adopt(&self, _descriptor: OwnedFd) -> io::Result<Box<dyn Listener>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this network has no descriptors"))
    }

    /// The addresses of a name, in the order to try them, each with `port`. A literal
    /// address is its own answer. Never empty: a name without an address is an error.
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;

    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>>;
}
