//! One run of a job: whether it still may, its script, its turn, and how long that takes.

use super::Clockwork;
use super::end::Ended;
use crate::delivery::ChatRef;
use insula_capabilities::hooks::{self, HookDecision, Occasion};
use insula_domain::hook::HookEvent;
use insula_domain::{Actor, Address, Audience, Integrity, Label, Source, SourceKind};
use insula_registry::access::Access;
use insula_registry::context::{AgentContext, JobTurn};
use insula_registry::events::{AgentEvent, WorkEvent};
use insula_registry::jobs::{JobView, Jobs};
use insula_store::{AgentCommand, IdempotencyKey, JobCommand, JobRun, Part, StoreError, TurnId};
use insula_turns::{Acknowledge, Around, Inbound, SubmitError, TurnEvent, TurnHandle};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How far a run has come whose script has begun.
const SCRIPT: &str = "script";
/// Longest output of a script that a message has, in bytes.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// How long a script may take, where its job has more time.
const SCRIPT_MAX: Duration = Duration::from_secs(10 * 60);

/// How soon a run is begun again that found no room.
const ROOM_AGAIN: Duration = Duration::from_secs(5);

/// How a run got its turn.
enum Begun {
    Turn(TurnHandle),
    /// It had one before, which is over.
    Over(TurnId),
    /// It needs none.
    Ended(Ended),
    /// There is no room for it now.
    NoRoom,
}

impl Clockwork {
    /// Sees to a run that is under way, unless somebody does; who does it beside whoever looks.
    pub(super) async fn attend(
        self: &Arc<Self>,
        agent: &Arc<AgentContext>,
        view: Option<&JobView>,
        run: JobRun,
    ) -> Result<Option<JoinHandle<()>>, StoreError> {
        let run = self.begun(run);
        let name = (agent.id.clone(), run.job.clone(), run.scheduled_at.as_millis());
        if !self.attended().insert(name.clone()) {
            return Ok(None);
        }
        let Some(view) = view.cloned() else {
            let ended = Ended::new("stopped", "the job is gone");
            let written = self.end(agent, None, &run, ended).await;
            // Also where that failed: it is tried again.
            self.attended().remove(&name);
            return written.map(|()| None);
        };
        let (this, agent) = (self.clone(), agent.clone());
        // A script may take long.
        let seen_to = tokio::spawn(async move {
            let has_room = this.go(&agent, &view, &run).await;
            this.attended().remove(&name);
            match has_room {
                // Where no other waits for it, the agent is looked at when something is due: that
                // is known since this one was.
                Ok(true) if !this.others_wait(&agent).await => return,
                Ok(true) => {}
                Ok(false) => this.world.clock.sleep(ROOM_AGAIN).await,
                Err(error) => {
                    tracing::error!(agent = %agent.id, job = %run.job, %error, "a run of a job could not be seen to; it is tried again");
                    this.world.clock.sleep(ROOM_AGAIN).await;
                }
            }
            if let Err(error) = this.jobs.call(&agent.id).await {
                tracing::error!(agent = %agent.id, %error, "an agent can't be looked at after a run");
            }
        });
        Ok(Some(seen_to))
    }

    /// A run, which begins now unless it did before: until then it waited.
    fn begun(&self, run: JobRun) -> JobRun {
        let began_before = run.turn.is_some() || run.outcome.is_some();
        let began_at = if began_before { run.began_at } else { self.world.clock.now() };
        JobRun { began_at, ..run }
    }

    /// Whether runs of an agent are written down and not over: they may wait for one that is.
    async fn others_wait(&self, agent: &AgentContext) -> bool {
        // Where that can't be read it is looked again.
        agent.store.job_runs_open().await.map_or(true, |open| !open.is_empty())
    }

    /// Runs a job to its end; `false` where there is no room for it now.
    async fn go(
        self: &Arc<Self>,
        agent: &Arc<AgentContext>,
        view: &JobView,
        run: &JobRun,
    ) -> Result<bool, StoreError> {
        let begun = match run.turn {
            Some(turn) => self.taken_up(agent, run, turn),
            None => self.begin(agent, view, run).await?,
        };
        let (turn, mut ended) = match begun {
            Begun::NoRoom => return Ok(false),
            Begun::Ended(ended) => (None, Some(ended)),
            Begun::Over(turn) => (Some(turn), None),
            Begun::Turn(handle) => {
                let turn = handle.turn;
                if run.turn.is_none() {
                    let (job, began_at) = (run.job.clone(), run.began_at);
                    let scheduled_at = run.scheduled_at;
                    let noted = JobCommand::Turn { job, scheduled_at, began_at, turn };
                    agent.store.commit(vec![AgentCommand::Job(Box::new(noted))]).await?;
                    self.registry.hub.tell(&agent.id, || {
                        let (job, scheduled_at) = (run.job.clone(), run.scheduled_at);
                        AgentEvent::Work(WorkEvent::JobBegun { job, scheduled_at, turn })
                    });
                }
                (Some(turn), self.watch(agent, view, handle).await)
            }
        };
        if let (Some(turn), None) = (turn, &ended) {
            ended = Some(self.outcome(agent, view, turn).await?);
        }
        if let Some(mut ended) = ended {
            ended.turn = turn;
            self.end(agent, Some(view), run, ended).await?;
        }
        Ok(true)
    }

