//! The surface over HTTP, without a daemon around it.
//!
//! One program for all of them: a link a crate is what two cores have time for.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and clocks, and fail by panicking"
)]

mod hooks;
mod rule_10;
mod words;
