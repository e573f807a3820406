//! An answer that asks for nothing but a glance is journalled together with what that showed:
//! one commit and one flush for both. Who is killed in between asks the model again.

use super::run::{Broken, Turn, calls, place};
use insula_domain::hook::HookEvent;
use insula_registry::events::turn::TurnEnd;
use insula_store::{AgentCommand, Committed, Message, MessageSeq, NewMessage, NewStep, Usage};
use insula_tools::Course;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What would make more of a glance than a moment.
const HOOKS: [HookEvent; 3] =
    [HookEvent::PreToolCall, HookEvent::TransformToolResult, HookEvent::PostToolCall];

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

    fn place(&self) -> Option<MessageSeq> {
        match std::mem::take(&mut *self.state()) {
            State::Stands(seq) => Some(seq),
            State::Nothing | State::Waits(_) => None,
        }
    }
}

impl Turn<'_> {
    /// Journals an answer, now or with the result of what it asks for, and makes its calls; the
    /// end of the turn, if one of them is it.
    pub(super) async fn answered(
        &mut self,
        message: NewMessage,
        usage: Usage,
        history: &mut Vec<Message>,
    ) -> Result<Option<TurnEnd>, Broken> {
        let calls = calls(&message.parts);
        let step = NewStep::Answered { message: message.clone(), usage };
        let at = history.len();
        if calls.iter().all(|(_, name, _)| self.is_glance(name)) {
            *self.pending.state() = State::Waits(Box::new(self.step(step)));
            history.push(self.placed(&message, MessageSeq::default()));
        } else {
            let seq = self.journal(step, None).await?;
            history.push(self.placed(&message, seq));
        }
        let end = self.calls(calls, history).await?;
        if let (Some(seq), Some(answer)) = (self.pending.place(), history.get_mut(at)) {
            answer.seq = seq;
        }
        Ok(end)
    }

    fn is_glance(&self, name: &str) -> bool {
        let tool = self.shop.built.iter().find(|tool| tool.name() == name);
        tool.is_some_and(|tool| tool.course() == Course::Glance)
            && !HOOKS.iter().any(|event| self.cx.agent.hooks.has(*event))
    }
}
