//! Providers against servers that speak their real protocols, on the wire.
//!
//! Most run in the virtual world, where a time-out takes no time; what is about sockets runs
//! on loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod anthropic;
mod faults;
mod images;
mod isolation;
mod local;
mod manners;
mod ollama;
mod openai;
mod refusals;
mod retrying;
mod settings;
mod sound;
mod support;
mod taught;
mod text_calls;
mod tls;
