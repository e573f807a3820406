//! Files in, configuration or findings out.
//!
//! One program for all of them: a link a crate is what two cores have time for.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and clocks, and fail by panicking"
)]

mod accounts;
mod api;
mod argument_rules;
mod common;
mod documents;
mod errors;
mod golden;
mod hooks;
mod hostile;
mod integrity;
mod jobs;
mod links;
mod providers;
mod silences;
mod ways;
mod workspaces;
mod zones;
