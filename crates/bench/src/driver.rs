//! The load: sessions that each ask, wait for the reply, and ask again.

use crate::machine;
use crate::wire::Wire;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

/// Whom to ask, and how.
#[derive(Debug, Clone)]
pub struct Load {
    pub target: SocketAddr,
    /// The token to show.
    pub token: String,
    /// The agents; sessions are dealt out among them.
    pub agents: Vec<String>,
    /// Sessions at once, each on a connection of its own.
    pub sessions: usize,
    pub turns: usize,
    /// Turns after which a session is left and a new one begun.
    pub session_turns: usize,
    /// What session names begin with: a load with another one talks in other sessions.
    pub prefix: String,
    /// What each waits after a reply.
    pub think: Duration,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Turns that were answered.
    pub turns: usize,
    /// Answers that were none, by status; 0 is a connection that broke.
    pub errors: BTreeMap<u16, usize>,
    /// From the first request to the last reply.
    pub seconds: f64,
    /// How long each turn took, in microseconds, in order of size.
    pub took_us: Vec<u32>,
}

impl Outcome {
    /// Turns a second.
    pub fn rate(&self) -> f64 {
        self.turns as f64 / self.seconds
    }

    /// The latency that this share of the turns stays within, in milliseconds.
    pub fn quantile_ms(&self, share: f64) -> f64 {
        let last = self.took_us.len().saturating_sub(1);
        let at = (self.took_us.len() as f64 * share) as usize;
        self.took_us.get(at.min(last)).map_or(f64::NAN, |us| f64::from(*us) / 1e3)
    }

    /// Takes an answer down; whether it was a reply.
    fn note(&mut self, status: u16, took_us: u128) -> bool {
        if status != 200 {
            *self.errors.entry(status).or_default() += 1;
            return false;
        }
        self.turns += 1;
        self.took_us.push(u32::try_from(took_us).unwrap_or(u32::MAX));
        true
    }

    /// How many answers were none.
    pub fn failed(&self) -> usize {
        self.errors.values().sum()
    }
}

/// Runs a load on a thread of its own, to its end.
pub fn run(load: Load) -> Outcome {
    let thread = machine::thread("driver", move || machine::block_on(all(load)));
    thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
}

/// Runs a load in the background; the outcome comes when it has ended.
pub fn start(load: Load) -> Option<std::thread::JoinHandle<Outcome>> {
    machine::thread("load", move || machine::block_on(all(load)))
}

async fn all(load: Load) -> Outcome {
    let load = Rc::new(load);
    let left = Rc::new(Cell::new(load.turns));
    let outcome = Rc::new(RefCell::new(Outcome::default()));
    let begun = machine::now();
    let tasks = tokio::task::LocalSet::new();
    for number in 0..load.sessions {
        tasks.spawn_local(session(number, load.clone(), left.clone(), outcome.clone()));
    }
    tasks.await;
    let mut outcome = outcome.take();
    outcome.seconds = machine::since(begun).as_secs_f64();
    outcome.took_us.sort_unstable();
    outcome
}

async fn session(
    number: usize,
    load: Rc<Load>,
    left: Rc<Cell<usize>>,
    outcome: Rc<RefCell<Outcome>>,
) {
    let mut wire = None;
    let mut request = vec![];
    for nth in 0.. {
        if left.get() == 0 {
            return;
        }
        left.set(left.get() - 1);
        if nth % load.session_turns.max(1) == 0 {
            let name = format!("{}{number}-{}", load.prefix, nth / load.session_turns.max(1));
            request = ask(&load.token, &load.agents[number % load.agents.len()], &name);
        }
        let begun = machine::now();
        let status = exchange(&mut wire, load.target, &request).await;
        let took = machine::since(begun).as_micros();
        let is_reply = outcome.borrow_mut().note(status, took);
        if !is_reply {
            wire = None;
        }
        if !load.think.is_zero() {
            machine::rest(load.think).await;
        }
    }
}

/// Asks once, connecting if need be; the status of the answer.
async fn exchange(wire: &mut Option<Wire>, target: SocketAddr, request: &[u8]) -> u16 {
    if wire.is_none() {
        *wire = Wire::connect(target).await.ok();
    }
    let Some(wire) = wire else { return 0 };
    if wire.say(request).await.is_err() {
        return 0;
    }
    match wire.hear().await {
        Ok(Some(heard)) => heard.status(),
        _ => 0,
    }
}

/// A request that continues a session.
fn ask(token: &str, agent: &str, session: &str) -> Vec<u8> {
    let body = format!(r#"{{"model":"{agent}","messages":[{{"role":"user","content":"ping"}}]}}"#);
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n\
         x-insula-session: {session}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
