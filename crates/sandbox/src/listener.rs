//! The listener that came out of a child's network, as the rest of the program knows one.
#![expect(
    clippy::disallowed_types,
    reason = "turns a descriptor passed by the helper into a listener; opens none"
)]

use async_trait::async_trait;
use insula_world::{Listener, Stream};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use tokio::net::TcpListener;

/// Wraps the descriptor.
pub(crate) fn from_descriptor(descriptor: OwnedFd) -> io::Result<Box<dyn Listener>> {
    let listener = std::net::TcpListener::from(descriptor);
    listener.set_nonblocking(true)?;
    Ok(Box::new(DescriptorListener(TcpListener::from_std(listener)?)))
}

struct DescriptorListener(TcpListener);

#[async_trait]
impl Listener for DescriptorListener {
    async fn accept(&self) -> io::Result<(Box<dyn Stream>, SocketAddr)> {
        let (stream, peer) = self.0.accept().await?;
        stream.set_nodelay(true)?;
        Ok((Box::new(stream), peer))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}
