//! The way out of our own tools: fetches one address under the policy, and follows redirects
//! only as far as it reaches.

use super::Egress;
use super::cleaning::{Cleaner, PACKED_BY, is_packed};
use super::dial::{DialError, Dialled, Patience};
use super::ledger::{EgressDecision, EgressVia, Ending, Traffic};
use super::meter::{Allowance, Meter, within};
use super::policy::{EgressDestination, EgressRefusal, shown};
use bytes::Bytes;
// From `core`, which has the addresses without the sockets.
use core::net::Ipv4Addr;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST,
    HeaderMap, HeaderValue, LOCATION, PROXY_AUTHORIZATION, TRANSFER_ENCODING,
};
use http::{Method, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper_util::rt::TokioIo;
use insula_domain::{Host, HostError, Scheme};
use insula_vault::ByteStreamRedactor;
use insula_world::Stream;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use url::Url;

/// Bytes of heads and TLS that a fetch may move beside its bodies, for each hop.
const OVERHEAD_LEN_MAX: u64 = 256 * 1024;

/// Why an answer is not passed on.
const UNCLEARED: &str = "it packs its answer though it was asked not to, and what is packed can't be cleared of the credential that was added";

/// What one fetch may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimits {
    /// Redirects that are followed.
    pub redirects_max: usize,
    /// Bytes of the answer's body.
    pub body_len_max: u64,
    /// How long a name may take to resolve.
    pub resolve: Duration,
    /// How long one address may take to answer.
    pub connect: Duration,
    /// How long the answer may stand still.
    pub idle: Duration,
    /// How long the whole may take, body included.
    pub total: Duration,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            redirects_max: 5,
            body_len_max: 8 * 1024 * 1024,
            resolve: Duration::from_secs(10),
            connect: Duration::from_secs(5),
            idle: Duration::from_secs(30),
            total: Duration::from_secs(120),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Fetch {
    pub method: Method,
    /// The address, with its scheme.
    pub url: String,
    /// Headers. Those that frame the message are ours to set.
    pub headers: HeaderMap,
    /// What to send.
    pub body: Bytes,
}

impl Fetch {
    /// Reads an address.
    pub fn get(url: impl Into<String>) -> Self {
        Self { method: Method::GET, url: url.into(), headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// The same with one more header, which our own code wrote.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &'static str) -> Self {
        let name = http::HeaderName::from_static(name);
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }

    /// Sends JSON to an address.
    pub fn post_json(url: impl Into<String>, body: Vec<u8>) -> Self {
        let json = HeaderValue::from_static("application/json");
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, json)]);
        Self { method: Method::POST, url: url.into(), headers, body: body.into() }
    }
}

