//! Whom something was told lately. A line that answers whatever is said, as that a budget has
//! no room, is said once and not to every message of a flood.

use super::queue::Spot;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// People that are remembered. Where more are refused than that, the rest hear nothing.
const KNOWN_MAX: usize = 1_024;

/// Who was told something, and when.
pub(super) struct Lately {
    /// How long somebody is not told the same again.
    pause: Duration,
    told: Mutex<HashMap<(Spot, Box<str>), Duration>>,
}

impl Lately {
    /// Nobody was told anything yet, and whoever is, is not told again for so long.
    pub(super) fn new(pause: Duration) -> Self {
        Self { pause, told: Mutex::default() }
    }

    /// Whether somebody may be told at a place, `now` in time since the start.
    pub(super) fn may_tell(&self, place: Spot, who: &str, now: Duration) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |at: &Duration| now.saturating_sub(*at) < self.pause;
        let key = (place, who.into());
        if told.get(&key).is_some_and(is_recent) {
            return false;
        }
        if told.len() >= KNOWN_MAX {
            told.retain(|_, at| is_recent(at));
        }
        let may = told.len() < KNOWN_MAX;
        if may {
            told.insert(key, now);
        }
        may
    }
}
