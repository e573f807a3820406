//! Web chat: the daemon's own rooms, reached by pages over its own websocket, all in memory. What
//! a page of the agent that is watched is told is one of the streams that are compared.

use super::observe::Observed;
use anyhow::{Context as _, Result};
use async_trait::async_trait;
use axum::Router;
use axum::serve::Listener;
use insula_channel::{Cursor, Envelope, Inbox, NotTaken};
use insula_gateway::Intake;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{Mutex, mpsc};

/// The only account.
pub const ACCOUNT: &str = "site";
/// The room that one agent after the other is given.
pub const COMMON: &str = "common";

/// What fits between a page and the daemon before one of them has to read.
const BETWEEN_BYTES: usize = 1 << 20;

/// Connections that wait to be accepted.
const WAITING_MAX: usize = 64;

/// The room of an agent's own.
pub fn den(id: &str) -> String {
    format!("den-{id}")
}

/// The other end of connections that pages open.
struct PageListener(mpsc::Receiver<DuplexStream>);

impl Listener for PageListener {
    type Io = DuplexStream;
    type Addr = ();

    async fn accept(&mut self) -> (DuplexStream, ()) {
        match self.0.recv().await {
            Some(stream) => (stream, ()),
            // The run is over.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The pages that are open, by their tokens.
#[derive(Clone)]
pub struct Pages {
    connections: mpsc::Sender<DuplexStream>,
    open: Arc<Mutex<BTreeMap<String, WriteHalf<DuplexStream>>>>,
}

impl Pages {
    /// Serves these routes to pages.
    pub fn serve(router: Router) -> Self {
        let (connections, waiting) = mpsc::channel(WAITING_MAX);
        tokio::spawn(async move { axum::serve(PageListener(waiting), router).await });
        Self { connections, open: Arc::default() }
    }

    /// Says a frame by the page of this token, which is opened where it is not open. What it is
    /// told from then on is noted for whoever watches it.
    pub async fn say(
        &self,
        token: &str,
        watching: Option<&Arc<Observed>>,
        frame: &Value,
    ) -> Result<()> {
        let mut open = self.open.lock().await;
        if !open.contains_key(token) {
            let page = self.connect(token, watching.cloned()).await?;
            open.insert(token.to_owned(), page);
        }
        let page = open.get_mut(token).context("no page")?;
        let said = page.write_all(&framed(frame.to_string().as_bytes())).await;
        if said.is_err() {
            // It was cut; the next frame opens another.
            open.remove(token);
        }
        Ok(said?)
    }

    async fn connect(
        &self,
        token: &str,
        watching: Option<Arc<Observed>>,
    ) -> Result<WriteHalf<DuplexStream>> {
        let (ours, theirs) = tokio::io::duplex(BETWEEN_BYTES);
        self.connections.send(theirs).await?;
        let (reading, mut writing) = tokio::io::split(ours);
        let head = format!(
            "GET /chat/ws?account={ACCOUNT} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: insula.chat.v1, insula.token.{token}\r\n\r\n"
        );
        writing.write_all(head.as_bytes()).await?;
        tokio::spawn(async move {
            let told = |text: &str| {
                if let Some(observed) = &watching {
                    observed.note("page", text);
                }
            };
            // A connection that ends in the middle of a frame ends.
            let _ = listen(reading, told).await;
            told("the connection ended");
        });
        Ok(writing)
    }
}

/// A text frame as a page sends it, masked with nothing.
fn framed(text: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81];
    match text.len() {
        length @ 0..126 => frame.push(0x80 | u8::try_from(length).unwrap_or(0)),
        length @ 126..65_536 => {
            frame.push(0x80 | 126);
            frame.extend(u16::try_from(length).unwrap_or(0).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(text);
    frame
}

/// Reads the answer to the handshake and then frames, to the end.
async fn listen(mut stream: ReadHalf<DuplexStream>, told: impl Fn(&str)) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    told(head.lines().next().unwrap_or_default());
    loop {
        let kind = stream.read_u8().await? & 0x0f;
        let length = match stream.read_u8().await? & 0x7f {
            126 => u64::from(stream.read_u16().await?),
            127 => stream.read_u64().await?,
            length => u64::from(length),
        };
        let mut body = Vec::new();
        (&mut stream).take(length).read_to_end(&mut body).await?;
        match kind {
            1 => told(&String::from_utf8_lossy(&body)),
            8 => {
                told(&format!("closed: {}", String::from_utf8_lossy(body.get(2..).unwrap_or(&[]))));
                return Ok(());
            }
            // Signs of life.
            _ => {}
        }
    }
}

/// What the rooms hand to the gateway.
pub struct ToGateway(pub Intake);

#[async_trait]
impl Inbox for ToGateway {
    async fn take(&self, envelopes: Vec<Envelope>, _: Option<Cursor>) -> Result<(), NotTaken> {
        for envelope in envelopes {
            self.0.take(envelope).await?;
        }
        Ok(())
    }

    async fn has_taken(&self, envelope: &Envelope) -> Result<bool, NotTaken> {
        self.0.has_taken(envelope).await
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(None)
    }

    fn alive(&self) {}
}
