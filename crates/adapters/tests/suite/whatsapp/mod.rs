//! The WhatsApp adapter against the fake platform, in a virtual world.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test"
)]

mod fuzz;
mod hearing;
mod saying;
pub mod support;
