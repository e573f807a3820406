//! What a job is, and what its settings mean: when it runs, where its reply goes, whose memory it
//! has.

use insula_domain::{AgentId, Audience, Effect, Narrowing, Scope, Selector, ToolNarrowing, Zone};
use insula_schedule::{Bounds, Form, FormError, Length, Overlap, Plan, Schedule};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The name of the job that `heartbeat` is, and of the one that `boot` is.
pub const HEARTBEAT: &str = "heartbeat";
pub const BOOT: &str = "boot";

/// What no job does, whatever its tools are.
pub const WITHOUT_EFFECTS: [Effect; 2] = [Effect::AskUser, Effect::Schedule];
/// The tools by which an agent says something elsewhere.
const SENDING: [&str; 4] = ["send_message", "message_agent", "notify", "handoff"];

/// Where the reply of a job goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deliver {
    /// Nowhere: it stands in the session.
    Nowhere,
    /// Where the job was made.
    Origin,
    /// To the home chat of the agent.
    Home,
    Place(Audience),
}

impl Deliver {
    /// Reads one; other runtimes say `local` for what stays here.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "none" | "local" => Self::Nowhere,
            "origin" => Self::Origin,
            "agent" | "home" => Self::Home,
            place => Self::Place(place.parse().ok()?),
        })
    }
}

impl std::fmt::Display for Deliver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nowhere => f.write_str("none"),
            Self::Origin => f.write_str("origin"),
            Self::Home => f.write_str("agent"),
            Self::Place(place) => place.fmt(f),
        }
    }
}

/// Whose memory a job has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobScope {
    /// Its own.
    Own,
    /// That of the chat it was made in.
    Chat,
    /// This one.
    Named(Scope),
}

impl JobScope {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "job" => Self::Own,
            "chat" => Self::Chat,
            scope => Self::Named(scope.parse().ok()?),
        })
    }
}

impl std::fmt::Display for JobScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Own => f.write_str("job"),
            Self::Chat => f.write_str("chat"),
            Self::Named(scope) => scope.fmt(f),
        }
    }
}

/// The last moment of a job: a time, or the end of a day.
pub(crate) fn moment(text: &str, zone: &Zone) -> Result<i64, String> {
    let wrong = || {
        format!(
            "`{text}` is no moment; write a day or a time, such as 2026-12-31 or 2026-12-31T23:59"
        )
    };
    let form = Form::parse(&format!("{text}T23:59:59")).or_else(|_| Form::parse(text));
    match form {
        Ok(form @ (Form::At(_) | Form::AtWall(_))) => match form.settle((0, 0), zone) {
            Ok(Schedule::Once(at)) => Ok(at),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

/// When a job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobTime {
    /// By a schedule.
    By(Form),
    /// Once, when the daemon has started.
    AtStart,
}

/// What becomes of what needs an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobApprovals {
    Ask,
    Deny,
}

/// Something an agent does by the clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub name: Box<str>,
    pub time: JobTime,
    pub zone: Zone,
    pub prompt: Box<str>,
    /// Runs before the model.
    pub script: Option<Box<str>>,
    /// Where the reply goes; `None` where nobody said.
    pub deliver: Option<Deliver>,
    pub scope: JobScope,
    /// What it takes away from the agent.
    pub less: Arc<Narrowing>,
    pub approvals: JobApprovals,
    pub timeout: Duration,
    pub overlap: Overlap,
    pub bounds: Bounds,
    pub pause_after: u32,
    pub is_enabled: bool,
}

impl Job {
    /// When it is due, said at `made_ms`; `None` for one that runs at the start.
    pub fn plan(&self, agent: &AgentId, made_ms: i64) -> Result<Option<Plan>, FormError> {
        let JobTime::By(form) = &self.time else { return Ok(None) };
        let seed = self.seed(agent);
        let schedule = form.settle((made_ms, made_ms), &self.zone)?;
        let schedule = match schedule {
            // Those of the configuration were made at no moment: each agent has its own beat.
            Schedule::Every { length, .. } if made_ms == 0 => {
                let anchor_ms = (seed % length.as_ms().cast_unsigned()).cast_signed();
                Schedule::Every { length, anchor_ms }
            }
            schedule => schedule,
        };
        Ok(Some(Plan { schedule, zone: self.zone.clone(), bounds: self.bounds.clone(), seed }))
    }

    /// What else it was given, by the keys of its settings, for people to read.
    pub fn told(&self) -> BTreeMap<&'static str, String> {
        let length = |ms: i64| Length::from_ms(ms).map_or("0s".to_owned(), |it| it.to_string());
        let Bounds { until_ms, count, jitter_ms, within, missed: _ } = &self.bounds;
        let timeout = i64::try_from(self.timeout.as_millis()).unwrap_or(i64::MAX);
        let mut told = BTreeMap::from([
            ("timeout", length(timeout)),
            ("pause_after", self.pause_after.to_string()),
        ]);
        if self.approvals == JobApprovals::Deny {
            told.insert("approvals", "deny".to_owned());
        }
        told.extend(until_ms.map(|at| ("until", self.zone.describe(at))));
        told.extend(count.map(|count| ("count", count.to_string())));
        told.extend((*jitter_ms > 0).then(|| ("jitter", length(*jitter_ms))));
        told.extend(within.map(|hours| ("active_hours", hours.to_string())));
        let mut less = (*self.less).clone();
        if let Some(tools) = &mut less.tools {
            // What no job has says nothing about this one.
            tools.without.retain(|it| !SENDING.contains(&&*it.to_string()));
        }
        for (key, what) in less.told() {
            told.entry(key).and_modify(|all| *all += &format!("; {what}")).or_insert(what);
        }
        told
    }

    fn seed(&self, agent: &AgentId) -> u64 {
        let hash = blake3::hash(format!("{agent}/{}", self.name).as_bytes());
        hash.as_bytes()[..8].iter().fold(0, |seed, byte| seed << 8 | u64::from(*byte))
    }
}

/// The same, without what a turn never does that nobody said anything to begin: nobody is there to
/// be asked, it says what it has to say by its reply, and it makes no jobs.
pub(crate) fn held_back(mut less: Narrowing, by: String) -> Narrowing {
    let tools = less.tools.get_or_insert_with(|| ToolNarrowing::by(by));
    tools.without_effects.extend(WITHOUT_EFFECTS);
    tools.without.extend(SENDING.iter().filter_map(|name| Selector::parse(name).ok()));
    less
}
