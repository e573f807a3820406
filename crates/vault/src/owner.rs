//! Whose a namespace is, as a value: what it is called, where it lies, and the bytes that tie
//! a sealed file to it.

use crate::name::SecretName;
use insula_domain::id::AgentId;
use std::fmt;
use std::path::{Path, PathBuf};

/// Whose a namespace is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretOwner {
    /// One agent.
    Agent(AgentId),
    /// The daemon itself: its channels and shared providers.
    Daemon,
}

impl SecretOwner {
    /// The folder of the namespace, below that of the vault.
    pub(crate) fn folder(&self, vault: &Path) -> PathBuf {
        match self {
            Self::Agent(agent) => vault.join("agents").join(agent.as_str()),
            Self::Daemon => vault.join("daemon"),
        }
    }

    /// What a sealed file is bound to: the format, the kind of namespace, the agent and the
    /// name, each with its length before it, so that no two differ only in where one ends.
    pub(crate) fn binding(&self, format: u8, name: &SecretName) -> Vec<u8> {
        let (kind, id) = match self {
            Self::Agent(agent) => (1, agent.as_str()),
            Self::Daemon => (0, ""),
        };
        let mut bytes = b"insula vault\0".to_vec();
        bytes.extend([format, kind]);
        for text in [id, name.as_str()] {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes
    }

    /// What an operator types to set a secret here.
    pub fn command_to_set(&self, name: &SecretName) -> String {
        match self {
            Self::Agent(agent) => format!("insula secret set {agent} {name}"),
            Self::Daemon => format!("insula secret set --daemon {name}"),
        }
    }
}

impl fmt::Display for SecretOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => write!(f, "agent `{agent}`"),
            Self::Daemon => f.write_str("the daemon"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_places_have_the_same_binding() {
        let name = |text| SecretName::new(text).unwrap();
        let agent = |text| SecretOwner::Agent(AgentId::new(text).unwrap());
        let places = [
            agent("ab").binding(1, &name("c")),
            agent("a").binding(1, &name("bc")),
            agent("ab").binding(1, &name("cd")),
            agent("daemon").binding(1, &name("c")),
            SecretOwner::Daemon.binding(1, &name("c")),
            SecretOwner::Daemon.binding(2, &name("c")),
        ];
        assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), places.len());
    }
}
