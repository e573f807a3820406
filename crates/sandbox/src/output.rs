//! What a child wrote: its beginning and its end up to a limit, and how much there was.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// What was kept of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// How it begins.
    pub head: Vec<u8>,
    /// How it ends, when there was more than the head holds.
    pub tail: Vec<u8>,
    /// How many bytes there were in all.
    pub total: u64,
}

impl Captured {
    /// How many bytes between head and tail were dropped.
    pub fn dropped(&self) -> u64 {
        self.total.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// All that was kept, in order. Complete when nothing was dropped.
    pub fn bytes(&self) -> Vec<u8> {
        [self.head.as_slice(), self.tail.as_slice()].concat()
    }
}

/// Fills while a child runs; can be looked at meanwhile.
#[derive(Clone)]
pub struct Capture {
    kept: Arc<Mutex<Kept>>,
}

struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    half_max: usize,
}

impl Capture {
    /// Keeps at most `bytes_max`, half of it from the beginning.
    pub fn new(bytes_max: usize) -> Self {
        let half_max = bytes_max.div_ceil(2);
        let kept = Kept { head: vec![], tail: VecDeque::new(), total: 0, half_max };
        Self { kept: Arc::new(Mutex::new(kept)) }
    }

    fn add(&self, mut bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.total += bytes.len() as u64;
        let room = kept.half_max.saturating_sub(kept.head.len());
        if let Some((own, rest)) = bytes.split_at_checked(room) {
            kept.head.extend_from_slice(own);
            bytes = rest;
        } else {
            kept.head.extend_from_slice(bytes);
            return;
        }
        // Of a chunk longer than the tail only its end can stay.
        let bytes = bytes.get(bytes.len().saturating_sub(kept.half_max)..).unwrap_or_default();
        kept.tail.extend(bytes);
        let excess = kept.tail.len().saturating_sub(kept.half_max);
        kept.tail.drain(..excess);
    }

    /// What there is so far.
    pub fn snapshot(&self) -> Captured {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let tail = kept.tail.iter().copied().collect();
        Captured { head: kept.head.clone(), tail, total: kept.total }
    }

    /// Reads a stream to its end, whatever it holds.
    pub async fn drain(self, mut stream: impl AsyncRead + Unpin) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match stream.read(&mut chunk).await? {
                0 => return Ok(()),
                count => self.add(chunk.get(..count).unwrap_or_default()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_beginning_and_the_end_are_kept_and_the_rest_is_counted() {
        let capture = Capture::new(8);
        capture.clone().drain(&b"0123"[..]).await.unwrap();
        assert_eq!(capture.snapshot().dropped(), 0);
        capture.clone().drain(&b"456789abcdef"[..]).await.unwrap();
        let captured = capture.snapshot();
        assert_eq!(captured.bytes(), b"0123cdef");
        assert_eq!((captured.total, captured.dropped()), (16, 8));
    }

    #[tokio::test]
    async fn what_fits_is_complete() {
        let capture = Capture::new(8);
        capture.clone().drain(&b"012345"[..]).await.unwrap();
        capture.clone().drain(&b"67"[..]).await.unwrap();
        assert_eq!(capture.snapshot().bytes(), b"01234567");
        assert_eq!(capture.snapshot().dropped(), 0);
    }
}
