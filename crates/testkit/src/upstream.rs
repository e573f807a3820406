//! A server that answers from a script, byte for byte: wherever the pieces end, however long
//! it stalls, wherever it breaks off.
//!
//! It speaks just enough HTTP/1.1 to read a request, and knows nothing of what is said. It
//! runs on the network of the world it is given, in memory or on loopback.

use crate::world::locked;
use insula_world::{Listener, Stream, World};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Notify, watch};

/// The longest request it reads. A test that sends more has gone wrong.
const REQUEST_LEN_MAX: usize = 64 * 1024 * 1024;

/// One thing the server does.
#[derive(Clone)]
pub enum Step {
    /// Writes these bytes and flushes them.
    Write(Vec<u8>),
    /// Waits for the test to say go.
    Wait(Arc<Notify>),
    /// Does nothing more until the client closes the connection.
    Hang,
    /// Closes the connection.
    Close,
}

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Which connection it came on, from 0.
    pub connection: usize,
    /// `POST /v1/chat/completions`, say.
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Seen {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

type Script = dyn Fn(&Seen, usize) -> Vec<Step> + Send + Sync;

struct State {
    script: Box<Script>,
    /// Whether questions about models go by the script too.
    tells: bool,
    seen: Mutex<Vec<Seen>>,
    count: watch::Sender<usize>,
    closed: watch::Sender<usize>,
}

/// A running server. It ends with the runtime it runs on.
pub struct Upstream {
    address: SocketAddr,
    state: Arc<State>,
}

impl Upstream {
    /// Starts a server on loopback of `world`. `script` says what to do for each request;
    /// the number counts requests from 0.
    pub async fn start(
        world: &World,
        script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::listen(world, SocketAddr::from(([127, 0, 0, 1], 0)), script).await
    }

    /// Starts a server at one address.
    pub async fn listen(
        world: &World,
        address: SocketAddr,
        script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::serving(world, address, false, script).await
    }

    /// Starts a server whose script is also asked what its models are and can do. Any other says
    /// that it does not know, and doesn't count such questions.
    pub async fn start_telling(
        world: &World,
        script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::serving(world, SocketAddr::from(([127, 0, 0, 1], 0)), true, script).await
    }

    async fn serving(
        world: &World,
        address: SocketAddr,
        tells: bool,
        script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = world.network.listen(address).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            script: Box::new(script),
            tells,
            seen: Mutex::default(),
            count: watch::channel(0).0,
            closed: watch::channel(0).0,
        });
        tokio::spawn(accept(listener, state.clone()));
        Ok(Self { address, state })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base URL, with `path` behind it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Every request so far, in order.
    pub fn seen(&self) -> Vec<Seen> {
        locked(&self.state.seen).clone()
    }

    /// Waits until `count` requests have come.
    pub async fn requests(&self, count: usize) {
        let mut watched = self.state.count.subscribe();
        // It can't be dropped: `self` holds it.
        let _ = watched.wait_for(|&seen| seen >= count).await;
    }

    /// Waits until clients have closed `count` connections in the middle of an answer or
    /// between two.
    pub async fn closed_by_client(&self, count: usize) {
        let mut watched = self.state.closed.subscribe();
        let _ = watched.wait_for(|&closed| closed >= count).await;
    }
}

async fn accept(listener: Box<dyn Listener>, state: Arc<State>) {
    let mut connection = 0;
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, connection, state.clone()));
        connection += 1;
    }
}

/// Answers requests on one connection until either side closes it.
pub async fn serve_one(
    stream: Box<dyn Stream>,
    script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) {
    let state = State {
        script: Box::new(script),
        tells: false,
        seen: Mutex::default(),
        count: watch::channel(0).0,
        closed: watch::channel(0).0,
    };
    serve(stream, 0, Arc::new(state)).await;
}

