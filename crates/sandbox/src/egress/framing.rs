//! Where a message body ends. Read strictly and written anew, so that whoever comes after us
//! can't read another end out of the same bytes.

use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Longest line with the size of a chunk, extensions included.
const CHUNK_LINE_LEN_MAX: usize = 256;
/// Digits of a chunk's size: 4 GiB in one chunk is more than anyone writes.
const CHUNK_DIGITS_MAX: usize = 8;
/// Longest trailer section. It is read and dropped.
const TRAILER_LEN_MAX: usize = 8 * 1024;

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is no body.
    Empty,
    /// So many bytes.
    Length(u64),
    /// Chunks, up to an empty one.
    Chunked,
    /// Everything up to the end of the connection.
    UntilClose,
}

/// How chunks are passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rewrite {
    /// As chunks of ours.
    Chunks,
    /// As they are inside, for a reader that knows no chunks.
    Bare,
}

fn malformed(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Passes a body on to its end.
pub(super) async fn relay(
    from: &mut (impl AsyncBufRead + Unpin),
    framing: Framing,
    to: &mut (impl AsyncWrite + Unpin),
    rewrite: Rewrite,
) -> io::Result<()> {
    match framing {
        Framing::Empty => {}
        Framing::Length(len) => copy_exactly(from, len, to).await?,
        Framing::UntilClose => copy_to_end(from, to).await?,
        Framing::Chunked => relay_chunks(from, to, rewrite).await?,
    }
    to.flush().await
}

async fn relay_chunks(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    rewrite: Rewrite,
) -> io::Result<()> {
    loop {
        let line = line(from, CHUNK_LINE_LEN_MAX).await?;
        let len = chunk_len(&line)?;
        if rewrite == Rewrite::Chunks && len > 0 {
            to.write_all(format!("{len:x}\r\n").as_bytes()).await?;
        }
        if len == 0 {
            break;
        }
        copy_exactly(from, len, to).await?;
        if !self::line(from, 0).await?.is_empty() {
            return Err(malformed("a chunk is longer than it says"));
        }
        if rewrite == Rewrite::Chunks {
            to.write_all(b"\r\n").await?;
        }
        to.flush().await?;
    }
    let mut left = TRAILER_LEN_MAX;
    loop {
        let trailer = line(from, left).await?;
        if trailer.is_empty() {
            break;
        }
        left = left.saturating_sub(trailer.len());
    }
    if rewrite == Rewrite::Chunks {
        to.write_all(b"0\r\n\r\n").await?;
    }
    Ok(())
}

/// The size in a chunk's first line: hexadecimal digits, then nothing or an extension.
fn chunk_len(line: &[u8]) -> io::Result<u64> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let rest = &line[digits..];
    let plain = rest.is_empty() || rest.starts_with(b";");
    if digits == 0 || digits > CHUNK_DIGITS_MAX || !plain {
        return Err(malformed("the size of a chunk is not a plain number"));
    }
    let text = std::str::from_utf8(&line[..digits]).unwrap_or_default();
    u64::from_str_radix(text, 16).map_err(|_| malformed("the size of a chunk is not a number"))
}

/// One line without its end. The end is CR LF, and neither stands anywhere else.
async fn line(from: &mut (impl AsyncBufRead + Unpin), len_max: usize) -> io::Result<Vec<u8>> {
    let mut line = vec![];
    loop {
        let available = from.fill_buf().await?;
        if available.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let room = (len_max + 2).saturating_sub(line.len());
        let look = &available[..available.len().min(room)];
        let end = look.iter().position(|&byte| byte == b'\n').map(|at| at + 1);
        let taken = end.unwrap_or(look.len());
        line.extend_from_slice(&look[..taken]);
        from.consume(taken);
        if end.is_some() {
            let inner = line.strip_suffix(b"\r\n").ok_or(malformed("a line ends without CR"))?;
            if inner.contains(&b'\r') {
                return Err(malformed("a CR stands inside a line"));
            }
            return Ok(inner.to_vec());
        }
        if line.len() >= len_max + 2 {
            return Err(malformed("a line of the chunked body is too long"));
        }
    }
}

