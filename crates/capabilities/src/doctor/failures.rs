//! Which turns failed lately, and why; and which agents' databases can't be read at all.

use super::{DoctorFinding, Status, finding};
use crate::Capabilities;
use crate::failures::{cause, latest};
use insula_domain::AgentId;
use insula_registry::AgentContext;
use insula_registry::registry::AgentState;
use insula_store::StoreError;

/// The last failure of each agent that had one among its latest turns.
pub(super) async fn examine(caps: &Capabilities) -> Vec<DoctorFinding> {
    let snapshot = caps.registry.snapshot();
    let mut findings = Vec::new();
    for (id, entry) in &snapshot.agents {
        match &entry.state {
            AgentState::Ready(agent) => {
                findings.extend(agent.store.in_passing(of_agent(agent)).await);
            }
            AgentState::Failed(_) => {
                let unfit = insula_store::glance(caps.home.root(), id).err();
                findings.extend(unfit.map(|error| unread(id, &error)));
            }
            _ => {}
        }
    }
    findings
}

fn unread(id: &AgentId, error: &StoreError) -> DoctorFinding {
    let detail = format!("can't be read, so {id} answers nobody: {error}");
    finding(&format!("database of {id}"), Status::Bad, detail)
}

async fn of_agent(agent: &AgentContext) -> Option<DoctorFinding> {
    let id = &agent.id;
    let (failed, of) = match latest(agent).await {
        Ok(latest) => latest,
        Err(error) => return Some(unread(id, &error)),
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
