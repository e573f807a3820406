//! Which agents have hooks that failed since the daemon started, or since the agent changed.

use super::{DoctorFinding, Status, finding};
use crate::Capabilities;

/// Agents that are named; the others are in their contexts.
const NAMED_MAX: usize = 5;

/// What hooks failed; nothing where none did.
pub(super) fn examine(caps: &Capabilities) -> Option<DoctorFinding> {
    let snapshot = caps.registry.snapshot();
    let contexts = snapshot.agents.iter().filter_map(|(id, it)| Some((id, it.state.context()?)));
    let mut failing: Vec<String> = contexts
        .filter_map(|(id, context)| {
            let (count, last) = context.hooks.trouble()?;
            let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            Some(format!("{id}: failed {times}, last {last}"))
        })
        .collect();
    let more = failing.len().saturating_sub(NAMED_MAX);
    failing.truncate(NAMED_MAX);
    if more > 0 {
        failing.push(format!("and {more} more agents"));
    }
    (!failing.is_empty()).then(|| finding("hooks", Status::Bad, failing.join("; ")))
}
