//! Turns: a message in, model and tools, a reply out, under one context generation.

mod approve;
mod calls;
mod compress;
mod control;
pub mod desk;
pub mod engine;
pub mod event;
pub mod gate;
mod history;
mod lanes;
mod live;
pub mod one_off;
pub mod prompt;
mod recall;
pub(crate) mod redaction;
mod remember;
mod run;
mod shown;
mod untrusted;

pub use control::Mode;
pub use engine::{Acknowledge, Engine, Inbound, SubmitError};
pub use event::{ApprovalOutcome, TurnEnd, TurnEvent, TurnHandle};
