//! Which signed requests were taken lately, so that a copy of one is refused at once.
//!
//! What is here is gone after a restart. The same request then still is the same event, which
//! the gateway knows durably, so it has no second effect; it only gets a friendlier answer.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Requests remembered. At a hundred a second that is longer than any sensible window.
const KEPT_MAX: usize = 32 * 1024;

/// The signatures taken lately.
#[derive(Default)]
pub struct Replays(Mutex<SeenSignatures>);

#[derive(Default)]
struct SeenSignatures {
    known: HashSet<[u8; 32]>,
    /// Oldest first, with the moment from which it need not be known any more.
    order: VecDeque<(Duration, [u8; 32])>,
}

impl Replays {
    /// Whether a request of this signature was taken.
    pub fn knows(&self, signature: &[u8; 32]) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).known.contains(signature)
    }

    /// Remembers one that was taken, at least for `keep` from `now`.
    pub fn remember(&self, signature: [u8; 32], now: Duration, keep: Duration) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((until, oldest)) = kept.order.front().copied() {
            if until > now && kept.order.len() < KEPT_MAX {
                break;
            }
            kept.order.pop_front();
            kept.known.remove(&oldest);
        }
        if kept.known.insert(signature) {
            kept.order.push_back((now.saturating_add(keep), signature));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_known_for_as_long_as_it_could_be_taken_and_no_longer() {
        let replays = Replays::default();
        let minute = Duration::from_secs(60);
        replays.remember([1; 32], Duration::ZERO, minute);
        assert!(replays.knows(&[1; 32]) && !replays.knows(&[2; 32]));
        replays.remember([2; 32], minute * 2, minute);
        assert!(!replays.knows(&[1; 32]) && replays.knows(&[2; 32]));
    }

    #[test]
    fn it_stays_bounded() {
        let replays = Replays::default();
        for number in 0..(KEPT_MAX as u64 + 10) {
            let mut signature = [0; 32];
            signature[..8].copy_from_slice(&number.to_le_bytes());
            replays.remember(signature, Duration::ZERO, Duration::from_secs(60));
        }
        let kept = replays.0.lock().unwrap();
        assert_eq!((kept.known.len(), kept.order.len()), (KEPT_MAX, KEPT_MAX));
    }
}
