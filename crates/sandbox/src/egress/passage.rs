//! What every connection of a child goes through: the limits it has, the end it can come to, and
//! the record of it. Knows neither tunnels nor requests.

use super::Egress;
use super::ledger::{EgressDecision, EgressVia, Ending};
use super::meter::{Meter, within};
use super::policy::{EgressDestination, EgressRefusal};
use insula_world::Stream;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncWriteExt as _, BufReader, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

/// What one proxy gives its child, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyLimits {
    /// Connections at once. The next wait to be accepted, which only this child notices.
    pub connections_max: usize,
    /// Requests in all, refused ones included, so that a loop can't flood the audit.
    pub requests_max: u64,
    /// Bytes in all, both ways.
    pub bytes_max: u64,
    /// How long a child may take to say what it wants.
    pub head: Duration,
    /// How long a name may take to resolve.
    pub resolve: Duration,
    /// How long one address may take to answer.
    pub connect: Duration,
    /// How long a connection may stand still.
    pub idle: Duration,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            connections_max: connections_max(),
            requests_max: 20_000,
            bytes_max: 4 * 1024 * 1024 * 1024,
            head: Duration::from_secs(15),
            resolve: Duration::from_secs(10),
            connect: Duration::from_secs(5),
            idle: Duration::from_secs(120),
        }
    }
}

/// Connections of one child, each of which takes two descriptors of the daemon: fewer where the
/// daemon may open few files, so that many children at once leave it enough.
fn connections_max() -> usize {
    let allowed = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    allowed.map_or(64, |allowed| usize::try_from(allowed / 128).unwrap_or(64)).clamp(8, 64)
}

/// What all connections of one child have in common.
pub(super) struct Passage {
    pub(super) egress: Egress,
    pub(super) limits: ProxyLimits,
    pub(super) cancel: CancellationToken,
}

/// The child's side of one connection.
pub(super) struct Child {
    pub(super) reader: BufReader<ReadHalf<Box<dyn Stream>>>,
    pub(super) writer: WriteHalf<Box<dyn Stream>>,
}

impl Passage {
    /// Records a refusal of something that was already allowed.
    pub(super) async fn refuse(&self, destination: &EgressDestination, refusal: EgressRefusal) {
        self.egress.refuse(EgressVia::Proxy, Some(destination), refusal).await;
    }

    /// Runs the work of a connection to its end, whichever comes first, and records it.
    pub(super) async fn carry(
        &self,
        decision: &EgressDecision,
        meter: &Meter,
        work: impl Future<Output = io::Result<Ending>>,
    ) -> Ending {
        let ending = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Ending::Stopped,
            worked = work => worked.unwrap_or_else(|error| match error.kind() {
                io::ErrorKind::QuotaExceeded => Ending::LimitReached,
                io::ErrorKind::TimedOut => Ending::TimedOut,
                _ => Ending::Failed,
            }),
            () = meter.stalled(&*self.egress.world.clock, self.limits.idle) => Ending::TimedOut,
        };
        self.egress.ledger.ended(decision, meter.traffic(), ending).await;
        ending
    }

    pub(super) async fn unless_cancelled<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = io::Result<T>>,
    ) -> io::Result<T> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(io::ErrorKind::ConnectionAborted.into()),
            done = within(&*self.egress.world.clock, limit, work) => done,
        }
    }
}

/// Answers with a short text of our own.
pub(super) async fn answer(child: &mut Child, status: u16, text: &str) -> io::Result<()> {
    let reason = match status {
        400 => "Bad Request",
        403 => "Forbidden",
        429 => "Too Many Requests",
        504 => "Gateway Timeout",
        _ => "Bad Gateway",
    };
    let body = format!("{text}\n");
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    child.writer.write_all(head.as_bytes()).await?;
    child.writer.write_all(body.as_bytes()).await?;
    child.writer.flush().await
}
