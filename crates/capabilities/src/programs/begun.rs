//! Under what a process in the background was begun, and whether that still holds.

use insula_domain::Address;
use insula_registry::Access;
use insula_registry::context::AgentContext;
use insula_registry::routing::Led;
use std::collections::BTreeSet;

/// Who began a process and where, and what of the agent's secrets it was given.
pub(crate) struct Begun {
    /// Where it was asked for, by whom its holder names.
    pub(super) address: Address,
    pub(super) led: Led,
    /// The secrets it has as variables.
    pub(super) variables: BTreeSet<Box<str>>,
    pub(super) given: Given,
}

impl Begun {
    pub(super) async fn now(
        access: &Access,
        agent: &AgentContext,
        address: &Address,
        variables: &BTreeSet<Box<str>>,
    ) -> Self {
        let led = access.snapshot().led(address);
        let given = Given::now(agent, variables).await;
        Self { address: address.clone(), led, variables: variables.clone(), given }
    }
}

/// Tells apart what programs of an agent were given of its secrets.
#[derive(PartialEq, Eq)]
pub struct Given([u8; 32]);

impl Given {
    /// What a program of this agent is given now: in its environment, in these variables, and in
    /// the requests it makes.
    pub async fn now(agent: &AgentContext, variables: &BTreeSet<Box<str>>) -> Self {
        // A sub-agent is given nothing that its agent is not.
        let agent = agent.root();
        let credentials =
            agent.boundary.network.credentials().iter().map(|it| it.value.to_string());
        let written = agent.programs.env.values().map(ToString::to_string);
        let named = variables.iter().map(|name| format!("${{secret:{name}}}"));
        let mut hasher = blake3::Hasher::new();
        for text in credentials.chain(written).chain(named).collect::<Vec<_>>() {
            match agent.secrets.resolve(&text).await {
                Ok(value) => hasher.update(blake3::hash(value.reveal().as_bytes()).as_bytes()),
                Err(_) => hasher.update(&[0]),
            };
        }
        Self(*hasher.finalize().as_bytes())
    }
}
