//! One file or folder a platform: its wire format in, envelopes out, posts in, requests out.
//!
//! Each says at its top what it speaks. None knows what an agent is.

mod bounded;
mod class;
pub mod declared;
pub mod discord;
mod factory;
mod hex;
mod lines;
mod markdown;
pub mod matrix;
pub mod mattermost;
mod nullable;
mod others;
mod platforms;
mod seal;
pub mod signal;
mod signs;
pub mod slack;
pub mod telegram;
mod trouble;
pub mod webchat;
pub mod webhook;
pub mod whatsapp;

pub use factory::Makers;
pub use platforms::{DECLARED, request_len_max, table};
