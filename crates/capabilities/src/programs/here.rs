//! Which agents of a configuration could not run programs on this machine.

use insula_config::{AgentOutcome, Loaded};
use insula_domain::{Switch, ToolTable};
use insula_sandbox::{Availability, Error, Helper, Hidden, Layer, Sandbox};
use insula_world::World;

/// The tools that start programs.
const STARTERS: [&str; 2] = ["terminal", "execute_code"];

/// Whether whoever has these tools can start programs.
pub(crate) fn starts_programs(tools: &ToolTable) -> bool {
    tools.exposed().any(|name| STARTERS.contains(&name))
}

/// Why programs of these agents would be refused here, a line for each reason. Tried, not
/// read from a version; nothing is tried where no agent runs programs.
pub async fn refused_here(world: &World, loaded: &Loaded) -> Vec<String> {
    let confined: Vec<_> = loaded
        .agents
        .iter()
        .filter_map(|(id, outcome)| match outcome {
            AgentOutcome::Ready(config) => Some((id, config)),
            AgentOutcome::Failed(_) => None,
        })
        .filter(|(_, config)| {
            config.programs.sandbox == Switch::On && starts_programs(&config.boundary.tools)
        })
        .collect();
    if confined.is_empty() {
        return Vec::new();
    }
    // Nothing is started but attempts at each layer, which are shown nothing.
    let machine = match Sandbox::new(world.clock.clone(), Helper::found(), Hidden::default()) {
        Ok(sandbox) => sandbox.machine().await,
        Err(error) => return vec![format!("no agent can run programs here: {error}")],
    };
    let required = Layer::ALL.into_iter().filter(|layer| layer.is_required());
    let missing = required.filter_map(|layer| match machine.availability(layer) {
        Availability::Enforced => None,
        Availability::Missing(reason) => Some((layer, reason)),
    });
    let refused = missing.filter_map(|(layer, reason)| {
        let agents = confined.iter().filter(|(_, it)| !it.programs.optional.contains(layer.name()));
        let agents: Vec<&str> = agents.map(|(id, _)| id.as_str()).collect();
        let names = agents.join(", ");
        let error = Error::Missing { layer, reason };
        (!agents.is_empty()).then(|| format!("programs of {names} can't run here: {error}"))
    });
    refused.collect()
}
