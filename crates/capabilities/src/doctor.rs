//! What this machine and this home can do, measured, and what is off.

mod confinement;
mod failures;
mod homes;
mod hooks;
mod mcp;
mod memory;
mod searches;
mod sizes;
mod skills;
mod voice;

pub use searches::searches;

use crate::Capabilities;
use insula_config::enforcement::UNENFORCED;
use insula_config::render;
use insula_registry::registry::AgentState;
use insula_registry::secrets::GUESSABLE;
use rustix::process::{Resource, getrlimit};
use std::collections::{BTreeMap, BTreeSet};

/// What was found about one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    /// The thing.
    pub name: String,
    /// How it stands.
    pub status: Status,
    /// What that means, with figures where it was measured.
    pub detail: String,
}

/// How a thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// As it should be.
    Good,
    /// It works, and somebody should know something.
    Notice,
    /// Somebody has to do something.
    Bad,
    /// This version has no such thing, or it was turned off.
    Off,
}

impl Status {
    /// The status as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Notice => "notice",
            Self::Bad => "bad",
            Self::Off => "off",
        }
    }
}

/// Descriptors an open agent database needs: the file, its log and its index.
const DESCRIPTORS_PER_DATABASE: u64 = 3;

/// Looks at the machine and the home.
pub async fn examine(caps: &Capabilities) -> Vec<DoctorFinding> {
    let mut findings = vec![folder(caps), configuration(caps), agents(caps), audit(caps).await];
    findings.push(flush(caps).await);
    findings.push(sizes::examine(caps).await);
    findings.push(descriptors(caps));
    findings.push(secrets(caps));
    findings.extend(refused(caps));
    findings.extend(tools(caps));
    findings.extend(hooks::examine(caps));
    findings.extend(failures::examine(caps).await);
    findings.extend(homes::examine(caps));
    findings.extend(mcp::examine(caps));
    findings.extend(memory::examine(caps).await);
    findings.extend(skills::examine(caps).await);
    findings.extend(voice::examine(caps).await);
    findings.extend(confinement::examine(caps).await);
    findings
}

fn finding(name: &str, status: Status, detail: impl Into<String>) -> DoctorFinding {
    DoctorFinding { name: name.to_owned(), status, detail: detail.into() }
}

fn folder(caps: &Capabilities) -> DoctorFinding {
    if let Some(refused) = caps.home.read_by_programs() {
        return finding("home", Status::Bad, refused.to_string());
    }
    let open = caps.home.open_to_others();
    if open.is_empty() {
        let path = caps.home.root().display();
        return finding("home", Status::Good, format!("{path}, for its owner alone"));
    }
    let paths: Vec<String> = open.iter().map(|path| path.display().to_string()).collect();
    let detail =
        format!("others on this machine can reach {}; run `chmod go-rwx` on it", paths.join(", "));
    finding("home", Status::Bad, detail)
}

fn configuration(caps: &Capabilities) -> DoctorFinding {
    if let Some(reason) = caps.daemon.refused() {
        let detail = format!("the files as they are now are not applied: {reason}");
        return finding("configuration", Status::Bad, detail);
    }
    let report = caps.daemon.report();
    let (errors, warnings) = (report.errors().count(), report.warnings().count());
    let status = match (errors, warnings) {
        (0, 0) => Status::Good,
        (0, _) => Status::Notice,
        _ => Status::Bad,
    };
    let detail = match status {
        Status::Good => "no errors, no warnings".to_owned(),
        _ => format!("{}; `insula check` shows them", render::counts(&report)),
    };
    finding("configuration", status, detail)
}

fn agents(caps: &Capabilities) -> DoctorFinding {
    let snapshot = caps.registry.snapshot();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in snapshot.agents.values() {
        *counts.entry(entry.state.as_str()).or_default() += 1;
    }
    let failed = counts.get("failed").copied().unwrap_or(0);
    let detail: Vec<String> = counts.iter().map(|(state, n)| format!("{n} {state}")).collect();
    let status = if failed > 0 { Status::Bad } else { Status::Good };
    finding("agents", status, detail.join(", "))
}

