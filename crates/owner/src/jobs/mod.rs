//! The clock: wakes agents when something of theirs is due, and begins the runs of their jobs.
//!
//! When to wake whom stands in the daemon's store, so that an agent with jobs is at rest until
//! then: no timer and no open database of its own. A run is a row before it is anything else;
//! [`run`] makes a turn of it and [`end`] says what became of it. All of it can be begun again
//! from the rows: a moment is run for once.

mod end;
mod run;

use crate::delivery::Relay;
use insula_capabilities::{Capabilities, Opened};
use insula_domain::AgentId;
use insula_registry::access::Access;
use insula_registry::context::AgentContext;
use insula_registry::home_chats::HomeChats;
use insula_registry::jobs::{JobView, Jobs};
use insula_registry::trail::Trail;
use insula_registry::{AgentState, Registry};
use insula_schedule::Start;
use insula_store::{AgentCommand, JobCommand, JobRow, JobRun, JobState, Store, StoreError};
use insula_turns::Engine;
use insula_world::{Timestamp, World};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// How long the clock sleeps at most: somebody may set the machine's.
const SLEEP_MAX: Duration = Duration::from_secs(30);
/// How many agents are looked at at once.
const AT_ONCE: usize = 32;
/// How many that are due are read from the store at once.
const DUE_AT_ONCE: usize = 256;
/// How soon an agent is looked at again that does not serve, or whose store failed.
const LOOK_AGAIN_MS: i64 = 60_000;

/// How soon it is tried again where the daemon's store takes nothing.
const STORE_AGAIN: Duration = Duration::from_secs(1);

/// Begins what is due.
pub struct Clockwork {
    world: World,
    store: Store,
    registry: Arc<Registry>,
    access: Arc<Access>,
    jobs: Arc<Jobs>,
    homes: Arc<HomeChats>,
    trail: Trail,
    caps: Capabilities,
    engine: Engine,
    out: Arc<Relay>,
    /// The runs that somebody sees to in this process.
    attended: Mutex<HashSet<(AgentId, Box<str>, i64)>>,
    /// The generations whose jobs are known, by agent.
    known: Mutex<BTreeMap<AgentId, u64>>,
    room: Semaphore,
}

/// Whether it was kept when to look at an agent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Yes,
    No,
}

/// How a look at an agent ended.
enum Looked {
    /// There is something to do again at this moment.
    Next(Option<i64>),
    /// It does not serve.
    Asleep,
}

impl Clockwork {
    pub(crate) fn new(opened: &Opened, engine: Engine, out: Arc<Relay>) -> Arc<Self> {
        let parts = &opened.parts;
        Arc::new(Self {
            world: parts.world.clone(),
            store: parts.store.clone(),
            registry: parts.registry.clone(),
            access: parts.access.clone(),
            jobs: parts.jobs.clone(),
            homes: parts.homes.clone(),
            trail: parts.trail.clone(),
            caps: opened.capabilities.clone(),
            engine,
            out,
            attended: Mutex::default(),
            known: Mutex::default(),
            room: Semaphore::new(AT_ONCE),
        })
    }

