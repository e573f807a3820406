//! One connection per agent and server, across generations that give it the same.

use super::waiting::WaitingCalls;
use crate::Capabilities;
use crate::programs::Rights;
use insula_config::mcp::{McpServer, McpWay};
use insula_domain::AgentId;
use insula_mcp::{Asking, Server, ServerLimits};
use insula_registry::context::AgentContext;
use insula_registry::keyed::KeyedLocks;
use insula_registry::registry::{AgentState, Snapshot};
use insula_store::SessionId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The connections of the agents of a home.
#[derive(Default)]
pub(crate) struct Connections {
    held: Mutex<BTreeMap<(AgentId, Box<str>), OpenServer>>,
    /// Held while what is known of an agent's tools is written anew.
    pub(super) writing: KeyedLocks<AgentId>,
    /// Calls that wait for an answer of whoever they are made for.
    pub(super) waiting: WaitingCalls,
}

/// One connection, and what it was opened with.
struct OpenServer {
    server: Arc<Server>,
    rights: Rights,
    config: McpServer,
    /// Whether it was told that it may ask people.
    may_ask: Asking,
    /// How many starts there had been when its list of tools was last read.
    listed: u64,
    /// Whether somebody waited in vain for that list since.
    in_vain: bool,
    /// Held by whoever asks for the list while nobody waits for it.
    asking: Weak<()>,
    /// How many entries of its list had no name when it was last read.
    nameless: usize,
}

impl OpenServer {
    fn is_for(&self, agent: &AgentContext, config: &McpServer) -> bool {
        self.config == *config && self.rights == Rights::of(agent) && self.may_ask == may_ask(agent)
    }
}

/// Whether servers of an agent may put questions to people: as the agent itself may.
fn may_ask(agent: &AgentContext) -> Asking {
    match agent.tools().verdict(CLARIFY).is_in() {
        true => Asking::Offered,
        false => Asking::Refused,
    }
}

/// The tool by which an agent asks people.
const CLARIFY: &str = "clarify";

/// How the list of a server is asked for.
pub(crate) enum Manner {
    /// The turn waits for it.
    Awaited,
    /// Without anybody waiting. One asks at a time: who holds this.
    Aside(Arc<()>),
    /// Not at all, since somebody does already.
    Asked,
}

