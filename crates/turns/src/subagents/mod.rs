//! Sub-agents: turns to which a turn hands work. (Programs are in `capabilities`.)
//!
//! A child is an ordinary turn in a session of its own, run by the same code as any other,
//! under a context that was derived from its parent's. It begins with a goal and nothing else,
//! and what it ends with goes back to its parent as the result of one tool call. It is
//! journalled below its parent's turn, so that a parent that goes on after a crash finds what
//! its children finished and goes on with those that did not.
//!
//! Knows no tool and no surface: it gets tasks from the hand it gives to `delegate_task`, and
//! tells what happens to the parent's voice.

mod derive;
mod family;
mod hand;
mod hooked;
mod prompt;
mod record;

pub use family::ITERATIONS_MAX;
pub(crate) use family::{ChildOrigin, Gauge, Kin};
pub(crate) use hand::TurnDelegate;
