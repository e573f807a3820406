//! Fetching a picture that a provider answered with the address of: from the provider's own host,
//! or by the agent's network. Every decision is on the agent's audit trail.

use crate::Capabilities;
use crate::programs::egress::{Audited, KeptFolders};
use crate::programs::network::conversation_egress;
use insula_config::images::host_of;
use insula_domain::{Actor, HostPattern, NetworkGrants};

use insula_registry::context::AgentContext;
use insula_sandbox::egress::{Client, ClientLimits, Egress, Fetch, FetchError, Policy};
use insula_store::{About, SessionId};
use insula_tools::pictures::PICTURE_BYTES_MAX;
use insula_tools::{HandError, Piece, ToolError};
use std::sync::Arc;
use std::time::Duration;

/// What fetching a picture may take. It is made already, and only has to come.
const LIMITS: ClientLimits = ClientLimits {
    redirects_max: 3,
    body_len_max: PICTURE_BYTES_MAX as u64,
    resolve: Duration::from_secs(10),
    connect: Duration::from_secs(5),
    idle: Duration::from_secs(20),
    total: Duration::from_secs(120),
};
/// Who asks, as hosts see it.
const USER_AGENT: &str = concat!("insula/", env!("CARGO_PKG_VERSION"));

/// Fetches a picture for one conversation of an agent. `provider` is where its provider is, to
/// which the agent was granted the way by the name of its model. What it is called there is not
/// looked at: whether it is a picture is seen by its bytes.
pub async fn fetch(
    caps: &Capabilities,
    agent: &AgentContext,
    (session, principal): (SessionId, &Actor),
    provider: Option<&str>,
    url: &str,
) -> Result<Vec<u8>, ToolError> {
    let provider = provider.and_then(host_of);
    let egress = match provider.filter(|provider| host_of(url).as_ref() == Some(provider)) {
        Some(host) => provider_egress(caps, agent, (session, principal), host)?,
        None => {
            conversation_egress(caps, agent, session, principal, KeptFolders::default()).await?
        }
    };
    let client = Client::new(egress, LIMITS);
    let fetch = Fetch::get(url).with("user-agent", USER_AGENT).with("accept", "image/*");
    let response = client.fetch(fetch).await.map_err(told)?;
    let status = response.status.as_u16();
    if !response.status.is_success() {
        return Err(failed(&format!("the address of the picture answers {status}")));
    }
    response.bytes().await.map_err(told)
}

/// The way to one host and no other.
fn provider_egress(
    caps: &Capabilities,
    agent: &AgentContext,
    (session, principal): (SessionId, &Actor),
    host: HostPattern,
) -> Result<Egress, ToolError> {
    let ledger = Audited {
        audit: agent.audit.clone(),
        principal: principal.clone(),
        about: About::Session(session),
        keeps: KeptFolders::default(),
    };
    let tls = caps.programs.tls().map_err(|error| failed(&error))?;
    let policy = Policy::new(NetworkGrants::allow([host]));
    let lookups = caps.programs.lookups(&agent.id);
    Ok(Egress::new(caps.world.clone(), policy, Arc::new(ledger), tls, Vec::new(), lookups))
}

fn failed(error: &dyn std::fmt::Display) -> ToolError {
    ToolError::Hand(HandError(error.to_string()))
}

/// What can't be fetched. Where it is, and so which host that is, are the provider's words.
fn told(error: FetchError) -> ToolError {
    let ours = match &error {
        FetchError::Refused(_) => {
            "the picture was made, and its provider left it where this agent may not go; the operator can grant that host under `network.allow`"
        }
        _ => "the picture was made and can't be fetched",
    };
    let theirs = Piece::Foreign { source: "provider".to_owned(), text: error.to_string() };
    ToolError::Pieces(vec![Piece::Own(ours.to_owned()), theirs])
}
