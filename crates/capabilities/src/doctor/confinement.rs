//! What keeps an agent's programs in, tried on this machine and not read from a version.

use super::{DoctorFinding, Status, finding};
use crate::Capabilities;
use crate::programs::starts_programs;
use insula_domain::Switch;
use insula_registry::context::AgentContext;
use insula_sandbox::{Accounts, Attempt, AttemptVerdict, Availability, Examination, LayerReport};
use std::sync::Arc;

/// Every layer, what came of attempts to get out, and who runs without walls.
pub(super) async fn examine(caps: &Capabilities) -> Vec<DoctorFinding> {
    let snapshot = caps.registry.snapshot();
    let contexts = snapshot.agents.values().filter_map(|entry| entry.state.context());
    let runners: Vec<Arc<AgentContext>> =
        contexts.filter(|context| starts_programs(context.tools())).cloned().collect();
    let mut findings = match caps.programs.examine(snapshot.agents.len()).await {
        Ok(examination) => report(&examination, &runners),
        Err(error) => {
            let status = if runners.is_empty() { Status::Notice } else { Status::Bad };
            let detail = format!("{error}; no agent can run a program");
            vec![finding("sandbox", status, detail)]
        }
    };
    findings.extend(lenient(&runners));
    findings.extend(open(&runners));
    findings
}

fn report(examination: &Examination, runners: &[Arc<AgentContext>]) -> Vec<DoctorFinding> {
    let layers = examination.layers.iter().map(|report| layer(report, runners));
    let attempts = attempts(&examination.attempts);
    layers.chain([attempts, accounts(&examination.accounts)]).collect()
}

fn layer(report: &LayerReport, runners: &[Arc<AgentContext>]) -> DoctorFinding {
    let name = format!("sandbox: {}", report.layer);
    let Availability::Missing(reason) = &report.availability else {
        return finding(&name, Status::Good, "enforced");
    };
    let (without, remedy) = (report.without, report.remedy);
    if !report.required {
        let detail = format!("missing ({reason}): {without}; {remedy}");
        return finding(&name, Status::Notice, detail);
    }
    let refused = runners.iter().filter(|context| {
        context.programs.sandbox == Switch::On
            && !context.programs.optional.contains(report.layer.name())
    });
    let refused: Vec<&str> = refused.map(|context| context.id.as_str()).collect();
    if refused.is_empty() {
        let detail = format!("missing ({reason}), and nobody needs it: {without}; {remedy}");
        return finding(&name, Status::Notice, detail);
    }
    let detail = format!(
        "missing ({reason}), so programs of {} are refused; {remedy}, or list it under `sandbox.optional` and accept that {without}",
        refused.join(", ")
    );
    finding(&name, Status::Bad, detail)
}

fn attempts(attempts: &[Attempt]) -> DoctorFinding {
    let name = "sandbox: attempts to get out";
    let of = |wanted: fn(&AttemptVerdict) -> bool| {
        let found = attempts.iter().filter(|attempt| wanted(&attempt.verdict));
        found.map(|attempt| attempt.what).collect::<Vec<_>>()
    };
    let broken = of(|verdict| *verdict == AttemptVerdict::Broken);
    let not_run = of(|verdict| matches!(verdict, AttemptVerdict::NotRun(_)));
    let held = attempts.len() - broken.len() - not_run.len();
    if !broken.is_empty() {
        let detail = format!("a confined program could {}", broken.join(", "));
        return finding(name, Status::Bad, detail);
    }
    if !not_run.is_empty() {
        let detail =
            format!("{held} held, {} could not be made: {}", not_run.len(), not_run.join(", "));
        return finding(name, Status::Notice, detail);
    }
    finding(name, Status::Good, format!("{held} made, all held"))
}

/// What agents' programs still share, of what the kernel counts by user.
fn accounts(accounts: &Accounts) -> DoctorFinding {
    let name = "sandbox: quotas of the kernel";
    let common = "what pipes hold, descriptors on their way and watches of epoll are counted for all of them together; a daemon that runs as root gives each agent a user of its own";
    match accounts {
        Accounts::Users { processes } => {
            let detail = format!("a user for each agent, with at most {processes} processes");
            finding(name, Status::Good, detail)
        }
        Accounts::Shares { processes, watchers: 0 } => {
            let detail = format!(
                "one user for all agents; each has {processes} processes and can't watch files (inotify): there are too few instances for so many agents (`fs.inotify.max_user_instances`), or `/proc/sys/user` can't be written; {common}"
            );
            finding(name, Status::Notice, detail)
        }
        Accounts::Shares { processes, watchers } => {
            let detail = format!(
                "one user for all agents; each has {processes} processes and {watchers} instances of inotify; {common}"
            );
            finding(name, Status::Notice, detail)
        }
        Accounts::None(why) => {
            let detail = format!("one user for all agents, and nothing is shared out: {why}");
            finding(name, Status::Notice, detail)
        }
    }
}

/// Agents that run programs also where a layer is missing.
fn lenient(runners: &[Arc<AgentContext>]) -> Option<DoctorFinding> {
    let named = runners.iter().filter(|context| {
        context.programs.sandbox == Switch::On && !context.programs.optional.is_empty()
    });
    let named: Vec<String> = named
        .map(|context| {
            let layers: Vec<&str> = context.programs.optional.iter().map(AsRef::as_ref).collect();
            format!("{} ({})", context.id, layers.join(", "))
        })
        .collect();
    let detail = format!(
        "`sandbox.optional` for {}: where the machine does not give these layers, their programs run without",
        named.join("; ")
    );
    (!named.is_empty()).then(|| finding("sandbox: optional", Status::Notice, detail))
}

/// Agents whose walls the operator took down.
fn open(runners: &[Arc<AgentContext>]) -> Option<DoctorFinding> {
    let open = runners.iter().filter(|context| context.programs.sandbox == Switch::Off);
    let open: Vec<&str> = open.map(|context| context.id.as_str()).collect();
    let detail = format!(
        "`sandbox: off` for {}: their programs do whatever the daemon's own user may",
        open.join(", ")
    );
    (!open.is_empty()).then(|| finding("sandbox: off", Status::Notice, detail))
}
