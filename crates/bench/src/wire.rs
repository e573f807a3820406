//! One HTTP/1.1 connection, from either side: whole messages in, ready bytes out.
//!
//! It knows only what the two ends of a measurement say to each other. A client library would
//! cost about as much as the daemon does, on the same two cores.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a measuring program: the sockets of the driver and of the instant model"
)]

use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What one read may bring.
const READ_LEN: usize = 64 * 1024;
/// The longest head; more is not one.
const HEAD_LEN_MAX: usize = 64 * 1024;

/// What accepts connections.
pub struct BenchListener(TcpListener);

impl BenchListener {
    /// Opens one on loopback.
    pub async fn open() -> io::Result<Self> {
        Ok(Self(TcpListener::bind(("127.0.0.1", 0)).await?))
    }

    /// Where it is.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// The next connection.
    pub async fn accept(&self) -> io::Result<Wire> {
        Wire::over(self.0.accept().await?.0)
    }
}

/// A connection.
pub struct Wire {
    stream: TcpStream,
    bytes: Vec<u8>,
    /// Where the message that was given out last ends.
    taken: usize,
}

/// One request or answer.
pub struct Heard<'w> {
    /// The first line and the headers.
    pub head: &'w [u8],
    /// The body; in chunks, if it came so.
    pub body: &'w [u8],
}

impl Heard<'_> {
    /// The status of an answer; 0 for anything else.
    pub fn status(&self) -> u16 {
        let digits = self.head.get(9..12).unwrap_or_default();
        std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}

impl Wire {
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        Self::over(TcpStream::connect(address).await?)
    }

    fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, bytes: Vec::with_capacity(READ_LEN), taken: 0 })
    }

    /// Writes.
    pub async fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// The next whole message; `None` when the other side has closed between two.
    pub async fn hear(&mut self) -> io::Result<Option<Heard<'_>>> {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        let head = loop {
            if let Some(at) = find(&self.bytes, b"\r\n\r\n") {
                break at + 4;
            }
            if self.bytes.len() > HEAD_LEN_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if self.more().await? == 0 {
                return match self.bytes.is_empty() {
                    true => Ok(None),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
        };
        let end = match length(&self.bytes[..head]) {
            Some(length) => {
                while self.bytes.len() < head + length {
                    self.some().await?;
                }
                head + length
            }
            None => {
                while !self.bytes[head..].ends_with(b"0\r\n\r\n") {
                    self.some().await?;
                }
                self.bytes.len()
            }
        };
        self.taken = end;
        Ok(Some(Heard { head: &self.bytes[..head], body: &self.bytes[head..end] }))
    }

    async fn some(&mut self) -> io::Result<()> {
        match self.more().await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    async fn more(&mut self) -> io::Result<usize> {
        self.bytes.reserve(READ_LEN);
        self.stream.read_buf(&mut self.bytes).await
    }
}

/// Where `needle` begins.
pub fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

/// What `content-length` says; `None` where the body comes in chunks.
fn length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    let mut chunked = false;
    for line in head.split(|&byte| byte == b'\n') {
        if line.len() > NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME) {
            let value = std::str::from_utf8(&line[NAME.len()..]).ok()?;
            return value.trim().parse().ok();
        }
        chunked |= line.to_ascii_lowercase().starts_with(b"transfer-encoding: chunked");
    }
    (!chunked).then_some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_body_is_read_whatever_its_case() {
        assert_eq!(length(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n"), Some(12));
        assert_eq!(length(b"POST / HTTP/1.1\r\ncontent-length:7\r\n\r\n"), Some(7));
        assert_eq!(length(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), None);
        assert_eq!(length(b"GET / HTTP/1.1\r\n\r\n"), Some(0));
    }
}
