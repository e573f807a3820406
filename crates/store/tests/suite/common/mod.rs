//! What the tests of this crate share.
#![allow(dead_code, reason = "each test binary uses a part")]

use insula_domain::id::AgentId;
use insula_store::{About, AgentCommand, AuditEntry, AuditKey, Durability, Store, StoreOptions};
use insula_world::{Timestamp, World};
use std::path::{Path, PathBuf};

pub fn options(home: &Path) -> StoreOptions {
    // The process durability: these tests end processes, not machines.
    let durability = Durability::Process;
    StoreOptions { durability, ..StoreOptions::new(home, AuditKey::from_bytes([9; 32])) }
}

pub async fn open(home: &Path) -> Store {
    Store::open(options(home), World::real().unwrap()).await.unwrap()
}

pub fn agent(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

pub fn entry(kind: &str) -> AuditEntry {
    AuditEntry {
        at: Timestamp::from_millis(1_794_708_747_004),
        actor: "cli:local".into(),
        about: About::Agent,
        kind: kind.into(),
        generation: 3,
        content: format!("{{\"of\":\"{kind}\"}}"),
    }
}

pub fn audit(kind: &str) -> AgentCommand {
    AgentCommand::Audit(entry(kind))
}

pub fn agent_db(home: &Path, name: &str) -> PathBuf {
    home.join("agents").join(name).join("agent.db")
}
