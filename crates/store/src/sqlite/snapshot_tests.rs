//! Copies of a home's databases as of one moment, made while somebody writes.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests that change files behind the store"
)]

use super::examine::{CopyOf, Examiner};
use super::snapshot::HomeSnapshot;
use crate::conformance::{agent, entry};
use crate::key::AuditKey;
use crate::options::{Durability, StoreOptions};
use crate::{AgentCommand, AuditReport, LeaseHolder, Store, StoreError};
use insula_world::World;
use std::path::Path;
use std::time::Duration;

fn key() -> AuditKey {
    AuditKey::from_bytes([9; 32])
}

async fn open(home: &Path) -> (Store, LeaseHolder) {
    let durability = Durability::Process;
    let options = StoreOptions { durability, ..StoreOptions::new(home, key()) };
    let store = Store::open(options, World::real().unwrap()).await.unwrap();
    let holder = store.claim("test").await.unwrap();
    (store, holder)
}

fn take(home: &Path) -> Result<HomeSnapshot, StoreError> {
    HomeSnapshot::take(home, &|| Duration::ZERO)
}

/// What is found in copies, in memory and as files.
fn examined(copies: &Path, id: &str) -> (AuditReport, AuditReport) {
    let anchor = std::fs::read(copies.join("audit.anchor")).ok();
    let name = Path::new("agents").join(id).join("agent.db");
    let in_memory = |name: &Path| std::fs::read(copies.join(name)).unwrap();
    let daemon = Path::new("insula.db");
    let bytes = CopyOf::Bytes(daemon, in_memory(daemon));
    let (examiner, first) = Examiner::open(&key(), bytes, anchor.as_deref()).unwrap();
    let second = examiner.agent(&agent(id), CopyOf::Bytes(&name, in_memory(&name))).unwrap();
    let file = copies.join(daemon);
    let (examiner, again) = Examiner::open(&key(), CopyOf::File(&file), anchor.as_deref()).unwrap();
    assert_eq!(first, again);
    let again = examiner.agent(&agent(id), CopyOf::File(&copies.join(&name))).unwrap();
    assert_eq!(second, again);
    (first, second)
}

#[tokio::test]
async fn a_copy_has_what_was_there_at_its_moment_and_nothing_later() {
    let home = tempfile::tempdir().unwrap();
    let (store, holder) = open(home.path()).await;
    let lease = holder.agent(&agent("a"));
    let say = |kind: &'static str| lease.commit(vec![AgentCommand::Audit(entry(kind))]);
    say("one").await.unwrap();
    say("two").await.unwrap();
    let snapshot = take(home.path()).unwrap();
    assert_eq!(snapshot.size().0, 2);
    // Whoever writes does not wait for whoever copies.
    say("three").await.unwrap();
    let copies = home.path().join("copies");
    let mut told = 0;
    let size = snapshot.size().1;
    snapshot.copy_into(&copies, |more| told += more).unwrap();
    assert_eq!(told, size);
    let (daemon, agent) = examined(&copies, "a");
    assert!(daemon.ok && agent.ok, "{daemon:?} {agent:?}");
    assert_eq!(agent.records, 2);
    store.shutdown().await;

    // And of a home that nobody works in; nothing is left beside its files.
    let copies = home.path().join("again");
    take(home.path()).unwrap().copy_into(&copies, |_| ()).unwrap();
    assert_eq!(examined(&copies, "a").1.records, 3);
    assert!(!home.path().join("agents/a/agent.db-wal").exists());
}

#[tokio::test]
async fn a_copy_that_was_changed_or_cut_is_noticed() {
    let home = tempfile::tempdir().unwrap();
    let (store, holder) = open(home.path()).await;
    let lease = holder.agent(&agent("a"));
    for kind in ["one", "two"] {
        lease.commit(vec![AgentCommand::Audit(entry(kind))]).await.unwrap();
    }
    store.shutdown().await;
    let copies = home.path().join("copies");
    take(home.path()).unwrap().copy_into(&copies, |_| ()).unwrap();
    let file = copies.join("agents/a/agent.db");
    let whole = std::fs::read(&file).unwrap();
    let daemon = std::fs::read(copies.join("insula.db")).unwrap();
    let anchor = std::fs::read(copies.join("audit.anchor")).unwrap();
    let daemon = CopyOf::Bytes(Path::new("insula.db"), daemon);
    let (examiner, _) = Examiner::open(&key(), daemon, Some(&anchor)).unwrap();
    let look = |bytes: &[u8]| examiner.agent(&agent("a"), CopyOf::Bytes(&file, bytes.to_vec()));
    assert!(look(&whole).unwrap().ok);
    for cut in [0, 10, 4096, whole.len() / 2] {
        assert!(matches!(look(&whole[..cut]), Err(StoreError::Damaged { .. })), "cut at {cut}");
    }
    let sql = rusqlite::Connection::open(&file).unwrap();
    sql.execute_batch("DROP TRIGGER audit_keeps_records; DELETE FROM audit WHERE seq = 2").unwrap();
    sql.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(sql);
    let report = look(&std::fs::read(&file).unwrap()).unwrap();
    assert!(!report.ok && report.broken_at == Some(2), "{report:?}");
    let sql = rusqlite::Connection::open(&file).unwrap();
    sql.execute_batch("PRAGMA user_version = 9999").unwrap();
    drop(sql);
    assert!(matches!(look(&std::fs::read(&file).unwrap()), Err(StoreError::Newer { .. })));
    // A home with such a database is not copied: nobody here knows what is in it.
    std::fs::copy(&file, home.path().join("agents/a/agent.db")).unwrap();
    assert!(matches!(take(home.path()), Err(StoreError::Newer { .. })));
}

#[tokio::test]
async fn somebody_who_holds_a_database_for_long_is_named() {
    let home = tempfile::tempdir().unwrap();
    let (store, holder) = open(home.path()).await;
    let lease = holder.agent(&agent("a"));
    lease.commit(vec![AgentCommand::Audit(entry("one"))]).await.unwrap();
    store.shutdown().await;
    // A clock on which every look is a second later: the locks are given back in time.
    let ticks = std::cell::Cell::new(0);
    let clock = || {
        ticks.set(ticks.get() + 4);
        Duration::from_secs(ticks.get())
    };
    let error = HomeSnapshot::take(home.path(), &clock).err().unwrap();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    assert!(take(home.path()).is_ok());
}
