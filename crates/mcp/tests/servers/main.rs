//! Connections to servers that are scripted by a test: how long they are kept, and that a
//! hostile one gets nowhere. Time is the test's; the streams are in memory.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests may say what they know"
)]

mod beside;
mod hostile;
mod idle;
mod questions;
mod support;
mod tasks;
