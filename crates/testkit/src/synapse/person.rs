//! A user of the homeserver, with just enough of a client to talk.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this file owns the connections of a test's people to the test's own homeserver"
)]

use serde_json::{Value, json};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The longest to wait for something that has to come, while nothing else comes.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Somebody with an account on the homeserver.
pub struct Person {
    port: u16,
    /// Their id: `@ann:localhost`.
    pub id: String,
    /// Their access token.
    pub token: String,
    transactions: AtomicU64,
}

impl Person {
    pub(super) fn new(port: u16, id: String, token: String) -> Self {
        assert!(!id.is_empty() && !token.is_empty(), "the homeserver gave no account");
        Self { port, id, token, transactions: AtomicU64::new(0) }
    }

    /// One request below `/_matrix/client/v3`; the status and the answer.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> io::Result<(u16, Value)> {
        let body = body.map(Value::to_string).unwrap_or_default();
        self.exchange(method, &format!("/client/v3{path}"), body.as_bytes())
    }

    fn exchange(&self, method: &str, path: &str, body: &[u8]) -> io::Result<(u16, Value)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(WAIT_MAX))?;
        let head = format!(
            "{method} /_matrix{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.token,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        let mut answer = vec![];
        stream.read_to_end(&mut answer)?;
        let text = String::from_utf8_lossy(&answer);
        let (head, body) = text.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let whole = if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            unchunked(body)
        } else {
            body.to_owned()
        };
        let value = serde_json::from_str(&whole).map_err(io::Error::other)?;
        Ok((status.ok_or(io::ErrorKind::InvalidData)?, value))
    }

    /// The same for a request that has to be answered.
    ///
    /// # Panics
    /// When it is refused, or not answered.
    pub fn get(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        match self.ask(method, path, body) {
            Ok((200, value)) => value,
            other => panic!("{method} {path} by {}: {other:?}", self.id),
        }
    }

    /// Makes a room and gives its id.
    pub fn make_room(&self, settings: &Value) -> String {
        let made = self.get("POST", "/createRoom", Some(settings));
        made["room_id"].as_str().unwrap_or_default().to_owned()
    }

    /// Makes a room for two and invites somebody.
    pub fn make_direct(&self, other: &str) -> String {
        self.make_room(&json!({
            "preset": "trusted_private_chat", "is_direct": true, "invite": [other],
        }))
    }

    /// Joins a room.
    pub fn join(&self, room: &str) {
        self.get("POST", &format!("/join/{}", encoded(room)), Some(&json!({})));
    }

    /// Invites somebody.
    pub fn invite(&self, room: &str, user: &str) {
        let path = format!("/rooms/{}/invite", encoded(room));
        self.get("POST", &path, Some(&json!({ "user_id": user })));
    }

    /// Throws somebody out.
    pub fn kick(&self, room: &str, user: &str) {
        let path = format!("/rooms/{}/kick", encoded(room));
        self.get("POST", &path, Some(&json!({ "user_id": user })));
    }

    /// Says something, and gives the id of the message.
    pub fn say(&self, room: &str, text: &str) -> String {
        self.send(room, &json!({ "msgtype": "m.text", "body": text }))
    }

    /// Says something in a thread.
    pub fn say_in_thread(&self, room: &str, root: &str, text: &str) -> String {
        self.send(
            room,
            &json!({
                "msgtype": "m.text", "body": text,
                "m.relates_to": {
                    "rel_type": "m.thread", "event_id": root, "is_falling_back": true,
                    "m.in_reply_to": { "event_id": root },
                },
            }),
        )
    }

    /// Sends a message with this content, and gives its id.
    pub fn send(&self, room: &str, content: &Value) -> String {
        self.send_kind(room, "m.room.message", content)
    }

    /// Sends an event of some kind.
    pub fn send_kind(&self, room: &str, kind: &str, content: &Value) -> String {
        let number = self.transactions.fetch_add(1, Ordering::Relaxed);
        let path = format!("/rooms/{}/send/{kind}/test-{number}", encoded(room));
        let sent = self.get("PUT", &path, Some(content));
        sent["event_id"].as_str().unwrap_or_default().to_owned()
    }

    /// Gives the homeserver a file, and gives its address.
    ///
    /// # Panics
    /// When the homeserver does not take it.
    pub fn upload(&self, content: &[u8]) -> String {
        match self.exchange("POST", "/media/v3/upload", content) {
            Ok((200, value)) => value["content_uri"].as_str().unwrap_or_default().to_owned(),
            other => panic!("an upload by {}: {other:?}", self.id),
        }
    }

    /// Takes something back.
    pub fn redact(&self, room: &str, event: &str) -> String {
        let number = self.transactions.fetch_add(1, Ordering::Relaxed);
        let path = format!("/rooms/{}/redact/{}/test-{number}", encoded(room), encoded(event));
        let sent = self.get("PUT", &path, Some(&json!({})));
        sent["event_id"].as_str().unwrap_or_default().to_owned()
    }

    /// All messages of a room, the oldest first.
    pub fn messages(&self, room: &str) -> Vec<Value> {
        let mut all = vec![];
        let mut from = String::new();
        loop {
            let path = format!("/rooms/{}/messages?dir=b&limit=200{from}", encoded(room));
            let page = self.get("GET", &path, None);
            let chunk = page["chunk"].as_array().cloned().unwrap_or_default();
            let end = page["end"].as_str().map(|end| format!("&from={}", encoded(end)));
            let is_last = chunk.is_empty();
            all.extend(chunk.into_iter().filter(|event| event["type"] == "m.room.message"));
            match end {
                Some(end) if !is_last => from = end,
                _ => break,
            }
        }
        all.reverse();
        all
    }

    /// Waits until `find` finds something in the messages of a room. The server is asked to
    /// hold each question until there is news.
    ///
    /// # Panics
    /// When it never does.
    pub fn wait_for<T>(&self, room: &str, mut find: impl FnMut(&[Value]) -> Option<T>) -> T {
        let mut until = Instant::now() + WAIT_MAX;
        let mut since = String::new();
        let mut count = 0;
        loop {
            // Where we are is asked for before looking, so that nothing falls in between.
            let path = format!("/sync?timeout=5000{since}");
            let next = self.get("GET", &path, None);
            since = format!("&since={}", encoded(next["next_batch"].as_str().unwrap_or_default()));
            let messages = self.messages(room);
            if let Some(found) = find(&messages) {
                return found;
            }
            // While something is said it goes on, however slow the machine is.
            if messages.len() > count {
                count = messages.len();
                until = Instant::now() + WAIT_MAX;
            }
            assert!(Instant::now() < until, "what {} waits for never came: {messages:#?}", self.id);
        }
    }
}

/// A body without the marks of its chunks.
fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((len, rest)) = body.split_once("\r\n") {
        let len = usize::from_str_radix(len.trim(), 16).unwrap_or(0);
        let Some(chunk) = rest.get(..len).filter(|_| len > 0) else { break };
        whole.push_str(chunk);
        body = rest[len..].trim_start_matches("\r\n");
    }
    whole
}

/// An id as a segment of a path.
fn encoded(id: &str) -> String {
    id.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
