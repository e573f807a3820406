//! Fake platforms with our account on them, each reached in the same way: people say something in
//! a chat and read what is answered there.
//!
//! [`gate`] stands before one and lets it fail.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

pub mod discord;
pub mod gate;
pub mod matrix;
pub mod mattermost;
pub mod signal;
pub mod slack;
pub mod telegram;
pub mod whatsapp;

use std::net::SocketAddr;
use tokio::runtime::Runtime;

/// A fake platform with our account on it.
pub trait Place: Send + Sync {
    /// Its name in the configuration.
    fn name(&self) -> &'static str;

    /// What requests have in their line or body that send a message or change one.
    fn kinds(&self) -> &'static [&'static str];

    /// Its base URL.
    fn url(&self) -> String;

    /// Our account, as it stands in the configuration; `url` leads to the platform.
    fn account(&self, url: &str) -> String;

    /// A chat of somebody new with us.
    fn chat(&self) -> String;

    /// What a binding calls a chat.
    fn bound(&self, chat: &str) -> String {
        chat.split('/').next().unwrap_or_default().to_owned()
    }

    fn say(&self, chat: &str, text: &str);

    /// What we said in a chat, as it reads now.
    fn texts(&self, chat: &str) -> Vec<String>;

    /// Where the daemon is, for a platform that calls it.
    fn daemon_is_at(&self, _: Option<SocketAddr>) {}
}

/// What a fake runs on in a test that blocks.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// The host and port of an address.
pub fn host(url: &str) -> &str {
    url.split('/').nth(2).unwrap()
}
