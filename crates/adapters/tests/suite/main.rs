//! The adapters from outside: each platform's wire, and what every adapter owes.
//!
//! One program for all of them: a link a crate is what two cores have time for.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and clocks, and fail by panicking"
)]

mod called;
mod conformance;
mod discord;
mod matrix;
mod mattermost;
mod noise;
mod signal;
mod slack;
mod telegram;
mod whatsapp;
