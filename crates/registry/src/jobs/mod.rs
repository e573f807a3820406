//! What agents do by the clock: the jobs of their configuration and those that people added, who
//! may see and change which, and when an agent has to be woken.
//!
//! Running them is the owner's. Here is what there is to run, and the one place that changes it.

mod change;
mod known;
mod told;
mod view;

pub use change::{JobError, NewJob};
pub use told::JobWish;
pub use view::{JobOrigin, JobView};

use crate::access::Access;
use crate::context::AgentContext;
use crate::trail::Trail;
use insula_domain::AgentId;
use insula_store::{DaemonCommand, JobRow, JobState, LeaseHolder, StoreError};
use insula_world::{Timestamp, World};
use known::Known;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// What the name of a value begins with that says which jobs of an agent's configuration are
/// known, and since when each is.
const KNOWN: &str = "jobs:";

/// How many wake times one commit writes where the jobs of many agents are taken up.
const TAKEN_UP_AT_ONCE: usize = 500;

/// How often an agent was called. Held while its wake time is written: who looks and who calls
/// write the same one. One for each agent, so that their times are written together.
type Calls = Arc<tokio::sync::Mutex<u64>>;

/// The jobs of a daemon's agents.
pub struct Jobs {
    world: World,
    owner: LeaseHolder,
    access: Arc<Access>,
    trail: Trail,
    /// An agent is to be looked at before its time.
    changed: Notify,
    /// How often each agent was called.
    calls: Mutex<BTreeMap<AgentId, Calls>>,
}

impl Jobs {
    pub(crate) fn new(
        world: &World,
        owner: &LeaseHolder,
        access: &Arc<Access>,
        trail: &Trail,
    ) -> Self {
        Self {
            world: world.clone(),
            owner: owner.clone(),
            access: access.clone(),
            trail: trail.clone(),
            changed: Notify::new(),
            calls: Mutex::default(),
        }
    }

    /// Waits until some agent is to be looked at before its time.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// How often an agent was called so far.
    pub async fn calls(&self, agent: &AgentId) -> u64 {
        *self.calls_of(agent).lock().await
    }

    fn calls_of(&self, agent: &AgentId) -> Calls {
        // Nothing runs foreign code under it, so a poisoned lock guards nothing broken.
        let mut all = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(agent) {
            Some(calls) => calls.clone(),
            None => all.entry(agent.clone()).or_default().clone(),
        }
    }

    /// Says when an agent is to be looked at next, after a look that began when it had been called
    /// so often. Where it was called since, it is looked at again at once.
    pub async fn wake_at(
        &self,
        agent: &AgentId,
        called: u64,
        at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let calls = self.calls_of(agent);
        let calls = calls.lock().await;
        if *calls != called {
            return Ok(());
        }
        let wake = DaemonCommand::SetWake { agent: agent.clone(), at };
        self.owner.daemon().commit(vec![wake]).await.map(drop)
    }

    /// Has an agent looked at now.
    pub async fn call(&self, agent: &AgentId) -> Result<(), StoreError> {
        let calls = self.calls_of(agent);
        let mut calls = calls.lock().await;
        *calls = calls.wrapping_add(1);
        let at = Some(self.world.clock.now());
        let wake = DaemonCommand::SetWake { agent: agent.clone(), at };
        let done = self.owner.daemon().commit(vec![wake]).await;
        drop(calls);
        self.changed.notify_one();
        done.map(drop)
    }

