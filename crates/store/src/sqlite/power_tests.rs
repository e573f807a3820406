//! What is left of audit chains when the power goes: files as they were when they were last
//! flushed, some older than others. And what a forger leaves, which is told apart.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::audit::TAIL_LOST;
use crate::conformance::{agent, entry};
use crate::key::AuditKey;
use crate::options::Durability;
use crate::{AgentCommand, AuditReport, DaemonCommand, LeaseHolder, Store, StoreOptions};
use insula_world::World;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

struct Daemon {
    home: tempfile::TempDir,
}

impl Daemon {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    async fn open(&self, durability: Durability) -> LeaseHolder {
        let mut options = StoreOptions::new(self.home.path(), AuditKey::from_bytes([9; 32]));
        options.durability = durability;
        let store = Store::open(options, World::real().unwrap()).await.unwrap();
        store.claim("test").await.unwrap()
    }

    /// A database as it stands now: what a disk would have if nothing were flushed after this.
    fn keep(&self, database: &str) -> BTreeMap<String, Vec<u8>> {
        let names = [database.to_owned(), format!("{database}-wal")];
        let read = |name: String| Some((name.clone(), fs::read(self.home.path().join(name)).ok()?));
        names.into_iter().filter_map(read).collect()
    }

    /// Puts a database back as it stood.
    fn put_back(&self, database: &str, kept: &BTreeMap<String, Vec<u8>>) {
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(self.home.path().join(format!("{database}{end}")));
        }
        for (name, bytes) in kept {
            fs::write(self.home.path().join(name), bytes).unwrap();
        }
    }

    /// What a killed process leaves: the files, and nobody who has them open.
    fn killed(&self) -> Self {
        let copy = Self::new();
        copy_folder(self.home.path(), copy.home.path());
        copy
    }
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

async fn told(owner: &LeaseHolder, kinds: &[&str]) {
    for kind in kinds {
        owner.daemon().commit(vec![DaemonCommand::Audit(entry(kind))]).await.unwrap();
        let own = vec![AgentCommand::Audit(entry(kind))];
        owner.agent(&agent("a")).commit(own).await.unwrap();
    }
}

async fn both(owner: &LeaseHolder) -> [AuditReport; 2] {
    let daemon = owner.daemon().audit_verify().await.unwrap();
    [daemon, owner.agent(&agent("a")).audit_verify().await.unwrap()]
}

const DAEMON: &str = "insula.db";
const AGENT: &str = "agents/a/agent.db";

#[tokio::test]
async fn a_tail_that_the_power_took_is_told_and_the_chain_goes_on() {
    for (cut, other) in [(DAEMON, 1), (AGENT, 0)] {
        let daemon = Daemon::new();
        let owner = daemon.open(Durability::Process).await;
        told(&owner, &["one", "two"]).await;
        let kept = daemon.keep(cut);
        told(&owner, &["three", "four", "five"]).await;
        let daemon = daemon.killed();
        daemon.put_back(cut, &kept);

        let owner = daemon.open(Durability::Process).await;
        let reports = both(&owner).await;
        let lost = &reports[1 - other];
        assert_eq!((lost.ok, lost.records, lost.lost), (true, 2, 3), "{cut}: {lost:?}");
        assert!(lost.reason.as_ref().unwrap().contains("unclean stop: 3 records"), "{lost:?}");
        assert_eq!((reports[other].ok, reports[other].lost), (true, 0), "{cut}");
        // A look changes nothing; the next record is preceded by one that says what is gone.
        assert_eq!(both(&owner).await, reports);
        told(&owner, &["six"]).await;
        let records = match cut {
            DAEMON => owner.daemon().audit_tail(2).await.unwrap(),
            _ => owner.agent(&agent("a")).audit_tail(2).await.unwrap(),
        };
        assert_eq!(&*records[0].kind, TAIL_LOST);
        assert!(records[0].content.as_ref().unwrap().contains("\"lost\":3,\"anchored\":5"));
        assert_eq!(&*records[1].kind, "six");
        for run in 0..2 {
            let report = &both(&owner).await[1 - other];
            assert_eq!((report.ok, report.records, report.lost), (true, 4, 3), "{run}: {report:?}");
        }
        // And after a restart in order.
        owner.store().shutdown().await;
        drop(owner);
        let owner = daemon.open(Durability::Power).await;
        assert!(both(&owner).await.iter().all(|report| report.ok), "{cut}");
    }
}