/// Why something could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// the policy does not let it
    #[error(transparent)]
    Refused(#[from] EgressRefusal),
    /// not an address that can be fetched
    #[error("`{url}` can't be fetched: {why}")]
    Address {
        /// What was asked for, shortened.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// from TLS to the clear
    #[error("`{0}` leads from https to http, which is not followed")]
    Downgrade(EgressDestination),
    /// too many redirects
    #[error("`{0}` leads on and on; redirects are followed {1} times")]
    Redirects(EgressDestination, usize),
    /// no connection, or a broken one
    #[error("`{destination}` can't be reached: {why}")]
    Unreachable {
        /// Where to.
        destination: EgressDestination,
        /// What happened.
        why: String,
    },
    /// too slow
    #[error("`{0}` takes too long")]
    TimedOut(EgressDestination),
    /// too big
    #[error("the answer of `{0}` is longer than {1} bytes")]
    TooLarge(EgressDestination, u64),
}

/// Fetches under a policy. Each fetch has connections of its own: nothing is left behind for
/// the next.
#[derive(Clone)]
pub struct Client {
    egress: Egress,
    limits: ClientLimits,
}

impl Client {
    /// A client.
    pub fn new(egress: Egress, limits: ClientLimits) -> Self {
        Self { egress, limits }
    }

    /// Fetches, up to the head of the final answer. Every redirect is a decision of its own.
    pub async fn fetch(&self, fetch: Fetch) -> Result<Response, FetchError> {
        self.fetch_by(fetch, &mut Vec::new()).await
    }

    /// The same. `reached` has every place that a connection was made to, in order and also where
    /// nothing came of it: whoever is there chose what happened next.
    pub async fn fetch_by(
        &self,
        fetch: Fetch,
        reached: &mut Vec<EgressDestination>,
    ) -> Result<Response, FetchError> {
        let Fetch { mut method, url, mut headers, mut body } = fetch;
        let deadline = self.egress.world.clock.elapsed().saturating_add(self.limits.total);
        let written = url;
        let mut url = Url::parse(&written).map_err(|_| FetchError::Address {
            url: shown(&written),
            why: "it is not an address",
        })?;
        let mut destination = self.read(&url, Some(&written)).await?;
        for _hop in 0..=self.limits.redirects_max {
            let request = self.request(&method, &url, &destination, &headers, &body);
            let sent = self.send(request, &url, &destination, deadline, reached).await?;
            let Some((next, written)) = redirect(&sent, &url) else {
                return Ok(Response { url, ..sent });
            };
            // What leads to the same host need not say which.
            let written = (next.host() != url.host()).then_some(&*written);
            let to = self.read(&next, written).await?;
            if destination.scheme == Scheme::Https && to.scheme == Scheme::Http {
                return Err(FetchError::Downgrade(to));
            }
            if to != destination {
                for private in [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION] {
                    headers.remove(private);
                }
            }
            let keeps = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT];
            if !keeps.contains(&sent.status) && method != Method::HEAD {
                method = Method::GET;
                body = Bytes::new();
                headers.remove(CONTENT_TYPE);
            }
            sent.finish(Ending::Finished).await;
            (url, destination) = (next, to);
        }
        Err(FetchError::Redirects(destination, self.limits.redirects_max))
    }

    /// Where an address leads, by itself and by how its host was `written`. One that can't be
    /// read is on record like any other refusal.
    async fn read(
        &self,
        url: &Url,
        written: Option<&str>,
    ) -> Result<EgressDestination, FetchError> {
        match destination(url, written) {
            Err(FetchError::Refused(refusal)) => {
                Err(FetchError::Refused(self.egress.refuse(EgressVia::Client, None, refusal).await))
            }
            read => read,
        }
    }

    async fn send(
        &self,
        request: http::Request<Full<Bytes>>,
        url: &Url,
        destination: &EgressDestination,
        deadline: Duration,
        reached: &mut Vec<EgressDestination>,
    ) -> Result<Response, FetchError> {
        let clock = &self.egress.world.clock;
        let sent = request.body().size_hint().exact().unwrap_or_default();
        let bytes_max = self.limits.body_len_max.saturating_add(sent);
        let allowance = Arc::new(Allowance::new(bytes_max.saturating_add(OVERHEAD_LEN_MAX)));
        let patience = Patience { resolve: self.limits.resolve, connect: self.limits.connect };
        let dialling = self.egress.dial(EgressVia::Client, destination, patience, &allowance, None);
        let dialled = tokio::select! {
            biased;
            dialled = dialling => dialled,
            () = clock.sleep(deadline.saturating_sub(clock.elapsed())) => {
                return Err(FetchError::TimedOut(destination.clone()));
            }
        };
        let Dialled { stream, meter, decision } = dialled.map_err(|error| match error {
            DialError::Refused(refusal) => FetchError::Refused(refusal),
            DialError::Unreachable { destination, why } => told(&destination, &why),
        })?;
        reached.push(destination.clone());
        let mut open = Open {
            egress: self.egress.clone(),
            decision,
            meter,
            driver: JoinSet::new(),
            told: false,
        };
        let limit = self.limits.idle.min(deadline.saturating_sub(clock.elapsed()));
        let exchanging = exchange(&self.egress, destination, Box::new(stream), request, &mut open);
        match within(&**clock, limit, exchanging).await {
            Ok(answer) => {
                let (head, incoming) = answer.into_parts();
                let cleaner = self.egress.cleaner_for(destination);
                if cleaner.is_some() && is_packed(head.headers.get_all(PACKED_BY).iter()) {
                    open.finish(Ending::Refused).await;
                    return Err(told(destination, &io::Error::other(UNCLEARED)));
                }
                let headers = match &cleaner {
                    Some(cleaner) => cleaner.map(&head.headers),
                    None => head.headers,
                };
                Ok(Response {
                    status: head.status,
                    headers,
                    cleared: cleaner.as_ref().map(Cleaner::body),
                    url: url.clone(),
                    destination: destination.clone(),
                    incoming,
                    limits: self.limits,
                    deadline,
                    read: 0,
                    open,
                })
            }
            Err(why) => {
                open.finish(ending_of(&why)).await;
                Err(told(destination, &why))
            }
        }
    }

    fn request(
        &self,
        method: &Method,
        url: &Url,
        destination: &EgressDestination,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> http::Request<Full<Bytes>> {
        let mut request = http::Request::new(Full::new(body.clone()));
        *request.method_mut() = method.clone();
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        // What the address parser lets through as a path is one.
        *request.uri_mut() = path.parse().unwrap_or_default();
        *request.headers_mut() = headers.clone();
        let set = request.headers_mut();
        for ours in [HOST, CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION, PROXY_AUTHORIZATION] {
            set.remove(ours);
        }
        let host = match destination.port == destination.scheme.default_port() {
            true => destination.host.to_string(),
            false => destination.to_string(),
        };
        if let Ok(host) = HeaderValue::from_str(&host) {
            set.insert(HOST, host);
        }
        set.insert(CONNECTION, HeaderValue::from_static("close"));
        // Packed answers would have to be unpacked under limits of their own.
        set.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        for injection in self.egress.injections_for(destination) {
            if let Some(value) = injection.value() {
                set.insert(injection.header().clone(), value);
            }
        }
        request
    }
}

async fn exchange(
    egress: &Egress,
    destination: &EgressDestination,
    stream: Box<dyn Stream>,
    request: http::Request<Full<Bytes>>,
    open: &mut Open,
) -> io::Result<http::Response<Incoming>> {
    let stream = match destination.scheme {
        Scheme::Http => stream,
        Scheme::Https => egress.tls.greet(&destination.host, stream).await?,
    };
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.map_err(innermost)?;
    open.driver.spawn(async move {
        // An error shows on the side that waits for the answer.
        let _ = connection.await;
    });
    sender.send_request(request).await.map_err(innermost)
}

/// Where an address leads, by the same reading that browsers have; from here on only this
/// value counts, never the text.
fn destination(url: &Url, written: Option<&str>) -> Result<EgressDestination, FetchError> {
    let unfit = |why| FetchError::Address { url: shown(url.as_str()), why };
    let scheme = match url.scheme() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        _ => return Err(unfit("its scheme is neither http nor https")),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(unfit("it has a user name or password"));
    }
    let host = match url.host() {
        Some(url::Host::Ipv4(address)) => {
            let asked = written.filter(|written| !is_spelled_out(url, address, written));
            if let Some(asked) = asked.map(shown) {
                return Err(EgressRefusal::Spelling { asked, error: HostError::Address }.into());
            }
            Host::Address(address.into())
        }
        Some(url::Host::Ipv6(address)) => Host::Address(address.into()),
        Some(url::Host::Domain(name)) => Host::parse(name)
            .map_err(|error| EgressRefusal::Spelling { asked: shown(name), error })?,
        None => return Err(unfit("it has no host")),
    };
    Ok(EgressDestination { host, port: url.port().unwrap_or(scheme.default_port()), scheme })
}

