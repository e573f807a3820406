//! What the tests of the vault share: a temporary home and short spellings.
#![allow(dead_code, reason = "each test program uses a part of this")]

use insula_domain::id::AgentId;
use insula_vault::{SecretName, Vault};
use insula_world::World;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A home that is removed with the value.
pub struct Home(TempDir);

impl Home {
    pub fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub fn home(&self) -> &Path {
        self.0.path()
    }

    /// A path below the vault's folder.
    pub fn path(&self, below: &str) -> PathBuf {
        self.home().join("vault").join(below)
    }

    /// The machine's world, since this is about real files and real threads.
    pub fn world(&self) -> World {
        World::real().unwrap()
    }

    pub async fn vault(&self) -> Vault {
        Vault::open(self.home(), &self.world()).await.unwrap()
    }
}

pub fn name(text: &str) -> SecretName {
    SecretName::new(text).unwrap()
}

pub fn agent(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}