    /// A turn that an earlier run of the daemon had begun.
    fn taken_up(&self, agent: &AgentContext, run: &JobRun, turn: TurnId) -> Begun {
        let key = JobTurn::session(&agent.id, &run.job);
        match key.and_then(|key| self.engine.listen(&key, turn)) {
            Some(handle) => Begun::Turn(handle),
            None => Begun::Over(turn),
        }
    }

    /// Begins the turn of a run. The same run asked for twice is one turn.
    async fn begin(
        &self,
        agent: &Arc<AgentContext>,
        view: &JobView,
        run: &JobRun,
    ) -> Result<Begun, StoreError> {
        let ended = |outcome, why: &str| Ok(Begun::Ended(Ended::new(outcome, why)));
        let (Some((principal, address)), Some(job), Some(session)) = (
            Jobs::whereabouts(view),
            JobTurn::of(&view.job),
            JobTurn::session(&agent.id, &view.job.name),
        ) else {
            return ended("denied", "who made it is nobody whose rights could be asked");
        };
        if let Some(why) = self.lost(agent, &principal, &address).await? {
            return ended("denied", &why);
        }
        if let Err(why) = self.jobs.still_fits(agent, view) {
            return ended("denied", &why.to_string());
        }
        if run.outcome.as_deref() == Some(SCRIPT) {
            return ended("interrupted", "the daemon ended while its script ran");
        }
        let key: Box<str> = format!("{}@{}", run.job, run.scheduled_at.as_millis()).into();
        let mut inbound = Inbound {
            agent: agent.clone(),
            session,
            scope: agent.scope(&address).by_job(Arc::new(job)),
            // Who wrote the configuration is nobody's audience.
            label: match &principal {
                Actor::Daemon => Label::anyone(),
                _ => Label::of(Audience::of(&address)),
            },
            principal,
            history: Vec::new(),
            parts: Vec::new(),
            idempotency: Some(IdempotencyKey {
                who: "cron".into(),
                request: *blake3::hash(key.as_bytes()).as_bytes(),
                key,
            }),
            origin: None,
            // Nobody is told of it before it is over.
            acknowledge: Acknowledge::WithReply,
        };
        if let Some(why) = self.refused(agent, &inbound, view, run).await? {
            return ended("refused", &why);
        }
        let mut text = view.job.prompt.to_string();
        if let Some(script) = &view.job.script {
            let limit = SCRIPT_MAX.min(view.job.timeout);
            match self.script(agent, &inbound, (script, limit), run).await? {
                Ok(printed) if printed.trim().is_empty() => {
                    return ended("empty", "its script printed nothing, so nothing was asked");
                }
                Ok(printed) => {
                    if !text.is_empty() {
                        text.push_str("\n\n");
                    }
                    text.push_str(printed.trim());
                    let program = Integrity::of(Source::new(SourceKind::Program, "script"));
                    let program = agent.boundary.integrity.untrusted(&program);
                    inbound.label = inbound.label.with(&program);
                }
                Err(why) => return ended("failed", &format!("its script failed: {why}")),
            }
        }
        inbound.parts = vec![Part::Text(text)];
        let key = inbound.session.clone();
        Ok(match self.engine.submit_with(inbound, Around::default()).await {
            Ok(handle) => Begun::Turn(handle),
            Err(SubmitError::Known { turn, .. }) => match self.engine.listen(&key, turn) {
                Some(handle) => Begun::Turn(handle),
                None => Begun::Over(turn),
            },
            Err(SubmitError::Busy { .. } | SubmitError::UnderWay { .. }) => Begun::NoRoom,
            Err(SubmitError::Budget(refusal)) => {
                Begun::Ended(Ended::new("budget", &refusal.to_string()))
            }
            Err(SubmitError::Store(error)) => return Err(error),
            Err(error @ SubmitError::NotWaiting { .. }) => {
                Begun::Ended(Ended::new("failed", &error.to_string()))
            }
        })
    }

