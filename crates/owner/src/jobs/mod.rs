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
use insula_config::job::{Job, JobTime};
use insula_domain::AgentId;
use insula_registry::access::Access;
use insula_registry::context::AgentContext;
use insula_registry::home_chats::HomeChats;
use insula_registry::jobs::{JobView, Jobs};
use insula_registry::trail::Trail;
use insula_registry::{AgentState, Registry};
use insula_schedule::Start;
use insula_store::{AgentCommand, Due, JobCommand, JobRow, JobRun, JobState, Store, StoreError};
use insula_turns::Engine;
use insula_world::{Timestamp, World};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long the clock sleeps at most: somebody may set the machine's.
const SLEEP_MAX: Duration = Duration::from_secs(30);
/// How many agents are looked at at once.
const AT_ONCE: usize = 48;
/// How many that are due are read from the store at once, and wait to be looked at.
const DUE_AT_ONCE: usize = 256;
/// How long somebody who is looked at keeps others waiting. Whose storage does not answer goes on
/// beside them.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the runs of somebody who was looked at keep others waiting. Most are over by then, so
/// that under many that are due few are under way at once, and have their databases open.
const RUN_PATIENCE: Duration = Duration::from_millis(250);
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
    /// The agents that are being looked at.
    looking: Mutex<BTreeSet<AgentId>>,
    /// A look is over.
    looked: Notify,
    room: Semaphore,
}

/// Whether it was kept when to look at an agent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Yes,
    No,
}

/// The runs that a look began to see to.
type Begun = Vec<JoinHandle<()>>;

