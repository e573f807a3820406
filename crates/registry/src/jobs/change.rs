//! Who may see and change jobs, and what changes them.

use super::{JobOrigin, JobView, Jobs, first_row};
use crate::context::{AgentContext, keep_place};
use crate::tokens::Verb;
use insula_config::job::{Deliver, Job, JobScope, of_text};
use insula_config::model::ModelRef;
use insula_domain::{Actor, Address, Platform, Scope};
use insula_schedule::{Bounds, Plan, Schedule};
use insula_store::{About, AgentCommand, JobCommand, JobRow, JobRun, JobState, StoreError};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Jobs that one agent may have, and those that one person may have of them.
const JOBS_MAX: usize = 200;
const JOBS_OF_ONE_MAX: usize = 50;

/// Why something was not done with a job.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// there is none of that name, for whoever asks
    #[error("agent `{agent}` has no job `{name}`")]
    NoSuchJob { agent: insula_domain::AgentId, name: Box<str> },
    /// what was asked for can't be
    #[error("{0}")]
    Wrong(String),
    /// somebody else has to do it
    #[error("{0}")]
    NotAllowed(String),
    /// the store could not take it
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A job that somebody wants to add.
pub struct NewJob<'n> {
    /// Its name; `None` for one that is free.
    pub name: Option<&'n str>,
    /// Its settings, as those of `cron.<name>`.
    pub settings: Map<String, Value>,
    /// Who adds it.
    pub by: &'n Actor,
    /// Where they said so, where that is a chat.
    pub place: Option<&'n Address>,
    /// Why it does not run until somebody lets it.
    pub paused: Option<&'n str>,
}

impl Jobs {
    /// The jobs that somebody may see: their own, and for an admin all.
    pub async fn seen_by(
        &self,
        agent: &AgentContext,
        who: &Actor,
    ) -> Result<Vec<JobView>, StoreError> {
        let mut all = self.all(agent).await?;
        if !self.access.is_admin(agent, who, Verb::Read) {
            all.retain(|view| view.row.owner == *who);
        }
        Ok(all)
    }

    /// One of them.
    pub async fn one(
        &self,
        agent: &AgentContext,
        who: &Actor,
        name: &str,
    ) -> Result<JobView, JobError> {
        let all = self.seen_by(agent, who).await?;
        all.into_iter()
            .find(|view| &*view.job.name == name)
            .ok_or_else(|| JobError::NoSuchJob { agent: agent.id.clone(), name: name.into() })
    }

    /// One of them, to change it: whoever sees a job of their own may, and who manages the agent.
    async fn to_change(
        &self,
        agent: &AgentContext,
        who: &Actor,
        name: &str,
    ) -> Result<JobView, JobError> {
        let view = self.one(agent, who, name).await?;
        if view.row.owner == *who || self.access.is_admin(agent, who, Verb::Manage) {
            return Ok(view);
        }
        Err(JobError::NotAllowed(format!("only who made job `{name}` and admins may change it")))
    }

    /// Adds a job. It belongs to whoever adds it, and to the chat they do it in.
    pub async fn add(&self, agent: &AgentContext, new: NewJob<'_>) -> Result<JobView, JobError> {
        let known = self.all(agent).await?;
        let of_them = known.iter().filter(|view| view.row.owner == *new.by).count();
        let is_operator = *new.by == Actor::CommandLine;
        if known.len() >= JOBS_MAX || of_them >= JOBS_OF_ONE_MAX && !is_operator {
            return Err(JobError::NotAllowed(format!(
                "there are too many jobs: an agent has at most {JOBS_MAX}, and one person {JOBS_OF_ONE_MAX} of them; remove one that is not needed any more"
            )));
        }
        let now = self.world.clock.now();
        let is_free = |name: &str| known.iter().all(|view| &*view.job.name != name);
        let name: Box<str> = match new.name {
            Some(name) if is_free(name) => name.into(),
            // Whose it is says nothing to whoever may not see it.
            Some(name) => {
                return Err(JobError::Wrong(format!("the name `{name}` is taken; choose another")));
            }
            None => {
                let numbered = (1..=JOBS_MAX + 1).map(|number| format!("job-{number}"));
                let mut free = numbered.filter(|name| is_free(name));
                free.next().unwrap_or_default().into()
            }
        };
        let mut settings = new.settings;
        // By whose clocks is said once, when it is made.
        let zone = agent.conversations.zones.of(new.by).clone();
        settings.entry("timezone").or_insert_with(|| zone.as_str().into());
        let text = |settings: &Map<String, Value>| Value::Object(settings.clone()).to_string();
        let read = |settings: &Map<String, Value>| {
            of_text((&agent.id, &name), &text(settings), &zone).map_err(JobError::Wrong)
        };
        let job = read(&settings)?;
        let plan = job.plan(&agent.id, now.as_millis());
        let plan = plan.map_err(|error| JobError::Wrong(error.to_string()))?;
        let Some(plan) = plan else {
            return Err(JobError::Wrong("a job that is added has a schedule".to_owned()));
        };
        // What was meant at this moment is kept as what it means.
        settings.insert("schedule".to_owned(), plan.schedule.to_string().into());
        self.check(agent, &job, (new.by, new.place))?;
        let mut row = first_row(&name, new.by.clone(), now);
        row.spec = Some(text(&settings));
        row.place = new.place.map(keep_place);
        let view = JobView::of_row(agent, row.clone())
            .ok_or_else(|| JobError::Wrong("this job could not be read again".to_owned()))?;
        if view.ahead(now.as_millis(), 1).is_empty() && view.job.is_enabled {
            return Err(JobError::Wrong(never(&plan)));
        }
        if let (Actor::User(_) | Actor::Token(_), Some((principal, address))) =
            (new.by, Self::whereabouts(&view))
            && !self.access.may_talk(agent, &principal, &address).await?
        {
            return Err(JobError::NotAllowed(format!(
                "{} may not talk to agent `{}`, so no job of theirs could run",
                new.by, agent.id
            )));
        }
        let view = match new.paused {
            None => view,
            Some(why) => {
                (row.state, row.why) = (JobState::Paused, Some(why.to_owned()));
                JobView { row: row.clone(), ..view }
            }
        };
        let told = json!({ "job": &*name, "schedule": plan.schedule.to_string(),
            "deliver": view.deliver().to_string(), "scope": view.job.scope.to_string() });
        // Woken first: who is woken for nothing finds nothing, who is not finds nobody.
        self.call(&agent.id).await?;
        self.commit(agent, (new.by, "job.added"), told, JobCommand::Put(row)).await?;
        self.call(&agent.id).await?;
        Ok(view)
    }

