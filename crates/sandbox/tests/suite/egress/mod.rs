//! The way out, seen from both doors: over a network in memory where names and addresses are
//! whatever a test says, and over real sockets with a real curl.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests reach for the machine and may say what they know"
)]

mod client;
mod curl;
mod flood;
mod forward;
mod lookups;
mod rebinding;
mod reflection;
mod support;
mod tunnel;
