//! Threads for storage, few of them.
//!
//! A piece of storage work takes a fraction of a millisecond, so what it costs is mostly the
//! change from one thread to another. Under load, then, a thread that is done takes the next
//! piece without having slept, and nobody is woken for work that it will take in a moment.
//! So that this moment can't become a long one, one thread that has nothing to do looks after
//! the line while others work. More threads than usual come when those there are don't keep
//! up, because they wait for a slow disk or for somebody's lock. All go when it is quiet.
#![expect(clippy::disallowed_methods, reason = "owns the threads that storage work runs on")]

use crate::storage::{Job, StorageExecutor};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Threads while work is quick.
const USUAL: usize = 3;

/// Threads while it is not: enough that whoever waits for a dead file server holds up nobody.
const MOST: usize = 256;

/// How long work may wait, or threads be busy with one piece, before more than usual come.
const LATE: Duration = Duration::from_millis(2);

/// How long one piece takes that others are glad to wait for. Behind a longer one, a thread that
/// is idle is woken: one agent's large commit must not hold up another's small one.
const QUICK: Duration = Duration::from_micros(150);

/// How soon the one who looks after the line looks again.
const WATCHED: Duration = Duration::from_micros(500);

/// How long a thread stays without work.
const KEPT: Duration = Duration::from_secs(10);

/// The threads, and the work in line for them.
#[derive(Default)]
pub(crate) struct StorageThreads(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    more: Condvar,
}

#[derive(Default)]
struct State {
    line: VecDeque<(Instant, Job)>,
    threads: usize,
    idle: usize,
    /// Whether one of the idle ones looks after the line.
    is_watched: bool,
    /// When a thread last took a piece of work.
    taken: Option<Instant>,
}

impl State {
    fn active(&self) -> usize {
        self.threads - self.idle
    }

    /// Whether the threads at work do not keep up.
    fn is_late(&self, now: Instant) -> bool {
        let oldest = self.line.front().map(|(since, _)| *since);
        [oldest, self.taken].into_iter().flatten().any(|since| now - since > LATE)
    }

    /// Whether the threads at work have been at what they have for long.
    fn is_slow(&self, now: Instant) -> bool {
        self.taken.is_some_and(|since| now - since > QUICK)
    }

    /// Whether the threads at work will see to all that is in line.
    fn is_attended(&self) -> bool {
        self.is_watched && self.line.len() <= self.active()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Valid after every single statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works until there was nothing to do for a while.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some((_, job)) = state.line.pop_front() {
                state.taken = Some(Instant::now());
                drop(state);
                // Whoever waits for it sees that no answer comes.
                let _ = catch_unwind(AssertUnwindSafe(job));
                state = self.lock();
                continue;
            }
            let Some(back) = self.rest(state) else { return };
            state = back;
        }
    }

    /// Waits for work. Nothing if none came for long, and the thread may go.
    fn rest<'s>(&'s self, mut state: MutexGuard<'s, State>) -> Option<MutexGuard<'s, State>> {
        state.idle += 1;
        let watches = !state.is_watched && state.active() > 0;
        state.is_watched |= watches;
        let patience = if watches { WATCHED } else { KEPT };
        let waited = self.more.wait_timeout(state, patience);
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_watched &= !watches;
        state.idle -= 1;
        if timeout.timed_out() && !watches && state.line.is_empty() {
            state.threads -= 1;
            return None;
        }
        Some(state)
    }
}

impl StorageExecutor for StorageThreads {
    fn execute(&self, job: Job) {
        let now = Instant::now();
        let mut state = self.0.lock();
        if state.active() == 0 {
            // Nobody is behind with anything.
            state.taken = Some(now);
        }
        let is_late = state.is_late(now);
        let is_slow = is_late || state.is_slow(now);
        state.line.push_back((now, job));
        if state.is_attended() && !is_slow {
            return;
        }
        if state.idle > 0 {
            drop(state);
            self.0.more.notify_one();
            return;
        }
        if state.threads >= if is_late { MOST } else { USUAL } {
            return;
        }
        state.threads += 1;
        drop(state);
        let shared = self.0.clone();
        let thread = thread::Builder::new().name("storage".to_owned());
        if thread.spawn(move || shared.work()).is_err() {
            self.without_thread();
        }
    }
}

impl StorageThreads {
    /// The system has no thread for us. Others do the work, or else it is done right here:
    /// late is better than never.
    fn without_thread(&self) {
        let mut state = self.0.lock();
        state.threads -= 1;
        if state.threads > 0 {
            return;
        }
        while let Some((_, job)) = state.line.pop_front() {
            drop(state);
            let _ = catch_unwind(AssertUnwindSafe(job));
            state = self.0.lock();
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests wait for real threads")]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn count(threads: &StorageThreads) -> usize {
        threads.0.lock().threads
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error_and_the_next_runs() {
        let threads = StorageThreads::default();
        let storage: &dyn StorageExecutor = &threads;
        assert!(storage.run(|| panic!("broken work")).await.is_err());
        assert_eq!(storage.run(|| 7).await, Ok(7));
    }

    #[test]
    fn quick_work_has_few_threads_and_all_of_it_is_done() {
        let threads = StorageThreads::default();
        let (tell, told) = mpsc::channel();
        for number in 0..10_000 {
            let tell = tell.clone();
            threads.execute(Box::new(move || tell.send(number).unwrap()));
        }
        drop(tell);
        let mut done: Vec<i32> = told.iter().collect();
        done.sort_unstable();
        assert_eq!(done, Vec::from_iter(0..10_000));
    }

    #[test]
    fn work_that_never_ends_holds_up_nobody() {
        let threads = StorageThreads::default();
        let (_never, forever) = mpsc::channel::<()>();
        let forever = Arc::new(Mutex::new(forever));
        for _ in 0..USUAL * 2 {
            let forever = forever.clone();
            threads.execute(Box::new(move || assert!(forever.lock().unwrap().recv().is_err())));
        }
        // Each push may bring a thread, once those there are have been busy for too long.
        let (tell, told) = mpsc::channel();
        let reached = loop {
            let tell = tell.clone();
            threads.execute(Box::new(move || tell.send(()).unwrap_or_default()));
            if told.recv_timeout(LATE).is_ok() {
                break true;
            }
            if count(&threads) == MOST {
                break false;
            }
        };
        assert!(reached, "no thread came for new work");
        assert!(count(&threads) > USUAL);
    }
}
