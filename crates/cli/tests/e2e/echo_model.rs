//! A model that repeats what it is told, remembers what it was shown of each conversation, and
//! complains when that is not a conversation.
//!
//! A conversation is named by the first word of what is said in it. Texts that hold `todo` are
//! answered by a call first, and those that hold `slow` after a moment, so that a kill can
//! find a turn at any of its steps.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use insula_testkit::model::without_notes;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How long it thinks about what is slow. Any time would do: it only has to be a part of the
/// turn that a kill can fall into.
const THINKS: Duration = Duration::from_millis(15);

/// What it answers to `text`.
pub fn reply_to(text: &str) -> String {
    format!("re {text}")
}

/// A running model. Its threads end with the test.
#[derive(Clone)]
pub struct EchoModel {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    /// What was said in each conversation, as it was shown last.
    said: HashMap<String, Vec<String>>,
    complaints: Vec<String>,
}

impl EchoModel {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let model = Self { address: listener.local_addr().unwrap(), seen: Arc::default() };
        let serving = model.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let model = serving.clone();
                // Who asked may be killed at any time; then there is nobody to answer.
                thread::spawn(move || while model.serve(&stream).is_some() {});
            }
        });
        model
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What was said in a conversation, in the order it was shown last.
    pub fn said(&self, conversation: &str) -> Vec<String> {
        self.seen.lock().unwrap().said.get(conversation).cloned().unwrap_or_default()
    }

    /// Forgets a conversation that is over.
    pub fn forget(&self, conversation: &str) {
        self.seen.lock().unwrap().said.remove(conversation);
    }

    /// Everything it was shown that is no conversation.
    pub fn complaints(&self) -> Vec<String> {
        self.seen.lock().unwrap().complaints.clone()
    }

    fn serve(&self, mut stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line == "\r\n" {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let asked: Value = serde_json::from_slice(&body).ok()?;
        let answer = self.answer(asked["messages"].as_array()?);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
        let body = format!("data: {answer}\n\ndata: [DONE]\n\n");
        write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).ok()
    }

    fn answer(&self, messages: &[Value]) -> Value {
        let (said, last) = match read(messages) {
            Ok(read) => read,
            Err(complaint) => {
                self.seen.lock().unwrap().complaints.push(complaint);
                return chunk(json!({ "content": "what?" }), "stop");
            }
        };
        let text = said.last().cloned().unwrap_or_default();
        let conversation = text.split(' ').next().unwrap_or_default().to_owned();
        self.seen.lock().unwrap().said.insert(conversation, said);
        if text.contains("slow") {
            thread::sleep(THINKS);
        }
        if text.contains("todo") && last == "user" {
            let function = json!({ "name": "todo", "arguments": "{}" });
            let id = format!("call-{}", text.replace(' ', "-"));
            let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
            return chunk(json!({ "tool_calls": [call] }), "tool_calls");
        }
        chunk(json!({ "content": reply_to(&text) }), "stop")
    }
}

/// What was said, and who spoke last; a complaint where something was lost, doubled or moved.
fn read(messages: &[Value]) -> Result<(Vec<String>, String), String> {
    let mut said: Vec<String> = vec![];
    let mut is_answered = true;
    let mut last = String::new();
    for message in messages {
        let role = message["role"].as_str().unwrap_or_default();
        let text = without_notes(message["content"].as_str().unwrap_or_default());
        let text = text.as_str();
        let shown = || format!("{role} `{text}` after {said:?}, of {messages:?}");
        match role {
            "user" if !is_answered => {
                return Err(format!("not answered before the next: {}", shown()));
            }
            "user" if said.iter().any(|known| known == text) => {
                return Err(format!("said twice: {}", shown()));
            }
            "user" => {
                said.push(text.to_owned());
                is_answered = false;
            }
            "assistant" if message["tool_calls"].is_array() => {}
            "assistant" if is_answered => return Err(format!("answered twice: {}", shown())),
            "assistant" => {
                let expected = said.last().map(|said| reply_to(said));
                if expected.as_deref() != Some(text) {
                    return Err(format!("another's answer: {}", shown()));
                }
                is_answered = true;
            }
            _ => {}
        }
        last = role.to_owned();
    }
    Ok((said, last))
}

fn chunk(delta: Value, finish: &str) -> Value {
    json!({
        "id": "chatcmpl-echo", "object": "chat.completion.chunk", "created": 0, "model": "echo",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 },
    })
}