    /// Whether whoever added a job may still have it. Those of the configuration are the operator's.
    pub fn still_fits(&self, agent: &AgentContext, view: &JobView) -> Result<(), JobError> {
        match view.row.spec {
            None => Ok(()),
            Some(_) => self.check(agent, &view.job, (&view.row.owner, view.place.as_ref())),
        }
    }

    /// Whether a job is one that whoever adds it may have.
    fn check(
        &self,
        agent: &AgentContext,
        job: &Job,
        (by, place): (&Actor, Option<&Address>),
    ) -> Result<(), JobError> {
        let is_admin = self.access.is_admin(agent, by, Verb::Manage);
        let wrong = |why: &str| Err(JobError::Wrong(why.to_owned()));
        // Nobody judges what a script does, so it is theirs who may change the agent.
        if job.script.is_some() && !is_admin {
            let why = "only an admin may give a job a script; a prompt can ask for the same";
            return Err(JobError::NotAllowed(why.to_owned()));
        }
        let is_left = |it: &ModelRef| job.less.leaves_model(&it.to_string(), &it.name);
        let models = &agent.models.models;
        if let Some(model) = &job.less.model
            && !models.iter().any(is_left)
        {
            let has: Vec<String> = models.iter().map(ToString::to_string).collect();
            let has = has.join(", ");
            return Err(JobError::Wrong(format!(
                "agent `{}` does not have model `{model}`; it has {has}",
                agent.id
            )));
        }
        match (&job.scope, place) {
            (JobScope::Own, _) | (JobScope::Chat, Some(_)) => {}
            (JobScope::Chat, None) => return wrong("this job is made in no chat; name its scope"),
            (JobScope::Named(scope), place) => {
                let what = if *scope == Scope::Global { "the global scope" } else { "that scope" };
                let is_here = place.is_some_and(|place| {
                    let here = agent.scope(place);
                    insula_domain::MemoryScope::Auto.resolve(&here.address, None) == *scope
                });
                if !is_admin && !is_here {
                    let why =
                        format!("{what} is not yours to use; a job of yours has `job` or `chat`");
                    return Err(JobError::NotAllowed(why));
                }
            }
        }
        match (&job.deliver, place) {
            (Some(Deliver::Origin), None) => {
                wrong("this job is made in no chat; say where its reply goes")
            }
            (Some(Deliver::Home), _) if !is_admin => Err(JobError::NotAllowed(
                "the home chat is for admins; deliver to `origin` or `none`".to_owned(),
            )),
            (Some(Deliver::Place(to)), _)
                if !agent.boundary.messages.to.iter().any(|places| places.has(to)) =>
            {
                Err(JobError::NotAllowed(format!(
                    "agent `{}` may not send to `{to}`; its operator can allow it: `send: {{to: [\"{to}\"]}}`",
                    agent.id
                )))
            }
            _ => Ok(()),
        }
    }

