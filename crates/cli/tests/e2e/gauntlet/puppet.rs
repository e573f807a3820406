//! A model that does as it is told: `call TOOL ARGUMENTS` makes that call and says what came of
//! it, anything else is repeated. It keeps every request, so that what was shown to whom can be
//! searched byte by byte; an agent is known by the name of its model.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, sockets and processes, and fail by panicking"
)]

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A running model. Its threads end with the test.
#[derive(Clone)]
pub struct Puppet {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Prompt>>>,
}

/// What a model was sent.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// The model that was asked for.
    pub model: String,
    /// The whole request.
    pub body: String,
}

impl Puppet {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let puppet = Self { address: listener.local_addr().unwrap(), seen: Arc::default() };
        let serving = puppet.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let puppet = serving.clone();
                thread::spawn(move || while puppet.serve(&stream).is_some() {});
            }
        });
        puppet
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Everything it was sent.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.seen.lock().unwrap().clone()
    }

    /// What the model of one agent was sent.
    pub fn shown_to(&self, model: &str) -> Vec<String> {
        let all = self.prompts().into_iter().filter(|prompt| prompt.model == model);
        all.map(|prompt| prompt.body).collect()
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
        let number = {
            let mut seen = self.seen.lock().unwrap();
            let model = asked["model"].as_str().unwrap_or_default().to_owned();
            seen.push(Prompt { model, body: String::from_utf8_lossy(&body).into_owned() });
            seen.len()
        };
        let answer = answer(asked["messages"].as_array()?, number);
        let body = format!("data: {answer}\n\ndata: [DONE]\n\n");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
        write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).ok()
    }
}

fn answer(messages: &[Value], number: usize) -> Value {
    let last = messages.last().cloned().unwrap_or_default();
    // Messages in a row come as one: the last one counts.
    let text = words(&last["content"]);
    let text = text.rsplit("\n\n").next().unwrap_or_default().trim_start().to_owned();
    let (delta, reason) = if last["role"] == "tool" {
        (json!({ "content": format!("result: {text}") }), "stop")
    } else {
        match text.strip_prefix("call ").and_then(|rest| rest.split_once(' ')) {
            Some((tool, arguments)) => {
                let function = json!({ "name": tool, "arguments": arguments });
                let call = json!({ "index": 0, "id": format!("c{number}"), "type": "function", "function": function });
                (json!({ "tool_calls": [call] }), "tool_calls")
            }
            None => (json!({ "content": format!("heard: {text}") }), "stop"),
        }
    };
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
    json!({ "choices": [choice], "usage": { "prompt_tokens": 1, "completion_tokens": 1 } })
}

/// What was said, without what the gateway says of it.
fn words(content: &Value) -> String {
    let text = match content {
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.as_str().unwrap_or_default().to_owned(),
    };
    let said = text.lines().filter(|line| !line.starts_with('⟦'));
    said.collect::<Vec<_>>().join("\n")
}
