//! How a run of a job ended: what is delivered, what failures lead to, and what is written down.

use super::Clockwork;
use crate::delivery::{ChatRef, SILENT};
use insula_capabilities::failures::cause_in;
use insula_config::job::Deliver;
use insula_domain::{Actor, Audience, ChatType, FailureCause, Label, SessionKey};
use insula_registry::context::{AgentContext, JobTurn};
use insula_registry::events::{AgentEvent, WorkEvent};
use insula_registry::home_chats::HomeChat;
use insula_registry::jobs::JobView;
use insula_store::{
    About, AgentCommand, DeliveryDestination, Enqueue, JobCommand, JobRow, JobRun, JobState, Lane,
    MessageSeq, OutboxCommand, SessionRef, StoreError, TurnId, TurnStatus,
};
use insula_turns::{TurnEnd, TurnEvent};
use insula_world::Timestamp;
use serde_json::json;
use std::sync::Arc;

/// The first wait after a failure; it doubles, up to the last.
const WAIT_MS: (i64, i64) = (60 * 1_000, 6 * 60 * 60 * 1_000);
/// Longest reason that is kept, in bytes.
const WHY_BYTES_MAX: usize = 1_000;

/// How a run ended.
pub(super) struct Ended {
    outcome: &'static str,
    why: String,
    /// What is to be delivered, and where to.
    delivery: Option<(DeliveryDestination, String)>,
    pub(super) turn: Option<TurnId>,
}

impl Ended {
    pub(super) fn new(outcome: &'static str, why: &str) -> Self {
        let why = why[..why.floor_char_boundary(WHY_BYTES_MAX)].to_owned();
        Self { outcome, why, delivery: None, turn: None }
    }

    /// Whether it counts as a failure of the job.
    fn is_failure(&self) -> bool {
        matches!(self.outcome, "failed" | "timeout" | "interrupted" | "undelivered")
    }
}

impl Clockwork {
    /// How a turn that is over ended for its job, from the journal.
    pub(super) async fn outcome(
        &self,
        agent: &Arc<AgentContext>,
        view: &JobView,
        turn: TurnId,
    ) -> Result<Ended, StoreError> {
        let Some(known) = agent.store.turn(turn).await? else {
            return Ok(Ended::new("failed", "its turn is gone"));
        };
        if known.status == TurnStatus::Stopped {
            return Ok(Ended::new("stopped", "somebody stopped it"));
        }
        let mut said = None;
        if let Some(mut handle) = self.engine.ended(agent, turn).await?
            && let Some(TurnEvent::Ended(end)) = handle.events.recv().await
        {
            said = Some(end);
        }
        let text = match said {
            Some(TurnEnd::Replied { text, .. }) => text,
            Some(TurnEnd::Failed { error }) => {
                let notes = agent.store.turn_notes(turn).await?;
                let cause = notes.iter().rev().find_map(|it| cause_in(&it.note));
                // No fault of the job: it goes on when there is room again.
                let is_budget = cause == Some(FailureCause::OverBudget);
                return Ok(Ended::new(if is_budget { "budget" } else { "failed" }, &error));
            }
            Some(TurnEnd::OverBudget(refusal)) => {
                return Ok(Ended::new("budget", &refusal.to_string()));
            }
            Some(TurnEnd::Stopped) => return Ok(Ended::new("stopped", "somebody stopped it")),
            None => return Ok(Ended::new("failed", "its turn has no end")),
        };
        if text.trim().is_empty() || text.trim() == SILENT {
            return Ok(Ended::new("silent", ""));
        }
        let label = match known.reply {
            Some(reply) => {
                let before = MessageSeq(reply.0.saturating_sub(1));
                let found = agent.store.messages_after(known.session, before, 1).await?;
                found.first().and_then(|message| message.label.parse().ok())
            }
            None => None,
        };
        // What nobody can read again is for nobody.
        let label = label.unwrap_or_else(Label::unknown);
        Ok(match self.destination(agent, view, &label) {
            Ok(None) => Ended::new("done", ""),
            Ok(Some(to)) => Ended { delivery: Some((to, text)), ..Ended::new("done", "") },
            Err(why) => Ended::new("undelivered", &why),
        })
    }

    /// Where the reply of a job goes, or why it may not.
    fn destination(
        &self,
        agent: &AgentContext,
        view: &JobView,
        label: &Label,
    ) -> Result<Option<DeliveryDestination>, String> {
        let grants = &agent.boundary.messages;
        let refused =
            |to: &Audience, why: &str| Err(format!("its reply may not go to `{to}`: {why}"));
        let wider = "not everyone there may read what it has seen";
        match (view.deliver(), &view.place) {
            (Deliver::Nowhere, _) => Ok(None),
            (Deliver::Origin, Some(place)) => {
                let to = Audience::of(place);
                match grants.shows(label, &to) {
                    true => Ok(Some(ChatRef::of(place).origin(None))),
                    false => refused(&to, wider),
                }
            }
            (Deliver::Origin, None) => Err("it was made in no chat".to_owned()),
            (Deliver::Home, _) => {
                let home = self.home_of(agent);
                let home =
                    home.ok_or("the agent has no home chat; an admin says /sethome in one")?;
                let to = Audience::of(&home.address);
                match grants.shows(label, &to) {
                    true => Ok(Some(ChatRef::of(&home.address).origin(None))),
                    false => refused(&to, wider),
                }
            }
            (Deliver::Place(to), _) => {
                let sending = grants.decide(label, &to);
                let snapshot = self.registry.snapshot();
                let is_ours = |it: &insula_config::Account| {
                    it.platform == to.platform && it.name == to.account
                };
                if !sending.is_allowed() {
                    return refused(&to, sending.as_str());
                }
                if !snapshot.daemon.accounts.iter().any(is_ours) {
                    return refused(&to, "there is no such account");
                }
                Ok(Some(DeliveryDestination {
                    lane: Lane {
                        platform: to.platform.as_str().into(),
                        account: to.account.as_str().into(),
                        chat: to.chat.as_str().into(),
                    },
                    // A place is named without its kind, and platforms go by its id.
                    chat_type: ChatType::Group.as_str().into(),
                    topic: to.topic.as_ref().map(|topic| topic.as_str().into()),
                    reply_to: None,
                }))
            }
        }
    }

