//! Slack, against the fake workspace.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test"
)]

mod calling;
mod clients;
mod fuzz;
mod gaps;
mod hearing;
mod saying;
mod streaming;
pub mod support;
mod trouble;
mod workspaces;
