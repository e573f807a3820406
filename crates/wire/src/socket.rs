//! A WebSocket: one connection of its own, over the same network, names and TLS as requests.
//!
//! Whatever the peer sends is bounded, and so is how long it may say nothing. An open socket is
//! no sign of life: [`Socket::next`] hands over every frame that was heard, also those that say
//! nothing, and fails when none came for too long. What a frame means is not known here.

use crate::after::retry_after;
use crate::fault::{Phase, WireFault};
use crate::transport::Transport;
use crate::words::excerpt;
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::header::{AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use insula_world::{Clock, Stream};
use std::sync::Arc;
use std::time::Duration;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::CancellationToken;

/// What one read may bring. Small: a daemon holds many sockets, and most say little.
const READ_LEN: usize = 8 * 1024;
/// How much of what we say may wait for the peer to read it, beside one message.
const WRITE_LEN_MAX: usize = 1024 * 1024;
/// The longest message of ours.
const OURS_LEN_MAX: usize = 256 * 1024;
/// How long the peer may take to read what we say.
const WRITE_WITHIN: Duration = Duration::from_secs(20);
/// How long its answer to our goodbye is waited for.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);
/// The longest reason of a goodbye that the protocol carries, in bytes.
const REASON_LEN_MAX: usize = 123;
/// What is sent along with our pings; what comes back of it is not looked at.
const PING: Bytes = Bytes::from_static(b"insula");

/// How much and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketLimits {
    /// For a connection, name resolution, TLS and the handshake included.
    pub connect: Duration,
    /// The longest frame of theirs.
    pub frame_len_max: usize,
    /// The longest message of theirs, whatever number of frames it comes in.
    pub message_len_max: usize,
    /// After this long without a frame of theirs a ping is sent. Proxies cut off what is silent
    /// for longer than some hundred seconds.
    pub ping_every: Duration,
    /// How long a frame of any kind may take after that. Then the connection is dead, whatever
    /// the network says.
    pub pong_within: Duration,
}

impl Default for SocketLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            frame_len_max: 4 * 1024 * 1024,
            message_len_max: 8 * 1024 * 1024,
            ping_every: Duration::from_secs(30),
            pong_within: Duration::from_secs(15),
        }
    }
}

/// Where to, and with what. Nothing of it is in the text of a fault: an address may hold a
/// secret.
#[derive(Clone)]
pub struct SocketCall {
    uri: Uri,
    headers: HeaderMap,
    limits: SocketLimits,
}

impl SocketCall {
    /// A socket at `uri`, which is `ws` or `wss`.
    pub fn new(uri: Uri) -> Self {
        let mut headers = HeaderMap::new();
        let agent = concat!("insula/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        Self { uri, headers, limits: SocketLimits::default() }
    }

    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// With a token that no layer below prints. One that no header can carry is left out.
    #[must_use]
    pub fn bearer(self, token: &str) -> Self {
        match HeaderValue::try_from(format!("Bearer {token}")) {
            Ok(mut value) => {
                value.set_sensitive(true);
                self.header(AUTHORIZATION, value)
            }
            Err(_) => self,
        }
    }

    #[must_use]
    pub fn limits(mut self, limits: SocketLimits) -> Self {
        self.limits = limits;
        self
    }
}

/// Why there is no socket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The server answers, but not with a socket.
    #[error("the server answers {status} instead of opening a socket{}", said(words))]
    Answered {
        /// The HTTP status.
        status: u16,
        /// How long it asks us to wait.
        wait: Option<Duration>,
        /// The beginning of what it says.
        words: String,
    },
    /// There was no whole answer.
    #[error(transparent)]
    Wire(#[from] WireFault),
}

/// Why a socket is of no more use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SocketFault {
    /// The peer said goodbye.
    #[error("the other side closed the connection{}", goodbye(*code, reason))]
    Closed {
        /// Its code, where it gave one.
        code: Option<u16>,
        /// Its words.
        reason: String,
    },
    /// The connection broke.
    #[error("the connection broke{}", said(why))]
    Lost {
        /// What the network said.
        why: String,
    },
    /// The connection is open and nothing comes by it.
    #[error("nothing was heard for {} s, though the connection is open", silent.as_secs())]
    Deaf {
        /// For how long.
        silent: Duration,
    },
    /// The peer does not read what we say.
    #[error("the other side does not take what is sent")]
    Stalled,
    /// More than we take, or than we may send.
    #[error("a message has more than {len_max} bytes")]
    TooMuch {
        /// What we take.
        len_max: usize,
    },
    /// What came is not what the protocol allows.
    #[error("what came makes no sense: {what}")]
    Garbage {
        /// What, in short.
        what: String,
    },
    /// We stopped it.
    #[error("cancelled")]
    Cancelled,
}

