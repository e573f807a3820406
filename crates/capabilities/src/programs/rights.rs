//! What programs of an agent were given.

use insula_config::programs::Programs;
use insula_domain::Boundary;
use insula_registry::context::AgentContext;
use std::sync::Arc;

/// What an agent's programs were given when a process started. A process whose agent is given
/// something else by now is ended: it would keep what was taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    boundary: Arc<Boundary>,
    programs: Programs,
}

impl Rights {
    pub(crate) fn of(agent: &AgentContext) -> Self {
        // A sub-agent has nothing that its agent has not, and loses what that loses.
        let agent = agent.root();
        Self { boundary: agent.boundary.clone(), programs: agent.programs.clone() }
    }
}
