//! The daemon's end of the channel to a helper.
#![expect(
    clippy::disallowed_types,
    reason = "wraps a socket that this crate made for its helper; connects to nothing"
)]

use crate::channel;
use crate::plan::Report;
use serde::Serialize;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// An end that is waited on by the runtime.
pub(crate) struct Conversation(UnixStream);

impl Conversation {
    /// Takes over the daemon's end of a pair.
    pub(crate) fn new(socket: OwnedFd) -> io::Result<Self> {
        let socket = std::os::unix::net::UnixStream::from(socket);
        socket.set_nonblocking(true)?;
        Ok(Self(UnixStream::from_std(socket)?))
    }

    /// Tells the helper something. Its queue is longer than anything it is told.
    pub(crate) fn tell(
        &self,
        message: &impl Serialize,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        channel::send(&self.0, message, descriptors)
    }

    /// The next report, with its descriptors. `None` once every helper has gone.
    pub(crate) async fn hear(&self) -> io::Result<Option<(Report, Vec<OwnedFd>)>> {
        self.0.async_io(Interest::READABLE, || channel::receive(&self.0)).await
    }
}
