//! The hand by which a turn makes and changes jobs: those of whoever it is for, in the chat it is
//! in.

use crate::shop::Shop;
use crate::turn::TurnContext;
use async_trait::async_trait;
use insula_domain::{Actor, Address};
use insula_registry::jobs::{JobError, JobWish};
use insula_tools::{HandError, ToolError};
use insula_tools::{JobChange, Schedules};
use serde_json::{Map, Value};

/// Jobs, for one call of a turn.
pub(super) struct TurnSchedules<'c> {
    shop: &'c Shop,
    cx: &'c TurnContext,
}

impl<'c> TurnSchedules<'c> {
    pub(super) fn new(shop: &'c Shop, cx: &'c TurnContext) -> Self {
        Self { shop, cx }
    }

    /// Where a job is made: only a chat of a person is a place that a reply can go to.
    fn place(&self) -> Option<&Address> {
        matches!(self.cx.principal, Actor::User(_)).then_some(&self.cx.from.address)
    }
}

fn told(error: JobError) -> ToolError {
    match error {
        JobError::Wrong(why) => ToolError::Arguments(why),
        JobError::NotAllowed(why) => ToolError::Refused(why),
        error @ (JobError::NoSuchJob { .. } | JobError::Store(_)) => {
            ToolError::Hand(HandError(error.to_string()))
        }
    }
}

#[async_trait]
impl Schedules for TurnSchedules<'_> {
    async fn list(&self) -> Result<String, ToolError> {
        self.shop.jobs.told(&self.cx.agent, &self.cx.principal).await.map_err(told)
    }

    async fn add(
        &self,
        name: Option<&str>,
        settings: Map<String, Value>,
    ) -> Result<String, ToolError> {
        let by = (&self.cx.principal, self.place());
        self.shop.jobs.add_told(&self.cx.agent, by, (name, settings)).await.map_err(told)
    }

    async fn change(&self, job: &str, change: JobChange) -> Result<String, ToolError> {
        let wish = match change {
            JobChange::Pause => JobWish::Pause,
            JobChange::Resume => JobWish::Resume,
            JobChange::Remove => JobWish::Remove,
            JobChange::Run => JobWish::Run,
        };
        let (agent, who) = (&self.cx.agent, &self.cx.principal);
        self.shop.jobs.do_told(agent, who, (job, wish)).await.map_err(told)
    }
}
