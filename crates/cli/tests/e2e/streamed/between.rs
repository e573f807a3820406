//! Stands between the daemon and a real server, and tells when a request of a kind passes: so a
//! kill can come at any step of it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// What happens to the next request of the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It passes, and so does its answer.
    Passes,
    /// It passes, and its answer does not.
    Unanswered,
    /// It passes when [`Between::let_go`] says so.
    Late,
}

#[derive(Default)]
struct State {
    passed: usize,
    fate: Option<Fate>,
    /// How often what was held was let go.
    freed: usize,
}

/// A way to a server. Its threads end with the test.
#[derive(Clone)]
pub struct Between {
    address: SocketAddr,
    to: SocketAddr,
    /// What the line of a request of the kind contains.
    kind: &'static str,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Between {
    pub fn start(to: SocketAddr, kind: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let between = Self { address, to, kind, state: Arc::default() };
        let serving = between.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let between = serving.clone();
                thread::spawn(move || between.pass(&stream));
            }
        });
        between
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Says what becomes of the next request of the kind; how many there were.
    pub fn next_is(&self, fate: Fate) -> usize {
        let mut state = self.state.0.lock().unwrap();
        state.fate = Some(fate);
        state.passed
    }

    /// Waits until one more request than `before` came to where its fate takes it, and no longer
    /// than this.
    pub fn wait(&self, before: usize, longest: Duration) {
        let state = self.state.0.lock().unwrap();
        let waiting = |state: &mut State| state.passed <= before;
        drop(self.state.1.wait_timeout_while(state, longest, waiting).unwrap());
    }

    /// Lets what is held pass, and what comes next as well.
    pub fn let_go(&self) {
        let mut state = self.state.0.lock().unwrap();
        (state.fate, state.freed) = (None, state.freed + 1);
        self.state.1.notify_all();
    }

    fn came(&self) {
        self.state.0.lock().unwrap().passed += 1;
        self.state.1.notify_all();
    }

    /// One request, and its answer.
    fn pass(&self, mut from: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(from);
        let (mut head, mut length, mut line) = (String::new(), 0, String::new());
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
            // One request a connection: the end of the answer is the end of it.
            match name.eq_ignore_ascii_case("connection") {
                true => {}
                false if line == "\r\n" => head.push_str("Connection: close\r\n\r\n"),
                false => head.push_str(&line),
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let is_it = head.lines().next()?.contains(self.kind);
        let fate = match is_it {
            true => self.state.0.lock().unwrap().fate.take().unwrap_or(Fate::Passes),
            false => Fate::Passes,
        };
        if fate == Fate::Late {
            self.came();
            let state = self.state.0.lock().unwrap();
            let freed = state.freed;
            drop(self.state.1.wait_while(state, |state| state.freed == freed).unwrap());
        }
        let mut to = TcpStream::connect(self.to).ok()?;
        to.write_all(head.as_bytes()).ok()?;
        to.write_all(&body).ok()?;
        let mut answer = vec![];
        to.read_to_end(&mut answer).ok()?;
        if is_it && fate != Fate::Late {
            self.came();
        }
        if fate == Fate::Unanswered {
            // Until whoever asked is gone.
            let _ = from.read(&mut [0]);
            return None;
        }
        from.write_all(&answer).ok()
    }
}
