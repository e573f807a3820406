//! Platforms that call us, against noise: the webhook and the web chat.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests look at their own memory, and fail by panicking"
)]

mod webchat;
mod webhook;
