//! An agent's memory over a real store and real files.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test looks at the files themselves"
)]

mod forgetting;
mod mirror;
mod support;
mod writing;
