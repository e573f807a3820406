//! Keeps what is known of servers' tools up to date: at the beginning of a turn, when a
//! server was started, and when an operator asks.

use super::connections::Manner;
use super::opener::AgentOpener;
use crate::Capabilities;
use insula_config::mcp::McpServer;
use insula_mcp::{Patience, Pins, ServerError, ServerPins, ToolChangeKind, revise};
use insula_registry::context::AgentContext;
use insula_registry::daemon::Actor;
use insula_registry::registry::AgentState;
use insula_store::About;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long the beginning of a turn waits for servers of which nothing is known yet. What
/// takes longer goes on, for the turns after, and those do not wait for it: a server that is
/// mute delays its agent once.
const WAIT_MAX: Duration = Duration::from_secs(15);

/// The agent as a turn should have it: with the tools of its servers, where those could be
/// learnt. Costs nothing where nothing is to be learnt.
pub async fn settle(
    caps: &Capabilities,
    agent: Arc<AgentContext>,
    stop: &CancellationToken,
) -> Arc<AgentContext> {
    if agent.mcp.servers.is_empty() {
        return agent;
    }
    let agent = newest(caps, agent);
    let due: Vec<McpServer> =
        agent.mcp.servers.iter().filter(|it| is_due(caps, &agent, it)).cloned().collect();
    if due.is_empty() {
        return agent;
    }
    let connections = &caps.programs.servers;
    let mut asking = JoinSet::new();
    let mut awaited = BTreeSet::new();
    for config in due {
        let aside = match connections.manner(&agent.id, &config.name) {
            Manner::Asked => continue,
            Manner::Aside(asks) => Some(asks),
            Manner::Awaited => None,
        };
        let (is_awaited, name) = (aside.is_none(), config.name.clone());
        let (caps, agent) = (caps.clone(), agent.clone());
        let ask = async move {
            let _aside = aside;
            if let Err(error) = refresh(&caps, &agent, &config, Patience::Usual).await {
                let (agent, server) = (&agent.id, &config.name);
                tracing::warn!(%agent, %server, error, "the tools of an MCP server are not known");
            }
            config.name
        };
        if is_awaited {
            asking.spawn(ask);
            awaited.insert(name);
        } else {
            tokio::spawn(ask);
        }
    }
    tokio::select! {
        () = async {
            while let Some(done) = asking.join_next().await {
                if let Ok(name) = done {
                    awaited.remove(&name);
                }
            }
        } => {}
        () = caps.world.clock.sleep(WAIT_MAX) => {
            awaited.iter().for_each(|name| connections.waited_in_vain(&agent.id, name));
        }
        () = stop.cancelled() => {}
    }
    asking.detach_all();
    newest(caps, agent)
}

/// The generation that serves now, where the agent still does.
fn newest(caps: &Capabilities, agent: Arc<AgentContext>) -> Arc<AgentContext> {
    match caps.registry.snapshot().agents.get(&agent.id).map(|entry| &entry.state) {
        Some(AgentState::Ready(now)) => now.clone(),
        _ => agent,
    }
}

/// Whether a server should be asked for its tools before a turn.
fn is_due(caps: &Capabilities, agent: &AgentContext, server: &McpServer) -> bool {
    let connections = &caps.programs.servers;
    if agent.mcp.trouble.is_some() {
        return false;
    }
    if agent.mcp.pins(server).is_some() {
        return connections.is_stale(&agent.id, &server.name);
    }
    connections.known(&agent.id, &server.name).is_none_or(|known| known.admits())
}

