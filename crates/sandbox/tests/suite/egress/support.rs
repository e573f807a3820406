//! A small internet in memory, with a proxy in it and a ledger that remembers.

use async_trait::async_trait;
use insula_domain::{HostPattern, NetworkGrants};
use insula_sandbox::egress::{
    Client, ClientLimits, Egress, EgressDecision, EgressVerdict, Ending, Injection, Ledger,
    Lookups, Policy, Proxy, ProxyLimits, Tls, Traffic, Unrecorded,
};
use insula_testkit::Handles;
use insula_world::{Listener, Stream, World};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The address of `a.test`, which is on the internet as far as anyone can tell.
pub const A: &str = "93.184.216.34";
/// The address of `b.test`.
pub const B: &str = "93.184.216.35";

/// Remembers every decision and end.
#[derive(Default)]
pub struct Book {
    decisions: Mutex<Vec<EgressDecision>>,
    ends: Mutex<Vec<(EgressDecision, Traffic, Ending)>>,
    changed: Notify,
    /// Refuses to record.
    pub broken: std::sync::atomic::AtomicBool,
}

#[async_trait]
impl Ledger for Book {
    async fn decided(&self, decision: &EgressDecision) -> Result<(), Unrecorded> {
        if self.broken.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Unrecorded);
        }
        self.decisions.lock().unwrap().push(decision.clone());
        Ok(())
    }

    async fn ended(&self, decision: &EgressDecision, traffic: Traffic, ending: Ending) {
        self.ends.lock().unwrap().push((decision.clone(), traffic, ending));
        self.changed.notify_waiters();
    }
}

impl Book {
    pub fn decisions(&self) -> Vec<EgressDecision> {
        self.decisions.lock().unwrap().clone()
    }

    /// Each decision in a line, as a person would read it.
    pub fn lines(&self) -> Vec<String> {
        let line = |decision: &EgressDecision| {
            let to = decision.destination.as_ref().map_or("?".to_owned(), ToString::to_string);
            let address = decision.address.map_or("-".to_owned(), |it| it.to_string());
            match &decision.verdict {
                EgressVerdict::Allowed { rule } => format!("allowed {to} {address} by {rule}"),
                EgressVerdict::Refused(why) => format!("refused {to} {address}: {why}"),
            }
        };
        self.decisions().iter().map(line).collect()
    }

    /// Waits until so many connections have ended, and tells how.
    pub async fn ends(&self, count: usize) -> Vec<(Traffic, Ending)> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let ends = self.ends.lock().unwrap();
                if ends.len() >= count {
                    return ends.iter().map(|(_, traffic, ending)| (*traffic, *ending)).collect();
                }
            }
            changed.await;
        }
    }
}

pub fn policy(allow: &[&str]) -> Policy {
    Policy::new(NetworkGrants::allow(allow.iter().map(|text| HostPattern::parse(text).unwrap())))
}

pub fn injection(host: &str, header: &str, value: &str) -> Injection {
    Injection::new(HostPattern::parse(host).unwrap(), header, value.to_owned().into()).unwrap()
}

/// A certificate for some names, and the server's side of TLS with it.
pub struct Site {
    pub root: Vec<u8>,
    pub acceptor: tokio_rustls::TlsAcceptor,
}

pub fn site(names: &[&str]) -> Site {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    Site { root: made.cert.der().to_vec(), acceptor: Arc::new(config).into() }
}

/// A world with a proxy.
pub struct Town {
    pub world: World,
    pub book: Arc<Book>,
    pub proxy: SocketAddr,
    pub egress: Egress,
    pub cancel: CancellationToken,
    pub serving: JoinHandle<()>,
}

/// How a town differs from the usual one.
#[derive(Default)]
pub struct Plan<'a> {
    pub allow: &'a [&'a str],
    pub injections: Vec<Injection>,
    pub roots: Vec<Vec<u8>>,
    pub limits: ProxyLimits,
}

impl Town {
    /// In memory, with `a.test` and `b.test` on the internet and `inside.test` at home.
    pub async fn in_memory(plan: Plan<'_>) -> (Self, Handles) {
        let (world, handles) = insula_testkit::auto_world(7);
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        handles.network.name("a.test", [ip(A)]);
        handles.network.name("b.test", [ip(B)]);
        handles.network.name("inside.test", [ip("10.0.0.7")]);
        handles.network.name("mixed.test", [ip(A), ip("169.254.169.254")]);
        handles.network.name("localhost", [ip("127.0.0.1")]);
        (Self::over(world, plan).await, handles)
    }

