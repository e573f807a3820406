//! A stand-in for the daemon that says what a test wants, when the test wants it: half a
//! reply, a tool that takes its time, a stranger's escape sequences.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and sockets, and fail by panicking"
)]

use insula_testkit::Home;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// A request as the stand-in sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// `POST /api/…`
    pub line: String,
    pub body: Value,
}

/// The answer to one request.
pub struct Reply {
    stream: TcpStream,
    /// What the test says meanwhile.
    go: Arc<Mutex<Receiver<()>>>,
}

impl Reply {
    /// Answers with JSON.
    pub fn json(mut self, status: u16, value: &Value) {
        let body = if value.is_null() { String::new() } else { value.to_string() };
        let _ = write!(
            self.stream,
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
    }

    /// Begins a stream of events.
    pub fn stream(&mut self) {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        self.stream.write_all(head.as_bytes()).unwrap();
        self.event("turn.accepted", json!({ "turn": 7, "session": 1 }));
    }

    /// Sends an event.
    pub fn event(&mut self, name: &str, data: Value) {
        let _ = write!(self.stream, "event: {name}\ndata: {data}\n\n");
    }

    /// Waits for the test to say go.
    pub fn wait(&self) {
        let _ = self.go.lock().unwrap().recv();
    }

    /// A whole turn that replies with this.
    pub fn says(mut self, text: &str) {
        self.stream();
        for word in text.split_inclusive(' ') {
            self.event("text.delta", json!({ "text": word }));
        }
        self.event("turn.ended", json!({ "status": "replied", "text": text }));
    }
}

/// A home where a daemon seems to run.
pub struct StandIn {
    pub home: Home,
    _lock: File,
    asked: Receiver<Asked>,
    go: Sender<()>,
}

impl StandIn {
    /// Starts. `script` answers what is not about agents, of which there are two.
    pub fn start(script: impl Fn(&Asked, Reply) + Send + Sync + 'static) -> Self {
        Self::with_agents(script, [("coder", "coder"), ("family", "family")])
    }

    /// Starts, with two agents of these ids and names.
    pub fn with_agents(
        script: impl Fn(&Asked, Reply) + Send + Sync + 'static,
        agents: [(&'static str, &'static str); 2],
    ) -> Self {
        let home = Home::with([("run/admin.token", "local"), ("run/lock", "")]).unwrap();
        let lock = File::options().write(true).open(home.path().join("run/lock")).unwrap();
        lock.lock().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let listen = listener.local_addr().unwrap().to_string();
        home.write("run/daemon.json", json!({ "pid": 1, "listen": listen }).to_string()).unwrap();
        let (tell, asked) = channel();
        let (go, wait) = channel();
        let (script, wait) = (Arc::new(script), Arc::new(Mutex::new(wait)));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, wait, tell) = (script.clone(), wait.clone(), tell.clone());
                std::thread::spawn(move || answer(stream.unwrap(), &*script, wait, &tell, agents));
            }
        });
        Self { home, _lock: lock, asked, go }
    }

    /// Lets a reply that waits go on.
    pub fn go(&self) {
        self.go.send(()).unwrap();
    }

    /// The next request whose line contains this.
    pub fn asked(&self, line: &str) -> Asked {
        loop {
            let asked = self.asked.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
            if asked.line.contains(line) {
                return asked;
            }
        }
    }
}

fn answer(
    stream: TcpStream,
    script: &(dyn Fn(&Asked, Reply) + Send + Sync),
    go: Arc<Mutex<Receiver<()>>>,
    tell: &Sender<Asked>,
    agents: [(&str, &str); 2],
) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        // Whoever only looks whether somebody listens says nothing.
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let length = head.to_lowercase();
    let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let line = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
    let asked = Asked { line, body: serde_json::from_slice(&body).unwrap_or_default() };
    let reply = Reply { stream: reader.into_inner(), go };
    let agents = agents.map(|(id, name)| {
        json!({ "id": id, "state": "ready", "generation": 1, "model": "rehearsal/rehearsal",
            "memory": false, "isolation": "context", "name": name, "reason": null })
    });
    let one = agents
        .iter()
        .find(|it| asked.line.strip_prefix("GET /api/agents/").is_some_and(|id| it["id"] == id));
    match (asked.line.as_str(), one) {
        (_, Some(one)) => reply.json(200, one),
        ("GET /api/agents", _) => reply.json(200, &json!(agents)),
        ("POST /api/route/explain", _) => reply.json(200, &json!({ "agent": "coder" })),
        _ => {
            let _ = tell.send(asked.clone());
            script(&asked, reply);
        }
    }
}
