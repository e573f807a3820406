//! A model that takes seconds to say its answer, in words, and numbers its answers: no two are
//! alike, not even to the same question.
//!
//! A question is a name in angle brackets. The answer names it, and says `whole` last.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// What is between two words of an answer, in milliseconds.
const WORD_MS: u64 = 120;
/// How long answers are, in words, one after the other. The shortest is said before anything is
/// shown of it, the longest takes as long as a platform needs to show it in several steps.
const WORDS: [usize; 6] = [8, 18, 30, 22, 64, 26];

/// A running model. Its threads end with the test.
#[derive(Clone)]
pub struct SlowModel {
    address: SocketAddr,
    answers: Arc<AtomicU64>,
}

impl SlowModel {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let model = Self { address: listener.local_addr().unwrap(), answers: Arc::default() };
        let serving = model.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let model = serving.clone();
                // Who asked may be killed at any time; then there is nobody to answer.
                thread::spawn(move || model.serve(&stream));
            }
        });
        model
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// How often it was asked.
    pub fn asked(&self) -> u64 {
        self.answers.load(Ordering::SeqCst)
    }

    fn serve(&self, mut stream: &TcpStream) -> Option<()> {
        let asked = read(stream)?;
        let said = asked["messages"].as_array()?.iter().rev();
        let mut said = said.filter(|it| it["role"] == "user").map(|it| it["content"].to_string());
        let name = said.next()?.split_once('<')?.1.split_once('>')?.0.to_owned();
        let number = self.answers.fetch_add(1, Ordering::SeqCst) + 1;
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).ok()?;
        let count = WORDS[usize::try_from(number).unwrap() % WORDS.len()];
        let words = (0..count).map(|at| format!(" w{at}"));
        let first = format!("<{name}> answer {number}:");
        for word in std::iter::once(first).chain(words).chain([" whole".to_owned()]) {
            write!(stream, "data: {}\n\n", chunk(&json!({ "content": word }), None)).ok()?;
            // How long it takes is what is tested: kills have to find it at every word.
            thread::sleep(Duration::from_millis(WORD_MS));
        }
        write!(stream, "data: {}\n\ndata: [DONE]\n\n", chunk(&json!({}), Some("stop"))).ok()
    }
}

fn read(stream: &TcpStream) -> Option<Value> {
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
    serde_json::from_slice(&body).ok()
}

fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({
        "id": "chatcmpl-slow", "object": "chat.completion.chunk", "created": 0, "model": "slow",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 },
    })
}
