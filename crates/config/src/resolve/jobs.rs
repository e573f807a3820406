//! What an agent does by the clock, out of `cron`, `heartbeat` and `boot`.

use super::Reader;
use crate::job::{self, Deliver, Job};
use crate::model::ModelRef;
use insula_domain::{SendGrants, Zone};
use std::sync::Arc;

impl Reader<'_> {
    pub(super) fn jobs(
        &mut self,
        zone: &Zone,
        grants: &SendGrants,
        models: &[ModelRef],
    ) -> Arc<[Arc<Job>]> {
        let (jobs, wrong) =
            job::of_agent((self.report, &self.owner), self.id.as_str(), self.node, zone);
        for (span, why) in wrong {
            self.error(span, format!("agent `{}`: {why}", self.id), None);
        }
        for job in &jobs {
            let path = match &*job.name {
                name @ (job::HEARTBEAT | job::BOOT) => name.to_owned(),
                name => format!("cron.{name}"),
            };
            let span = self.at(&path).map_or(self.node.span, |node| node.span);
            let is_left = |it: &ModelRef| job.less.leaves_model(&it.to_string(), &it.name);
            if let Some(model) = &job.less.model
                && !models.iter().any(is_left)
            {
                let message = format!(
                    "job `{}` wants model `{model}`, which agent `{}` does not have",
                    job.name, self.id
                );
                let has: Vec<String> = models.iter().map(ToString::to_string).collect();
                let help = format!("the agent has {}; name one of them, or none", has.join(", "));
                self.error(span, message, Some(help));
            }
            let Some(Deliver::Place(place)) = &job.deliver else { continue };
            if !grants.to.iter().any(|to| to.has(place)) {
                let message = format!(
                    "job `{}` delivers to `{place}`, where agent `{}` may not send",
                    job.name, self.id
                );
                self.error(span, message, Some(format!("add it: `send: {{to: [\"{place}\"]}}`")));
            }
        }
        jobs.into_iter().map(Arc::new).collect()
    }
}