async fn serve(mut stream: Box<dyn Stream>, connection: usize, state: Arc<State>) {
    let mut buffer = vec![];
    let closed_by_client = loop {
        let Some(seen) = read_request(&mut stream, &mut buffer, connection).await else {
            break true;
        };
        if !state.tells && asks_about_models(&seen.line) {
            match perform(&mut stream, vec![answer(404, &[], "")]).await {
                After::NextRequest => continue,
                After::ClosedByClient => break true,
                After::ClosedByUs => break false,
            }
        }
        let number = {
            let mut all = locked(&state.seen);
            all.push(seen.clone());
            all.len() - 1
        };
        state.count.send_replace(number + 1);
        match perform(&mut stream, (state.script)(&seen, number)).await {
            After::NextRequest => {}
            After::ClosedByClient => break true,
            After::ClosedByUs => break false,
        }
    };
    if closed_by_client {
        state.closed.send_modify(|count| *count += 1);
    }
}

/// Whether a request is about what models there are, and not for one of them.
fn asks_about_models(line: &str) -> bool {
    let path = line.split(' ').nth(1).unwrap_or_default();
    path.ends_with("/models") || path.ends_with("/props") || path.ends_with("/api/show")
}

enum After {
    NextRequest,
    ClosedByClient,
    ClosedByUs,
}

async fn perform(stream: &mut Box<dyn Stream>, steps: Vec<Step>) -> After {
    for step in steps {
        match step {
            Step::Write(bytes) => {
                if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                    return After::ClosedByClient;
                }
            }
            Step::Wait(go) => go.notified().await,
            Step::Hang => {
                let mut byte = [0];
                while matches!(stream.read(&mut byte).await, Ok(1)) {}
                return After::ClosedByClient;
            }
            Step::Close => return After::ClosedByUs,
        }
    }
    After::NextRequest
}

/// The next request, or `None` when the client closed the connection. What came behind it is left
/// in `buffer`.
pub async fn read_request(
    stream: &mut Box<dyn Stream>,
    buffer: &mut Vec<u8>,
    connection: usize,
) -> Option<Seen> {
    let head_len = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        more(stream, buffer).await?;
    };
    let head = String::from_utf8_lossy(&buffer[..head_len]).into_owned();
    let mut lines = head.lines();
    let line = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    while buffer.len() < head_len + length {
        more(stream, buffer).await?;
    }
    let body = buffer[head_len..head_len + length].to_vec();
    buffer.drain(..head_len + length);
    Some(Seen { connection, line, headers, body })
}

async fn more(stream: &mut Box<dyn Stream>, buffer: &mut Vec<u8>) -> Option<()> {
    let read = stream.read_buf(buffer).await.ok()?;
    (read > 0 && buffer.len() <= REQUEST_LEN_MAX).then_some(())
}

/// A whole answer with a length.
pub fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Step {
    let mut text = format!("HTTP/1.1 {status} Status\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    Step::Write(text.into_bytes())
}

/// A whole answer.
pub(crate) fn http(
    status: u16,
    media_type: &str,
    headers: &[(&str, String)],
    body: &[u8],
) -> Vec<u8> {
    let mut head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    [head.as_bytes(), body].concat()
}

/// The head of an answer whose body comes in chunks.
pub fn head(content_type: &str) -> Step {
    let text = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    Step::Write(text.into_bytes())
}

/// One chunk of such a body.
pub fn chunk(bytes: impl AsRef<[u8]>) -> Step {
    let bytes = bytes.as_ref();
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    Step::Write(framed)
}

pub fn end() -> Step {
    Step::Write(b"0\r\n\r\n".to_vec())
}

/// A whole event stream, one chunk for each of `events`, which are the data of one event each.
pub fn event_stream<'a>(events: impl IntoIterator<Item = &'a str>) -> Vec<Step> {
    let chunks = events.into_iter().map(|event| chunk(format!("data: {event}\n\n")));
    std::iter::once(head("text/event-stream")).chain(chunks).chain([end()]).collect()
}
