//! Turns: a message in, model and tools, a reply out, under one context generation.
//!
//! The [`Engine`] begins and ends them; the [`gate`] decides about every call of a tool, and asks
//! [`approvals`]; [`budget`] says what they may spend; [`subagents`] are turns that a turn began.

mod amend;
pub mod approvals;
mod ask;
pub mod budget;
mod calls;
mod compress;
mod control;
pub(crate) mod current;
mod debounce;
mod delivered;
pub mod engine;
pub(crate) mod facts;
pub mod gate;
mod history;
mod hooked;
mod lanes;
pub(crate) mod live;
pub(crate) mod made;
pub mod one_off;
mod past;
mod pending_step;
pub mod prompt;
mod recall;
pub(crate) mod redaction;
mod remember;
mod resume;
pub(crate) mod run;
pub(crate) mod seen;
mod send;
mod serve;
mod shares;
mod shown;
mod skills;
pub mod subagents;
pub mod transcript;
mod turn_slots;
pub(crate) mod untrusted;
mod verify;

pub use control::BusyMode;
pub use delivered::DeliveryText;
pub use engine::{Acknowledge, Around, Engine, Inbound, SubmitError};
pub use insula_registry::events::{ApprovalOutcome, ChildAct, ChildOutcome, TurnEnd, TurnEvent};
pub use live::TurnHandle;
pub use run::ITERATIONS_MAX;
