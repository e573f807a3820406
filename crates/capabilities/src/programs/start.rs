//! Starts a process of an agent with its way to the network.

use super::egress::KeptFolders;
use super::network::{conversation_egress, server_egress};
use crate::Capabilities;
use insula_domain::Actor;
use insula_registry::context::AgentContext;
use insula_sandbox::egress::{Egress, Proxy, ProxyLimits};
use insula_sandbox::{Child, Error, Network, Spec};
use insula_store::SessionId;
use insula_tools::{HandError, ToolError};
use std::path::Path;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Who brings about what a process asks of the network, as its record says.
pub(crate) enum Principal<'p> {
    /// Somebody who talks to the agent.
    Person {
        name: &'p Actor,
        /// In which conversation.
        session: SessionId,
    },
    /// One of the agent's MCP servers, which its conversations have in common.
    Server(&'p str),
}

impl Principal<'_> {
    /// The way out for what they bring about.
    pub(crate) async fn egress(
        &self,
        caps: &Capabilities,
        agent: &AgentContext,
        keeps: KeptFolders,
    ) -> Result<Egress, ToolError> {
        match self {
            Self::Person { name, session } => {
                conversation_egress(caps, agent, *session, name, keeps).await
            }
            Self::Server(name) => server_egress(caps, agent, name, keeps).await,
        }
    }
}

/// Starts a process of an agent; its way to the network ends with the guard.
pub(crate) async fn spawn(
    caps: &Capabilities,
    agent: &AgentContext,
    principal: &Principal<'_>,
    spec: Spec,
) -> Result<(Child, Option<DropGuard>), ToolError> {
    let refused = |error: Error| {
        tracing::warn!(agent = %agent.id, %error, "a program was not started");
        match error {
            Error::Setup { .. } | Error::Stopped => ToolError::Hand(HandError(error.to_string())),
            error => ToolError::Refused(error.to_string()),
        }
    };
    let egress = match spec.network {
        Network::None => None,
        _ => {
            // Where it can't write it still prints: the folder that it begins in, or the agent's
            // own, stands for that. What a server says is foreign as it is.
            let prints = match principal {
                Principal::Person { .. } if spec.cwd == Path::new("/") => {
                    Some(&*agent.workspace.path)
                }
                Principal::Person { .. } => Some(&*spec.cwd),
                Principal::Server(_) => None,
            };
            let keeps = KeptFolders::of(&caps.home.real_root(), agent, &spec, prints);
            Some(principal.egress(caps, agent, keeps).await?)
        }
    };
    let sandbox = caps.programs.sandbox().map_err(refused)?;
    let mut child = sandbox.spawn(spec).await.map_err(refused)?;
    let (Some(listener), Some(egress)) = (child.take_listener(), egress) else {
        return Ok((child, None));
    };
    let cancel = CancellationToken::new();
    let proxy = Proxy::new(egress, ProxyLimits::default(), cancel.clone());
    tokio::spawn(proxy.serve(listener));
    Ok((child, Some(cancel.drop_guard())))
}