impl Connections {
    fn held(&self) -> MutexGuard<'_, BTreeMap<(AgentId, Box<str>), OpenServer>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection of an agent to a server, opened or not. A turn that began under a
    /// generation with other rights gets none: a program must not run with what its agent has
    /// lost.
    pub(crate) fn get(
        &self,
        caps: &Capabilities,
        agent: &AgentContext,
        config: &McpServer,
    ) -> Result<Arc<Server>, &'static str> {
        let snapshot = caps.registry.snapshot();
        let now = match snapshot.agents.get(&agent.id).map(|entry| &entry.state) {
            Some(AgentState::Ready(now)) => now,
            _ => return Err("the agent serves no more"),
        };
        if now.mcp.server(&config.name) != Some(config) || Rights::of(now) != Rights::of(agent) {
            return Err("the agent was changed since this turn began; try again in the next");
        }
        let key = (agent.id.clone(), config.name.clone());
        let mut held = self.held();
        // By the generation that holds: a child has less, and the same servers.
        if let Some(known) = held.get(&key).filter(|known| known.is_for(now, config)) {
            return Ok(known.server.clone());
        }
        let limits = ServerLimits {
            call: config.timeout,
            connect: config.connect_timeout,
            idle: config.idle,
        };
        let may_ask = may_ask(now);
        let server = Server::new(limits, may_ask, caps.world.clock.clone());
        let (rights, config) = (Rights::of(agent), config.clone());
        let new = OpenServer {
            server: server.clone(),
            rights,
            config,
            may_ask,
            listed: 0,
            in_vain: false,
            asking: Weak::new(),
            nameless: 0,
        };
        let before = held.insert(key, new);
        if let Some(before) = before {
            before.server.close();
        }
        Ok(server)
    }

    /// The connection there is, if any.
    pub(crate) fn known(&self, agent: &AgentId, server: &str) -> Option<Arc<Server>> {
        Some(self.held().get(&(agent.clone(), server.into()))?.server.clone())
    }

    /// Whether a server should be asked for its tools: it was started since, or says that
    /// they changed.
    pub(crate) fn is_stale(&self, agent: &AgentId, server: &str) -> bool {
        let held = self.held();
        let Some(known) = held.get(&(agent.clone(), server.into())) else { return false };
        known.server.is_list_changed() || known.server.facts_now().starts > known.listed
    }

    /// Notes that the list of a server was read. How many of its entries had no name, where
    /// that is news.
    pub(crate) fn listed(&self, agent: &AgentId, server: &str) -> Option<usize> {
        let mut held = self.held();
        let known = held.get_mut(&(agent.clone(), server.into()))?;
        let facts = known.server.facts_now();
        known.listed = facts.starts;
        known.in_vain = false;
        let told = std::mem::replace(&mut known.nameless, facts.nameless);
        (told != facts.nameless).then_some(facts.nameless)
    }

    /// Notes that somebody waited in vain for the list of a server. Those who come after do not
    /// wait.
    pub(crate) fn waited_in_vain(&self, agent: &AgentId, server: &str) {
        if let Some(known) = self.held().get_mut(&(agent.clone(), server.into())) {
            known.in_vain = true;
        }
    }

    /// Notes that a server is tried anew, and may be waited for again.
    pub(crate) fn tried_anew(&self, agent: &AgentId, server: &str) {
        if let Some(known) = self.held().get_mut(&(agent.clone(), server.into())) {
            known.in_vain = false;
        }
    }

    /// How a turn that needs the list of a server has it asked for.
    pub(crate) fn manner(&self, agent: &AgentId, server: &str) -> Manner {
        let mut held = self.held();
        match held.get_mut(&(agent.clone(), server.into())) {
            Some(known) if known.in_vain && known.asking.strong_count() > 0 => Manner::Asked,
            Some(known) if known.in_vain => {
                let asks = Arc::new(());
                known.asking = Arc::downgrade(&asks);
                Manner::Aside(asks)
            }
            _ => Manner::Awaited,
        }
    }

    /// Closes what belongs to agents that serve no more, or would be given something else by
    /// now.
    pub(crate) fn keep_only(&self, now: &Snapshot) {
        self.waiting.keep_only(|agent| {
            matches!(now.agents.get(agent).map(|it| &it.state), Some(AgentState::Ready(_)))
        });
        self.held().retain(|(agent, name), held| {
            let keep = match now.agents.get(agent).map(|entry| &entry.state) {
                Some(AgentState::Ready(context)) => {
                    context.mcp.server(name).is_some_and(|config| held.is_for(context, config))
                }
                _ => false,
            };
            if !keep {
                held.server.close();
            }
            keep
        });
    }

    /// Closes those of an agent's connections that were given secrets: what they were given
    /// may be another one by now.
    pub(crate) fn close_with_secrets(&self, agent: &AgentId) {
        self.held().retain(|(of, _), held| {
            let values = match &held.config.way {
                McpWay::Program { env, .. } => env,
                McpWay::Http { headers, .. } => headers,
            };
            let concerned = of == agent && values.values().any(|value| value.contains("${secret:"));
            if concerned {
                held.server.close();
            }
            !concerned
        });
    }

    /// Closes the connection of an agent to one server; whoever needs it next opens it anew.
    pub(crate) fn close_one(&self, agent: &AgentId, server: &str) {
        let before = self.held().remove(&(agent.clone(), server.into()));
        if let Some(before) = before {
            before.server.close();
        }
    }

    /// Closes all of an agent's connections, and ends what waits there for an answer.
    pub(crate) fn close_of(&self, agent: &AgentId) {
        self.waiting.keep_only(|of| of != agent);
        self.held().retain(|(of, _), held| {
            if of == agent {
                held.server.close();
            }
            of != agent
        });
    }

    /// Ends what waits in a conversation for an answer.
    pub(crate) fn end_session(&self, agent: &AgentId, session: SessionId) {
        self.waiting.end_session(agent, session);
    }

    /// Closes everything.
    pub(crate) fn close_all(&self) {
        self.waiting.keep_only(|_| false);
        std::mem::take(&mut *self.held()).into_values().for_each(|held| held.server.close());
    }
}
