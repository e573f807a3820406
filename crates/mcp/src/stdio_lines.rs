//! Messages over the standard streams of a program, a line each.
//!
//! The program is not trusted to keep any bound. A line that is too long, too much that is no
//! message, too many messages at once, or answers of ours that it does not read end the
//! connection: what comes after can't be told from what came before.

use crate::server::Ending;
use crate::task_form;
use insula_world::Clock;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Mutex;

/// What the parser says of a message with more levels than it takes.
const TOO_DEEP: &str = "recursion limit exceeded";

/// Longest line, in bytes.
pub const FRAME_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Lines that are no message: some programs print a greeting or a log where they should not.
const STRAY_LINES_MAX: usize = 200;
/// Messages that may come at once.
const BURST_MAX: f64 = 2_000.0;
/// Messages a second that may come all the time.
const PER_SECOND: f64 = 100.0;
/// Messages of ours that may wait for the program to read them.
const UNREAD_MAX: usize = 256;
/// Bytes read at once.
const CHUNK_BYTES: usize = 64 * 1024;

pub(crate) type Reading = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Writing = Box<dyn AsyncWrite + Send + Unpin>;

/// Both streams of a program.
pub(crate) struct StdioLines {
    read: Reading,
    /// What was read and not looked at yet.
    pending: Vec<u8>,
    /// How far no end of a line was found in it.
    looked: usize,
    chunk: Vec<u8>,
    write: Arc<Mutex<Option<Writing>>>,
    unread: Arc<AtomicUsize>,
    stray: usize,
    bucket: Bucket,
    ending: Arc<Ending>,
    /// The program, which ends with this value.
    keeps: Option<Box<dyn Send>>,
}

impl StdioLines {
    pub(crate) fn new(
        read: Reading,
        write: Writing,
        keeps: Box<dyn Send>,
        clock: Arc<dyn Clock>,
        ending: Arc<Ending>,
    ) -> Self {
        Self {
            read,
            pending: Vec::new(),
            looked: 0,
            chunk: vec![0; CHUNK_BYTES],
            write: Arc::new(Mutex::new(Some(write))),
            unread: Arc::default(),
            stray: 0,
            bucket: Bucket { clock, left: BURST_MAX, at: None },
            ending,
            keeps: Some(keeps),
        }
    }

    /// The next whole line; `None` at the end of the stream, or where it has to end. Nothing
    /// is lost when the future is dropped half way: what was read is kept.
    async fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            let end = self.pending[self.looked..].iter().position(|byte| *byte == b'\n');
            // What came last may hold the end of a line that is too long all the same.
            let len = end.map_or(self.pending.len(), |end| self.looked + end);
            if len > FRAME_BYTES_MAX {
                self.ending.note(format!("it sent a line of more than {FRAME_BYTES_MAX} bytes"));
                return None;
            }
            if let Some(end) = end {
                let rest = self.pending.split_off(self.looked + end + 1);
                let line = std::mem::replace(&mut self.pending, rest);
                self.looked = 0;
                return Some(line);
            }
            self.looked = self.pending.len();
            match self.read.read(&mut self.chunk).await {
                Ok(0) => {
                    self.ending.note("it closed its output".to_owned());
                    return None;
                }
                Ok(count) => self.pending.extend_from_slice(&self.chunk[..count]),
                Err(error) => {
                    self.ending.note(format!("it can't be read from: {error}"));
                    return None;
                }
            }
        }
    }
}

impl Transport<RoleClient> for StdioLines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (write, unread) = (self.write.clone(), self.unread.clone());
        let waiting = unread.fetch_add(1, Ordering::Relaxed);
        async move {
            let _count = Count(unread);
            if waiting >= UNREAD_MAX {
                return Err(io::Error::other("it does not read what it is sent"));
            }
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut write = write.lock().await;
            match &mut *write {
                Some(write) => {
                    write.write_all(&line).await?;
                    write.flush().await
                }
                None => Err(io::ErrorKind::NotConnected.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let line = self.line().await?;
            if self.unread.load(Ordering::Relaxed) >= UNREAD_MAX {
                self.ending.note("it does not read what it is sent".to_owned());
                return None;
            }
            // Empty lines count too: they cost as much to find.
            if !self.bucket.take() {
                self.ending.note("it sends more messages than anybody could want".to_owned());
                return None;
            }
            let text = line.trim_ascii();
            if text.is_empty() {
                continue;
            }
            let kept = task_form::kept(text);
            match serde_json::from_slice(kept.as_deref().unwrap_or(text)) {
                Ok(message) => return Some(message),
                // Whoever waits for it would wait in vain.
                Err(error) if error.to_string().starts_with(TOO_DEEP) => {
                    self.ending.note("it sent a message that is nested too deep".to_owned());
                    return None;
                }
                Err(_) => self.stray += 1,
            }
            if self.stray > STRAY_LINES_MAX {
                self.ending.note("what it sends is not MCP".to_owned());
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.keeps = None;
        // A writer that is stuck holds this; it goes when the program does.
        if let Ok(mut write) = self.write.try_lock() {
            *write = None;
        }
        Ok(())
    }
}

/// One message less that waits.
struct Count(Arc<AtomicUsize>);

impl Drop for Count {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many messages may still come.
struct Bucket {
    clock: Arc<dyn Clock>,
    left: f64,
    at: Option<Duration>,
}

impl Bucket {
    fn take(&mut self) -> bool {
        let now = self.clock.elapsed();
        let passed = self.at.map_or(0.0, |at| now.saturating_sub(at).as_secs_f64());
        self.at = Some(now);
        self.left = (self.left + passed * PER_SECOND).min(BURST_MAX) - 1.0;
        self.left >= 0.0
    }
}