#[tokio::test]
async fn a_crash_before_the_anchor_follows_is_no_forgery() {
    for cut in [DAEMON, AGENT] {
        let daemon = Daemon::new();
        let owner = daemon.open(Durability::Process).await;
        told(&owner, &["one", "two"]).await;
        let kept = daemon.keep(cut);
        told(&owner, &["three"]).await;
        let daemon = daemon.killed();
        daemon.put_back(cut, &kept);
        let anchors = [fs::read(daemon.home.path().join("audit.anchor")).unwrap(), Vec::new()];
        let daemon_before = daemon.keep(DAEMON);
        let owner = daemon.open(Durability::Process).await;
        told(&owner, &["four", "five"]).await;
        // The chain has its new records, and what is known of it elsewhere is from before.
        let daemon = daemon.killed();
        match cut {
            DAEMON => fs::write(daemon.home.path().join("audit.anchor"), &anchors[0]).unwrap(),
            _ => daemon.put_back(DAEMON, &daemon_before),
        }
        let owner = daemon.open(Durability::Process).await;
        let at = usize::from(cut == AGENT);
        let report = &both(&owner).await[at];
        assert!(report.ok && report.lost == 1, "{cut}: {report:?}");
    }
}

#[tokio::test]
async fn a_tail_that_was_on_the_disk_is_not_lost_but_cut() {
    for durability in [Durability::Process, Durability::Power] {
        let daemon = Daemon::new();
        let owner = daemon.open(durability).await;
        told(&owner, &["one", "two", "three"]).await;
        // In order: what was written is on the disk.
        owner.store().shutdown().await;
        drop(owner);
        for database in [DAEMON, AGENT] {
            let sql = Connection::open(daemon.home.path().join(database)).unwrap();
            super::tests::without_triggers(&sql).unwrap();
            sql.execute_batch("DELETE FROM audit WHERE seq = 3").unwrap();
        }
        let owner = daemon.open(durability).await;
        for report in both(&owner).await {
            assert_eq!((report.ok, report.broken_at, report.lost), (false, Some(3), 0));
        }
        told(&owner, &["four", "five"]).await;
        for report in both(&owner).await {
            assert_eq!((report.ok, report.broken_at), (false, Some(3)), "{durability:?}");
        }
    }
}

#[tokio::test]
async fn what_is_rewritten_after_a_power_cut_is_found_in_both_modes() {
    for durability in [Durability::Process, Durability::Power] {
        let daemon = Daemon::new();
        let owner = daemon.open(durability).await;
        told(&owner, &["one", "two", "three"]).await;
        let daemon = daemon.killed();
        for database in [DAEMON, AGENT] {
            let sql = Connection::open(daemon.home.path().join(database)).unwrap();
            super::tests::without_triggers(&sql).unwrap();
            sql.execute_batch(
                "DELETE FROM audit WHERE seq = 3;
                 UPDATE audit SET kind = 'other' WHERE seq = 2",
            )
            .unwrap();
        }
        let owner = daemon.open(durability).await;
        for report in both(&owner).await {
            assert_eq!((report.ok, report.broken_at), (false, Some(2)), "{durability:?}");
        }
    }
}

#[tokio::test]
async fn a_record_that_was_put_in_excuses_nothing() {
    let daemon = Daemon::new();
    let owner = daemon.open(Durability::Power).await;
    told(&owner, &["one", "two", "three"]).await;
    let last = owner.daemon().audit_tail(1).await.unwrap().remove(0);
    owner.store().shutdown().await;
    drop(owner);
    let sql = Connection::open(daemon.home.path().join(DAEMON)).unwrap();
    super::tests::without_triggers(&sql).unwrap();
    let mac: String = last.mac.iter().map(|byte| format!("{byte:02x}")).collect();
    sql.execute(
        "UPDATE audit SET kind = ?1, content = ?2 WHERE seq = 3",
        (TAIL_LOST, format!(r#"{{"lost":1,"anchored":3,"mac":"{mac}"}}"#)),
    )
    .unwrap();
    drop(sql);
    let owner = daemon.open(Durability::Power).await;
    let report = owner.daemon().audit_verify().await.unwrap();
    assert_eq!((report.ok, report.broken_at), (false, Some(3)));
}

#[tokio::test]
async fn at_most_so_many_records_are_lost() {
    let daemon = Daemon::new();
    let owner = daemon.open(Durability::Process).await;
    let kept = daemon.keep(DAEMON);
    let many = super::audit::FLUSH_EVERY;
    for _ in 0..many {
        told(&owner, &["one"]).await;
    }
    let daemon = daemon.killed();
    daemon.put_back(DAEMON, &kept);
    let owner = daemon.open(Durability::Process).await;
    // So far back was on the disk: this is no power cut.
    let report = owner.daemon().audit_verify().await.unwrap();
    assert_eq!((report.ok, report.broken_at), (false, Some(1)), "{report:?}");
}
