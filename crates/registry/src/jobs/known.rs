//! Which jobs of a configuration are known, and since when each is what it is: of what was due
//! before, nothing was missed.

use insula_config::job::Job;
use insula_schedule::{Bounds, Missed};
use insula_world::Timestamp;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Since when jobs are, each by what tells its moments from those of another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Known(BTreeMap<Box<str>, Timestamp>);

impl Known {
    /// Reads what [`Display`](fmt::Display) wrote. A line that is none names a job of nobody.
    pub(super) fn read(text: &str) -> Self {
        let line = |line: &str| {
            let (mark, at) = line.split_once(' ')?;
            Some((mark.into(), Timestamp::from_millis(at.parse().ok()?)))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// Since when this job is what it is; `None` for one that is new or has other moments.
    pub(super) fn since(&self, job: &Job) -> Option<Timestamp> {
        self.0.get(&*mark(job)).copied()
    }

    /// Whether they are these jobs and no others.
    pub(super) fn is_of(&self, jobs: &[Arc<Job>]) -> bool {
        self.0.len() == jobs.len() && jobs.iter().all(|job| self.since(job).is_some())
    }

    /// What is known once a configuration has these jobs: one that is the same stays so, the others
    /// are since now. `None` where there is none.
    pub(super) fn with(&self, jobs: &[Arc<Job>], now: Timestamp) -> Option<Self> {
        let since = |job: &Arc<Job>| (mark(job).into(), self.since(job).unwrap_or(now));
        (!jobs.is_empty()).then(|| Self(jobs.iter().map(since).collect()))
    }
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(mark, at)| writeln!(f, "{mark} {}", at.as_millis()))
    }
}

/// Tells a job from every other with other moments. What it does then may change.
fn mark(job: &Job) -> String {
    let Job { name, time, zone, is_enabled, bounds, .. } = job;
    let bounds = Bounds { missed: Missed::default(), ..bounds.clone() };
    let text = format!("{name} {time:?} {zone:?} {is_enabled} {bounds:?}");
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}
