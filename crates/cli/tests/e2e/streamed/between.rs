//! Stands between the daemon and a real server, and tells when a request of a kind passes: so a
//! kill can come at any step of it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
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
    /// What the line or the body of a request of the kind contains: one of these.
    kinds: &'static [&'static str],
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Between {
    pub fn start(to: SocketAddr, kinds: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let between = Self { address, to, kinds, state: Arc::default() };
        let serving = between.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let between = serving.clone();
                thread::spawn(move || between.pass(&stream));
            }
        });
        between
    }

    pub fn address(&self) -> SocketAddr {
        self.address
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
        let (mut head, mut length, mut line) = (vec![], 0, String::new());
        let mut is_lasting = false;
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
            // A socket, or a stream of events.
            is_lasting |= name.eq_ignore_ascii_case("upgrade") || line.contains("/events?");
            head.push(line.clone());
        }
        if is_lasting {
            return self.join(from, &head.concat());
        }
        // One request a connection: the end of the answer is the end of it.
        head.retain(|line| !line.to_ascii_lowercase().starts_with("connection:"));
        head.insert(1, "Connection: close\r\n".to_owned());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let asked = format!("{}{}", head[0], String::from_utf8_lossy(&body));
        let is_it = self.kinds.iter().any(|kind| asked.contains(kind));
        let head = head.concat();
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
        let answer = answer(&to)?;
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

    /// A connection that goes on, both ways until either end is gone.
    fn join(&self, from: &TcpStream, head: &str) -> Option<()> {
        let mut to = TcpStream::connect(self.to).ok()?;
        to.write_all(head.as_bytes()).ok()?;
        let (mut there, mut back) = (from.try_clone().ok()?, to.try_clone().ok()?);
        let (mut from, gone) = (from.try_clone().ok()?, to.try_clone().ok()?);
        thread::spawn(move || {
            let _ = io::copy(&mut there, &mut back);
            let _ = gone.shutdown(Shutdown::Both);
        });
        let _ = io::copy(&mut to, &mut from);
        let _ = from.shutdown(Shutdown::Both);
        Some(())
    }
}

/// A whole answer, also of who does not end the connection behind it. Whoever gets it is told that
/// the connection ends.
fn answer(from: &TcpStream) -> Option<Vec<u8>> {
    let mut reader = BufReader::new(from);
    let (mut answer, mut length, mut line) = (vec![], None, String::new());
    while line != "\r\n" {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok();
        }
        let is_first = answer.is_empty();
        answer.extend_from_slice(line.as_bytes());
        if is_first {
            answer.extend_from_slice(b"Connection: close\r\n");
        }
    }
    match length {
        Some(length) => reader.take(length).read_to_end(&mut answer).ok()?,
        None if answer.starts_with(b"HTTP/1.1 204") => 0,
        None => reader.read_to_end(&mut answer).ok()?,
    };
    Some(answer)
}
