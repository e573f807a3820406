//! The MCP servers of the agents of a daemon.
//!
//! What a generation knows of its servers' tools comes from its configuration and from
//! `mcp.json` in the agent's folder, so the tool table stands before any server runs. A list
//! that turns out to be another one is written there, and makes a new generation.

mod connections;
mod hand;
mod opener;
mod prompts;
mod report;
mod settle;
mod waiting;

pub(crate) use connections::Connections;
pub use hand::AgentServers;
pub use prompts::{Chosen, PromptReport, PromptText, prompts};
pub use report::{ServerReport, Tested, ToolReport};
pub use settle::settle;
pub use waiting::Person;

/// What is said of this many entries of a server's list without a name.
pub(crate) fn nameless(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("one entry of its list of tools has no name and is left out".to_owned()),
        count => {
            Some(format!("{count} entries of its list of tools have no name and are left out"))
        }
    }
}