/// Asks a server for its tools and takes what it says in: written down, on the audit trail,
/// and as a new generation where anything is different. What is known then.
pub(crate) async fn refresh(
    caps: &Capabilities,
    agent: &AgentContext,
    config: &McpServer,
    patience: Patience,
) -> Result<ServerPins, String> {
    let connections = &caps.programs.servers;
    let connection = connections.get(caps, agent, config)?;
    if patience == Patience::Insists {
        connections.tried_anew(&agent.id, &config.name);
    }
    let opener = AgentOpener { caps, agent, server: config };
    let offers = connection.tools(&opener, patience).await.map_err(|error| {
        if matches!(error, ServerError::TimedOut(_)) {
            connections.waited_in_vain(&agent.id, &config.name);
        }
        error.to_string()
    })?;
    let news = connections.listed(&agent.id, &config.name);
    if let Some(what) = news.and_then(super::nameless) {
        tracing::warn!(agent = %agent.id, server = %config.name, "an MCP server is in part not understood: {what}");
    }
    let beside = connection.beside(&opener, patience).await;
    let _writing = connections.writing.lock(&agent.id).await;
    let mut pins = read(caps, agent).await?;
    let before = pins.servers.get(&*config.name);
    let (mut after, changes) = revise(before, &config.name, &config.identity(), offers);
    after = match (beside, before) {
        (Ok(beside), _) => after.with(beside),
        // Its tools are known all the same.
        (Err(error), before) => {
            let (agent, server) = (&agent.id, &config.name);
            tracing::warn!(%agent, %server, %error, "the prompts of an MCP server are not known");
            let same = before.filter(|before| before.identity == after.identity);
            let (resources, prompts) =
                same.map(|it| (it.resources, it.prompts.clone())).unwrap_or_default();
            ServerPins { resources, prompts, ..after }
        }
    };
    if before == Some(&after) {
        return Ok(after);
    }
    let is_first = before.is_none_or(|before| before.identity != after.identity);
    pins.servers.insert(config.name.to_string(), after.clone());
    // Servers that nobody names any more are forgotten.
    pins.servers.retain(|name, _| agent.mcp.server(name).is_some());
    write(caps, agent, &pins).await?;
    let told: Vec<_> = changes
        .iter()
        .map(|change| json!({ "tool": change.tool, "what": change.kind.to_string() }))
        .collect();
    let kind = if is_first { "mcp.pinned" } else { "mcp.changed" };
    let content = json!({ "server": &*config.name, "tools": after.tools.len(), "changes": told });
    let written = agent.audit.append(About::Agent, &Actor::Daemon, kind, content).await;
    written.map_err(|error| error.to_string())?;
    for change in &changes {
        let (agent, server, tool) = (&agent.id, &config.name, &change.tool);
        match &change.kind {
            ToolChangeKind::Hidden(why) => {
                tracing::warn!(%agent, %server, tool, why, "a tool of an MCP server is hidden");
            }
            kind => tracing::warn!(%agent, %server, tool, "a tool of an MCP server was {kind}"),
        }
    }
    apply(caps, agent).await?;
    Ok(after)
}

/// What stands in the agent's file now.
async fn read(caps: &Capabilities, agent: &AgentContext) -> Result<Pins, String> {
    let (home, id) = (caps.home.clone(), agent.id.clone());
    let text = caps.world.storage.run(move || home.read_pins(&id)).await;
    let text = text.map_err(|error| error.to_string())?.map_err(|error| error.reason())?;
    match text {
        None => Ok(Pins::default()),
        Some(text) => Pins::parse(&text).map_err(|error| error.to_string()),
    }
}

async fn write(caps: &Capabilities, agent: &AgentContext, pins: &Pins) -> Result<(), String> {
    let (home, id, text) = (caps.home.clone(), agent.id.clone(), pins.to_text());
    let written = caps.world.storage.run(move || home.write_pins(&id, &text)).await;
    written.map_err(|error| error.to_string())?.map_err(|error| error.reason())
}

async fn apply(caps: &Capabilities, agent: &AgentContext) -> Result<(), String> {
    let applied = caps.daemon.reload(Some(&agent.id), &Actor::Daemon).await;
    applied.map(drop).map_err(|error| error.reason())
}

/// An operator has looked at tools of a server: at all that wait, or at one by the name the
/// server gives it. Those it concerned.
pub(super) async fn approve(
    caps: &Capabilities,
    agent: &AgentContext,
    config: &McpServer,
    tool: Option<&str>,
    actor: &Actor,
) -> Result<Vec<String>, String> {
    let _writing = caps.programs.servers.writing.lock(&agent.id).await;
    let mut pins = read(caps, agent).await?;
    let Some(known) = pins.servers.get_mut(&*config.name) else { return Ok(Vec::new()) };
    let approved = known.approve(tool);
    if approved.is_empty() {
        return Ok(approved);
    }
    write(caps, agent, &pins).await?;
    let content = json!({ "server": &*config.name, "tools": approved });
    let recorded = agent.audit.append(About::Agent, actor, "mcp.approved", content).await;
    recorded.map_err(|error| error.to_string())?;
    apply(caps, agent).await?;
    Ok(approved)
}
