//! An answer that asks for nothing but a glance is journalled together with what that showed:
//! one commit and one flush for both. Who is killed in between asks the model again.

use insula_store::{AgentCommand, CommandOutcome, Committed, MessageSeq};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A step that the next commit of its turn brings along.
#[derive(Default)]
pub(super) struct PendingStep(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Nothing,
    /// It waits for a commit.
    Waits(Box<AgentCommand>),
    /// It was committed, and its message stands here.
    Stands(MessageSeq),
}

impl PendingStep {
    fn state(&self) -> MutexGuard<'_, State> {
        // Valid after every single statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The step waits for the next commit.
    pub(super) fn put(&self, step: AgentCommand) {
        *self.state() = State::Waits(Box::new(step));
    }

    /// The step, for the commit that brings it first of all.
    pub(super) fn take(&self) -> Option<AgentCommand> {
        let mut state = self.state();
        match std::mem::take(&mut *state) {
            State::Waits(step) => Some(*step),
            other => {
                *state = other;
                None
            }
        }
    }

    /// It was the first of what was committed. What is left is what the others did.
    pub(super) fn committed(&self, done: &mut Committed) {
        let rest = done.outcomes.split_off(done.outcomes.len().min(1));
        *self.state() = State::Stands(place(done));
        done.outcomes = rest;
    }

    pub(super) fn place(&self) -> Option<MessageSeq> {
        match std::mem::take(&mut *self.state()) {
            State::Stands(seq) => Some(seq),
            State::Nothing | State::Waits(_) => None,
        }
    }
}

/// The place of the first message that a commit brought.
pub(super) fn place(done: &Committed) -> MessageSeq {
    let first = done.outcomes.iter().find_map(|outcome| match outcome {
        CommandOutcome::Stepped { message, .. } => *message,
        CommandOutcome::Concluded { first, .. } => *first,
        CommandOutcome::Appended { first, .. } => Some(*first),
        _ => None,
    });
    first.unwrap_or_default()
}
