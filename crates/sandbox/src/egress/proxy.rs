//! The way out of a child process: a listener that speaks HTTP as a forward proxy.
//!
//! One request a connection, in both directions, so that no byte of one exchange can be
//! taken for the beginning of the next.

use super::Egress;
use super::dial::{DialError, Patience};
use super::head::{Request, Target, Unfit, read_head};
use super::ledger::{EgressDecision, EgressVia, Ending};
use super::meter::{Allowance, Meter, within};
use super::policy::{EgressDestination, EgressRefusal};
use super::{exchange, tunnel};
use insula_world::{Listener, Stream};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader, ReadHalf, WriteHalf};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Bytes read from the child at once.
const BUFFER_LEN: usize = 16 * 1024;
/// How long accepting rests after it failed, which it does when descriptors run out.
const ACCEPT_REST: Duration = Duration::from_millis(100);
/// What a child may still send after its answer, before the connection is cut. Closing over
/// unread bytes would take the answer with it.
const LINGER_LEN_MAX: usize = 256 * 1024;
/// How long that may take.
const LINGER_WAIT: Duration = Duration::from_secs(2);

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

/// What the environment of a child says of its proxy. A program that does not look there has
/// no network.
pub fn environment(proxy: SocketAddr) -> [(&'static str, String); 7] {
    let url = format!("http://{proxy}");
    [
        // In both cases: curl takes `http_proxy` only in small letters, others only in large.
        ("http_proxy", url.clone()),
        ("https_proxy", url.clone()),
        ("HTTP_PROXY", url.clone()),
        ("HTTPS_PROXY", url),
        // Nothing goes past it, not even what looks local.
        ("no_proxy", String::new()),
        ("NO_PROXY", String::new()),
        ("NODE_USE_ENV_PROXY", "1".to_owned()),
    ]
}

/// The proxy of one child.
pub struct Proxy {
    egress: Egress,
    limits: ProxyLimits,
    allowance: Arc<Allowance>,
    requests_left: AtomicU64,
    cancel: CancellationToken,
}

/// The child's side of one connection.
pub(super) struct Child {
    pub(super) reader: BufReader<ReadHalf<Box<dyn Stream>>>,
    pub(super) writer: WriteHalf<Box<dyn Stream>>,
}

impl Proxy {
    /// A proxy, until `cancel`.
    pub fn new(egress: Egress, limits: ProxyLimits, cancel: CancellationToken) -> Self {
        Self {
            egress,
            limits,
            allowance: Arc::new(Allowance::new(limits.bytes_max)),
            requests_left: AtomicU64::new(limits.requests_max),
            cancel,
        }
    }

    /// Serves until it is cancelled; then cuts what is open, and returns when every end is on
    /// record. Dropping the future cuts everything at once.
    pub async fn serve(self, listener: Box<dyn Listener>) {
        let itself = listener.local_addr().ok();
        let proxy = Arc::new(self);
        let slots = Arc::new(Semaphore::new(proxy.limits.connections_max));
        let mut open = JoinSet::new();
        loop {
            let arrival = async {
                // It is never closed, so there is always a slot to wait for.
                let slot = slots.clone().acquire_owned().await.ok();
                (slot, listener.accept().await)
            };
            tokio::select! {
                biased;
                () = proxy.cancel.cancelled() => break,
                Some(_) = open.join_next() => {}
                (slot, arrived) = arrival => match arrived {
                    Ok((stream, _)) => {
                        let proxy = proxy.clone();
                        open.spawn(async move {
                            proxy.attend(stream, itself).await;
                            drop(slot);
                        });
                    }
                    Err(error) => {
                        tracing::debug!(%error, "the egress proxy can't accept");
                        proxy.egress.world.clock.sleep(ACCEPT_REST).await;
                    }
                },
            }
        }
        while open.join_next().await.is_some() {}
    }

    async fn attend(&self, stream: Box<dyn Stream>, itself: Option<SocketAddr>) {
        let (reader, writer) = tokio::io::split(stream);
        let reader = BufReader::with_capacity(BUFFER_LEN, reader);
        let mut child = Child { reader, writer };
        let head = self.unless_cancelled(self.limits.head, read_head(&mut child.reader)).await;
        let request = match head {
            Ok(Some(head)) => Request::parse(&head),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(EgressRefusal::Malformed("its head is too long").into())
            }
            // Someone who says nothing, or is gone, has asked for nothing.
            Ok(None) | Err(_) => return,
        };
        let answered = match request {
            Ok(request) => self.admit(&mut child, request, itself).await,
            Err(unfit) => self.turn_away(&mut child, unfit).await,
        };
        if answered.is_ok() {
            self.linger(child).await;
        }
    }

    async fn admit(
        &self,
        child: &mut Child,
        request: Request,
        itself: Option<SocketAddr>,
    ) -> io::Result<()> {
        let destination = &request.destination;
        if !self.count_request() {
            // Not on record: it is the record that this limit protects.
            let what = "number of requests";
            let refusal = EgressRefusal::Exhausted { destination: destination.clone(), what };
            return answer(child, 429, &refusal.to_string()).await;
        }
        let dialling = async {
            let dialled = self.egress.dial(
                EgressVia::Proxy,
                destination,
                self.patience(),
                &self.allowance,
                itself,
            );
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(None),
                dialled = dialled => dialled.map_err(Some),
            }
        };
        match dialling.await {
            Ok(dialled) => match &request.target {
                Target::Tunnel => tunnel::run(self, child, &request, dialled).await,
                Target::Path(path) => exchange::run(self, child, &request, path, dialled).await,
            },
            Err(None) => Err(io::ErrorKind::ConnectionAborted.into()),
            Err(Some(DialError::Refused(refusal))) => {
                answer(child, 403, &refusal.to_string()).await
            }
            Err(Some(DialError::Unreachable { destination, why })) => {
                let status = if why.kind() == io::ErrorKind::TimedOut { 504 } else { 502 };
                answer(child, status, &format!("`{destination}` can't be reached: {why}")).await
            }
        }
    }

    /// Whether there is one more request left.
    fn count_request(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        self.requests_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    async fn turn_away(&self, child: &mut Child, unfit: Unfit) -> io::Result<()> {
        let Unfit { destination, refusal } = unfit;
        if self.count_request() {
            self.egress.refuse(EgressVia::Proxy, destination.as_ref(), refusal.clone()).await;
        }
        let status = if matches!(refusal, EgressRefusal::Malformed(_)) { 400 } else { 403 };
        answer(child, status, &refusal.to_string()).await
    }

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

    pub(super) fn egress(&self) -> &Egress {
        &self.egress
    }

    pub(super) fn limits(&self) -> &ProxyLimits {
        &self.limits
    }

    fn patience(&self) -> Patience {
        Patience { resolve: self.limits.resolve, connect: self.limits.connect }
    }

    /// Ends our side and reads what still comes, so that the answer is not lost.
    async fn linger(&self, mut child: Child) {
        let ending = async {
            child.writer.shutdown().await?;
            let mut left = LINGER_LEN_MAX;
            let mut buffer = [0; 4096];
            loop {
                match child.reader.read(&mut buffer).await? {
                    0 => return Ok(()),
                    read => left = left.checked_sub(read).ok_or(io::ErrorKind::FileTooLarge)?,
                }
            }
        };
        // Whatever it is, the connection ends here.
        let _ = self.unless_cancelled(LINGER_WAIT, ending).await;
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