async fn audit(caps: &Capabilities) -> DoctorFinding {
    match caps.store.daemon().audit_verify().await {
        Ok(report) if report.ok => finding(
            "audit of the daemon",
            Status::Good,
            format!("{} records, chain intact", report.records),
        ),
        Ok(report) => {
            let at = report.broken_at.unwrap_or_default();
            let why = report.reason.unwrap_or_default();
            finding("audit of the daemon", Status::Bad, format!("broken at record {at}: {why}"))
        }
        Err(error) => {
            let detail = format!("can't be verified now: {error}");
            finding("audit of the daemon", Status::Bad, detail)
        }
    }
}

async fn flush(caps: &Capabilities) -> DoctorFinding {
    let (home, clock) = (caps.home.clone(), caps.world.clock.clone());
    let measured = caps.world.storage.run(move || home.measure_flush(&*clock)).await;
    let durability = caps.registry.snapshot().daemon.store.durability;
    match measured {
        Ok(Ok(median)) => finding(
            "disk",
            Status::Good,
            format!(
                "a flush takes {:.2} ms; durability is `{}`",
                median.as_secs_f64() * 1e3,
                durability.as_str()
            ),
        ),
        Ok(Err(error)) => finding("disk", Status::Bad, error.to_string()),
        Err(error) => finding("disk", Status::Bad, error.to_string()),
    }
}

fn descriptors(caps: &Capabilities) -> DoctorFinding {
    let limit = getrlimit(Resource::Nofile).current;
    let wanted = caps.registry.snapshot().daemon.store.open_max as u64 * DESCRIPTORS_PER_DATABASE;
    match limit {
        Some(limit) if limit < wanted => finding(
            "open files",
            Status::Notice,
            format!(
                "{limit} allowed, {wanted} wanted for `store.open_max`; raise the limit or lower the setting"
            ),
        ),
        Some(limit) => finding("open files", Status::Good, format!("{limit} allowed")),
        None => finding("open files", Status::Good, "no limit"),
    }
}

/// Whether every secret opens, and is there where it is named.
fn secrets(caps: &Capabilities) -> DoctorFinding {
    let known = caps.secrets.known();
    if let Some(first) = known.trouble().first() {
        let more = match known.trouble().len() - 1 {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        return finding("secrets", Status::Bad, format!("{first}{more}"));
    }
    if let Some(advice) = caps.daemon.key_advice() {
        return finding("secrets", Status::Bad, advice);
    }
    let report = caps.daemon.report();
    let missing: Vec<&str> = report
        .warnings()
        .filter(|found| found.unless_set.is_some())
        .filter_map(|found| found.help.as_deref())
        .collect();
    let unique: BTreeSet<&str> = missing.into_iter().collect();
    if let Some(first) = unique.first() {
        let detail = format!("{} set, {} named and not set: {first}", known.count(), unique.len());
        return finding("secrets", Status::Notice, detail);
    }
    if let Some(first) = known.guessable().first() {
        let detail = format!("secret `{first}` of the daemon: {GUESSABLE}");
        return finding("secrets", Status::Notice, detail);
    }
    match known.count() {
        0 => finding("secrets", Status::Good, "none set, none named"),
        count => finding("secrets", Status::Good, format!("{count} set, each opens")),
    }
}

/// Tools that some agent has and that this version does not run. The model is not shown them.
fn tools(caps: &Capabilities) -> Option<DoctorFinding> {
    let snapshot = caps.registry.snapshot();
    let contexts = snapshot.agents.values().filter_map(|entry| entry.state.context());
    let granted: BTreeSet<&str> = contexts.flat_map(|context| context.tools().exposed()).collect();
    // The search comes with tools to search for.
    let runs = |name: &&str| insula_tools::find(name).is_some() || *name == "tool_search";
    let idle: Vec<&str> = granted.into_iter().filter(|name| !runs(name)).collect();
    let detail = format!("granted to some agent and not run yet: {}", idle.join(", "));
    (!idle.is_empty()).then(|| finding("tools", Status::Off, detail))
}

/// Restrictions that fail their agent.
fn refused(caps: &Capabilities) -> Option<DoctorFinding> {
    let snapshot = caps.registry.snapshot();
    let refused = snapshot.agents.values().any(|entry| {
        matches!(&entry.state, AgentState::Failed(reason) if reason.contains("does not enforce"))
    });
    let names: Vec<&str> = UNENFORCED.iter().map(|rule| rule.path).collect();
    let detail = format!("fail their agent until they are enforced: {}", names.join(", "));
    refused.then(|| finding("restrictions", Status::Bad, detail))
}
