//! The way out of one agent: its policy, its ledger, and the credentials that are added where
//! neither program nor model sees them. Programs and our own tools leave by the same one.

use super::egress::{Audited, KeptFolders};
use crate::Capabilities;
use insula_domain::Actor;
use insula_domain::Switch;
use insula_registry::context::AgentContext;
use insula_sandbox::egress::{Egress, Injection, Policy};
use insula_store::{About, SessionId};
use insula_tools::{HandError, ToolError};
use insula_vault::Secret;
use std::sync::Arc;

/// The way out of a conversation of an agent. Made anew for each use, so that a secret that
/// was changed or removed is not used any longer.
pub(crate) async fn conversation_egress(
    caps: &Capabilities,
    agent: &AgentContext,
    session: SessionId,
    principal: &Actor,
    keeps: KeptFolders,
) -> Result<Egress, ToolError> {
    egress(caps, agent, About::Session(session), principal.clone(), keeps).await
}

/// The way out of one of an agent's MCP servers, which its conversations have in common.
pub(crate) async fn server_egress(
    caps: &Capabilities,
    agent: &AgentContext,
    server: &str,
    keeps: KeptFolders,
) -> Result<Egress, ToolError> {
    egress(caps, agent, About::Agent, Actor::server(server), keeps).await
}

async fn egress(
    caps: &Capabilities,
    agent: &AgentContext,
    about: About,
    principal: Actor,
    keeps: KeptFolders,
) -> Result<Egress, ToolError> {
    let injections = injections(agent).await?;
    let ledger = Audited { audit: agent.audit.clone(), principal, about, keeps };
    let tls = caps.programs.tls();
    let tls = tls.map_err(|error| ToolError::Hand(HandError(error.to_string())))?;
    let policy = Policy::new(agent.boundary.network.clone());
    let lookups = caps.programs.lookups(&agent.id);
    Ok(Egress::new(caps.world.clone(), policy, Arc::new(ledger), tls, injections, lookups))
}

/// The agent's credentials, with their secrets filled in. One that can't be filled in refuses
/// the whole: a program that goes on without it would fail in ways nobody understands.
async fn injections(agent: &AgentContext) -> Result<Vec<Injection>, ToolError> {
    let mut all = Vec::new();
    for credential in agent.boundary.network.credentials() {
        let host = &credential.host;
        let failed = |error: String| {
            ToolError::Refused(format!(
                "the credential for `{host}` (`network.credentials`): {error}"
            ))
        };
        let value = agent.secrets.resolve(&credential.value).await;
        let value: Secret = value.map_err(|error| failed(error.to_string()))?;
        let made =
            Injection::new(host.clone(), &credential.header, value.reveal().to_owned().into());
        let made = made.map_err(|error| failed(error.to_string()))?;
        all.push(if credential.plain_http == Switch::On { made.also_in_the_clear() } else { made });
    }
    Ok(all)
}
