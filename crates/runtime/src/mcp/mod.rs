//! The MCP servers of the agents of a house.
//!
//! What a generation knows of its servers' tools comes from its configuration and from
//! `mcp.json` in the agent's folder, so the tool table stands before any server runs. A list
//! that turns out to be another one is written there, and makes a new generation.

mod connections;
mod hand;
mod opener;
mod report;
mod settle;

pub(crate) use connections::Connections;
pub use hand::AgentServers;
pub use report::{ServerReport, Tested, ToolReport};
pub use settle::settle;

use insula_config::mcp::{McpServer, OnChange};
use insula_mcp::{Pinned, Pins, PinsError, ServerPins, Standing, full_name};
use insula_tools::{McpTool, Tool};
use std::sync::Arc;

/// The servers of one generation of one agent, and what is known of their tools.
#[derive(Debug, Default)]
pub struct Mcp {
    /// The servers.
    pub servers: Vec<McpServer>,
    pins: Pins,
    /// Why nothing is known, though there is a file.
    trouble: Option<PinsError>,
}

impl Mcp {
    pub(crate) fn new(servers: Vec<McpServer>, text: Option<&str>) -> Self {
        let (pins, trouble) = match text.map(Pins::parse) {
            None => (Pins::default(), None),
            Some(Ok(pins)) => (pins, None),
            Some(Err(error)) => (Pins::default(), Some(error)),
        };
        Self { servers, pins, trouble }
    }

    /// The server of this name.
    pub fn server(&self, name: &str) -> Option<&McpServer> {
        self.servers.iter().find(|server| &*server.name == name)
    }

    /// What is known of a server's tools; nothing, where another one stands in its place by
    /// now.
    pub(crate) fn pins(&self, server: &McpServer) -> Option<&ServerPins> {
        let pins = self.pins.servers.get(&*server.name)?;
        (pins.identity == server.identity()).then_some(pins)
    }

    /// The tools that a model may be shown, as far as the servers are concerned.
    pub(crate) fn tools(&self) -> impl Iterator<Item = Arc<dyn Tool>> {
        let of_servers =
            self.servers.iter().filter_map(|server| Some((server, self.pins(server)?)));
        of_servers.flat_map(|(server, pins)| {
            pins.tools.iter().filter_map(move |(tool, pinned)| {
                let shown = is_shown(server, pinned) && server.uses(tool);
                let made = McpTool {
                    name: full_name(&server.name, tool).filter(|_| shown)?,
                    server: server.name.to_string(),
                    tool: tool.clone(),
                    description: pinned.description.clone(),
                    parameters: pinned.parameters.clone(),
                };
                Some(Arc::new(made) as Arc<dyn Tool>)
            })
        })
    }
}

/// Whether what is known of a tool lets a model see it.
pub(crate) fn is_shown(server: &McpServer, pinned: &Pinned) -> bool {
    let stands = match pinned.standing {
        Standing::Shown => true,
        Standing::New | Standing::Changed => server.on_change == OnChange::Report,
        Standing::Suspect(_) | Standing::Unfit(_) => false,
    };
    pinned.offered && stands
}

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
