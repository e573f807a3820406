//! A provider on loopback that answers from a script, byte for byte, and the caller of an
//! agent that uses it. Nothing here knows what is right.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// One thing the provider does.
pub enum Step {
    /// Writes this.
    Write(String),
    /// Waits until the test drops or uses the sender.
    Wait(Receiver<()>),
}

/// A provider. Each request has a connection of its own, closed after its steps.
pub struct Provider {
    pub url: String,
    /// What was asked, in order.
    pub seen: Arc<Mutex<Vec<Value>>>,
    /// Told of each request.
    pub came: Receiver<()>,
}

impl Provider {
    /// Starts one; `script` says what to do for each request, counted from 0.
    pub fn start(script: impl FnMut(usize) -> Vec<Step> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (tell, came) = channel();
        let (kept, script) = (seen.clone(), Arc::new(Mutex::new(script)));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (kept, tell, script) = (kept.clone(), tell.clone(), script.clone());
                std::thread::spawn(move || answer(stream.unwrap(), &kept, &tell, &script));
            }
        });
        Self { url, seen, came }
    }

    /// Agents `a`, whose model this is, and `b`, who rehearses.
    pub fn home(&self) -> Home {
        configured(&format!(
            "providers: {{far: {{kind: openai, base_url: \"{}\", sees_images: true}}}}\nagents:\n  a: {{default: true, model: far/one}}\n  b: {{tools: [todo]}}\n",
            self.url
        ))
    }
}

fn answer(
    stream: TcpStream,
    seen: &Mutex<Vec<Value>>,
    tell: &Sender<()>,
    script: &Mutex<impl FnMut(usize) -> Vec<Step>>,
) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let head = head.to_lowercase();
    // What models it has is not what it is here for.
    if head.starts_with("get ") {
        let _ = reader.get_mut().write_all(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n");
        return;
    }
    let length = head.split("content-length: ").nth(1).and_then(|it| it.lines().next());
    let mut body = vec![0; length.and_then(|it| it.trim().parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let number = {
        let mut seen = seen.lock().unwrap();
        seen.push(serde_json::from_slice(&body).unwrap_or_default());
        seen.len() - 1
    };
    let steps = (script.lock().unwrap())(number);
    let _ = tell.send(());
    for step in steps {
        match step {
            Step::Write(text) => {
                // Whoever asked may have gone away.
                let _ = reader.get_mut().write_all(text.as_bytes());
            }
            Step::Wait(go) => {
                let _ = go.recv();
            }
        }
    }
}

/// A whole answer.
pub fn whole(status: &str, headers: &str, body: &str) -> Step {
    let length = body.len();
    Step::Write(format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    ))
}

/// An answer of a model that says this.
pub fn says(text: &str) -> Step {
    says_until(text, "stop")
}

/// The same, ended for this reason.
pub fn says_until(text: &str, reason: &str) -> Step {
    let body = json!({
        "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": reason }],
        "usage": { "prompt_tokens": 3, "completion_tokens": 2 },
    });
    whole("200 OK", "Content-Type: application/json\r\n", &body.to_string())
}

/// The beginning of a streamed answer that has said this so far.
pub fn begins(text: &str) -> Step {
    let delta = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    Step::Write(format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\ndata: {delta}\n\n"
    ))
}

/// The end of a streamed answer.
pub fn ends(text: &str) -> Step {
    let delta = json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": "stop" }] });
    Step::Write(format!("data: {delta}\n\ndata: [DONE]\n\n"))
}

/// A token for an agent: its id and its text.
pub fn token_for(home: &Home, agent: &str) -> (String, String) {
    let made = json(home, &["token", "create", "--agent", agent]);
    let text = |key: &str| made[key].as_str().unwrap().to_owned();
    (text("id"), text("token"))
}

/// Posts a body with a token.
pub fn post(daemon: &Daemon, token: &str, path: &str, headers: &[&str], body: &Value) -> Answer {
    let bearer = format!("Authorization: Bearer {token}");
    let mut all = vec![bearer.as_str(), "Content-Type: application/json"];
    all.extend(headers);
    send(daemon.listen(), "POST", path, &all, &body.to_string())
}

/// What a chat completion asks.
pub fn ask(agent: &str, text: &str) -> Value {
    json!({ "model": agent, "messages": [{ "role": "user", "content": text }] })
}

/// A request whose answer is read as it comes.
pub struct Reading {
    reader: BufReader<TcpStream>,
}

impl Reading {
    /// Sends it.
    pub fn post(daemon: &Daemon, token: &str, path: &str, body: &Value) -> Self {
        let body = body.to_string();
        let mut stream = TcpStream::connect(daemon.listen()).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            daemon.listen(),
            body.len()
        )
        .unwrap();
        Self { reader: BufReader::new(stream) }
    }

    /// Reads until a line has this; all that was read.
    pub fn until(&mut self, text: &str) -> String {
        let mut read = String::new();
        while !read.contains(text) {
            let mut line = String::new();
            assert_ne!(self.reader.read_line(&mut line).unwrap(), 0, "it ended: {read}");
            read += &line;
        }
        read
    }

    /// Reads to the end.
    pub fn rest(mut self) -> String {
        let mut read = Vec::new();
        self.reader.read_to_end(&mut read).unwrap();
        String::from_utf8_lossy(&read).into_owned()
    }
}
