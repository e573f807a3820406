//! The instant model: an OpenAI-compatible server whose answer was ready before it was asked.
//!
//! `/v1/…` answers at once, streamed or not; `/hung/v1/…` takes a request and never answers;
//! `/read/v1/…` and `/run/v1/…` call a tool once in every turn before they answer.
//! It counts what it is sent, and looks at no more of it than it must.

use crate::machine;
use crate::wire::{BenchListener, Heard, Wire, find};
use anyhow::{Context as _, Result};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// The file that `/read/v1/…` reads.
pub const NOTE: &str = "note.txt";

/// What it says.
pub const ANSWER: &str = "pong";

/// Where in a request the word about streaming is looked for: providers put settings before
/// or behind the conversation.
const EDGE_LEN: usize = 256;

/// A running model, on a thread of its own until the program ends.
pub struct Model {
    /// Where it listens.
    pub address: SocketAddr,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    requests: AtomicUsize,
    last_len: AtomicUsize,
}

impl Model {
    pub fn start() -> Result<Self> {
        let counts = Arc::new(Counts::default());
        let (tell, told) = mpsc::channel();
        let counting = counts.clone();
        machine::thread("model", move || machine::block_on(listen(counting, tell)));
        let address = told.recv().context("the instant model did not start")??;
        Ok(Self { address, counts })
    }

    /// How many requests came.
    pub fn requests(&self) -> usize {
        self.counts.requests.load(Ordering::Relaxed)
    }

    /// How long the body of the last request was.
    pub fn last_len(&self) -> usize {
        self.counts.last_len.load(Ordering::Relaxed)
    }
}

async fn listen(counts: Arc<Counts>, tell: mpsc::Sender<Result<SocketAddr>>) {
    let listener = match BenchListener::open().await {
        Ok(listener) => listener,
        Err(error) => {
            // Whoever asked has the error, or has gone.
            let _ = tell.send(Err(error.into()));
            return;
        }
    };
    let _ = tell.send(listener.address().map_err(Into::into));
    let answers = Arc::new(Answers::new());
    while let Ok(wire) = listener.accept().await {
        tokio::spawn(serve(wire, counts.clone(), answers.clone()));
    }
}

async fn serve(mut wire: Wire, counts: Arc<Counts>, answers: Arc<Answers>) {
    loop {
        let answer = match wire.hear().await {
            Ok(Some(heard)) => {
                counts.requests.fetch_add(1, Ordering::Relaxed);
                counts.last_len.store(heard.body.len(), Ordering::Relaxed);
                answers.to(&heard)
            }
            _ => return,
        };
        let Some(answer) = answer else {
            // Whoever asked gives up in the end; until then nothing is said.
            let _ = wire.hear().await;
            return;
        };
        if wire.say(answer).await.is_err() {
            return;
        }
    }
}

/// The bytes of all answers, heads included.
struct Answers {
    pong: Answer,
    read: Answer,
    run: Answer,
}

/// One answer, whole and streamed.
struct Answer {
    whole: Vec<u8>,
    streamed: Vec<u8>,
}

impl Answers {
    fn new() -> Self {
        let call = |name: &str, arguments: &str| {
            let function = serde_json::json!({ "name": name, "arguments": arguments });
            let call = serde_json::json!([{ "index": 0, "id": "call", "type": "function", "function": function }]);
            Answer::new(&format!(r#""content":null,"tool_calls":{call}"#), "tool_calls")
        };
        Self {
            pong: Answer::new(&format!(r#""content":"{ANSWER}""#), "stop"),
            read: call("read_file", &format!(r#"{{"path":"{NOTE}"}}"#)),
            run: call("terminal", r#"{"command":"true"}"#),
        }
    }

    /// What is answered; `None` where nothing ever is.
    fn to(&self, asked: &Heard<'_>) -> Option<&[u8]> {
        let begins = |path: &[u8]| asked.head.starts_with(path);
        if begins(b"POST /hung/") {
            return None;
        }
        let body = asked.body;
        let call = match (begins(b"POST /read/"), begins(b"POST /run/")) {
            (true, _) => Some(&self.read),
            (_, true) => Some(&self.run),
            _ => None,
        };
        let answer = call.filter(|_| !is_called(body)).unwrap_or(&self.pong);
        let edges =
            [&body[..body.len().min(EDGE_LEN)], &body[body.len().saturating_sub(EDGE_LEN)..]];
        let is_streamed = edges.iter().any(|edge| find(edge, br#""stream":true"#).is_some());
        Some(if is_streamed { &answer.streamed } else { &answer.whole })
    }
}

/// Whether the turn that a request belongs to has had its call: the last word is a tool's.
fn is_called(body: &[u8]) -> bool {
    let last = |role: &[u8]| body.windows(role.len()).rposition(|window| window == role);
    last(br#""role":"tool""#) > last(br#""role":"user""#)
}

impl Answer {
    /// An answer with these fields in its message, for this reason.
    fn new(message: &str, reason: &str) -> Self {
        let usage = r#"{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}"#;
        let common = r#""id":"chatcmpl-bench","created":1700000000,"model":"instant""#;
        let whole = format!(
            r#"{{{common},"object":"chat.completion","choices":[{{"index":0,"message":{{"role":"assistant",{message}}},"finish_reason":"{reason}"}}],"usage":{usage}}}"#
        );
        let chunk = format!(r#"{common},"object":"chat.completion.chunk""#);
        let streamed = format!(
            "data: {{{chunk},\"choices\":[{{\"index\":0,\"delta\":{{\"role\":\"assistant\",{message}}},\"finish_reason\":null}}]}}\n\n\
             data: {{{chunk},\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n\
             data: {{{chunk},\"choices\":[],\"usage\":{usage}}}\n\n\
             data: [DONE]\n\n"
        );
        Self {
            whole: answer("application/json", &whole),
            streamed: answer("text/event-stream", &streamed),
        }
    }
}

fn answer(kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_called_once_in_every_turn() {
        assert!(!is_called(br#"{"messages":[{"role":"user"}]}"#));
        assert!(is_called(
            br#"{"messages":[{"role":"user"},{"role":"assistant"},{"role":"tool"}]}"#
        ));
        assert!(!is_called(br#"{"messages":[{"role":"tool"},{"role":"user"}]}"#));
    }
}