    /// The home chat of an agent, while it leads to it.
    pub(super) fn home_of(&self, agent: &AgentContext) -> Option<Arc<HomeChat>> {
        let home = self.homes.of(&agent.id)?;
        home.leads_to(&self.registry.snapshot(), &agent.id).then_some(home)
    }

    /// Writes down how a run ended, in one commit with what is delivered and what it leads to.
    pub(super) async fn end(
        &self,
        agent: &Arc<AgentContext>,
        view: Option<&JobView>,
        run: &JobRun,
        ended: Ended,
    ) -> Result<(), StoreError> {
        let now = self.world.clock.now();
        let name = format!("job:{}:{}", run.job, run.scheduled_at.as_millis());
        let why = match (ended.why.is_empty(), &run.why) {
            (true, before) => before.clone(),
            (false, _) => Some(ended.why.clone()),
        };
        let end = JobCommand::End {
            job: run.job.clone(),
            scheduled_at: run.scheduled_at,
            began_at: run.began_at,
            outcome: ended.outcome.into(),
            why: why.clone(),
            at: now,
        };
        let mut batch = vec![AgentCommand::Job(Box::new(end))];
        let mut told = None;
        // As it is now: somebody may have paused or removed it meanwhile.
        let rows = agent.store.jobs().await?;
        let row = rows.into_iter().find(|row| row.name == run.job);
        if let (Some(row), Some(view)) = (row, view) {
            let (row, tell) = after(row, view, &ended, now);
            told = tell;
            batch.push(AgentCommand::Job(Box::new(JobCommand::Put(row))));
        }
        if let Some(key) = JobTurn::session(&agent.id, &run.job)
            && let Some(session) = self.current(agent, &key).await?
        {
            // The next run begins afresh.
            batch.push(AgentCommand::EndSession { session, at: now });
        }
        let mut enqueue = |to: DeliveryDestination, text: String, name: String| {
            let put = Enqueue {
                session: None,
                turn: ended.turn,
                to,
                text: self.engine.told(agent, text),
                name: Some(name.into()),
                buttons: Vec::new(),
                at: now,
            };
            batch.push(AgentCommand::Outbox(OutboxCommand::Enqueue(Box::new(put))));
        };
        if let Some((to, text)) = ended.delivery {
            enqueue(to, text, name.clone());
        }
        if let Some((told, home)) = told.zip(self.home_of(agent)) {
            enqueue(ChatRef::of(&home.address).origin(None), told, format!("{name}:told"));
        }
        let content = json!({
            "job": &*run.job,
            "scheduled_at": run.scheduled_at.to_string(),
            "outcome": ended.outcome,
            "why": &why,
            "turn": ended.turn.map(|turn| turn.0),
        });
        let record = self.trail.record(agent, About::Agent, &Actor::Daemon, "job.ran", content);
        batch.push(AgentCommand::Audit(record));
        agent.store.commit(batch).await?;
        self.registry.hub.tell(&agent.id, || {
            AgentEvent::Work(WorkEvent::JobEnded {
                job: run.job.clone(),
                scheduled_at: run.scheduled_at,
                outcome: ended.outcome,
                why,
                turn: ended.turn,
            })
        });
        Ok(())
    }

    async fn current(
        &self,
        agent: &AgentContext,
        key: &SessionKey,
    ) -> Result<Option<SessionRef>, StoreError> {
        let session = agent.store.session(SessionRef::Key(key.to_string().into())).await?;
        Ok(session.map(|session| SessionRef::Id(session.id)))
    }
}

/// A job after a run, and what its home chat is told.
fn after(row: JobRow, view: &JobView, ended: &Ended, now: Timestamp) -> (JobRow, Option<String>) {
    let name = &view.job.name;
    if ended.outcome == "denied" {
        let why = ended.why.clone();
        let told = format!("Job {name} is paused: {why}");
        return (JobRow { state: JobState::Paused, why: Some(why), ..row }, Some(told));
    }
    if !ended.is_failure() {
        let keeps = ended.outcome == "budget";
        let failures = if keeps { row.failures } else { 0 };
        return (JobRow { failures, retry_at: None, ..row }, None);
    }
    let failures = row.failures.saturating_add(1);
    if failures >= view.job.pause_after && row.state == JobState::Active {
        let why = format!("it failed {failures} times in a row, at last: {}", ended.why);
        let told = format!("Job {name} is paused: {why}");
        return (JobRow { failures, state: JobState::Paused, why: Some(why), ..row }, Some(told));
    }
    let wait = WAIT_MS.0.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(WAIT_MS.1);
    let retry_at = Some(Timestamp::from_millis(now.as_millis().saturating_add(wait)));
    // Once: whoever was told of the first knows.
    let told = (failures == 1).then(|| format!("Job {name} failed: {}", ended.why));
    (JobRow { failures, retry_at, ..row }, told)
}
