//! The daemon on platforms, end to end.

mod crash;
mod hooks;
pub mod telegram;