/// What was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A message of text.
    Text(String),
    /// A message of bytes.
    Binary(Bytes),
    /// A frame that says nothing but that the connection carries something: a ping, or the
    /// answer to one. A proxy may have sent it; whether the platform is there, its own
    /// messages tell.
    Sign,
}

/// An open socket. Dropped, it takes its connection with it, without a goodbye.
pub struct Socket {
    stream: WebSocketStream<Box<dyn Stream>>,
    clock: Arc<dyn Clock>,
    limits: SocketLimits,
    cancel: CancellationToken,
    /// When a frame was last heard.
    heard_at: Duration,
    /// When we pinged since.
    pinged_at: Option<Duration>,
}

impl Transport {
    /// Opens a WebSocket. `cancel` ends it, and all that is done with it later.
    pub async fn socket(
        &self,
        call: SocketCall,
        cancel: &CancellationToken,
    ) -> Result<Socket, Refusal> {
        let SocketCall { uri, headers, limits } = call;
        let garbage = |what: &str| Refusal::Wire(WireFault::Garbage { what: what.to_owned() });
        if !matches!(uri.scheme_str(), Some("ws" | "wss")) {
            return Err(garbage("our own request: the address of a socket begins with wss://"));
        }
        let mut request = uri
            .clone()
            .into_client_request()
            .map_err(|_| garbage("our own request: an address that can't be one"))?;
        request.headers_mut().extend(headers);
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_LEN)
            .write_buffer_size(0)
            .max_write_buffer_size(WRITE_LEN_MAX)
            .max_frame_size(Some(limits.frame_len_max))
            .max_message_size(Some(limits.message_len_max));
        let opening = async {
            let unreachable =
                |error: std::io::Error| WireFault::Unreachable { why: error.to_string() };
            let stream = self.connector().open(&uri).await.map_err(unreachable)?;
            let opened =
                tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await;
            opened.map_err(|error| refusal(&error, self.clock().now()))
        };
        let (stream, _) = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(WireFault::Cancelled.into()),
            opened = opening => opened?,
            () = self.clock().sleep(limits.connect) => {
                let waited = limits.connect;
                return Err(WireFault::TimedOut { phase: Phase::Connect, waited }.into());
            }
        };
        let clock = self.clock().clone();
        let heard_at = clock.elapsed();
        Ok(Socket { stream, clock, limits, cancel: cancel.clone(), heard_at, pinged_at: None })
    }
}

