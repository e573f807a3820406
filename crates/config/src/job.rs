//! What an agent does by the clock, out of its settings: `cron`, `heartbeat`, `boot`, and what is
//! added while the daemon runs.

use crate::agent::AgentConfig;
use crate::diagnostic::{FindingOwner, LoadReport};
pub use crate::job_words::{
    BOOT, Deliver, HEARTBEAT, Job, JobApprovals, JobScope, JobTime, WITHOUT_EFFECTS,
};
use crate::job_words::{held_back, moment};
use crate::rules;
use crate::schema::JOB;
use crate::shape::{Checker, Shape};
use crate::way_in;
use crate::yaml::{self, Node};
use insula_domain::{AgentId, Narrowing, Zone};
use insula_schedule::{ActiveHours, Bounds, Form, Length, Missed, Overlap};
use std::sync::Arc;
use std::time::Duration;

/// Longest settings of a job that is added, in bytes, and most values in them.
const ADDED_BYTES_MAX: usize = 32 * 1024;
const ADDED_VALUES_MAX: usize = 500;
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
const PAUSE_AFTER: u32 = 5;
const LOOK_AROUND: &str = "Look around: is there something that you should do or say now, from what you know and what you were asked to keep an eye on? If nothing is worth saying, answer [SILENT].";

