//! Turns: a message in, model and tools, a reply out, under one context generation.

pub mod desk;
pub mod engine;
pub mod event;
pub mod gate;
mod lanes;
pub mod prompt;
mod run;

pub use engine::{Engine, Inbound, SubmitError};
pub use event::{TurnEnd, TurnEvent, TurnHandle};
