//! One job as it stands: what it says, whose it is, and how far it has come.

use super::first_row;
use crate::context::{AgentContext, kept_place};
use insula_config::job::{Deliver, Job, of_text};
use insula_domain::{Actor, Address, AgentId};
use insula_schedule::{Missed, ON_TIME_MS, Plan, Progress};
use insula_store::{JobRow, JobState};
use insula_world::Timestamp;
use std::sync::Arc;

/// Where a job comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobOrigin {
    /// The configuration of its agent, which alone changes it.
    Config,
    /// Somebody added it.
    Added,
}

/// A job, and how far it has come.
#[derive(Debug, Clone)]
pub struct JobView {
    pub agent: AgentId,
    pub job: Arc<Job>,
    pub origin: JobOrigin,
    /// What is kept of it, or would be.
    pub row: JobRow,
    /// Where it was made.
    pub place: Option<Address>,
    /// When it is due; `None` for one that runs at the start.
    pub plan: Option<Plan>,
}

impl JobView {
    pub(super) fn of_config(
        agent: &AgentContext,
        job: &Arc<Job>,
        row: Option<JobRow>,
        since: Timestamp,
    ) -> Self {
        let mut row = row.unwrap_or_else(|| first_row(&job.name, Actor::Daemon, since));
        // What was left out while it was another, or nobody had it, was not missed.
        row.handled_at = row.handled_at.max(since);
        // The configuration was read: what it says can be planned.
        let plan = job.plan(&agent.id, 0).ok().flatten();
        let (agent, job) = (agent.id.clone(), job.clone());
        let mut view = Self { agent, job, origin: JobOrigin::Config, row, place: None, plan };
        if view.row.state == JobState::Over && view.has_more() {
            // It was over as it was before.
            view.row.state = JobState::Active;
        }
        view
    }

    /// Whether its schedule has a moment left.
    fn has_more(&self) -> bool {
        let progress = self.progress();
        let has_more = |plan: &Plan| !plan.ahead(progress, progress.handled_ms, 1).is_empty();
        self.plan.as_ref().is_some_and(has_more)
    }

    /// One that was added; `None` for what no version of ours wrote.
    pub(super) fn of_row(agent: &AgentContext, row: JobRow) -> Option<Self> {
        let spec = row.spec.as_deref()?;
        let zone = &agent.conversations.zones.own;
        let job = match of_text((&agent.id, &row.name), spec, zone) {
            Ok(job) => Arc::new(job),
            Err(why) => {
                tracing::error!(agent = %agent.id, job = %row.name, why, "a job can't be read, so it does not run");
                return None;
            }
        };
        let place = match row.place.as_deref() {
            Some(place) => Some(kept_place(place)?),
            None => None,
        };
        let plan = job.plan(&agent.id, row.made_at.as_millis()).ok().flatten();
        let agent = agent.id.clone();
        Some(Self { agent, job, origin: JobOrigin::Added, row, place, plan })
    }

    /// Where its reply goes.
    pub fn deliver(&self) -> Deliver {
        match (&self.job.deliver, &self.place) {
            (Some(deliver), _) => deliver.clone(),
            (None, Some(_)) => Deliver::Origin,
            (None, None) => Deliver::Nowhere,
        }
    }

    /// Whether it runs when it is due.
    pub fn is_active(&self) -> bool {
        self.row.state == JobState::Active && self.job.is_enabled
    }

    pub fn progress(&self) -> Progress {
        Progress { handled_ms: self.row.handled_at.as_millis(), runs: self.row.runs }
    }

    /// When it runs next, as people are told it.
    pub fn ahead(&self, now_ms: i64, count: usize) -> Vec<i64> {
        let Some(plan) = self.plan.as_ref().filter(|_| self.is_active()) else {
            return Vec::new();
        };
        let progress = self.progress();
        let retry = self.row.retry_at.map_or(i64::MIN, Timestamp::as_millis);
        if retry <= now_ms || count == 0 {
            return plan.ahead(progress, now_ms, count);
        }
        // It failed, and is put off: what is due until then is made up for then, as it says.
        let since = match plan.bounds.missed {
            Missed::Skip => retry.saturating_sub(ON_TIME_MS).saturating_sub(1),
            Missed::Once | Missed::All => progress.handled_ms,
        };
        let first = plan.ahead(progress, since, 1).first().copied();
        let mut found: Vec<i64> =
            first.filter(|at| *at <= retry).map(|_| retry).into_iter().collect();
        let runs = progress.runs.saturating_add(u32::from(!found.is_empty()));
        found.extend(plan.ahead(Progress { runs, ..progress }, retry, count - found.len()));
        found
    }

    /// What is said of it in place of its next moment where it has none: `paused`, `over` and such.
    pub fn state(&self) -> &'static str {
        if self.job.is_enabled { self.row.state.as_str() } else { "disabled" }
    }

    /// When there is something to do about it.
    pub fn next_ms(&self, now_ms: i64) -> Option<i64> {
        let plan = self.plan.as_ref().filter(|_| self.is_active())?;
        let due = plan.due(self.progress(), now_ms);
        let next = if due.handled_ms.is_some() { Some(now_ms) } else { due.next_ms }?;
        let retry = self.row.retry_at.map_or(i64::MIN, Timestamp::as_millis);
        Some(next.max(retry))
    }
}