/// How a look at an agent ended.
enum Looked {
    /// There is something to do again at this moment.
    Next(Option<i64>, Begun),
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
            looking: Mutex::default(),
            looked: Notify::new(),
            room: Semaphore::new(AT_ONCE),
        })
    }

    /// Begins what is due, from what an earlier run left under way on, until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut changes = self.registry.changes();
        match self.store.daemon().busy().await {
            Ok(agents) => agents.into_iter().for_each(|id| self.look_beside(id)),
            Err(error) => tracing::error!(%error, "runs that are under way can't be read"),
        }
        let mut are_others = true;
        loop {
            if std::mem::take(&mut are_others) {
                changes.mark_unchanged();
                if let Err(error) = self.access.tidy_handoffs().await {
                    tracing::error!(%error, "conversations whose link is gone can't be handed back");
                }
                self.learn().await;
            }
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
                () = changes.changed() => are_others = true,
                () = self.jobs.changed() => {}
                () = self.looked.notified() => {}
                () = self.world.clock.sleep(pause) => {}
            }
        }
    }

    /// Looks at every agent that is due; how long nothing is then, but for those who are being
    /// looked at: the end of a look says that it is time to ask again.
    async fn begin_due(self: &Arc<Self>) -> Result<Duration, StoreError> {
        let (now, store) = (self.world.clock.now(), self.store.daemon());
        loop {
            let is_full = self.room.available_permits() == 0;
            let under_way = self.looking().len();
            if is_full && under_way >= DUE_AT_ONCE {
                return Ok(SLEEP_MAX);
            }
            let mut due = store.due(now, DUE_AT_ONCE + under_way).await?;
            self.rest_of(&mut due);
            if due.is_empty() {
                break;
            }
            due.into_iter().for_each(|due| self.look_beside(due.agent));
        }
        // Of so many there is one who is not being looked at, if there is one at all.
        let under_way = self.looking().len();
        let mut ahead = store.due(Timestamp::from_millis(i64::MAX), under_way + 1).await?;
        self.rest_of(&mut ahead);
        let left = ahead.first().map_or(i64::MAX, |next| next.at.as_millis() - now.as_millis());
        Ok(Duration::from_millis(u64::try_from(left).unwrap_or_default()).min(SLEEP_MAX))
    }

    /// Leaves those whom nobody looks at.
    fn rest_of(&self, due: &mut Vec<Due>) {
        let looking = self.looking();
        due.retain(|due| !looking.contains(&due.agent));
    }

    /// Looks at an agent, unless somebody does. Beside whoever asks: its storage may not answer.
    fn look_beside(self: &Arc<Self>, id: AgentId) {
        if !self.looking().insert(id.clone()) {
            return;
        }
        let this = self.clone();
        tokio::spawn(async move {
            // Never closed.
            let room = this.room.acquire().await;
            let look = std::pin::pin!(this.look(&id));
            let (kept, begun, room) = match patiently(&this.world, look, PATIENCE).await {
                Ok((kept, begun)) => (kept, begun, Some(room)),
                Err(look) => {
                    drop(room);
                    let (kept, begun) = look.await;
                    (kept, begun, None)
                }
            };
            if kept == Kept::No {
                // Who could not be put off would be due again at once, and for ever.
                this.world.clock.sleep(STORE_AGAIN).await;
            }
            this.looking().remove(&id);
            this.looked.notify_one();
            if room.is_some() {
                let over = std::pin::pin!(futures_util::future::join_all(begun));
                // Who takes longer goes on beside the others.
                let _ = patiently(&this.world, over, RUN_PATIENCE).await;
            }
        });
    }

    /// Takes up jobs of configurations that are new, and those of the start.
    async fn learn(self: &Arc<Self>) {
        let mut new = Vec::new();
        let snapshot = self.registry.snapshot();
        // Who has none any more had some that nobody missed since.
        let had = match self.jobs.with_jobs().await {
            Ok(had) => had,
            Err(error) => {
                tracing::error!(%error, "whose jobs were known can't be read");
                BTreeSet::new()
            }
        };
        for (id, entry) in &snapshot.agents {
            match &entry.state {
                AgentState::Ready(agent) => {
                    let before = self.known().insert(id.clone(), agent.generation.0);
                    let has_none = agent.jobs.is_empty() && before.is_none() && !had.contains(id);
                    if before != Some(agent.generation.0) && !has_none {
                        new.push((agent.clone(), before));
                    }
                }
                AgentState::Deleted | AgentState::Deleting(_) => {
                    if let Err(error) = self.jobs.forget(id).await {
                        tracing::error!(agent = %id, %error, "the jobs of an agent can't be forgotten");
                    }
                }
                _ => {}
            }
        }
        let agents: Vec<_> = new.iter().map(|(agent, _)| agent.clone()).collect();
        if let Err(error) = self.jobs.take_up(&agents).await {
            tracing::error!(%error, "the jobs of agents can't be taken up");
            return self.forget_all(&agents);
        }
        for (agent, before) in new {
            if before.is_none()
                && let Err(error) = self.begin_at_start(&agent).await
            {
                tracing::error!(agent = %agent.id, %error, "what an agent does at the start can't be begun");
                self.forget_all(&[agent]);
            }
        }
    }

    /// Has agents learnt of again with the next change.
    fn forget_all(&self, agents: &[Arc<AgentContext>]) {
        let mut known = self.known();
        for agent in agents {
            known.remove(&agent.id);
        }
    }

    async fn begin_at_start(self: &Arc<Self>, agent: &Arc<AgentContext>) -> Result<(), StoreError> {
        let is_at_start = |job: &&Arc<Job>| job.is_enabled && job.time == JobTime::AtStart;
        let Some(job) = agent.jobs.iter().find(is_at_start) else {
            return Ok(());
        };
        let begin = JobCommand::Begin(self.new_run(&job.name, self.now_ms()));
        agent.store.commit(vec![AgentCommand::Job(Box::new(begin))]).await?;
        self.jobs.call(&agent.id).await
    }

    fn looking(&self) -> MutexGuard<'_, BTreeSet<AgentId>> {
        // Nothing runs foreign code under it, so a poisoned lock guards nothing broken.
        self.looking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<AgentId, u64>> {
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
    async fn look(self: &Arc<Self>, id: &AgentId) -> (Kept, Begun) {
        let called = self.jobs.calls(id).await;
        let mut runs = Begun::new();
        let again = match self.go_through(id).await {
            Ok(Looked::Next(next, begun)) => {
                runs = begun;
                next
            }
            Ok(Looked::Asleep) => Some(self.now_ms() + LOOK_AGAIN_MS),
            Err(StoreError::Closed) => return (Kept::No, runs),
            // Gone for good.
            Err(StoreError::Retired { .. }) => None,
            Err(error) => {
                tracing::error!(agent = %id, %error, "what is due for an agent can't be begun");
                Some(self.now_ms() + LOOK_AGAIN_MS)
            }
        };
        if let Err(error) = self.jobs.wake_at(id, called, again.map(Timestamp::from_millis)).await {
            tracing::error!(agent = %id, %error, "when an agent is woken next could not be kept");
            return (Kept::No, runs);
        }
        (Kept::Yes, runs)
    }

    async fn go_through(self: &Arc<Self>, id: &AgentId) -> Result<Looked, StoreError> {
        let Some(agent) = self.serving(id) else {
            let snapshot = self.registry.snapshot();
            let state = snapshot.agents.get(id).map(|entry| &entry.state);
            return Ok(match state {
                None | Some(AgentState::Deleted | AgentState::Deleting(_)) => {
                    Looked::Next(None, Begun::new())
                }
                Some(_) => Looked::Asleep,
            });
        };
        let mut views = self.jobs.all(&agent).await?;
        let mut open = agent.store.job_runs_open().await?;
        let now = self.now_ms();
        let mut is_changed = false;
        for view in &mut views {
            let under_way = open.iter().filter(|run| run.job == view.job.name).count();
            let batch = self.due(view, under_way, now);
            if !batch.is_empty() {
                agent.store.commit(batch).await?;
                is_changed = true;
            }
        }
        if is_changed {
            open = agent.store.job_runs_open().await?;
        }
        let next = views.iter().filter_map(|view| view.next_ms(now)).min();
        let (mut jobs, mut begun) = (BTreeSet::new(), Begun::new());
        for run in open {
            // The oldest of a job goes first, and the others wait for it.
            if !jobs.insert(run.job.clone()) {
                continue;
            }
            let view = views.iter().find(|view| view.job.name == run.job);
            begun.extend(self.attend(&agent, view, run).await?);
        }
        Ok(Looked::Next(next, begun))
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
        // What was left out counts for nothing, so there may be runs left.
        if due.next_ms.is_none() && plan.ahead(view.progress(), handled, 1).is_empty() {
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

/// What a future comes to, or the future itself where that takes longer.
async fn patiently<F: Future + Unpin>(
    world: &World,
    mut future: F,
    patience: Duration,
) -> Result<F::Output, F> {
    tokio::select! {
        biased;
        done = &mut future => Ok(done),
        () = world.clock.sleep(patience) => Err(future),
    }
}
