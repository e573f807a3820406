//! How many programs messages can start before anybody has looked who sent them.
//!
//! A chat's messages come one after the other, so each chat has one place in the line at most,
//! and somebody who floods from one chat does not push back those in others. It is the agent's
//! line: no other agent waits in it.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Programs of one agent that answer about messages at the same time. Each may take as much of
/// the machine as a program of the agent may.
const RUNNING_MAX: usize = 4;

/// Messages that wait for one of these to end. Their hook's time runs while they do, so what is
/// further behind than that would hardly be answered in time.
const WAITING_MAX: usize = 64;

/// The line of one agent.
pub struct Crowd {
    running: Semaphore,
    waiting: Semaphore,
}

impl Default for Crowd {
    fn default() -> Self {
        Self { running: Semaphore::new(RUNNING_MAX), waiting: Semaphore::new(WAITING_MAX) }
    }
}

impl Crowd {
    /// Waits for room to start a program, in order; an error where too many wait already.
    pub async fn enter(&self) -> Result<SemaphorePermit<'_>, String> {
        let full = || format!("more than {WAITING_MAX} messages wait for programs of this agent");
        let place = self.waiting.try_acquire().map_err(|_| full())?;
        let room = self.running.acquire().await.map_err(|error| error.to_string())?;
        drop(place);
        Ok(room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[test]
    fn so_many_run_so_many_wait_in_order_and_the_rest_is_refused() {
        let crowd = Crowd::default();
        let mut running: Vec<_> = (0..RUNNING_MAX).map(|_| enter_now(&crowd)).collect();
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| Box::pin(crowd.enter())).collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none(), "there is no room yet");
        }
        assert!(crowd.enter().now_or_never().expect("at once").is_err());
        // One ends, and the first in the line is the one that goes on.
        running.pop();
        let (first, others) = waiting.split_first_mut().expect("there are some");
        assert!((&mut others[0]).now_or_never().is_none());
        assert!(first.now_or_never().expect("there is room").is_ok());
        // Who gives up leaves room for another.
        waiting.clear();
        assert!(crowd.enter().now_or_never().expect("at once").is_ok());
    }

    fn enter_now(crowd: &Crowd) -> SemaphorePermit<'_> {
        crowd.enter().now_or_never().expect("there is room").expect("and nobody waits")
    }
}