impl Socket {
    /// The next frame. Pings where nothing comes, and fails where nothing comes then. Loses
    /// nothing when dropped.
    pub async fn next(&mut self) -> Result<Heard, SocketFault> {
        loop {
            let now = self.clock.elapsed();
            let (due, is_pinged) = match self.pinged_at {
                Some(at) => (at + self.limits.pong_within, true),
                None => (self.heard_at + self.limits.ping_every, false),
            };
            let message = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Err(SocketFault::Cancelled),
                message = self.stream.next() => message,
                () = self.clock.sleep(due.saturating_sub(now)) => {
                    if is_pinged {
                        let silent = self.silence();
                        return Err(SocketFault::Deaf { silent });
                    }
                    self.pinged_at = Some(self.clock.elapsed());
                    self.put(Message::Ping(PING)).await?;
                    continue;
                }
            };
            let message = match message {
                Some(Ok(message)) => message,
                Some(Err(error)) => return Err(self.fault(error)),
                None => return Err(SocketFault::Lost { why: String::new() }),
            };
            self.heard_at = self.clock.elapsed();
            self.pinged_at = None;
            match message {
                Message::Text(text) => return Ok(Heard::Text(text.as_str().to_owned())),
                Message::Binary(bytes) => return Ok(Heard::Binary(bytes)),
                // Their ping is answered by the protocol's own part, when we read on.
                Message::Ping(_) | Message::Pong(_) => return Ok(Heard::Sign),
                Message::Close(frame) => {
                    let code = frame.as_ref().map(|frame| u16::from(frame.code));
                    let reason = frame.map(|frame| excerpt(frame.reason.as_str()));
                    // The protocol's own part answered it; that has to go out.
                    tokio::select! {
                        _ = self.stream.flush() => {}
                        () = self.clock.sleep(CLOSE_WITHIN) => {}
                    }
                    return Err(SocketFault::Closed { code, reason: reason.unwrap_or_default() });
                }
                Message::Frame(_) => {}
            }
        }
    }

    /// How long nothing was heard.
    pub fn silence(&self) -> Duration {
        self.clock.elapsed().saturating_sub(self.heard_at)
    }

    /// Sends a message of text. Not to be dropped halfway: what is left of it would go out
    /// before the next.
    pub async fn text(&mut self, text: impl Into<String>) -> Result<(), SocketFault> {
        let text: String = text.into();
        if text.len() > OURS_LEN_MAX {
            return Err(SocketFault::TooMuch { len_max: OURS_LEN_MAX });
        }
        self.put(Message::Text(text.into())).await
    }

    /// Sends a message of bytes.
    pub async fn binary(&mut self, bytes: Bytes) -> Result<(), SocketFault> {
        if bytes.len() > OURS_LEN_MAX {
            return Err(SocketFault::TooMuch { len_max: OURS_LEN_MAX });
        }
        self.put(Message::Binary(bytes)).await
    }

    /// Says goodbye with a code of ours, and waits a moment for theirs. Platforms read the code:
    /// with some a session ends, with others it can be resumed.
    pub async fn close(mut self, code: u16, reason: &str) {
        let mut end = reason.len().min(REASON_LEN_MAX);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        let frame = CloseFrame { code: CloseCode::from(code), reason: reason[..end].into() };
        let goodbye = async {
            if self.stream.send(Message::Close(Some(frame))).await.is_ok() {
                while let Some(Ok(_)) = self.stream.next().await {}
            }
        };
        tokio::select! {
            () = goodbye => {}
            () = self.clock.sleep(CLOSE_WITHIN) => {}
        }
    }

    async fn put(&mut self, message: Message) -> Result<(), SocketFault> {
        let sent = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(SocketFault::Cancelled),
            sent = self.stream.send(message) => sent,
            () = self.clock.sleep(WRITE_WITHIN) => return Err(SocketFault::Stalled),
        };
        sent.map_err(|error| self.fault(error))
    }

    fn fault(&self, error: Error) -> SocketFault {
        match error {
            Error::ConnectionClosed | Error::AlreadyClosed => {
                SocketFault::Closed { code: None, reason: String::new() }
            }
            Error::Io(error) => SocketFault::Lost { why: error.to_string() },
            Error::Capacity(_) => SocketFault::TooMuch { len_max: self.limits.message_len_max },
            Error::WriteBufferFull(_) => SocketFault::Stalled,
            Error::Protocol(
                tokio_tungstenite::tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
            ) => SocketFault::Lost { why: "it ended without a goodbye".to_owned() },
            other => SocketFault::Garbage { what: excerpt(&other.to_string()) },
        }
    }
}

/// What a handshake that failed means.
fn refusal(error: &Error, now: insula_world::Timestamp) -> Refusal {
    match error {
        Error::Http(response) => {
            let body = response.body().as_deref().unwrap_or_default();
            Refusal::Answered {
                status: response.status().as_u16(),
                wait: retry_after(response.headers(), now),
                words: excerpt(&String::from_utf8_lossy(&body[..body.len().min(4096)])),
            }
        }
        Error::Io(error) => WireFault::Lost { why: error.to_string() }.into(),
        other => {
            let what = format!("no handshake of a socket: {}", excerpt(&other.to_string()));
            WireFault::Garbage { what }.into()
        }
    }
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

fn goodbye(code: Option<u16>, reason: &str) -> String {
    let code = code.map(|code| format!(" with code {code}")).unwrap_or_default();
    format!("{code}{}", said(reason))
}
