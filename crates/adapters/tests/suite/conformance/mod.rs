//! What every adapter owes the gateway, whatever it speaks: the same tests for each.
//!
//! `suite.rs` has the tests, over the small [`harness::Harness`] that each adapter implements
//! in a file of its own here.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test"
)]

mod called;
mod discord;
pub mod harness;
mod matrix;
mod mattermost;
mod signal;
mod slack;
mod suite;
mod telegram;
mod webchat;
mod webhook;
mod whatsapp;
