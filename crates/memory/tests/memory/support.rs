//! A home with one agent's memory in it.

use insula_domain::{AgentId, Scope};
use insula_memory::{EntryChange, ListLimits, Memory, Operation, Scoped};
use insula_store::{
    AuditKey, Durability, LeaseHolder, MemoryList, MemoryOrigin, MemorySource, MessageSeq,
    SessionId, Store, StoreOptions,
};
use insula_world::{Timestamp, World};
use std::fs;
use std::path::{Path, PathBuf};

pub struct MemoryHome {
    pub home: tempfile::TempDir,
    pub owner: LeaseHolder,
}

impl MemoryHome {
    pub async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let options = StoreOptions::new(home.path(), AuditKey::from_bytes([9; 32]));
        let options = StoreOptions { durability: Durability::Process, ..options };
        let store = Store::open(options, World::real().unwrap()).await.unwrap();
        let owner = store.claim("test").await.unwrap();
        Self { home, owner }
    }

    pub fn memory(&self) -> Memory {
        let id = AgentId::new("a").unwrap();
        let root = self.home.path().join("agents/a");
        let store = self.owner.agent(&id);
        Memory::new(store, root, ListLimits::default(), 1, World::real().unwrap())
    }

    /// A file below the agent's folder for memory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.home.path().join("agents/a/memories").join(name)
    }

    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.file(name)).ok()
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.file(name).parent().unwrap()).unwrap();
        fs::write(self.file(name), text).unwrap();
    }

    /// The files of the home that have these bytes.
    pub fn holding(&self, needle: &str) -> Vec<PathBuf> {
        holding(self.home.path(), needle.as_bytes())
    }
}

fn holding(folder: &Path, needle: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, needle));
        } else if fs::read(&path).unwrap().windows(needle.len()).any(|bytes| bytes == needle) {
            found.push(path);
        }
    }
    found
}

pub fn scope(text: &str) -> Scope {
    text.parse().unwrap()
}

/// A handle that reads global and one scope, and writes to that.
pub fn here(memory: &Memory, text: &str) -> Scoped {
    let own = scope(text);
    let mut reads = vec![Scope::Global];
    if own != Scope::Global {
        reads.push(own.clone());
    }
    memory.scoped(reads, own)
}

pub fn origin(message: u64) -> MemoryOrigin {
    MemoryOrigin {
        source: MemorySource::Tool,
        principal: "telegram:1".into(),
        platform: "telegram".into(),
        session: Some(SessionId(1)),
        message: Some(MessageSeq(message)),
        call: Some("call".into()),
        generation: 1,
        at: Timestamp::from_millis(1_794_708_747_004),
        approved_by: None,
        label: None,
    }
}

pub fn add(content: &str) -> EntryChange {
    let operation = Operation::Add { content: content.to_owned() };
    EntryChange { target: MemoryList::Memory, operation }
}

pub fn remove(old_text: &str) -> EntryChange {
    let operation = Operation::Remove { old_text: old_text.to_owned() };
    EntryChange { target: MemoryList::Memory, operation }
}

/// The texts of the list of a handle's own scope.
pub async fn texts(scoped: &Scoped) -> Vec<String> {
    let lists = scoped.own().await.unwrap();
    let memory = lists.into_iter().find(|list| list.target == MemoryList::Memory).unwrap();
    memory.fragments.into_iter().map(|fragment| fragment.text).collect()
}
