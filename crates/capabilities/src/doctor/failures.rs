//! Which turns failed lately, and why; and which agents' databases can't be read at all.

use super::{DoctorFinding, Status, finding};
use crate::Capabilities;
use crate::failures::{cause, latest};
use insula_registry::AgentContext;
use insula_registry::registry::AgentState;

/// The last failure of each agent that had one among its latest turns.
pub(super) async fn examine(caps: &Capabilities) -> Vec<DoctorFinding> {
    let snapshot = caps.registry.snapshot();
    let mut findings = Vec::new();
    for entry in snapshot.agents.values() {
        let AgentState::Ready(agent) = &entry.state else { continue };
        findings.extend(agent.store.in_passing(of_agent(agent)).await);
    }
    findings
}

async fn of_agent(agent: &AgentContext) -> Option<DoctorFinding> {
    let id = &agent.id;
    let (failed, of) = match latest(agent).await {
        Ok(latest) => latest,
        Err(error) => {
            let detail = format!("can't be read, so {id} answers nobody: {error}");
            return Some(finding(&format!("database of {id}"), Status::Bad, detail));
        }
    };
    let last = failed.first()?;
    let why = cause(agent, last.id).await.ok().flatten();
    let why = why.map_or("for a reason that was not noted", |it| it.as_str());
    let when = last.ended_at.unwrap_or(last.accepted_at);
    // The latest of all says how it stands now.
    let latest = agent.store.turns(None, 1).await;
    let is_last = latest.is_ok_and(|it| it.first().is_some_and(|turn| turn.id == last.id));
    let status = if is_last { Status::Bad } else { Status::Notice };
    let detail = format!(
        "{} of the last {of} turns failed; the last, at {when}: {why}; `insula turns show {id} {}` has all of it",
        failed.len(),
        last.id,
    );
    Some(finding(&format!("turns of {id}"), status, detail))
}
