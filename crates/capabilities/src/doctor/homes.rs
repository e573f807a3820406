//! Which agents have a home chat that hears nothing, since it leads to them no more.

use super::{DoctorFinding, Status, finding};
use crate::Capabilities;

/// Agents that are named.
const NAMED_MAX: usize = 5;

/// What home chats were lost; nothing where none was.
pub(super) fn examine(caps: &Capabilities) -> Option<DoctorFinding> {
    let snapshot = caps.registry.snapshot();
    let mut lost: Vec<String> = snapshot
        .agents
        .keys()
        .filter_map(|id| {
            let home = caps.homes.of(id)?;
            (!home.leads_to(&snapshot, id)).then(|| format!("{id}: {}", home.place()))
        })
        .collect();
    if lost.is_empty() {
        return None;
    }
    let more = lost.len().saturating_sub(NAMED_MAX);
    lost.truncate(NAMED_MAX);
    if more > 0 {
        lost.push(format!("and {more} more"));
    }
    let detail = format!(
        "messages there do not reach the agent any more, so nothing is told: {}; bind the chat again, or say /sethome elsewhere",
        lost.join("; ")
    );
    Some(finding("home chats", Status::Bad, detail))
}