/// Whether an address of four numbers is written as that, where the parser that read it knows
/// other spellings too: one number, fewer numbers, other bases.
fn is_spelled_out(url: &Url, address: Ipv4Addr, written: &str) -> bool {
    let written = written.trim_start();
    let head = url.scheme().len();
    let rest = match written.get(..head) {
        Some(scheme) if scheme.eq_ignore_ascii_case(url.scheme()) => {
            written[head..].strip_prefix(':')
        }
        // Where a redirect leads within the same scheme it need not be written.
        _ => Some(written),
    };
    let rest = rest.and_then(|rest| rest.strip_prefix("//")?.strip_prefix(&address.to_string()));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/', '?', '#']))
}

/// Where an answer sends us instead, if it does, and how that is written.
fn redirect(response: &Response, from: &Url) -> Option<(Url, String)> {
    let redirects = [301, 302, 303, 307, 308].contains(&response.status.as_u16());
    let location = response.headers.get(LOCATION).filter(|_| redirects)?;
    let written = std::str::from_utf8(location.as_bytes()).ok()?;
    Some((from.join(written).ok()?, written.to_owned()))
}

fn innermost(error: hyper::Error) -> io::Error {
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    match cause.downcast_ref::<io::Error>() {
        Some(inner) => io::Error::new(inner.kind(), inner.to_string()),
        None => io::Error::other(cause.to_string()),
    }
}

