//! What an agent does by the clock, out of `cron`, `heartbeat` and `boot`.

use super::Reader;
use crate::job::{self, Deliver, Job};
use insula_domain::{SendGrants, Zone};
use std::sync::Arc;

impl Reader<'_> {
    pub(super) fn jobs(&mut self, zone: &Zone, grants: &SendGrants) -> Arc<[Arc<Job>]> {
        let (jobs, wrong) =
            job::of_agent((self.report, &self.owner), self.id.as_str(), self.node, zone);
        for (span, why) in wrong {
            self.error(span, format!("agent `{}`: {why}", self.id), None);
        }
        for job in &jobs {
            let Some(Deliver::Place(place)) = &job.deliver else { continue };
            if !grants.to.iter().any(|to| to.has(place)) {
                let path = match &*job.name {
                    name @ (job::HEARTBEAT | job::BOOT) => name.to_owned(),
                    name => format!("cron.{name}"),
                };
                let span = self.at(&path).map_or(self.node.span, |node| node.span);
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
