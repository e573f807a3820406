//! Frames of JSON-RPC on standard streams: one line each way is one frame.

use insula_world::World;
use serde_json::{Value, json};
use std::io::{BufRead as _, Read as _, Write as _};
use tokio::sync::mpsc;

/// Longest line: what the daemon takes.
pub const LINE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Lines that were read and not yet dealt with.
const AHEAD_MAX: usize = 16;

/// A frame that says what went wrong with another.
pub fn fault(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// Writes one frame as one line. Nobody left to read it is the end of input soon, too.
pub fn write(frame: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{frame}");
    let _ = out.flush();
}

/// The lines of standard input, read on a thread of their own: a read there can't be broken
/// off. One that is too long ends the input.
pub fn lines(world: &World) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(AHEAD_MAX);
    world.storage.execute(Box::new(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let read = input.by_ref().take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line);
            if !matches!(read, Ok(1..)) {
                return;
            }
            if line.len() as u64 > LINE_BYTES_MAX {
                let message = format!("a message is at most {LINE_BYTES_MAX} bytes long");
                return write(&fault(&Value::Null, -32_600, &message));
            }
            let is_blank = line.iter().all(u8::is_ascii_whitespace);
            if !is_blank && sender.blocking_send(line).is_err() {
                return;
            }
        }
    }));
    receiver
}
