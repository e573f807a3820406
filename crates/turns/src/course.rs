//! How a turn goes, written down for whoever looks: what it waited for, which models were asked and
//! how long they took, which stages a call passed, why it failed. Names and figures, never what
//! was said. Noted when it happens, and written with the next commit of the turn: nothing is
//! flushed for it.

use insula_domain::FailureCause;
use insula_models::{ModelError, ModelFault, NoAnswer};
use insula_store::{AgentCommand, TurnId};
use insula_world::Timestamp;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What happened and is not written down yet.
#[derive(Default)]
pub(super) struct TurnCourse {
    notes: Mutex<Vec<(Timestamp, Value)>>,
    call: Mutex<CallCourse>,
}

/// How far a call has come.
#[derive(Default)]
pub(super) struct CallCourse {
    begun: Duration,
    /// The stages of the gate that it passed, and how long each took.
    stages: Vec<(&'static str, Duration)>,
    /// When the last of them was passed.
    passed: Duration,
    /// When it was over, where it is written down later.
    ended: Option<Duration>,
}

impl CallCourse {
    pub(super) fn end(&mut self, now: Duration) {
        self.ended = Some(now);
    }
}

impl TurnCourse {
    fn notes(&self) -> MutexGuard<'_, Vec<(Timestamp, Value)>> {
        // Valid after every single statement.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self) -> MutexGuard<'_, CallCourse> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins.
    pub(super) fn begin_call(&self, now: Duration) {
        *self.call() = CallCourse { begun: now, passed: now, ..CallCourse::default() };
    }

    /// The call that is made is set aside, for another that is made beside it.
    pub(super) fn set_aside(&self) -> CallCourse {
        std::mem::take(&mut *self.call())
    }

    /// One that was set aside is the one that is made.
    pub(super) fn bring_back(&self, call: CallCourse) {
        *self.call() = call;
    }

    /// The call that is made has passed a stage of the gate.
    pub(super) fn passed(&self, stage: &'static str, now: Duration) {
        let mut call = self.call();
        let took = now.saturating_sub(call.passed);
        call.stages.push((stage, took));
        call.passed = now;
    }

    /// What became of the call that was made.
    pub(super) fn called(
        &self,
        (at, now): (Timestamp, Duration),
        (call, tool): (String, &str),
        verdict: &str,
        rule: Option<&str>,
    ) {
        let CallCourse { begun, stages, ended, .. } = std::mem::take(&mut *self.call());
        let now = ended.unwrap_or(now);
        let gate = stages.iter().map(|(stage, took)| json!([stage, ms(*took)]));
        let note = json!({
            "kind": "call",
            "call": call,
            "tool": tool,
            "gate": gate.collect::<Vec<_>>(),
            "ms": ms(now.saturating_sub(begun)),
            "verdict": verdict,
            "rule": rule,
        });
        self.note(at, note);
    }

    pub(super) fn note(&self, at: Timestamp, note: Value) {
        self.notes().push((at, note));
    }

    /// All that was noted, for a commit.
    pub(super) fn due(&self, turn: TurnId) -> impl Iterator<Item = AgentCommand> {
        let notes = std::mem::take(&mut *self.notes());
        notes.into_iter().map(move |(at, note)| AgentCommand::NoteTurn {
            turn,
            at,
            note: note.to_string().into(),
        })
    }
}

fn ms(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

/// Why a turn fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TurnFailure {
    pub(crate) cause: FailureCause,
    /// The same for people, with what a provider said.
    pub(crate) error: String,
    /// The models that were asked, in order, each with what came of it.
    pub(crate) asked: Vec<Asked>,
    /// Requests that were made in all, those that were tried again included.
    pub(crate) tries: u32,
}

/// A model that was asked in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) model: String,
    pub(crate) cause: FailureCause,
    /// The status of the answer, where there was one.
    pub(crate) status: Option<u16>,
}

