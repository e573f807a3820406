//! The instant model: an OpenAI-compatible server whose answer was ready before it was asked.
//!
//! `/v1/…` answers at once, streamed or not; `/hung/v1/…` takes a request and never answers.
//! It counts what it is sent, and looks at no more of it than it must.

use crate::machine;
use crate::wire::{Door, Heard, Wire, find};
use anyhow::{Context as _, Result};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

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
    /// Starts one.
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
    let door = match Door::open().await {
        Ok(door) => door,
        Err(error) => {
            // Whoever asked has the error, or has gone.
            let _ = tell.send(Err(error.into()));
            return;
        }
    };
    let _ = tell.send(door.address().map_err(Into::into));
    let answers = Arc::new(Answers::new());
    while let Ok(wire) = door.accept().await {
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

/// The bytes of both answers, heads included.
struct Answers {
    whole: Vec<u8>,
    streamed: Vec<u8>,
}

impl Answers {
    fn new() -> Self {
        let usage = r#"{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}"#;
        let common = r#""id":"chatcmpl-bench","created":1700000000,"model":"instant""#;
        let whole = format!(
            r#"{{{common},"object":"chat.completion","choices":[{{"index":0,"message":{{"role":"assistant","content":"{ANSWER}"}},"finish_reason":"stop"}}],"usage":{usage}}}"#
        );
        let chunk = format!(r#"{common},"object":"chat.completion.chunk""#);
        let streamed = format!(
            "data: {{{chunk},\"choices\":[{{\"index\":0,\"delta\":{{\"role\":\"assistant\",\"content\":\"{ANSWER}\"}},\"finish_reason\":null}}]}}\n\n\
             data: {{{chunk},\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n\
             data: {{{chunk},\"choices\":[],\"usage\":{usage}}}\n\n\
             data: [DONE]\n\n"
        );
        Self {
            whole: answer("application/json", &whole),
            streamed: answer("text/event-stream", &streamed),
        }
    }

    /// What is answered; `None` where nothing ever is.
    fn to(&self, asked: &Heard<'_>) -> Option<&[u8]> {
        if asked.head.starts_with(b"POST /hung/") {
            return None;
        }
        let body = asked.body;
        let edges =
            [&body[..body.len().min(EDGE_LEN)], &body[body.len().saturating_sub(EDGE_LEN)..]];
        let is_streamed = edges.iter().any(|edge| find(edge, br#""stream":true"#).is_some());
        Some(if is_streamed { &self.streamed } else { &self.whole })
    }
}

fn answer(kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}