/// A job of `cron.<name>` or one that is added. What is wrong with it was said by its shape, or
/// is the error.
fn read(
    (report, owner): (&mut LoadReport, &FindingOwner),
    (agent, name): (&str, &str),
    node: &Node,
    zone: &Zone,
) -> Result<Job, String> {
    let text = |key| node.get(key).and_then(Node::text);
    let form = text("schedule").map(Form::parse).transpose().map_err(|error| error.to_string())?;
    let form = form.ok_or("it has no schedule")?;
    let zone = text("timezone").and_then(Zone::named).unwrap_or_else(|| zone.clone());
    let until = text("until").map(|until| moment(until, &zone)).transpose()?;
    let job = common((report, owner), (agent, name), node, (JobTime::By(form), zone));
    let script = text("script").map(Into::into);
    if job.prompt.is_empty() && script.is_none() {
        return Err("it has neither a `prompt` nor a `script`".to_owned());
    }
    if job.timeout.is_zero() {
        return Err("its `timeout` leaves it no time".to_owned());
    }
    let bounds = Bounds {
        until_ms: until,
        count: node.get("count").and_then(Node::integer).and_then(|it| u32::try_from(it).ok()),
        jitter_ms: text("jitter").and_then(rules::duration).map_or(0, millis),
        missed: text("missed").and_then(Missed::parse).unwrap_or_default(),
        ..job.bounds
    };
    Ok(Job {
        script,
        bounds,
        overlap: text("overlap").and_then(Overlap::parse).unwrap_or_default(),
        ..job
    })
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// What all kinds of jobs have.
fn common(
    (report, owner): (&mut LoadReport, &FindingOwner),
    (agent, name): (&str, &str),
    node: &Node,
    (time, zone): (JobTime, Zone),
) -> Job {
    let text = |key| node.get(key).and_then(Node::text);
    // What is spent is counted by it, so no two agents may share one.
    let by = format!("job `{agent}/{name}`");
    let less = way_in::read((report, owner), (&by, by.clone()), node);
    let less = less.map_or_else(|| Narrowing::by(by.clone()), |less| (*less).clone());
    let less = held_back(less, by);
    let within: Option<ActiveHours> = text("active_hours").and_then(|hours| hours.parse().ok());
    Job {
        name: name.into(),
        time,
        zone,
        prompt: text("prompt").unwrap_or_default().into(),
        script: None,
        deliver: text("deliver").and_then(Deliver::parse),
        scope: text("scope").and_then(JobScope::parse).unwrap_or(JobScope::Own),
        less: Arc::new(less),
        approvals: match text("approvals") {
            Some("deny") => JobApprovals::Deny,
            _ => JobApprovals::Ask,
        },
        timeout: text("timeout").and_then(rules::duration).unwrap_or(TIMEOUT),
        overlap: Overlap::default(),
        bounds: Bounds { within, ..Bounds::default() },
        pause_after: node
            .get("pause_after")
            .and_then(Node::integer)
            .and_then(|it| u32::try_from(it).ok())
            .unwrap_or(PAUSE_AFTER),
        is_enabled: node.get("enabled").and_then(Node::bool).unwrap_or(true),
    }
}

/// All jobs that an agent's settings name, each with what is wrong with it.
pub(crate) fn of_agent(
    (report, owner): (&mut LoadReport, &FindingOwner),
    agent: &str,
    node: &Node,
    zone: &Zone,
) -> (Vec<Job>, Vec<(crate::source::Span, String)>) {
    let (mut jobs, mut wrong) = (Vec::new(), Vec::new());
    for entry in node.get("cron").map(Node::entries).unwrap_or_default() {
        let name = &*entry.key;
        match read((report, owner), (agent, name), &entry.value, zone) {
            _ if name == HEARTBEAT || name == BOOT => {
                let why = format!("`{name}` is the name of the job that the key `{name}` makes");
                wrong.push((entry.key_span, why));
            }
            Ok(job) if matches!(&job.time, JobTime::By(form) if form.is_relative()) => {
                let at = entry.value.get("schedule").map_or(entry.value.span, |it| it.span);
                let why = format!(
                    "job `{name}` would run once from nobody knows when: write `every …` or a time such as 2026-12-01T08:30"
                );
                wrong.push((at, why));
            }
            Ok(job) if job.deliver == Some(Deliver::Origin) || job.scope == JobScope::Chat => {
                let why = format!(
                    "job `{name}` was made in no chat; name the place, such as `telegram:main:-100123`"
                );
                wrong.push((entry.value.span, why));
            }
            Ok(job) => jobs.push(job),
            Err(why) => wrong.push((entry.value.span, format!("job `{name}` can't be: {why}"))),
        }
    }
    if let Some(node) = node.get(HEARTBEAT) {
        let every = node.get("every").and_then(Node::text).and_then(rules::duration);
        match every.and_then(|every| Length::from_ms(millis(every).max(0))) {
            Some(every) if every.as_ms() >= 60_000 => {
                let time = (JobTime::By(Form::Every(every)), zone.clone());
                let mut job = common((report, owner), (agent, HEARTBEAT), node, time);
                if job.prompt.is_empty() {
                    job.prompt = LOOK_AROUND.into();
                }
                // What it did not see while it was away, it sees at the next beat.
                job.bounds.missed = Missed::Skip;
                jobs.push(job);
            }
            _ => wrong.push((node.span, "a heartbeat is a minute apart at least".to_owned())),
        }
    }
    if let Some(node) = node.get(BOOT) {
        let job = common((report, owner), (agent, BOOT), node, (JobTime::AtStart, zone.clone()));
        jobs.push(job);
    }
    (jobs, wrong)
}

/// The job that a `BOOT.md` is.
pub(crate) fn of_boot_file(agent: &AgentId, text: &str, zone: &Zone) -> Option<Job> {
    let mut report = LoadReport::default();
    let source = report.sources.add(BOOT, "{}");
    // An empty map is read as it stands there.
    let Ok(node) = yaml::parse_within(source, "{}", 1) else { return None };
    let time = (JobTime::AtStart, zone.clone());
    let job = common((&mut report, &FindingOwner::Shared), (agent.as_str(), BOOT), &node, time);
    Some(Job { prompt: text.into(), ..job })
}

/// A job that is added while the daemon runs, out of YAML or JSON with the keys of `cron.<name>`.
/// An error says what is wrong with it.
pub fn of_text((agent, name): (&AgentId, &str), text: &str, zone: &Zone) -> Result<Job, String> {
    if text.len() > ADDED_BYTES_MAX {
        return Err(format!("a job has at most {ADDED_BYTES_MAX} bytes"));
    }
    (rules::NAME.check)(name).map_err(|problem| match problem.help {
        Some(help) => format!("{}: {help}", problem.message),
        None => problem.message,
    })?;
    if name == HEARTBEAT || name == BOOT {
        return Err(format!("`{name}` is the name of a job of the configuration"));
    }
    let mut report = LoadReport::default();
    let source = report.sources.add("job", text);
    let mut node = yaml::parse_within(source, text, ADDED_VALUES_MAX).map_err(|it| it.message)?;
    let owner = FindingOwner::Shared;
    let is_fine =
        Checker::new(&mut report, owner.clone(), "the job").admit(&Shape::Object(&JOB), &mut node);
    let job = read((&mut report, &owner), (agent.as_str(), name), &node, zone);
    let first = report.errors().next().map(|found| match &found.help {
        Some(help) => format!("{}: {help}", found.message),
        None => found.message.clone(),
    });
    match first {
        Some(error) => Err(error),
        None if !is_fine => Err("a job is a map of settings".to_owned()),
        None => job,
    }
}

impl AgentConfig {
    /// The same agent with a `BOOT.md`, unless its settings say what it does at the start.
    pub(crate) fn with_boot(mut self, text: &Arc<str>) -> Self {
        if !text.trim().is_empty() && self.jobs.iter().all(|job| &*job.name != BOOT) {
            let mut hasher = blake3::Hasher::new();
            hasher.update(&self.digest);
            hasher.update(b"boot");
            hasher.update(text.as_bytes());
            self.digest = *hasher.finalize().as_bytes();
            let boot = of_boot_file(&self.id, text, &self.zones.own).map(Arc::new);
            self.jobs = self.jobs.iter().cloned().chain(boot).collect();
        }
        self
    }
}
