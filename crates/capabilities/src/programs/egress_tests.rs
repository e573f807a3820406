//! Hosts that programs reached, noted of the folders that they can write to.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests keep a store in a folder of their own"
)]

use super::KeptFolders;
use insula_domain::{AgentId, IntegrityRule, TrustedSource};
use insula_store::{AgentCommand, AgentLease, AuditKey, Durability, Store, StoreOptions};
use insula_world::World;

/// What is noted, by folder.
async fn noted(store: &AgentLease) -> Vec<(String, String)> {
    let files = store.foreign_files().await.unwrap();
    files.iter().map(|it| (it.path.to_string(), it.integrity.to_string())).collect()
}

#[tokio::test]
async fn what_is_fetched_after_an_operator_trusted_a_folder_is_noted_anew() {
    let home = tempfile::tempdir().unwrap();
    let options = StoreOptions::new(home.path(), AuditKey::from_bytes([9; 32]));
    let options = StoreOptions { durability: Durability::Process, ..options };
    let store = Store::open(options, World::real().unwrap()).await.unwrap();
    let owner = store.claim("test").await.unwrap();
    let lease = owner.agent(&AgentId::new("a").unwrap());
    let mut rule = IntegrityRule::default();
    rule.trusted.extend(TrustedSource::parse("web:trusted.test"));
    // As one program has them for as long as it runs.
    let folders = vec!["agents/a/workspace".into(), "agents/a/output".into()];
    let keeps = KeptFolders { folders, of: Some((lease.clone(), rule)) };
    keeps.note("trusted.test").await.unwrap();
    assert!(noted(&lease).await.is_empty());
    keeps.note("one.test").await.unwrap();
    let first = noted(&lease).await;
    assert_eq!(first.len(), 2);
    assert!(first.iter().all(|(_, of)| of.contains("one.test")), "{first:?}");
    // The same host says nothing new.
    keeps.note("one.test").await.unwrap();
    assert_eq!(noted(&lease).await, first);
    let forget = |path: &str| AgentCommand::ForgetForeign { path: path.into() };
    lease.commit(vec![forget("agents/a/workspace")]).await.unwrap();
    assert_eq!(noted(&lease).await.len(), 1);
    // The same host again, and another: both are as foreign as before.
    keeps.note("one.test").await.unwrap();
    assert_eq!(noted(&lease).await, first);
    for (path, _) in &first {
        lease.commit(vec![forget(path)]).await.unwrap();
    }
    keeps.note("two.test").await.unwrap();
    let after = noted(&lease).await;
    assert_eq!(after.len(), 2);
    let is_new = |of: &str| of.contains("two.test") && !of.contains("one.test");
    assert!(after.iter().all(|(_, of)| is_new(of)), "{after:?}");
}
