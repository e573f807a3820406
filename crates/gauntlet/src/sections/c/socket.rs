//! A page's side of web chat: a websocket of the daemon's, with or without a token.

use crate::beside::Stream;
use crate::machine;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::net::SocketAddr;
use tungstenite::client::IntoClientRequest as _;
use tungstenite::protocol::CloseFrame;
use tungstenite::{HandshakeError, Message, WebSocket};

/// Signs of life in a row after which nothing else is expected.
const SIGNS_MAX: usize = 3;

/// An open socket.
pub struct Socket(WebSocket<Stream>);

impl Socket {
    /// Opens it as a page does, or gives the status it was refused with.
    pub fn tried(
        to: SocketAddr,
        query: &str,
        headers: &[(&str, &str)],
    ) -> Result<Result<Self, u16>> {
        let mut request = format!("ws://{to}/chat/ws{query}").into_client_request()?;
        for (name, value) in headers {
            let name: tungstenite::http::HeaderName = name.parse()?;
            request.headers_mut().insert(name, value.parse()?);
        }
        match tungstenite::client(request, machine::connect(to)?) {
            Ok((socket, _)) => Ok(Ok(Self(socket))),
            Err(HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
                Ok(Err(answer.status().as_u16()))
            }
            Err(error) => bail!("{error}"),
        }
    }

    /// Opens it with a token, where the token belongs.
    pub fn open(to: SocketAddr, token: &str) -> Result<Self> {
        let protocols = format!("insula.chat.v1, insula.token.{token}");
        let tried = Self::tried(to, "", &[("Sec-WebSocket-Protocol", &protocols)])?;
        let mut socket = match tried {
            Ok(socket) => socket,
            Err(status) => bail!("the socket was refused with {status}"),
        };
        socket.wait_for("ready")?;
        Ok(socket)
    }

    /// Sends a frame.
    pub fn say(&mut self, frame: &Value) -> Result<()> {
        Ok(self.0.send(Message::text(frame.to_string()))?)
    }

    /// The next frame of a kind.
    pub fn wait_for(&mut self, kind: &str) -> Result<Value> {
        loop {
            let frame = self.next()?;
            if frame["type"] == kind {
                return Ok(frame);
            }
        }
    }

    /// The next frame of any kind.
    pub fn next(&mut self) -> Result<Value> {
        for _ in 0..SIGNS_MAX {
            match self.0.read().context("the socket ended")? {
                Message::Text(text) => return Ok(serde_json::from_str(&text)?),
                Message::Close(frame) => bail!("the socket was closed: {frame:?}"),
                _ => {}
            }
        }
        bail!("nothing comes but signs of life")
    }

    /// Waits until the daemon closes it; the code, if it gave one.
    pub fn closed(&mut self) -> Result<Option<u16>> {
        loop {
            match self.0.read() {
                Ok(Message::Close(frame)) => {
                    return Ok(frame.map(|CloseFrame { code, .. }| code.into()));
                }
                Ok(_) => {}
                Err(tungstenite::Error::Io(error)) => bail!("it stays open: {error}"),
                Err(_) => return Ok(None),
            }
        }
    }
}