    /// Takes up the jobs of configurations. One that is another than before is so since now, and its
    /// agent is woken when the first of them is due. The agent's database stays closed.
    pub async fn take_up(&self, agents: &[Arc<AgentContext>]) -> Result<(), StoreError> {
        let mut new = Vec::new();
        for agent in agents {
            let known = self.known(&agent.id).await?;
            let is_new = match &known {
                Some(known) => !known.is_of(&agent.jobs),
                None => !agent.jobs.is_empty(),
            };
            if is_new {
                new.push((agent, known));
            }
        }
        for some in new.chunks(TAKEN_UP_AT_ONCE) {
            let now = self.world.clock.now();
            let batch = some.iter().flat_map(|(agent, known)| {
                // Whoever looks finds what is due; where jobs were others before, rows of them
                // may be.
                let first = match known {
                    Some(_) => Some(now),
                    None => self.first(agent, now),
                };
                let (id, key) = (&agent.id, key(&agent.id));
                let keep = match known.clone().unwrap_or_default().with(&agent.jobs, now) {
                    Some(known) => DaemonCommand::PutValue { key, value: known.to_string() },
                    None => DaemonCommand::DropValue { key },
                };
                let wake =
                    first.map(|at| DaemonCommand::SetWake { agent: id.clone(), at: Some(at) });
                [keep].into_iter().chain(wake)
            });
            self.owner.daemon().commit(batch.collect()).await?;
        }
        Ok(())
    }

    /// Since when the jobs that are known of an agent's configuration are.
    async fn known(&self, agent: &AgentId) -> Result<Option<Known>, StoreError> {
        let known = self.owner.store().daemon().value(&key(agent)).await?;
        Ok(known.as_deref().map(Known::read))
    }

    /// The agents of which jobs of a configuration are known, deleted ones too.
    pub async fn with_jobs(&self) -> Result<BTreeSet<AgentId>, StoreError> {
        let known = self.owner.store().daemon().values_under(KNOWN).await?;
        let ids = known.iter().filter_map(|(key, _)| key.strip_prefix(KNOWN));
        Ok(ids.filter_map(|id| AgentId::new(id).ok()).collect())
    }

    /// Forgets since when: an agent that is made anew under the same name has jobs of its own.
    pub async fn forget(&self, agent: &AgentId) -> Result<(), StoreError> {
        let key = key(agent);
        if self.owner.store().daemon().value(&key).await?.is_none() {
            return Ok(());
        }
        self.owner.daemon().commit(vec![DaemonCommand::DropValue { key }]).await.map(drop)
    }

    /// When the first job of a configuration is due that was never looked at.
    fn first(&self, agent: &AgentContext, now: Timestamp) -> Option<Timestamp> {
        let row = |job| JobView::of_config(agent, job, None, now);
        let views = agent.jobs.iter().map(row);
        views.filter_map(|view| view.next_ms(now.as_millis())).min().map(Timestamp::from_millis)
    }

    /// Every job of an agent, by name.
    pub async fn all(&self, agent: &AgentContext) -> Result<Vec<JobView>, StoreError> {
        let known = self.known(&agent.id).await?.unwrap_or_default();
        let now = self.world.clock.now();
        let mut rows: BTreeMap<Box<str>, JobRow> =
            agent.store.jobs().await?.into_iter().map(|row| (row.name.clone(), row)).collect();
        let mut all = Vec::new();
        for job in agent.jobs.iter() {
            // What somebody added under the same name before has lost it to the configuration.
            let row = rows.remove(&job.name).filter(|row| row.spec.is_none());
            // One that nobody took up yet is not looked back for.
            let since = known.since(job).unwrap_or(now);
            all.push(JobView::of_config(agent, job, row, since));
        }
        all.extend(rows.into_values().filter_map(|row| JobView::of_row(agent, row)));
        all.sort_by(|one, other| one.job.name.cmp(&other.job.name));
        Ok(all)
    }
}

pub(crate) fn key(agent: &AgentId) -> Box<str> {
    format!("{KNOWN}{agent}").into()
}

/// The first row of a job.
pub(crate) fn first_row(name: &str, owner: insula_domain::Actor, at: Timestamp) -> JobRow {
    JobRow {
        name: name.into(),
        spec: None,
        owner,
        place: None,
        state: JobState::Active,
        why: None,
        handled_at: at,
        runs: 0,
        failures: 0,
        retry_at: None,
        made_at: at,
    }
}
