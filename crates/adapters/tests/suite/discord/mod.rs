//! The Discord adapter against the fake one, in a virtual world.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test"
)]

mod client;
mod fuzz;
mod hearing;
mod saying;
mod sessions;
mod support;
