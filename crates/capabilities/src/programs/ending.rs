//! How programs end, told to their agents and recorded.

use super::watchdog::Over;
use insula_domain::Actor;
use insula_registry::context::AuditLog;
use insula_sandbox::{ChildLimits, Error, Exit, ExitOutcome, Limit};
use insula_store::{About, SessionId};
use insula_tools::shell::End;

/// Records that a program was ended for what it did to a disk.
pub(super) async fn note((audit, principal, session): &(AuditLog, Actor, SessionId), over: Over) {
    let mut content = over.record();
    content["session"] = session.0.into();
    if let Err(error) =
        audit.append(About::Session(*session), principal, "sandbox.disk", content).await
    {
        tracing::error!(%error, "that a program was ended could not be recorded");
    }
}

/// How a program ended, in the words of its tools, and what else to know.
pub(super) fn end_of(exit: Result<Exit, Error>, limits: &ChildLimits) -> (End, Vec<String>) {
    let Exit { outcome, reached } = match exit {
        Ok(exit) => exit,
        Err(error) => return (End::Limited(error.to_string()), Vec::new()),
    };
    let end = match outcome {
        ExitOutcome::Exited(status) => End::Exited(status),
        ExitOutcome::Signaled(signal) => End::Signaled(signal),
        ExitOutcome::Killed => End::Killed,
        ExitOutcome::Ended(limit) => End::Limited(words(limit, limits)),
    };
    let others = reached.into_iter().filter(|limit| outcome != ExitOutcome::Ended(*limit));
    (end, others.map(|limit| words(limit, limits)).collect())
}

fn words(limit: Limit, limits: &ChildLimits) -> String {
    match limit {
        Limit::Memory => format!(
            "it used more than {} MB of memory (`sandbox.memory`)",
            limits.memory_bytes / 1_000_000
        ),
        Limit::Processes => {
            format!("it reached its limit of {} processes (`sandbox.processes`)", limits.processes)
        }
        Limit::FileSize => format!(
            "it wrote a file of more than {} MB (`sandbox.file_size`)",
            limits.file_bytes / 1_000_000
        ),
        Limit::CpuTime => format!(
            "it used more than {} s of processor time (`sandbox.cpu_time`)",
            limits.cpu_time.as_secs()
        ),
        Limit::WallClock => match limits.wall_clock {
            Some(most) => format!(
                "it ran longer than {} s; give it more time with `timeout`, or run it in the background",
                most.as_secs()
            ),
            None => "it ran too long".to_owned(),
        },
    }
}
