//! Time that moves when the trace says so, and only while everything else waits. It outlives the
//! crashes of a run: the next daemon goes on at the moment the last one ended.
#![expect(
    clippy::disallowed_methods,
    reason = "the paused timer of the runtime is how it is noticed that every task waits"
)]

use async_trait::async_trait;
use insula_world::{Clock, Timestamp};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// Where every run starts: 2026-01-01T00:00:00.000Z.
const START_MS: i64 = 1_767_225_600_000;

/// A clock that never looks at the machine's.
#[derive(Default)]
pub struct SteppedClock {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    elapsed: Duration,
    next_sleeper: u64,
    /// By deadline, then by who came first.
    sleepers: BTreeMap<(Duration, u64), oneshot::Sender<()>>,
}

/// Waits until every other task of the (paused) runtime waits: its timer only moves then.
pub async fn quiet() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

impl SteppedClock {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves time on, waking sleepers one after the other, each at its own moment and each only
    /// after all that the one before it set off has come to rest.
    pub async fn advance(&self, duration: Duration) {
        let until = self.elapsed().saturating_add(duration);
        quiet().await;
        while let Some((deadline, sleeper)) = self.next_due(until) {
            self.state().elapsed = deadline;
            // A sleeper that was dropped in this very moment has nothing to hear.
            let _ = sleeper.send(());
            quiet().await;
        }
        self.state().elapsed = until;
    }

    fn next_due(&self, until: Duration) -> Option<(Duration, oneshot::Sender<()>)> {
        let mut state = self.state();
        state.sleepers.retain(|_, sleeper| !sleeper.is_closed());
        let entry = state.sleepers.first_entry()?;
        let deadline = entry.key().0;
        (deadline <= until).then(|| (deadline, entry.remove()))
    }
}

#[async_trait]
impl Clock for SteppedClock {
    fn now(&self) -> Timestamp {
        let elapsed_ms = i64::try_from(self.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(START_MS.saturating_add(elapsed_ms))
    }

    fn elapsed(&self) -> Duration {
        self.state().elapsed
    }

    async fn sleep(&self, duration: Duration) {
        if duration.is_zero() {
            return;
        }
        let (wake, woken) = oneshot::channel();
        {
            let mut state = self.state();
            let key = (state.elapsed.saturating_add(duration), state.next_sleeper);
            state.next_sleeper += 1;
            state.sleepers.insert(key, wake);
        }
        // The clock itself went away: the run is over, and nobody is left to notice.
        let _ = woken.await;
    }
}