    /// Pauses a job, or has it go on from now.
    pub async fn set_paused(
        &self,
        agent: &AgentContext,
        who: &Actor,
        name: &str,
        pause: bool,
    ) -> Result<JobView, JobError> {
        let mut view = self.to_change(agent, who, name).await?;
        if view.origin == JobOrigin::Config && (pause || view.row.state != JobState::Paused) {
            return Err(JobError::NotAllowed(format!(
                "job `{name}` is part of the configuration; say `enabled: {}` there",
                !pause
            )));
        }
        if view.row.state == JobState::Over {
            return Err(JobError::Wrong(format!("job `{name}` is over; add it again")));
        }
        let now = self.world.clock.now();
        if !pause && !view.job.is_enabled {
            view = enabled(agent, view)?;
        }
        let row = &mut view.row;
        row.state = if pause { JobState::Paused } else { JobState::Active };
        row.why = pause.then(|| format!("paused by {who}"));
        if !pause {
            // What passed meanwhile was not missed.
            (row.failures, row.retry_at, row.handled_at) = (0, None, now.max(row.handled_at));
        }
        let kind = if pause { "job.paused" } else { "job.resumed" };
        let put = JobCommand::Put(row.clone());
        self.commit(agent, (who, kind), json!({ "job": name }), put).await?;
        self.call(&agent.id).await?;
        Ok(view)
    }

    /// Removes a job that was added. A run of it that is under way goes on to its end.
    pub async fn remove(
        &self,
        agent: &AgentContext,
        who: &Actor,
        name: &str,
    ) -> Result<(), JobError> {
        let view = self.to_change(agent, who, name).await?;
        if view.origin == JobOrigin::Config {
            return Err(JobError::NotAllowed(format!(
                "job `{name}` is part of the configuration; take it out there"
            )));
        }
        let remove = JobCommand::Remove { name: name.into() };
        self.commit(agent, (who, "job.removed"), json!({ "job": name }), remove).await?;
        self.call(&agent.id).await?;
        Ok(())
    }

    /// Has a job run now, beside its schedule.
    pub async fn run_now(
        &self,
        agent: &AgentContext,
        who: &Actor,
        name: &str,
    ) -> Result<JobRun, JobError> {
        self.to_change(agent, who, name).await?;
        let at = self.world.clock.now();
        let run = JobRun {
            job: name.into(),
            scheduled_at: at,
            began_at: at,
            ended_at: None,
            turn: None,
            outcome: None,
            why: Some(format!("asked for by {who}")),
        };
        let begin = JobCommand::Begin(run.clone());
        self.call(&agent.id).await?;
        self.commit(agent, (who, "job.run_asked"), json!({ "job": name }), begin).await?;
        self.call(&agent.id).await?;
        Ok(run)
    }

    /// Makes a change, with its record.
    async fn commit(
        &self,
        agent: &AgentContext,
        (who, kind): (&Actor, &str),
        told: Value,
        command: JobCommand,
    ) -> Result<(), StoreError> {
        let record = self.trail.record(agent, About::Agent, who, kind, told);
        let batch = vec![AgentCommand::Job(Box::new(command)), AgentCommand::Audit(record)];
        agent.store.commit(batch).await.map(drop)
    }

    /// The place at which a job's turns are: where it was made, or its own.
    pub fn whereabouts(view: &JobView) -> Option<(Actor, Address)> {
        match (&view.row.owner, &view.place) {
            // As whoever made it was known then, roles included; asked again at each run.
            (Actor::User(_), Some(place)) => Some((Actor::from(place), place.clone())),
            (Actor::Token(bearer), _) => {
                let mut place = own_place(&view.job)?;
                place.platform = Platform::API;
                place.account = insula_domain::AccountId::new(bearer.id()).ok()?;
                Some((view.row.owner.clone(), place))
            }
            // Who runs the agent made it; what runs is no admin for that.
            (Actor::CommandLine | Actor::Daemon, _) => Some((Actor::Daemon, own_place(&view.job)?)),
            _ => None,
        }
    }
}

/// Why a job would never run, in its own time.
fn never(plan: &Plan) -> String {
    let schedule = match &plan.schedule {
        Schedule::Once(at) => plan.zone.describe(*at),
        other => other.to_string(),
    };
    let Bounds { within, until_ms, .. } = &plan.bounds;
    let within = within.map(|hours| format!(" within its `active_hours` {hours}"));
    let until = until_ms.map(|at| format!(" up to {}", plan.zone.describe(at)));
    format!(
        "{schedule} has no moment that is still to come{}{}",
        within.unwrap_or_default(),
        until.unwrap_or_default()
    )
}

/// A job that was added with `enabled: false`, without that.
fn enabled(agent: &AgentContext, view: JobView) -> Result<JobView, JobError> {
    let unread = || JobError::Wrong(format!("job `{}` could not be read again", view.job.name));
    let spec = view.row.spec.as_deref().ok_or_else(unread)?;
    let mut settings: Map<String, Value> = serde_json::from_str(spec).map_err(|_| unread())?;
    settings.remove("enabled");
    let row = JobRow { spec: Some(Value::Object(settings).to_string()), ..view.row.clone() };
    JobView::of_row(agent, row).ok_or_else(unread)
}

fn own_place(job: &Arc<Job>) -> Option<Address> {
    Some(Address {
        platform: Platform::CRON,
        account: insula_domain::AccountId::new("job").ok()?,
        chat: insula_domain::ChatId::new(&*job.name).ok()?,
        chat_type: insula_domain::ChatType::Dm,
        topic: None,
        parent: None,
        community: None,
        user: None,
        roles: Vec::new(),
    })
}