async fn copy_exactly(
    from: &mut (impl AsyncBufRead + Unpin),
    mut len: u64,
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    while len > 0 {
        let available = from.fill_buf().await?;
        if available.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let piece = available.len().min(usize::try_from(len).unwrap_or(usize::MAX));
        to.write_all(&available[..piece]).await?;
        from.consume(piece);
        len -= piece as u64;
        to.flush().await?;
    }
    Ok(())
}

/// Copies up to the end of `from`.
pub(super) async fn copy_to_end(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    loop {
        let available = from.fill_buf().await?;
        if available.is_empty() {
            return Ok(());
        }
        to.write_all(available).await?;
        let taken = available.len();
        from.consume(taken);
        to.flush().await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    async fn relayed(bytes: &[u8], framing: Framing, rewrite: Rewrite) -> io::Result<Vec<u8>> {
        let mut from = tokio::io::BufReader::with_capacity(3, bytes);
        let mut to = vec![];
        relay(&mut from, framing, &mut to, rewrite).await.map(|()| to)
    }

    #[tokio::test]
    async fn chunks_are_written_anew_without_extensions_and_trailers() {
        let body = b"3;x=\"y\"\r\nabc\r\n0a\r\n0123456789\r\n000\r\nX-Trailer: no\r\n\r\nNEXT";
        let anew = relayed(body, Framing::Chunked, Rewrite::Chunks).await.unwrap();
        assert_eq!(anew, b"3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n");
        let bare = relayed(body, Framing::Chunked, Rewrite::Bare).await.unwrap();
        assert_eq!(bare, b"abc0123456789");
    }

    #[tokio::test]
    async fn chunks_that_someone_could_read_otherwise_are_refused() {
        for bad in [
            &b"3\nabc\r\n0\r\n\r\n"[..],
            b"3 \r\nabc\r\n0\r\n\r\n",
            b" 3\r\nabc\r\n0\r\n\r\n",
            b"0x3\r\nabc\r\n0\r\n\r\n",
            b"+3\r\nabc\r\n0\r\n\r\n",
            b"-1\r\nabc\r\n0\r\n\r\n",
            b"\r\nabc\r\n0\r\n\r\n",
            b"3\r\nabcd\r\n0\r\n\r\n",
            b"3\r\nabc0\r\n\r\n",
            b"3\r\nabc\n0\r\n\r\n",
            b"3;a\rb\r\nabc\r\n0\r\n\r\n",
            b"100000000\r\nabc\r\n0\r\n\r\n",
            b"ffffffffffffffff1\r\nabc\r\n0\r\n\r\n",
            b"3\r\nab",
            b"3\r\nabc\r\n0\r\n",
            b"0\r\nX: y\n\r\n",
        ] {
            let refused = relayed(bad, Framing::Chunked, Rewrite::Chunks).await;
            assert!(refused.is_err(), "{}", bad.escape_ascii());
        }
        let long = [&b"3;"[..], &[b'x'; 1000], b"\r\nabc\r\n0\r\n\r\n"].concat();
        assert!(relayed(&long, Framing::Chunked, Rewrite::Bare).await.is_err());
        let trailers = [&b"0\r\n"[..], &b"a: b\r\n".repeat(3000), b"\r\n"].concat();
        assert!(relayed(&trailers, Framing::Chunked, Rewrite::Bare).await.is_err());
    }

    #[tokio::test]
    async fn a_length_is_exactly_that() {
        let kept = relayed(b"abcdef", Framing::Length(3), Rewrite::Chunks).await.unwrap();
        assert_eq!(kept, b"abc");
        assert!(relayed(b"ab", Framing::Length(3), Rewrite::Chunks).await.is_err());
        assert_eq!(relayed(b"ab", Framing::Empty, Rewrite::Bare).await.unwrap(), b"");
        assert_eq!(relayed(b"ab", Framing::UntilClose, Rewrite::Bare).await.unwrap(), b"ab");
    }

    proptest! {
        #[test]
        fn what_is_passed_on_as_chunks_is_always_read_the_same(
            bytes in prop::collection::vec(prop::sample::select(b"03a\r\n;x".to_vec()), 0..40),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let once = relayed(&bytes, Framing::Chunked, Rewrite::Chunks).await;
                if let Ok(once) = once {
                    let twice = relayed(&once, Framing::Chunked, Rewrite::Chunks).await.unwrap();
                    assert_eq!(once, twice);
                }
            });
        }
    }
}
