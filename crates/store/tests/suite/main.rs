//! What the store promises, over real files.
//!
//! One program for all of them: a link a crate is what two cores have time for.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and clocks, and fail by panicking"
)]

mod common;
mod crash;
mod damage;
mod in_passing;
mod memory;
mod recall;
mod rule_02;
mod sessions;
mod sqlite_backend;
mod turns_crash;
