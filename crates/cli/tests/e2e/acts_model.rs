//! A model that does what it is told: a message is a list of acts in JSON, and each answer is
//! the next one. What it holds back waits for the test. What is spelled backwards the sender did
//! not say.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use insula_testkit::model::without_notes;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// A running model. Its threads end with the test.
#[derive(Clone)]
pub struct ActsModel {
    address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    /// The messages it was asked to do something for, in order.
    asked: Vec<String>,
    released: bool,
}

impl ActsModel {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let model = Self { address: listener.local_addr().unwrap(), state: Arc::default() };
        let serving = model.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let model = serving.clone();
                thread::spawn(move || while model.serve(&stream).is_some() {});
            }
        });
        model
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// How often it was asked for something that holds these words and no list of tasks.
    pub fn asked(&self, words: &str) -> usize {
        let state = self.state.0.lock().unwrap();
        state.asked.iter().filter(|it| it.contains(words) && !it.contains("tasks")).count()
    }

    /// Lets go of what it holds back, now and from now on.
    pub fn release(&self) {
        self.state.0.lock().unwrap().released = true;
        self.state.1.notify_all();
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
        let body = format!("data: {answer}\n\ndata: [DONE]\n\n");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
        write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).ok()
    }

    fn answer(&self, messages: &[Value]) -> Value {
        let role = |message: &Value, role: &str| message["role"] == role;
        let from = messages.iter().rposition(|message| role(message, "user")).unwrap_or(0);
        // Messages in a row come as one: the last one counts.
        let program = without_notes(messages[from]["content"].as_str().unwrap_or_default());
        let program = program.rsplit("\n\n").next().unwrap_or_default();
        let at = messages[from..].iter().filter(|message| role(message, "assistant")).count();
        let acts: Vec<Value> = serde_json::from_str(program).unwrap_or_default();
        let act = acts.get(at).cloned().unwrap_or_default();
        let (state, changed) = &*self.state;
        let mut state = state.lock().unwrap();
        state.asked.push(program.to_owned());
        if act["hold"].is_string() {
            let _released = changed.wait_while(state, |state| !state.released).unwrap();
        } else {
            drop(state);
        }
        let text = match (&act["say"], &act["hold"]) {
            (Value::String(text), _) | (_, Value::String(text)) => text.clone(),
            _ if act["call"].is_string() => {
                let arguments = match &act["backwards"] {
                    Value::String(text) => text.chars().rev().collect(),
                    _ => act["arguments"].to_string(),
                };
                let function = json!({ "name": act["call"], "arguments": arguments });
                let call = json!({ "index": 0, "id": format!("c{at}"), "type": "function", "function": function });
                return chunk(json!({ "tool_calls": [call] }), "tool_calls");
            }
            _ => {
                let results = messages[from..].iter().filter(|message| role(message, "tool"));
                let results: Vec<&str> =
                    results.filter_map(|message| message["content"].as_str()).collect();
                results.join("\n--\n")
            }
        };
        chunk(json!({ "content": text }), "stop")
    }
}

fn chunk(delta: Value, reason: &str) -> Value {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
    json!({ "choices": [choice], "usage": { "prompt_tokens": 10, "completion_tokens": 3 } })
}