    pub async fn over(world: World, plan: Plan<'_>) -> Self {
        let book = Arc::new(Book::default());
        let tls = Tls::new(world.clock.clone(), &plan.roots).unwrap();
        let policy = policy(plan.allow);
        let lookups = Lookups::default();
        let egress =
            Egress::new(world.clone(), policy, book.clone(), tls, plan.injections, lookups);
        let listener = world.network.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let proxy = listener.local_addr().unwrap();
        let cancel = CancellationToken::new();
        let serving = Proxy::new(egress.clone(), plan.limits, cancel.clone()).serve(listener);
        let serving = tokio::spawn(serving);
        Self { world, book, proxy, egress, cancel, serving }
    }

    pub fn client(&self, limits: ClientLimits) -> Client {
        Client::new(self.egress.clone(), limits)
    }

    /// A server that gives every request the same answer, and tells what it was asked.
    pub async fn serve(&self, at: &str, answer: impl Into<Vec<u8>>) -> Arc<Mutex<Vec<String>>> {
        self.serve_over(at, answer, None).await
    }

    pub async fn serve_tls(
        &self,
        at: &str,
        answer: impl Into<Vec<u8>>,
        site: &Site,
    ) -> Arc<Mutex<Vec<String>>> {
        self.serve_over(at, answer, Some(site.acceptor.clone())).await
    }

    async fn serve_over(
        &self,
        at: &str,
        answer: impl Into<Vec<u8>>,
        tls: Option<tokio_rustls::TlsAcceptor>,
    ) -> Arc<Mutex<Vec<String>>> {
        let listener = self.world.network.listen(at.parse().unwrap()).await.unwrap();
        self.serve_on(listener, answer, tls)
    }

    /// The same on a door that is already open.
    pub fn serve_on(
        &self,
        listener: Box<dyn Listener>,
        answer: impl Into<Vec<u8>>,
        tls: Option<tokio_rustls::TlsAcceptor>,
    ) -> Arc<Mutex<Vec<String>>> {
        let asked = Arc::new(Mutex::new(vec![]));
        let (seen, answer) = (asked.clone(), answer.into());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, answer, tls) = (seen.clone(), answer.clone(), tls.clone());
                tokio::spawn(async move {
                    let mut stream: Box<dyn Stream> = match tls {
                        None => stream,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => Box::new(stream),
                            Err(_) => return,
                        },
                    };
                    let request = read_request(&mut stream).await;
                    seen.lock().unwrap().push(request);
                    let _ = stream.write_all(&answer).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        asked
    }

    pub async fn connect(&self) -> Box<dyn Stream> {
        self.world.network.connect(self.proxy).await.unwrap()
    }

    /// Sends bytes to the proxy and reads its answer to the end.
    pub async fn ask(&self, request: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request.as_ref()).await.unwrap();
        let mut answer = vec![];
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub async fn get(&self, url: &str) -> String {
        let host = url.split("//").nth(1).unwrap().split('/').next().unwrap();
        self.ask(format!("GET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n")).await
    }

    /// Opens a tunnel; gives the stream behind the proxy's answer, or the refusal.
    pub async fn tunnel(&self, authority: &str) -> Result<Box<dyn Stream>, String> {
        let mut stream = self.connect().await;
        let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = vec![];
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read(&mut byte).await.unwrap() == 0 {
                break;
            }
            head.extend(byte);
        }
        let mut head = String::from_utf8(head).unwrap();
        if head.starts_with("HTTP/1.1 200 ") {
            return Ok(stream);
        }
        let _ = stream.read_to_string(&mut head).await;
        Err(head)
    }
}

/// Reads a head, and a body whose length it says.
async fn read_request(stream: &mut Box<dyn Stream>) -> String {
    let mut request = vec![];
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some(end) = text.find("\r\n\r\n") {
            let length = text.split("\r\nContent-Length: ").nth(1);
            let length = length.and_then(|rest| rest.split('\r').next()?.parse().ok());
            let chunked = text.contains("Transfer-Encoding: chunked");
            let whole = text.len() >= end + 4 + length.unwrap_or(0);
            if whole && (!chunked || text.ends_with("\r\n0\r\n\r\n")) {
                return text;
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return text,
            Ok(read) => request.extend_from_slice(&buffer[..read]),
        }
    }
}

/// TLS as a client of some site that trusts its certificate.
pub async fn greet(
    stream: Box<dyn Stream>,
    name: &str,
    root: &[u8],
) -> std::io::Result<tokio_rustls::client::TlsStream<Box<dyn Stream>>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(root.to_vec().into()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await
}
