//! The MCP servers of an agent, as its generation knows them.

use insula_config::mcp::{McpServer, OnChange};
use insula_mcp::{Pinned, PinnedPrompt, Pins, PinsError, ServerPins, Standing, full_name};
use insula_tools::{McpResources, McpTool, RESOURCES, Tool};
use std::sync::Arc;

/// The servers of one generation of one agent, and what is known of their tools.
#[derive(Debug, Default)]
pub struct Mcp {
    pub servers: Vec<McpServer>,
    pins: Pins,
    /// Why nothing is known, though there is a file.
    pub trouble: Option<PinsError>,
}

impl Mcp {
    pub fn new(servers: Vec<McpServer>, text: Option<&str>) -> Self {
        let (pins, trouble) = match text.map(Pins::parse) {
            None => (Pins::default(), None),
            Some(Ok(pins)) => (pins, None),
            Some(Err(error)) => (Pins::default(), Some(error)),
        };
        Self { servers, pins, trouble }
    }

    /// Why nothing is known of the tools, though there is a file.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.as_ref().map(ToString::to_string)
    }

    /// The server of this name.
    pub fn server(&self, name: &str) -> Option<&McpServer> {
        self.servers.iter().find(|server| &*server.name == name)
    }

    /// What is known of a server's tools; nothing, where another one stands in its place by
    /// now.
    pub fn pins(&self, server: &McpServer) -> Option<&ServerPins> {
        let pins = self.pins.servers.get(&*server.name)?;
        (pins.identity == server.identity()).then_some(pins)
    }

    /// The servers of which a tool is shown that no operator has looked at.
    pub fn not_looked_at(&self) -> impl Iterator<Item = &str> {
        let of_servers =
            self.servers.iter().filter_map(|server| Some((server, self.pins(server)?)));
        let unseen = of_servers.filter(|(server, pins)| {
            pins.tools.iter().any(|(tool, pinned)| {
                !pinned.looked_at && is_shown(server, pinned) && server.uses(tool)
            })
        });
        unseen.map(|(server, _)| &*server.name)
    }

    /// The tools that a model may be shown, as far as the servers are concerned.
    pub fn tools(&self) -> impl Iterator<Item = Arc<dyn Tool>> {
        let of_servers =
            self.servers.iter().filter_map(|server| Some((server, self.pins(server)?)));
        of_servers.flat_map(|(server, pins)| {
            let own = pins.tools.iter().filter_map(move |(tool, pinned)| {
                let shown = is_shown(server, pinned) && server.uses(tool);
                let made = McpTool {
                    name: full_name(&server.name, tool).filter(|_| shown)?,
                    server: server.name.to_string(),
                    tool: tool.clone(),
                    description: pinned.description.clone(),
                    parameters: pinned.parameters.clone(),
                    only_reads: pinned.only_reads(),
                };
                Some(Arc::new(made) as Arc<dyn Tool>)
            });
            own.chain(resources(server, pins))
        })
    }

    /// The prompts of a server that people may choose, as far as the server is concerned.
    pub fn prompts<'m>(
        &'m self,
        server: &'m McpServer,
    ) -> impl Iterator<Item = (&'m str, &'m PinnedPrompt)> {
        let pins = self.pins(server).filter(|_| server.uses(PROMPTS));
        let prompts = pins.into_iter().flat_map(|pins| &pins.prompts);
        prompts.map(|(name, prompt)| (name.as_str(), prompt))
    }
}

/// What stands for a server's prompts among the names of its tools, where it is said which of them
/// an agent has.
pub const PROMPTS: &str = "prompts";

/// What the tool for a server's resources is called, where it has one.
pub fn resources_tool(server: &McpServer, pins: &ServerPins) -> Option<String> {
    resources(server, pins).map(|tool| tool.name().to_owned())
}

/// The tool for a server's resources. What the server calls by its name itself is the server's.
fn resources(server: &McpServer, pins: &ServerPins) -> Option<Arc<dyn Tool>> {
    if !pins.resources {
        return None;
    }
    let is_free = |name: &String| {
        !pins.tools.keys().any(|tool| full_name(&server.name, tool).as_ref() == Some(name))
    };
    let names = [RESOURCES, "mcp_resources"].into_iter().filter(|name| server.uses(name));
    let name = names.filter_map(|name| full_name(&server.name, name)).find(is_free)?;
    Some(Arc::new(McpResources::new(name, &server.name)))
}

/// Whether what is known of a tool lets a model see it.
pub fn is_shown(server: &McpServer, pinned: &Pinned) -> bool {
    let stands = match pinned.standing {
        Standing::Shown => true,
        Standing::New | Standing::Changed => server.on_change == OnChange::Report,
        Standing::Suspect(_) | Standing::Unfit(_) => false,
    };
    pinned.offered && stands
}
