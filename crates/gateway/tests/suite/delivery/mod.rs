//! The way out with a real store, daemon and engine, a scripted model, and a platform that
//! delays, limits, lies and stands by while the daemon crashes.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod crash;
mod enclosed;
mod platform;
mod questions;
mod sending;
mod shown;
mod spans;
mod support;
