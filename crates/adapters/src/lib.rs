//! One file or folder a platform: its wire format in, envelopes out, posts in, requests out.
//!
//! Each says at its top what it speaks. None knows what an agent is.

mod bounded;
mod factory;
mod lines;
mod markdown;
pub mod matrix;
mod others;
pub mod signal;
pub mod telegram;
pub mod webchat;
pub mod webhook;

pub use factory::Makers;
