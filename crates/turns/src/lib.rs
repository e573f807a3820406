//! Turns: a message in, model and tools, a reply out, under one context generation.
//!
//! The [`Engine`] begins and ends them; the [`gate`] decides about every call of a tool, and asks
//! [`approvals`]; [`budget`] says what they may spend; [`subagents`] are turns that a turn began.

/// What events of turns are called in logs: how each began and ended, and nothing that was said.
pub const LOG: &str = "insula::turn";

pub mod acts;
pub(crate) mod admitted;
mod aloud;
mod amend;
pub mod approvals;
mod ask;
mod asked_by_server;
mod bills;
mod blind;
mod boards;
pub mod budget;
pub mod call_line;
mod calls;
mod chosen;
mod cleaned;
pub mod client;
mod compress;
mod control;
pub mod course;
pub(crate) mod current;
mod debounce;
mod delivered;
mod echo;
mod editor;
mod editor_questions;
pub mod engine;
pub(crate) mod facts;
pub mod foreign;
pub mod gate;
mod handed;
mod handing;
mod history;
mod hooked;
mod host;
mod hosted;
mod lanes;
mod less;
mod linking;
mod links;
pub(crate) mod live;
pub(crate) mod made;
mod meaning;
mod memory_block;
mod mended;
pub mod messages;
mod model_call;
mod notes;
mod one_call;
pub mod one_off;
mod past;
mod pending_step;
mod pictures;
mod place;
pub mod probe;
pub mod prompt;
mod provenance;
mod quarantine;
mod recall;
pub(crate) mod redaction;
mod remember;
pub mod restart;
mod restarted;
mod resume;
mod retention;
pub(crate) mod run;
mod schedules;
pub(crate) mod seen;
mod send;
mod serve;
mod shares;
pub(crate) mod shop;
pub mod showings;
mod shown;
mod shown_calls;
mod side_by_side;
mod skills;
pub mod subagents;
mod submit;
mod tokens;
pub mod transcript;
pub(crate) mod turn;
mod turn_slots;
pub(crate) mod untrusted;
mod verify;
pub mod voice;

pub use chosen::Wished;
pub use cleaned::cleaned;
pub use client::{CallCount, ClientResult, Wishes};
pub use control::Undone;
pub use delivered::{DeliveryFile, DeliveryText};
pub use editor_questions::EditorAnswer;
pub use engine::Engine;
pub use insula_models::{AnswerFormat, ToolChoice, ToolSchema};
pub use insula_registry::events::{
    ApprovalOutcome, ChildAct, ChildOutcome, ClientCall, EditedFile, EditorEvent, TurnEnd,
    TurnEvent,
};
pub use live::{TurnHandle, UnderWay};
pub use side_by_side::AT_ONCE_MAX;
pub use subagents::ITERATIONS_MAX;
pub use submit::{Acknowledge, Around, BusyMode, Inbound, SubmitError};

#[cfg(test)]
mod journals_tests;
