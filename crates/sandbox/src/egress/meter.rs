//! Counting and limiting the bytes of a connection, and noticing that none come.

use super::ledger::Traffic;
use insula_world::{Clock, Stream};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that several connections may still move between them.
pub(super) struct Allowance(AtomicU64);

impl Allowance {
    pub(super) fn new(bytes: u64) -> Self {
        Self(AtomicU64::new(bytes))
    }

    fn is_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn spend(&self, bytes: u64) {
        let less = |left: u64| Some(left.saturating_sub(bytes));
        // It always answers: the closure never says no.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// What one connection has moved.
pub(super) struct Meter {
    up: AtomicU64,
    down: AtomicU64,
    allowance: Arc<Allowance>,
}

impl Meter {
    pub(super) fn new(allowance: Arc<Allowance>) -> Arc<Self> {
        Arc::new(Self { up: AtomicU64::new(0), down: AtomicU64::new(0), allowance })
    }

    pub(super) fn traffic(&self) -> Traffic {
        let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
        Traffic { up: count(&self.up), down: count(&self.down) }
    }

    fn count(&self, which: &AtomicU64, bytes: usize) {
        which.fetch_add(bytes as u64, Ordering::Relaxed);
        self.allowance.spend(bytes as u64);
    }

    /// Returns once nothing has moved for `idle`, which it notices within twice that time.
    pub(super) async fn stalled(&self, clock: &dyn Clock, idle: Duration) {
        let mut before = self.traffic();
        loop {
            clock.sleep(idle).await;
            let now = self.traffic();
            if now == before {
                return;
            }
            before = now;
        }
    }
}

/// A connection to a host whose bytes are counted, and that breaks when they run out.
pub(super) struct Metered {
    stream: Box<dyn Stream>,
    meter: Arc<Meter>,
}

impl Metered {
    pub(super) fn new(stream: Box<dyn Stream>, meter: Arc<Meter>) -> Self {
        Self { stream, meter }
    }

    fn open(&self) -> io::Result<()> {
        match self.meter.allowance.is_used_up() {
            true => Err(io::ErrorKind::QuotaExceeded.into()),
            false => Ok(()),
        }
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.open()?;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.meter.count(&self.meter.down, buffer.filled().len().saturating_sub(before));
        polled
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.open()?;
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if let Poll::Ready(Ok(written)) = polled {
            self.meter.count(&self.meter.up, written);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Waits for something, but not longer than `limit`.
pub(super) async fn within<T>(
    clock: &dyn Clock,
    limit: Duration,
    work: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    tokio::select! {
        biased;
        done = work => done,
        () = clock.sleep(limit) => Err(io::ErrorKind::TimedOut.into()),
    }
}