    /// Why a job may not run any more: whoever made it lost what they made it by.
    async fn lost(
        &self,
        agent: &Arc<AgentContext>,
        principal: &Actor,
        address: &Address,
    ) -> Result<Option<String>, StoreError> {
        let access: &Access = &self.access;
        if !access.may_talk(agent, principal, address).await? {
            return Ok(Some(format!("{principal} may not talk to this agent")));
        }
        let leads_elsewhere = matches!(principal, Actor::User(_))
            && self
                .registry
                .snapshot()
                .route(address)
                .map_or(true, |found| found.context.id != agent.id);
        Ok(leads_elsewhere.then(|| "the chat it was made in is not this agent's any more".into()))
    }

    /// Why a hook does not want a run, where one says so.
    async fn refused(
        &self,
        agent: &Arc<AgentContext>,
        inbound: &Inbound,
        view: &JobView,
        run: &JobRun,
    ) -> Result<Option<String>, StoreError> {
        if !agent.hooks.has(HookEvent::CronRun) {
            return Ok(None);
        }
        let session = self.engine.open_session(inbound).await?;
        let seals = agent.store.seals();
        let files = agent.workspace.files(&inbound.session, session, &seals, &self.world);
        let key = inbound.session.to_string();
        let occasion = Occasion {
            agent,
            session: Some((&key, session)),
            scope: None,
            principal: &inbound.principal,
            at: Some(&inbound.scope),
            files: Some(&files),
        };
        let fields = || {
            json!({
                "text": &*view.job.prompt,
                "extra": {
                    "job": &*run.job,
                    "scheduled_at": run.scheduled_at.to_string(),
                    "deliver": view.deliver().to_string(),
                    "script": view.job.script.as_deref(),
                },
            })
        };
        Ok(match hooks::ask(&self.caps, HookEvent::CronRun, &occasion, fields).await {
            HookDecision::Go(_) => None,
            HookDecision::Block { reason, .. } => {
                Some(format!("a hook does not want it: {reason}"))
            }
        })
    }

    /// Runs the script of a job, once; what it printed, or why it did not.
    async fn script(
        &self,
        agent: &Arc<AgentContext>,
        inbound: &Inbound,
        script: (&str, Duration),
        run: &JobRun,
    ) -> Result<Result<String, String>, StoreError> {
        let JobRun { job, scheduled_at, began_at, .. } = run.clone();
        let mark = JobCommand::Mark { job, scheduled_at, began_at, outcome: SCRIPT.into() };
        agent.store.commit(vec![AgentCommand::Job(Box::new(mark))]).await?;
        let session = self.engine.open_session(inbound).await?;
        let seals = agent.store.seals();
        let files = agent.workspace.files(&inbound.session, session, &seals, &self.world);
        let who = (&inbound.principal, session);
        let printed = self.caps.script(agent, who, &files, script).await;
        let printed = printed.map(|printed| {
            let text = String::from_utf8_lossy(&printed);
            let text = self.engine.told(agent, text.into_owned());
            text[..text.floor_char_boundary(OUTPUT_BYTES_MAX)].to_owned()
        });
        // Why it failed has words of it too.
        Ok(printed.map_err(|why| self.engine.told(agent, why)))
    }

    /// Watches a turn to its end or the end of its time; how it ended where that is not told by
    /// the journal.
    async fn watch(
        &self,
        agent: &Arc<AgentContext>,
        view: &JobView,
        mut handle: TurnHandle,
    ) -> Option<Ended> {
        let late = self.world.clock.sleep(view.job.timeout);
        tokio::pin!(late);
        let mut is_late = false;
        loop {
            tokio::select! {
                biased;
                event = handle.events.recv() => match event {
                    Some(TurnEvent::Approval { id, tool, what, rule, .. }) => {
                        if let Some(place) = self.asks_in(agent, view) {
                            let question = (id, tool, what, rule);
                            let asked = self.out.put_question(agent, &place, handle.turn, question);
                            if let Err(error) = asked.await {
                                tracing::error!(agent = %agent.id, %error, "a question of a job can't be asked");
                            }
                        }
                    }
                    Some(TurnEvent::Ended(_)) | None => break,
                    Some(_) => {}
                },
                () = &mut late, if !is_late => {
                    is_late = true;
                    if let Some(key) = JobTurn::session(&agent.id, &view.job.name) {
                        self.engine.stop_turn(&key, handle.turn);
                    }
                }
            }
        }
        is_late.then(|| {
            let took = view.job.timeout.as_secs();
            Ended::new("timeout", &format!("it took longer than its {took} seconds"))
        })
    }

    /// Where admins are asked what a job needs an approval for: where it was made, else at home.
    fn asks_in(&self, agent: &AgentContext, view: &JobView) -> Option<ChatRef> {
        match &view.place {
            Some(place) => Some(ChatRef::of(place)),
            None => self.home_of(agent).map(|home| ChatRef::of(&home.address)),
        }
    }
}
