//! A model that does what a script says, over the protocol of OpenAI: it is shown what its calls
//! gave back and names the next ones. Nothing here knows what is right.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and sockets and fail by panicking"
)]

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A call of a tool: its name and its arguments.
pub type Call = (String, Value);

/// Told all that its calls gave back so far, it names the next ones; none is the end.
type Script = Box<dyn FnMut(&[String]) -> Vec<Call> + Send>;

/// What a part is played by.
#[derive(Default)]
struct Part {
    script: Option<Script>,
    /// What its calls gave back.
    results: Vec<String>,
    /// The tools it was offered.
    tools: Value,
}

/// A running model.
pub struct Puppet {
    pub url: String,
    pub port: u16,
    parts: Arc<Mutex<BTreeMap<usize, Part>>>,
    next: AtomicUsize,
}

/// What came of a part.
pub struct Played {
    /// What each call gave back, in order.
    pub results: Vec<String>,
    /// The tools it was offered, as the provider is told of them.
    pub tools: Value,
}

impl Puppet {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let parts = Arc::new(Mutex::new(BTreeMap::new()));
        let played = parts.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let parts = played.clone();
                std::thread::spawn(move || answer(stream.unwrap(), &parts));
            }
        });
        let url = format!("http://127.0.0.1:{port}/v1");
        Self { url, port, parts, next: AtomicUsize::new(0) }
    }

    /// Gives it a part; the words that make it play.
    pub fn learn(&self, script: impl FnMut(&[String]) -> Vec<Call> + Send + 'static) -> Cue {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let part = Part { script: Some(Box::new(script)), ..Part::default() };
        self.parts.lock().unwrap().insert(number, part);
        Cue(number)
    }

    /// What came of a part that was played.
    pub fn played(&self, cue: Cue) -> Played {
        let part = self.parts.lock().unwrap().remove(&cue.0).unwrap();
        Played { results: part.results, tools: part.tools }
    }
}

/// Which part to play.
#[derive(Clone, Copy)]
pub struct Cue(usize);

impl Cue {
    /// As it is said to the agent.
    pub fn words(self) -> String {
        format!("play part {};", self.0)
    }
}

/// The part that the last message of a person asks for, and what its calls gave back since.
fn asked(messages: &[Value]) -> Option<(usize, Vec<String>)> {
    let at = messages.iter().rposition(|message| message["role"] == "user")?;
    let words = messages[at].to_string();
    let number = words.rsplit_once("play part ")?.1.split_once(';')?.0.parse().ok()?;
    let after = messages[at..].iter().filter(|message| message["role"] == "tool");
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some((number, after.map(text).collect()))
}

fn answer(stream: TcpStream, parts: &Mutex<BTreeMap<usize, Part>>) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        // Whoever only looks whether somebody listens says nothing.
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let head = head.to_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|it| it.lines().next());
    let mut body = vec![0; length.and_then(|it| it.trim().parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let said = asked(request["messages"].as_array().map_or(&[], Vec::as_slice));
    let calls = match said {
        Some((number, results)) => play(number, results, &request["tools"], parts),
        None => Vec::new(),
    };
    let message = match calls.as_slice() {
        [] => json!({ "role": "assistant", "content": "done" }),
        calls => json!({ "role": "assistant", "content": null, "tool_calls": calls }),
    };
    let reply = json!({ "choices": [{ "message": message, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1 } });
    let reply = reply.to_string();
    // Whoever asked may have gone away.
    let _ = write!(
        reader.get_mut(),
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{reply}",
        reply.len()
    );
}

fn play(
    number: usize,
    results: Vec<String>,
    tools: &Value,
    parts: &Mutex<BTreeMap<usize, Part>>,
) -> Vec<Value> {
    // Without the lock: a script may wait for another's.
    let script = parts.lock().unwrap().get_mut(&number).and_then(|part| part.script.take());
    let Some(mut script) = script else { return Vec::new() };
    let calls = script(&results);
    let count = results.len();
    let mut parts = parts.lock().unwrap();
    let part = parts.get_mut(&number).unwrap();
    (part.script, part.results, part.tools) = (Some(script), results, tools.clone());
    let call = |(nth, (name, arguments)): (usize, Call)| {
        json!({ "id": format!("c{number}-{}", count + nth), "type": "function",
            "function": { "name": name, "arguments": arguments.to_string() } })
    };
    calls.into_iter().enumerate().map(call).collect()
}
