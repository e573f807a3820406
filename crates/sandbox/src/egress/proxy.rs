//! The way out of a child process: a listener that speaks HTTP as a forward proxy.
//!
//! One request a connection, in both directions, so that no byte of one exchange can be
//! taken for the beginning of the next.

use super::Egress;
use super::dial::{DialError, Patience};
use super::head::{Request, Target, Unfit, read_head};
use super::ledger::EgressVia;
use super::meter::Allowance;
use super::passage::{Child, Passage, ProxyLimits, answer};
use super::policy::EgressRefusal;
use super::{exchange, tunnel};
use insula_world::{Listener, Stream};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
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
    passage: Passage,
    allowance: Arc<Allowance>,
    requests_left: AtomicU64,
}

impl Proxy {
    /// A proxy, until `cancel`.
    pub fn new(egress: Egress, limits: ProxyLimits, cancel: CancellationToken) -> Self {
        Self {
            allowance: Arc::new(Allowance::new(limits.bytes_max)),
            requests_left: AtomicU64::new(limits.requests_max),
            passage: Passage { egress, limits, cancel },
        }
    }

    /// Serves until it is cancelled; then cuts what is open, and returns when every end is on
    /// record. Dropping the future cuts everything at once.
    pub async fn serve(self, listener: Box<dyn Listener>) {
        let itself = listener.local_addr().ok();
        let proxy = Arc::new(self);
        let slots = Arc::new(Semaphore::new(proxy.passage.limits.connections_max));
        let mut open = JoinSet::new();
        loop {
            let arrival = async {
                // It is never closed, so there is always a slot to wait for.
                let slot = slots.clone().acquire_owned().await.ok();
                (slot, listener.accept().await)
            };
            tokio::select! {
                biased;
                () = proxy.passage.cancel.cancelled() => break,
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
                        proxy.passage.egress.world.clock.sleep(ACCEPT_REST).await;
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
        let head = self
            .passage
            .unless_cancelled(self.passage.limits.head, read_head(&mut child.reader))
            .await;
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
            let dialled = self.passage.egress.dial(
                EgressVia::Proxy,
                destination,
                self.patience(),
                &self.allowance,
                itself,
            );
            tokio::select! {
                biased;
                () = self.passage.cancel.cancelled() => Err(None),
                dialled = dialled => dialled.map_err(Some),
            }
        };
        match dialling.await {
            Ok(dialled) => match &request.target {
                Target::Tunnel => tunnel::run(&self.passage, child, &request, dialled).await,
                Target::Path(path) => {
                    exchange::run(&self.passage, child, &request, path, dialled).await
                }
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
            self.passage
                .egress
                .refuse(EgressVia::Proxy, destination.as_ref(), refusal.clone())
                .await;
        }
        let status = if matches!(refusal, EgressRefusal::Malformed(_)) { 400 } else { 403 };
        answer(child, status, &refusal.to_string()).await
    }

    fn patience(&self) -> Patience {
        Patience { resolve: self.passage.limits.resolve, connect: self.passage.limits.connect }
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
        let _ = self.passage.unless_cancelled(LINGER_WAIT, ending).await;
    }
}
