//! Skills at run time: the hand that tools get, what is in use, and how skills come and go.
//!
//! The shelf itself is configuration ([`insula_config::skills`]) and part of a generation. Here
//! a view reads what stands on disk and shows it only while it is what the generation was built
//! from; a change writes the agent's own folder, never a bundle, and makes a new generation.

pub mod archive;
mod disk;
mod git;
mod hand;
mod install;
pub mod lock;
pub mod package;
pub mod source;

#[cfg(test)]
mod skills_tests;

pub(crate) use hand::AgentSkills;
pub use install::{Installed, SkillState, SkillView, Verified};
pub use package::{Package, PackageError};

use crate::context::AgentContext;
use crate::house::House;
use crate::tokens::Verb;

impl House {
    /// Whether somebody, as records name them, may change this agent: the local command line, a
    /// token that manages it, and whom the operator names under `access.admins`.
    pub(crate) fn may_change(&self, agent: &AgentContext, principal: &str) -> bool {
        if principal == crate::Actor::CommandLine.to_string() {
            return true;
        }
        if let Some(id) = principal.strip_prefix("api:") {
            let tokens = self.tokens.list();
            let token = tokens.iter().find(|token| *token.id == *id);
            return token.is_some_and(|token| token.allows(&agent.id, Verb::Manage));
        }
        let admins = agent.config.settings.iter().find(|it| &*it.path == "access.admins");
        let named = admins.and_then(|setting| setting.value.as_array());
        named.is_some_and(|named| named.iter().any(|it| it.as_str() == Some(principal)))
    }
}
