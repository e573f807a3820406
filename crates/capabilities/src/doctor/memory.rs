//! What there is to know about the files that agents' memories are mirrored in.

use super::{DoctorFinding, Status, finding};
use crate::Capabilities;

/// Files that are named; one is enough to know where to look.
const NAMED_MAX: usize = 5;

/// What is wrong with files and folders of memory; nothing where nothing is.
pub(super) async fn examine(caps: &Capabilities) -> Option<DoctorFinding> {
    let mut troubles = Vec::new();
    for (id, entry) in &caps.registry.snapshot().agents {
        let Some(context) = entry.state.context() else { continue };
        let Some(memory) = &context.memory else { continue };
        match context.store.in_passing(memory.keeper.troubles()).await {
            Ok(found) => troubles.extend(found.iter().map(|it| format!("agents/{id}/{it}"))),
            Err(error) => troubles.push(format!("{id}: {error}")),
        }
    }
    let more = troubles.len().saturating_sub(NAMED_MAX);
    troubles.truncate(NAMED_MAX);
    if more > 0 {
        troubles.push(format!("and {more} more"));
    }
    (!troubles.is_empty()).then(|| finding("memory files", Status::Bad, troubles.join("; ")))
}
