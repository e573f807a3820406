//! The moment before a turn begins, in which its sender may say more: what somebody says in
//! one breath is answered as one.
//!
//! Every message of it is journalled when it comes, the first as the turn's own and the others
//! into it, so that a crash loses none. Here is only how long the turn waits.

use crate::submit::Inbound;
use insula_registry::Generation;
use insula_registry::context::Whereabouts;
use insula_store::Part;
use insula_world::Clock;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// The longest a turn waits in all, in quiet times: whoever goes on and on is answered too.
const QUIET_TIMES_MAX: u32 = 8;
/// Bytes of text that are one; more is a turn of its own.
const BYTES_MAX: usize = 256 * 1024;

/// How long a turn waits for more from its sender.
pub(crate) struct Debounce {
    /// How long it is quiet before the turn begins.
    quiet: Duration,
    /// What a message has in common with the first: it runs with the same rights, in the same
    /// scope, under the same generation.
    from: Whereabouts,
    generation: Generation,
    state: Mutex<State>,
    wake: Notify,
}

struct State {
    /// When it begins, in time since the start, and when at the latest.
    until: Duration,
    latest: Duration,
    bytes: usize,
    is_over: bool,
}

impl Debounce {
    /// A wait that begins now, with the turn's first message; `None` where there is no wait.
    pub(crate) fn new(quiet: Duration, first: &Inbound, now: Duration) -> Option<Self> {
        (!quiet.is_zero()).then(|| Self {
            quiet,
            from: first.scope.clone(),
            generation: first.agent.generation,
            state: Mutex::new(State {
                until: now + quiet,
                latest: now + quiet * QUIET_TIMES_MAX,
                bytes: bytes(&first.parts),
                is_over: false,
            }),
            wake: Notify::new(),
        })
    }

    /// Whether a message of the same person is one with what they said so far; the wait begins
    /// anew with it.
    pub(crate) fn takes(&self, next: &Inbound, now: Duration) -> bool {
        let same = self.from == next.scope && self.generation == next.agent.generation;
        let mut state = self.state();
        let bytes = state.bytes + bytes(&next.parts);
        if state.is_over || now >= state.until || !same || bytes > BYTES_MAX {
            return false;
        }
        state.bytes = bytes;
        state.until = (now + self.quiet).min(state.latest);
        true
    }

    /// Ends the wait: something else happened, and what was said before it comes first.
    pub(crate) fn end(&self) {
        self.state().is_over = true;
        self.wake.notify_one();
    }

    /// Waits until nothing more can belong to what was said.
    pub(crate) async fn wait(&self, clock: &dyn Clock) {
        loop {
            let now = clock.elapsed();
            let left = {
                let mut state = self.state();
                state.is_over |= now >= state.until;
                if state.is_over {
                    return;
                }
                state.until - now
            };
            tokio::select! {
                biased;
                () = clock.sleep(left) => {}
                () = self.wake.notified() => {}
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing below runs foreign code, so a poisoned lock guards nothing broken.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bytes(parts: &[Part]) -> usize {
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) | Part::Beside(text) => text.len(),
        _ => 0,
    });
    texts.sum()
}
