//! Kills while replies are shown as they come, under a model that takes seconds and never answers
//! twice alike: in every chat each question ends with one answer, and whatever stands beside it
//! says of itself that it may be a repetition.
//!
//! `scripts/stream-campaign` kills as often as told.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "what a script asks for comes by the environment"
)]

mod api;
mod between;
mod discord;
mod fake;
mod matrix;
mod mattermost;
mod model;
mod signal;
mod slack;
mod telegram;
mod terminal;
mod verdict;
mod web;
mod whatsapp;

use std::time::Duration;

/// Choices that differ from kill to kill and not from run to run.
#[derive(Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, below: u64) -> u64 {
        // Knuth's multiplier; the high bits are good enough for a choice.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    /// A moment before this many milliseconds are over.
    pub fn moment(&mut self, below_ms: u64) -> Duration {
        Duration::from_millis(self.below(below_ms))
    }
}

/// How many kills a script asks for, and from which choices on.
pub fn asked_for() -> (u64, u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let kills = number("INSULA_KILLS").expect("INSULA_KILLS says how many");
    (kills, number("INSULA_SEED").unwrap_or(1))
}
