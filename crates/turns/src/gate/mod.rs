//! The gate: the one place that admits or refuses what a tool wants to do. [`pass`] is the list of
//! its stages, in order; only there is a [`Permit`] made, and without one nothing runs.
//!
//! A turn may be older than what holds now. Then a call has to be allowed by both, see
//! [`current`](super::current).

mod approval;
mod denial;
mod excerpt;
mod given;
mod integrity;
mod stages;

pub use crate::shop::Tools;
pub use denial::{Denial, Unapproved};
pub(super) use integrity::depends_on_words;
pub use stages::ARGUMENTS_BYTES_MAX;

use crate::facts::InTurn;
use crate::turn::{Broken, Turn};
use insula_capabilities::programs::{Ground, Reader};
use insula_domain::Actor;
use insula_domain::command::CommandFinding;
use insula_registry::context::AgentContext;
use insula_store::{Message, StoreError};
use insula_tools::{Cleared, ToolRef};
use integrity::Steered;
use serde_json::Value;
use stages::Setting;
use std::sync::Arc;

/// A call as a model makes it.
#[derive(Clone, Copy)]
pub(super) struct Call<'c> {
    /// Its name in the journal.
    pub(super) id: &'c str,
    /// The tool.
    pub(super) name: &'c str,
    /// The arguments, as they were written.
    pub(super) arguments: &'c str,
    /// What the model was shown.
    pub(super) history: &'c [Message],
}

/// The right to make one call, exactly as it was judged.
pub(super) struct Permit {
    cleared: Cleared,
    ground: Option<Ground>,
    reader: Option<Reader>,
    approved_by: Option<Actor>,
}

impl Permit {
    /// The call.
    pub(super) fn cleared(&self) -> &Cleared {
        &self.cleared
    }

    /// The folder a program of it begins in, where that is not where they begin anyway.
    pub(super) fn ground(&self) -> Option<Ground> {
        self.ground.clone()
    }

    /// The process that reads it, where it is written to one.
    pub(super) fn reader(&self) -> Option<Reader> {
        self.reader.clone()
    }

    /// Who confirmed that every conversation may read what it writes.
    pub(super) fn approved_by(&self) -> Option<Actor> {
        self.approved_by.clone()
    }
}

/// Why there is no permit.
pub(super) enum NotPassed {
    /// The call is refused; the turn goes on.
    Denied(Denial),
    /// The turn can't go on.
    Broken(Broken),
}

impl From<Denial> for NotPassed {
    fn from(denial: Denial) -> Self {
        Self::Denied(denial)
    }
}

impl From<Broken> for NotPassed {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl From<StoreError> for NotPassed {
    fn from(error: StoreError) -> Self {
        Self::Broken(error.into())
    }
}

/// A call that everybody allows who decides without asking.
struct Judged {
    tool: ToolRef,
    arguments: Value,
    /// Whose words may have brought it about, where somebody has to agree for that.
    steered: Option<Steered>,
    /// Why somebody has to agree before it runs.
    concern: Option<CommandFinding>,
    setting: Setting,
}

/// Whether a call may be made. Every stage may refuse it, and none is left out, but for the asking
/// of those who were asked about it already.
pub(super) async fn pass(turn: &mut Turn<'_>, call: Call<'_>) -> Result<Permit, NotPassed> {
    turn.still().await?;
    let tool = stages::exposed(turn, call).await?;
    turn.passed("exposure");
    let arguments = stages::policy(turn, &tool, call)?;
    turn.passed("policy");
    let wanted = stages::hooks(turn, call, &arguments).await?;
    turn.passed("hooks");
    stages::boundary(turn, &tool)?;
    stages::link(turn, &tool, &arguments)?;
    turn.passed("boundary");
    // Whoever had to agree to a call that goes on did so when it began, and what the turn has read
    // since is that call's own question.
    let goes_on = turn.goes_on.as_deref() == Some(call.id);
    let steered = match goes_on {
        true => None,
        false => integrity::examine(turn, &tool, &arguments, call).await?,
    };
    turn.passed("integrity");
    let setting = Setting::of(turn, &tool, &arguments, call).await;
    let concern = stages::classifier(turn, &tool, &arguments, &setting)?.or(wanted);
    let concern = concern.filter(|_| !goes_on);
    turn.passed("classifier");
    let judged = Judged { tool, arguments, steered, concern, setting };
    let agreed = approval::of_steered(turn, call, &judged).await?;
    // Whoever agreed to it, knowing whose words may be behind it, agreed to all of it.
    if agreed.is_none() {
        approval::of_concern(turn, call, &judged).await?;
    }
    let approved_by = approval::of_global_write(turn, call, &judged, agreed).await?;
    turn.passed("approval");
    // Whoever answered may have taken their time, and what holds may be something else.
    stages::once_more(turn, call, &judged).await?;
    stages::budget(turn, call, &judged)?;
    turn.passed("budget");
    let Judged { tool, arguments, setting: Setting { ground, reader, .. }, .. } = judged;
    let cleared = Cleared::by_the_gate(tool, arguments);
    Ok(Permit { cleared, ground, reader, approved_by })
}

/// The generations that a call has to be allowed by: the one that holds now, where it is another,
/// and the turn's own.
fn generations<'t>(turn: &'t Turn<'_>) -> impl Iterator<Item = &'t Arc<AgentContext>> {
    turn.now.iter().chain([&turn.cx.agent])
}

/// What is around a call, for rules that look at it.
fn around<'t>(turn: &Turn<'t>, history: &'t [Message]) -> InTurn<'t> {
    InTurn { caps: &turn.shop.caps, access: &turn.shop.access, cx: turn.cx, history }
}
