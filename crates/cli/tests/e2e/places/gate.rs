//! Stands between the daemon and a platform, and lets the platform fail: it is gone, or answers
//! nonsense, or answers nothing.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// How a platform behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mood {
    /// As it should.
    #[default]
    Well,
    /// It ends every connection.
    Closing,
    /// It answers what nobody asked for, and much of it.
    Garbage,
    /// It takes connections and says nothing.
    Silent,
}

/// Ways to fail.
pub const ILL: [Mood; 3] = [Mood::Closing, Mood::Garbage, Mood::Silent];

/// What it answers who answers nonsense.
const NONSENSE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n{\"ok\":[[[\x00\xff";
/// How often it says so on one connection.
const NONSENSE_TIMES: usize = 2_000;

#[derive(Default)]
struct State {
    mood: Mood,
    open: Vec<TcpStream>,
}

/// A way to a platform. Its threads end with the test.
#[derive(Clone)]
pub struct Gate {
    pub address: SocketAddr,
    to: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Gate {
    pub fn before(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let gate = Self { address: listener.local_addr().unwrap(), to, state: Arc::default() };
        let serving = gate.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let gate = serving.clone();
                thread::spawn(move || gate.pass(stream));
            }
        });
        gate
    }

    /// The platform behaves so from now on; who is connected is cut off.
    pub fn turn(&self, mood: Mood) {
        let mut state = self.state.lock().unwrap();
        state.mood = mood;
        for stream in state.open.drain(..) {
            // It may be gone already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn pass(&self, mut from: TcpStream) -> Option<()> {
        let mood = {
            let mut state = self.state.lock().unwrap();
            state.open.retain(|stream| stream.peer_addr().is_ok());
            state.open.push(from.try_clone().ok()?);
            state.mood
        };
        match mood {
            Mood::Well => {}
            Mood::Closing => return None,
            Mood::Garbage => {
                let _ = from.read(&mut [0; 4096]).ok()?;
                from.write_all(NONSENSE).ok()?;
                return (0..NONSENSE_TIMES).try_for_each(|_| from.write_all(NONSENSE).ok());
            }
            Mood::Silent => {
                let _ = io::copy(&mut from, &mut io::sink());
                return None;
            }
        }
        let to = TcpStream::connect(self.to).ok()?;
        self.state.lock().unwrap().open.push(to.try_clone().ok()?);
        let (mut up, mut down) = (to.try_clone().ok()?, from.try_clone().ok()?);
        let mut back = to.try_clone().ok()?;
        let there = thread::spawn(move || {
            let _ = io::copy(&mut from, &mut up);
            let _ = up.shutdown(Shutdown::Write);
        });
        let _ = io::copy(&mut back, &mut down);
        let _ = down.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
        there.join().ok()
    }
}
