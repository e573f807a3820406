//! Time that moves when a test says so, or when nothing else can happen.

use super::locked;
use async_trait::async_trait;
use insula_world::{Clock, Timestamp};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::oneshot;

/// Where every virtual run starts: 2026-01-01T00:00:00.000Z.
const START_MS: i64 = 1_767_225_600_000;

/// How often the other tasks get a turn between two moments. A woken sleeper often passes
/// the word on through a few channels, each of which takes one turn; this is far more.
const SETTLE_TURNS: usize = 64;

/// A clock that never looks at the machine's.
pub struct VirtualClock {
    mode: Mode,
    state: Mutex<State>,
}

enum Mode {
    /// Time moves by [`VirtualClock::advance`].
    Manual,
    /// Time jumps to the next sleeper when every task of the (paused) runtime waits.
    Auto,
}

#[derive(Default)]
struct State {
    elapsed: Duration,
    next_sleeper: u64,
    /// By deadline, then by who came first.
    sleepers: BTreeMap<(Duration, u64), oneshot::Sender<()>>,
}

impl State {
    /// The next sleeper that is due by `until` and still waits.
    fn next_due(&mut self, until: Duration) -> Option<(Duration, oneshot::Sender<()>)> {
        self.sleepers.retain(|_, sleeper| !sleeper.is_closed());
        let entry = self.sleepers.first_entry()?;
        let deadline = entry.key().0;
        (deadline <= until).then(|| (deadline, entry.remove()))
    }
}

impl VirtualClock {
    /// A clock that stands still until [`advance`](Self::advance).
    pub fn manual() -> Self {
        Self { mode: Mode::Manual, state: Mutex::default() }
    }

    /// A clock that jumps to the next sleeper whenever every task waits. The runtime must
    /// have paused time, or sleepers wait as long as they say.
    pub fn auto() -> Self {
        Self { mode: Mode::Auto, state: Mutex::default() }
    }

    /// Moves time on, waking sleepers one after the other, each at its own moment, and letting
    /// what they set off run before the next. Sleeps that begin on the way are counted too.
    pub async fn advance(&self, duration: Duration) {
        let until = self.elapsed().saturating_add(duration);
        settle().await;
        loop {
            let due = locked(&self.state).next_due(until);
            let Some((deadline, sleeper)) = due else { break };
            self.move_to(deadline);
            // A sleeper that was dropped in this very moment has nothing to hear.
            let _ = sleeper.send(());
            settle().await;
        }
        self.move_to(until);
    }

    /// How many wait for time to pass. For a test that must know that a task has reached its
    /// sleep. An auto clock counts none: its sleepers wait in the runtime.
    pub fn sleeper_count(&self) -> usize {
        locked(&self.state).sleepers.values().filter(|sleeper| !sleeper.is_closed()).count()
    }

    fn move_to(&self, moment: Duration) {
        let mut state = locked(&self.state);
        state.elapsed = state.elapsed.max(moment);
    }
}

async fn settle() {
    for _ in 0..SETTLE_TURNS {
        tokio::task::yield_now().await;
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let elapsed_ms = i64::try_from(self.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(START_MS.saturating_add(elapsed_ms))
    }

    fn elapsed(&self) -> Duration {
        locked(&self.state).elapsed
    }

    async fn sleep(&self, duration: Duration) {
        match self.mode {
            Mode::Manual => {
                let (wake, woken) = oneshot::channel();
                {
                    let mut state = locked(&self.state);
                    if duration.is_zero() {
                        return;
                    }
                    let key = (state.elapsed.saturating_add(duration), state.next_sleeper);
                    state.next_sleeper += 1;
                    state.sleepers.insert(key, wake);
                }
                // The clock itself went away: time is over, and nobody is left to notice.
                let _ = woken.await;
            }
            Mode::Auto => {
                let deadline = self.elapsed().saturating_add(duration);
                wait_for_idle(duration).await;
                self.move_to(deadline);
            }
        }
    }
}

/// The runtime's paused timer ends when every task waits and this is the earliest sleeper.
#[expect(
    clippy::disallowed_methods,
    reason = "the paused timer of the runtime tells when all tasks are idle; its time is not read"
)]
async fn wait_for_idle(duration: Duration) {
    tokio::time::sleep(duration).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{auto_world, world};
    use std::sync::Arc;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn a_sleeper_wakes_when_its_time_has_come_and_not_before() {
        let (world, handles) = world(1);
        let clock = world.clock.clone();
        let task = tokio::spawn(async move {
            clock.sleep(3 * SECOND).await;
            clock.now()
        });
        handles.clock.advance(2 * SECOND).await;
        assert!(!task.is_finished());
        assert_eq!(handles.clock.sleeper_count(), 1);
        handles.clock.advance(2 * SECOND).await;
        assert_eq!(task.await.unwrap().as_millis(), START_MS + 3000);
        assert_eq!(world.clock.elapsed(), 4 * SECOND);
    }

    #[tokio::test]
    async fn sleeps_that_begin_while_time_moves_are_counted() {
        let (world, handles) = world(1);
        let ticks = Arc::new(Mutex::new(vec![]));
        let (clock, seen) = (world.clock.clone(), ticks.clone());
        let task = tokio::spawn(async move {
            loop {
                clock.sleep(3 * SECOND).await;
                locked(&seen).push(clock.elapsed().as_secs());
            }
        });
        handles.clock.advance(10 * SECOND).await;
        assert_eq!(*locked(&ticks), [3, 6, 9]);
        task.abort();
    }

    #[tokio::test]
    async fn a_dropped_sleep_is_forgotten() {
        let (world, handles) = world(1);
        let clock = world.clock.clone();
        let task = tokio::spawn(async move { clock.sleep(SECOND).await });
        handles.clock.advance(Duration::ZERO).await;
        assert_eq!(handles.clock.sleeper_count(), 1);
        task.abort();
        let _ = task.await;
        assert_eq!(handles.clock.sleeper_count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn an_auto_clock_jumps_to_the_next_sleeper() {
        let (world, _) = auto_world(1);
        let order = Arc::new(Mutex::new(vec![]));
        let tasks = [30, 10, 20].map(|seconds| {
            let (clock, order) = (world.clock.clone(), order.clone());
            tokio::spawn(async move {
                clock.sleep(seconds * SECOND).await;
                locked(&order).push((seconds, clock.elapsed().as_secs()));
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*locked(&order), [(10, 10), (20, 20), (30, 30)]);
    }
}
