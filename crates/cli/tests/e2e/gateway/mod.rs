//! The daemon on platforms, end to end.

mod crash;
mod telegram;
