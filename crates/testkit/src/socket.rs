//! The server's side of a WebSocket, for fake platforms: what it says and hears frame by frame,
//! and every way in which a connection goes wrong.

use crate::upstream::{Seen, read_request};
use futures_util::{SinkExt as _, StreamExt as _};
use insula_world::{Listener, Stream};
use std::io;
use std::net::SocketAddr;
use tokio::io::AsyncWriteExt as _;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};
use tokio_tungstenite::tungstenite::{Bytes, Message};

/// A client's socket, as the server has it.
pub struct FakeSocket {
    stream: WebSocketStream<Box<dyn Stream>>,
}

/// What a client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromClient {
    Text(String),
    Binary(Vec<u8>),
    /// A ping, which is answered by itself when the next frame is read.
    Ping,
    Pong,
    /// Its goodbye, with its code.
    Closed(Option<u16>, String),
    /// The connection ended without one.
    Gone,
}

/// Whether a request asks for a socket.
pub fn asks_for_socket(seen: &Seen) -> bool {
    seen.header("upgrade").is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
}

impl FakeSocket {
    /// Answers a request for a socket with one. `rest` is what was read behind the request.
    pub async fn upgrade(
        mut stream: Box<dyn Stream>,
        seen: &Seen,
        rest: Vec<u8>,
    ) -> io::Result<Self> {
        let key = seen.header("sec-websocket-key").ok_or(io::ErrorKind::InvalidData)?;
        let accept = derive_accept_key(key.as_bytes());
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
             sec-websocket-accept: {accept}\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).await?;
        stream.flush().await?;
        let stream = WebSocketStream::from_partially_read(stream, rest, Role::Server, None).await;
        Ok(Self { stream })
    }

    /// Accepts the next connection of a listener and makes it a socket, whatever it asks for.
    pub async fn accept(listener: &dyn Listener) -> io::Result<(Self, Seen, SocketAddr)> {
        let (mut stream, from) = listener.accept().await?;
        let mut rest = vec![];
        let seen = read_request(&mut stream, &mut rest, 0).await;
        let seen = seen.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok((Self::upgrade(stream, &seen, rest).await?, seen, from))
    }

    /// What comes next. Loses nothing when dropped.
    pub async fn next(&mut self) -> FromClient {
        loop {
            return match self.stream.next().await {
                Some(Ok(Message::Text(text))) => FromClient::Text(text.as_str().to_owned()),
                Some(Ok(Message::Binary(bytes))) => FromClient::Binary(bytes.to_vec()),
                Some(Ok(Message::Ping(_))) => FromClient::Ping,
                Some(Ok(Message::Pong(_))) => FromClient::Pong,
                Some(Ok(Message::Close(frame))) => {
                    let code = frame.as_ref().map(|frame| u16::from(frame.code));
                    let reason = frame.map(|frame| frame.reason.as_str().to_owned());
                    // The protocol's own part answered it; that has to go out.
                    let _ = self.stream.flush().await;
                    FromClient::Closed(code, reason.unwrap_or_default())
                }
                Some(Ok(Message::Frame(_))) => continue,
                Some(Err(_)) | None => FromClient::Gone,
            };
        }
    }

    /// Says something; whether that went out.
    pub async fn say(&mut self, text: &str) -> bool {
        self.stream.send(Message::text(text)).await.is_ok()
    }

    pub async fn say_bytes(&mut self, bytes: &[u8]) -> bool {
        self.stream.send(Message::Binary(Bytes::copy_from_slice(bytes))).await.is_ok()
    }

    pub async fn ping(&mut self) -> bool {
        self.stream.send(Message::Ping(Bytes::new())).await.is_ok()
    }

    /// Says goodbye, and waits for the client's.
    pub async fn close(mut self, code: u16, reason: &str) {
        let frame = CloseFrame { code: CloseCode::from(code), reason: reason.into() };
        if self.stream.send(Message::Close(Some(frame))).await.is_ok() {
            while let Some(Ok(_)) = self.stream.next().await {}
        }
    }

    /// Says the first `len` bytes of what `text` is on the wire, and breaks the connection.
    /// Whether that was all of it.
    pub async fn break_after(mut self, text: &str, len: usize) -> bool {
        let frame = frame(text.as_bytes());
        let written = &frame[..len.min(frame.len())];
        let stream = self.stream.get_mut();
        let _ = stream.write_all(written).await;
        let _ = stream.flush().await;
        let _ = stream.shutdown().await;
        written.len() == frame.len()
    }

    /// Writes bytes that need be no frames.
    pub async fn write(&mut self, bytes: &[u8]) -> bool {
        let stream = self.stream.get_mut();
        stream.write_all(bytes).await.is_ok() && stream.flush().await.is_ok()
    }
}

/// A text as a server's frame.
pub fn frame(text: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81];
    match text.len() {
        len @ 0..126 => frame.push(u8::try_from(len).unwrap_or(0)),
        len @ 126..65_536 => {
            frame.push(126);
            frame.extend(u16::try_from(len).unwrap_or(0).to_be_bytes());
        }
        len => {
            frame.push(127);
            frame.extend((len as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(text);
    frame
}
