//! Jobs in the words of a chat: for the tool and for `/cron`.

use super::{JobError, JobView, Jobs, NewJob};
use crate::context::AgentContext;
use insula_domain::{Actor, Address};
use insula_schedule::TOLD_AHEAD;
use insula_store::JobState;
use serde_json::{Map, Value};

/// What somebody wants of a job of theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobWish {
    Pause,
    Resume,
    Remove,
    Run,
}

impl Jobs {
    /// The jobs that somebody may see, a line each.
    pub async fn told(&self, agent: &AgentContext, who: &Actor) -> Result<String, JobError> {
        let now = self.world.clock.now().as_millis();
        let all = self.seen_by(agent, who).await?;
        let line = |view: &JobView| {
            let when = match &view.plan {
                Some(plan) => plan.schedule.to_string(),
                None => "at the start".to_owned(),
            };
            let next = match (view.is_active(), view.ahead(now, 1).first()) {
                (true, None) if view.plan.is_none() => "whenever the daemon starts".to_owned(),
                (true, Some(next)) => format!("next {}", view.job.zone.describe(*next)),
                (true, None) => "does not run again".to_owned(),
                (false, _) => match &view.row.why {
                    Some(why) if view.row.state == JobState::Paused => why.clone(),
                    _ => view.state().to_owned(),
                },
            };
            format!("{}: {when}; {next}", view.job.name)
        };
        Ok(match all.is_empty() {
            true => "there are no jobs".to_owned(),
            false => all.iter().map(line).collect::<Vec<_>>().join("\n"),
        })
    }

    /// Adds a job of somebody's; when it runs, in words.
    pub async fn add_told(
        &self,
        agent: &AgentContext,
        (by, place): (&Actor, Option<&Address>),
        (name, settings): (Option<&str>, Map<String, Value>),
    ) -> Result<String, JobError> {
        let view = self.add(agent, NewJob { name, settings, by, place, paused: None }).await?;
        let now = self.world.clock.now().as_millis();
        let next = view.ahead(now, TOLD_AHEAD.min(3));
        let next: Vec<String> = next.into_iter().map(|at| view.job.zone.describe(at)).collect();
        Ok(format!("job {} is added; it runs {}", view.job.name, next.join(", then ")))
    }

    /// Does what somebody wants of a job; what became of it, in words.
    pub async fn do_told(
        &self,
        agent: &AgentContext,
        who: &Actor,
        (name, wish): (&str, JobWish),
    ) -> Result<String, JobError> {
        Ok(match wish {
            JobWish::Pause => {
                self.set_paused(agent, who, name, true).await?;
                format!("job {name} is paused")
            }
            JobWish::Resume => {
                self.set_paused(agent, who, name, false).await?;
                format!("job {name} goes on")
            }
            JobWish::Remove => {
                self.remove(agent, who, name).await?;
                format!("job {name} is removed")
            }
            JobWish::Run => {
                self.run_now(agent, who, name).await?;
                format!("job {name} runs now")
            }
        })
    }
}