    /// Begins what is due, from what an earlier run left under way on, until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut changes = self.registry.changes();
        match self.store.daemon().busy().await {
            Ok(agents) => {
                self.look_at_all(agents).await;
            }
            Err(error) => tracing::error!(%error, "runs that are under way can't be read"),
        }
        loop {
            changes.mark_unchanged();
            if let Err(error) = self.access.tidy_handoffs().await {
                tracing::error!(%error, "conversations whose link is gone can't be handed back");
            }
            self.learn().await;
            let pause = match self.begin_due().await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::error!(%error, "what is due can't be read; it is tried again");
                    SLEEP_MAX
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = changes.changed() => {}
                () = self.jobs.changed() => {}
                () = self.world.clock.sleep(pause) => {}
            }
        }
    }

    /// Looks at every agent that is due; how long nothing is then.
    async fn begin_due(self: &Arc<Self>) -> Result<Duration, StoreError> {
        loop {
            let now = self.world.clock.now();
            let due = self.store.daemon().due(now, DUE_AT_ONCE).await?;
            if due.is_empty() {
                let next = self.store.daemon().next_wake().await?;
                let left = next.map_or(i64::MAX, |at| at.as_millis() - now.as_millis());
                let left = u64::try_from(left).unwrap_or_default();
                return Ok(Duration::from_millis(left).min(SLEEP_MAX));
            }
            let all = due.into_iter().map(|due| due.agent).collect();
            if self.look_at_all(all).await == Kept::No {
                // Who could not be put off would be due again at once, and for ever.
                return Ok(STORE_AGAIN);
            }
        }
    }

    /// Looks at agents; whether it is kept for all of them when to look again.
    async fn look_at_all(self: &Arc<Self>, agents: Vec<AgentId>) -> Kept {
        let looks = agents.into_iter().map(|id| async move {
            // Never closed.
            let _permit = self.room.acquire().await;
            self.look(&id).await
        });
        let all = futures_util::future::join_all(looks).await;
        if all.contains(&Kept::No) { Kept::No } else { Kept::Yes }
    }

    /// Takes up jobs of configurations that are new, and those of the start.
    async fn learn(self: &Arc<Self>) {
        let snapshot = self.registry.snapshot();
        for (id, entry) in &snapshot.agents {
            let done = match &entry.state {
                AgentState::Ready(agent) => self.learn_of(agent).await,
                AgentState::Deleted | AgentState::Deleting(_) => self.jobs.forget(id).await,
                _ => Ok(()),
            };
            if let Err(error) = done {
                // Tried again with the next change.
                self.known().remove(id);
                tracing::error!(agent = %id, %error, "the jobs of an agent can't be taken up");
            }
        }
    }

    async fn learn_of(self: &Arc<Self>, agent: &Arc<AgentContext>) -> Result<(), StoreError> {
        let before = self.known().insert(agent.id.clone(), agent.generation.0);
        if before == Some(agent.generation.0) || (agent.jobs.is_empty() && before.is_none()) {
            return Ok(());
        }
        self.jobs.since(agent).await?;
        let at_start = agent.jobs.iter().find(|job| job.plan(&agent.id, 0) == Ok(None));
        if let Some(job) = at_start.filter(|_| before.is_none()) {
            let begin = JobCommand::Begin(self.new_run(&job.name, self.now_ms()));
            agent.store.commit(vec![AgentCommand::Job(Box::new(begin))]).await?;
            self.look(&agent.id).await;
        }
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<AgentId, u64>> {
        // Nothing runs foreign code under it, so a poisoned lock guards nothing broken.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attended(&self) -> MutexGuard<'_, HashSet<(AgentId, Box<str>, i64)>> {
        self.attended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> i64 {
        self.world.clock.now().as_millis()
    }

    fn serving(&self, id: &AgentId) -> Option<Arc<AgentContext>> {
        match &self.registry.snapshot().agents.get(id)?.state {
            AgentState::Ready(agent) => Some(agent.clone()),
            _ => None,
        }
    }

    /// Looks what is due for an agent, begins it, and says when to look again.
    async fn look(self: &Arc<Self>, id: &AgentId) -> Kept {
        let called = self.jobs.calls(id).await;
        let again = match self.go_through(id).await {
            Ok(Looked::Next(next)) => next,
            Ok(Looked::Asleep) => Some(self.now_ms() + LOOK_AGAIN_MS),
            Err(StoreError::Closed) => return Kept::No,
            // Gone for good.
            Err(StoreError::Retired { .. }) => None,
            Err(error) => {
                tracing::error!(agent = %id, %error, "what is due for an agent can't be begun");
                Some(self.now_ms() + LOOK_AGAIN_MS)
            }
        };
        if let Err(error) = self.jobs.wake_at(id, called, again.map(Timestamp::from_millis)).await {
            tracing::error!(agent = %id, %error, "when an agent is woken next could not be kept");
            return Kept::No;
        }
        Kept::Yes
    }

    async fn go_through(self: &Arc<Self>, id: &AgentId) -> Result<Looked, StoreError> {
        let Some(agent) = self.serving(id) else {
            let snapshot = self.registry.snapshot();
            let state = snapshot.agents.get(id).map(|entry| &entry.state);
            return Ok(match state {
                None | Some(AgentState::Deleted | AgentState::Deleting(_)) => Looked::Next(None),
                Some(_) => Looked::Asleep,
            });
        };
        let mut views = self.jobs.all(&agent).await?;
        let open = agent.store.job_runs_open().await?;
        let now = self.now_ms();
        for view in &mut views {
            let under_way = open.iter().filter(|run| run.job == view.job.name).count();
            let batch = self.due(view, under_way, now);
            if !batch.is_empty() {
                agent.store.commit(batch).await?;
            }
        }
        let next = views.iter().filter_map(|view| view.next_ms(now)).min();
        let mut begun = BTreeSet::new();
        for run in agent.store.job_runs_open().await? {
            // The oldest of a job goes first, and the others wait for it.
            if !begun.insert(run.job.clone()) {
                continue;
            }
            let view = views.iter().find(|view| view.job.name == run.job);
            self.attend(&agent, view, run).await?;
        }
        Ok(Looked::Next(next))
    }

    /// What is to be written down of a job that is due; its view is as it is then.
    fn due(&self, view: &mut JobView, under_way: usize, now: i64) -> Vec<AgentCommand> {
        let Some(plan) = view.plan.as_ref().filter(|_| view.is_active()) else {
            return Vec::new();
        };
        if view.row.retry_at.is_some_and(|at| at.as_millis() > now) {
            return Vec::new();
        }
        let due = plan.due(view.progress(), now);
        let Some(handled) = due.handled_ms else {
            return Vec::new();
        };
        let mut runs = Vec::new();
        let mut under_way = under_way;
        for at in &due.runs {
            let mut run = self.new_run(&view.job.name, *at);
            // What is made up for waits for its turn, whatever else may.
            let start = match due.runs.len() {
                1 => view.job.overlap.start(under_way),
                _ => Start::Wait,
            };
            if start == Start::LeaveOut {
                run.ended_at = Some(run.began_at);
                run.outcome = Some("overlap".into());
                run.why = Some("the run before was still under way".to_owned());
            } else {
                under_way += 1;
                view.row.runs = view.row.runs.saturating_add(1);
            }
            runs.push(run);
        }
        if due.missed > 0 {
            let told = format!("{} runs were missed", due.missed);
            match runs.first_mut() {
                Some(run) if run.why.is_none() => run.why = Some(told),
                Some(_) => {}
                None => {
                    let mut run = self.new_run(&view.job.name, handled);
                    run.ended_at = Some(run.began_at);
                    run.outcome = Some("missed".into());
                    run.why = Some(told);
                    runs.push(run);
                }
            }
        }
        view.row.handled_at = Timestamp::from_millis(handled);
        if due.next_ms.is_none() {
            view.row.state = JobState::Over;
        }
        let put = JobCommand::Put(JobRow { retry_at: None, ..view.row.clone() });
        view.row.retry_at = None;
        let begin = runs.into_iter().map(JobCommand::Begin);
        [put].into_iter().chain(begin).map(|it| AgentCommand::Job(Box::new(it))).collect()
    }

    fn new_run(&self, job: &str, at_ms: i64) -> JobRun {
        JobRun {
            job: job.into(),
            scheduled_at: Timestamp::from_millis(at_ms),
            began_at: self.world.clock.now(),
            ended_at: None,
            turn: None,
            outcome: None,
            why: None,
        }
    }
}