fn told(destination: &EgressDestination, why: &io::Error) -> FetchError {
    match why.kind() {
        io::ErrorKind::TimedOut => FetchError::TimedOut(destination.clone()),
        _ => FetchError::Unreachable { destination: destination.clone(), why: why.to_string() },
    }
}

fn ending_of(why: &io::Error) -> Ending {
    match why.kind() {
        io::ErrorKind::TimedOut => Ending::TimedOut,
        io::ErrorKind::QuotaExceeded => Ending::LimitReached,
        _ => Ending::Failed,
    }
}

/// One connection of a fetch, whose end is told to the ledger once, also when it is dropped.
struct Open {
    egress: Egress,
    decision: EgressDecision,
    meter: Arc<Meter>,
    /// Drives the connection; ends with this value.
    driver: JoinSet<()>,
    told: bool,
}

impl Open {
    async fn finish(&mut self, ending: Ending) {
        if !std::mem::replace(&mut self.told, true) {
            self.egress.ledger.ended(&self.decision, self.meter.traffic(), ending).await;
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.told {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (ledger, decision) = (self.egress.ledger.clone(), self.decision.clone());
        let traffic: Traffic = self.meter.traffic();
        runtime.spawn(async move { ledger.ended(&decision, traffic, Ending::Stopped).await });
    }
}

/// An answer whose body is still coming. We ask for it unpacked; a host that packs it all the
/// same (`Content-Encoding`) is passed on as it is, so that nothing here can be made to swell.
pub struct Response {
    /// What the host says of it.
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// Where it came from, after all redirects.
    pub url: Url,
    destination: EgressDestination,
    incoming: Incoming,
    /// Clears the body of the credentials that were sent, where there were any.
    cleared: Option<ByteStreamRedactor>,
    limits: ClientLimits,
    deadline: Duration,
    read: u64,
    open: Open,
}

impl Response {
    /// The next piece of the body; `None` at its end.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, FetchError> {
        let clock = self.open.egress.world.clock.clone();
        loop {
            let left = self.deadline.saturating_sub(clock.elapsed());
            let limit = self.limits.idle.min(left);
            let frame = async { self.incoming.frame().await.transpose().map_err(innermost) };
            let frame = match within(&*clock, limit, frame).await {
                Ok(frame) => frame,
                Err(why) => {
                    self.open.finish(ending_of(&why)).await;
                    return Err(match why.kind() {
                        io::ErrorKind::QuotaExceeded => self.too_large(),
                        _ => told(&self.destination, &why),
                    });
                }
            };
            let Some(frame) = frame else {
                self.open.finish(Ending::Finished).await;
                let held = self.cleared.take().map(ByteStreamRedactor::finish);
                return Ok(held.filter(|held| !held.is_empty()).map(Bytes::from));
            };
            // Trailers mean nothing to us.
            let Ok(data) = frame.into_data() else { continue };
            self.read = self.read.saturating_add(data.len() as u64);
            if self.read > self.limits.body_len_max {
                self.open.finish(Ending::LimitReached).await;
                return Err(self.too_large());
            }
            let data = match &mut self.cleared {
                Some(cleared) => Bytes::from(cleared.push(&data).into_owned()),
                None => data,
            };
            // What may be the beginning of a credential waits for what follows.
            if !data.is_empty() {
                return Ok(Some(data));
            }
        }
    }

    /// The whole body.
    pub async fn bytes(mut self) -> Result<Vec<u8>, FetchError> {
        let mut all = vec![];
        while let Some(piece) = self.piece().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }

    fn too_large(&self) -> FetchError {
        FetchError::TooLarge(self.destination.clone(), self.limits.body_len_max)
    }

    async fn finish(mut self, ending: Ending) {
        self.open.finish(ending).await;
    }
}
