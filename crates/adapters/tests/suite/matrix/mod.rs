//! The Matrix adapter: against a real homeserver, against one that misbehaves, and against noise.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, sockets and processes, and fail by panicking"
)]

mod backup;
mod encrypted;
mod fuzz;
mod homeserver;
mod keys;
mod reactions;
mod support;
mod trouble;
mod upgrade;
