//! What there is to know about the MCP servers of all agents.

use super::{DoctorFinding, Status, finding};
use crate::Capabilities;

/// How the servers stand; nothing where nobody has any.
pub(super) fn examine(caps: &Capabilities) -> Option<DoctorFinding> {
    let (mut servers, mut unknown, mut trouble, mut waiting) = (0, 0, Vec::new(), Vec::new());
    for (id, entry) in &caps.registry.snapshot().agents {
        if entry.state.context().is_none_or(|context| context.mcp.servers.is_empty()) {
            continue;
        }
        for server in caps.mcp_servers(id).unwrap_or_default() {
            servers += 1;
            unknown += usize::from(!server.is_known);
            let name = format!("{id}/{}", server.name);
            let hidden = |why: &str| why.starts_with("waits") || why.starts_with("hidden");
            if server.tools.iter().any(|tool| hidden(&tool.why)) {
                waiting.push(name.clone());
            }
            trouble.extend(server.trouble.map(|_| name));
        }
    }
    if servers == 0 {
        return None;
    }
    let mut detail = format!("{servers} configured");
    if unknown > 0 {
        detail += &format!(", {unknown} not asked for their tools yet");
    }
    if !trouble.is_empty() {
        detail += &format!("; failing: {}", trouble.join(", "));
    }
    if !waiting.is_empty() {
        detail += &format!("; tools hidden: {}; see `insula mcp list`", waiting.join(", "));
    }
    let status = match (trouble.is_empty(), waiting.is_empty()) {
        (false, _) => Status::Bad,
        (true, false) => Status::Notice,
        (true, true) => Status::Good,
    };
    Some(finding("MCP servers", status, detail))
}