impl TurnFailure {
    pub(crate) fn new(cause: FailureCause, error: impl Into<String>) -> Self {
        Self { cause, error: error.into(), asked: Vec::new(), tries: 0 }
    }

    /// None of the models answered.
    pub(crate) fn no_answer(error: &NoAnswer) -> Self {
        let mut error_text = error.to_string();
        let tries = error.tries;
        if tries as usize > error.passed_over.len() + 1 {
            error_text += &format!(" ({tries} requests were made)");
        }
        let asked = error.passed_over.iter().chain([&error.error]).map(asked).collect();
        Self { cause: cause_of(&error.error.fault), error: error_text, asked, tries }
    }

    /// An answer began and came to no end.
    pub(crate) fn broken_off(error: &ModelError) -> Self {
        let cause = cause_of(&error.fault);
        Self { cause, error: error.to_string(), asked: vec![asked(error)], tries: 1 }
    }

    /// Models answered, and said nothing: one a request, in order.
    pub(crate) fn said_nothing(error: String, models: Vec<String>) -> Self {
        let (cause, tries) = (FailureCause::SaidNothing, models.len() as u32);
        let mut asked: Vec<Asked> =
            models.into_iter().map(|model| Asked { model, cause, status: None }).collect();
        asked.dedup();
        Self { cause, error, asked, tries }
    }

    /// As records have it: what a provider said may repeat what it was told, so it is not there.
    pub(crate) fn in_records(&self) -> Value {
        let asked = self.asked.iter().map(
            |it| json!({ "model": it.model, "cause": it.cause.as_str(), "status": it.status }),
        );
        json!({ "cause": self.cause.as_str(), "asked": asked.collect::<Vec<_>>(), "tries": self.tries })
    }
}

fn asked(error: &ModelError) -> Asked {
    Asked {
        model: format!("{}/{}", error.provider, error.model),
        cause: cause_of(&error.fault),
        status: status_of(&error.fault),
    }
}

/// The cause that a fault of a model is.
pub(crate) fn cause_of(fault: &ModelFault) -> FailureCause {
    match fault {
        ModelFault::Unauthorized { .. } => FailureCause::KeyRefused,
        ModelFault::Unpaid { .. } => FailureCause::Unpaid,
        ModelFault::RateLimited { .. } => FailureCause::RateLimited,
        ModelFault::Overloaded { .. } => FailureCause::Overloaded,
        ModelFault::TooLong { .. } => FailureCause::TooLong,
        ModelFault::Missing { .. } => FailureCause::NoSuchModel,
        ModelFault::Refused { .. } => FailureCause::RequestRefused,
        ModelFault::Unreachable { .. } => FailureCause::Unreachable,
        ModelFault::TimedOut { .. } => FailureCause::TimedOut,
        ModelFault::Garbage { .. } => FailureCause::Unreadable,
        ModelFault::CutOff | ModelFault::Cancelled => FailureCause::CutOff,
    }
}

/// The status that a fault came with.
pub(crate) fn status_of(fault: &ModelFault) -> Option<u16> {
    match fault {
        ModelFault::Unauthorized { status, .. }
        | ModelFault::Unpaid { status, .. }
        | ModelFault::Overloaded { status, .. }
        | ModelFault::Missing { status, .. }
        | ModelFault::Refused { status, .. } => Some(*status).filter(|status| *status > 0),
        ModelFault::RateLimited { .. } => Some(429),
        _ => None,
    }
}

/// How many turns failed since the start, by cause.
#[derive(Default)]
pub struct FailureCounts([AtomicU64; FailureCause::ALL.len()]);

impl FailureCounts {
    pub(crate) fn count(&self, cause: FailureCause) {
        self.0[cause as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Every cause, and how often it was one.
    pub fn all(&self) -> impl Iterator<Item = (FailureCause, u64)> {
        FailureCause::ALL.into_iter().map(|it| (it, self.0[it as usize].load(Ordering::Relaxed)))
    }
}
