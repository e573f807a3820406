//! The Signal adapter against a daemon that speaks as signal-cli's does, in a virtual world.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test"
)]

mod fuzz;
mod groups;
mod hearing;
mod saying;
mod support;
