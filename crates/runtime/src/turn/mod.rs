//! Turns: a message in, model and tools, a reply out, under one context generation.

mod amend;
mod approve;
mod ask;
mod calls;
mod compress;
mod control;
pub mod desk;
pub mod engine;
pub mod event;
pub(crate) mod facts;
pub mod gate;
mod held;
mod history;
mod hold;
mod hooked;
mod lanes;
pub(crate) mod live;
pub(crate) mod made;
pub mod one_off;
pub mod prompt;
mod recall;
pub(crate) mod redaction;
mod remember;
mod resume;
pub(crate) mod run;
pub(crate) mod seen;
mod send;
mod serve;
mod shown;
mod skills;
pub(crate) mod untrusted;
mod verify;

pub use control::Mode;
pub use engine::{Acknowledge, Around, Engine, Inbound, SubmitError};
pub use event::{ApprovalOutcome, ChildAct, ChildOutcome, TurnEnd, TurnEvent, TurnHandle};
pub use run::ITERATIONS_MAX;
