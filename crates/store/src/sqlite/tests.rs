//! What only a look inside can test: each stored bit of a chain, a full disk, a crash between
//! two files.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests that change files behind the store"
)]

use super::audit;
use super::open::{Absent, Blank, begin, open};
use super::schema::AGENT;
use super::sql::Db;
use crate::chain::{Anchor, Anchored, Chain, Head};
use crate::conformance::{self, Opener, agent, entry};
use crate::key::AuditKey;
use crate::options::Durability;
use crate::{
    About, AgentCommand, AuditEntry, DaemonCommand, Lease, Owned, Store, StoreError, StoreOptions,
};
use async_trait::async_trait;
use insula_world::{Random, World};
use rusqlite::Connection;
use rusqlite::types::Value;

/// A folder, where each place of the suite is a home.
struct Folder(std::path::PathBuf);

#[async_trait]
impl Opener for Folder {
    async fn open(&self, place: &str) -> Store {
        let key = AuditKey::from_bytes([9; 32]);
        // The process durability: these tests end processes, not machines.
        let durability = Durability::Process;
        let options = StoreOptions { durability, ..StoreOptions::new(self.0.join(place), key) };
        Store::open(options, World::real().unwrap()).await.unwrap()
    }
}

#[tokio::test]
async fn sqlite_keeps_every_promise_of_a_backend() {
    let home = tempfile::tempdir().unwrap();
    conformance::run(&Folder(home.path().to_owned())).await;
}

fn chain() -> Chain {
    Chain::of_agent(&AuditKey::from_bytes([9; 32]), "a")
}

fn lease() -> Lease {
    Lease { what: Owned::Daemon, claim: std::sync::Arc::new(crate::lease::Claim::new("test", 1)) }
}

/// A database with four records, the third erased, and its head.
fn small(folder: &std::path::Path) -> (Db, Head) {
    let path = folder.join("agent.db");
    let mut db = open(&path, &AGENT, Durability::Process, Absent::Create).unwrap().unwrap();
    let random = Random::from_seed([1; 32]);
    db.write_leased(&lease(), |sql| {
        let key = || "agent:a:x".into();
        for (kind, about) in [
            ("a.one", About::Agent),
            ("a.two", About::Scope("custom:x".parse().unwrap())),
            ("a.three", About::Conversation { scope: "custom:x".parse().unwrap(), key: key() }),
            ("a.four", About::Key(key())),
        ] {
            audit::append(sql, &chain(), &random, AuditEntry { about, ..entry(kind) })?;
        }
        audit::erase(sql, &(3..=3))
    })
    .unwrap();
    let head = db.read(audit::head).unwrap();
    (db, head)
}

pub(super) fn without_triggers(sql: &Connection) -> rusqlite::Result<()> {
    sql.execute_batch(
        "DROP TRIGGER audit_keeps_records; DROP TRIGGER audit_changes_only_by_erasure;",
    )
}

/// Where the chain breaks after `change`, which is then undone.
fn broken_after(
    db: &Db,
    head: Head,
    change: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Option<u64> {
    db.read(|sql| {
        sql.execute_batch("SAVEPOINT s")?;
        change(sql)?;
        let report =
            audit::verify(sql, &chain(), Anchor::At(Anchored { written: head, flushed: head }))?.0;
        sql.execute_batch("ROLLBACK TO s; RELEASE s")?;
        assert_eq!(report.ok, report.broken_at.is_none());
        Ok(report.broken_at)
    })
    .unwrap()
}

#[test]
fn every_flipped_bit_of_every_column_is_found_and_located() {
    let folder = tempfile::tempdir().unwrap();
    let (db, head) = small(folder.path());
    db.read(without_triggers).unwrap();
    assert_eq!(broken_after(&db, head, |_| Ok(())), None);
    let mut flips = 0;
    for seq in 1..=4_u64 {
        for column in [
            "seq",
            "at",
            "actor",
            "kind",
            "generation",
            "content",
            "salt",
            "commitment",
            "prev",
            "mac",
            "form",
            "scope",
            "session",
            "scope_seq",
            "told",
            "scope_link",
        ] {
            let select = format!("SELECT {column} FROM audit WHERE seq = ?1");
            let value: Value = db
                .read(|sql| sql.query_row(&select, [seq.cast_signed()], |row| row.get(0)))
                .unwrap();
            let (bytes, cast) = match &value {
                Value::Integer(number) => (number.to_le_bytes().to_vec(), "INTEGER"),
                Value::Text(text) => (text.clone().into_bytes(), "TEXT"),
                Value::Blob(bytes) => (bytes.clone(), "BLOB"),
                _ => continue,
            };
            let update = format!("UPDATE audit SET {column} = CAST(?2 AS {cast}) WHERE seq = ?1");
            for bit in 0..bytes.len() * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let value = match cast {
                    "INTEGER" => Value::Integer(i64::from_le_bytes(flipped.try_into().unwrap())),
                    _ => Value::Blob(flipped),
                };
                if column == "seq" && matches!(value, Value::Integer(1..=4)) {
                    continue; // Taken: two records can't have one position.
                }
                let broken = broken_after(&db, head, |sql| {
                    sql.execute(&update, (seq.cast_signed(), &value)).map(drop)
                });
                assert_eq!(broken, Some(seq), "bit {bit} of {column} in record {seq}");
                flips += 1;
            }
        }
    }
    assert!(flips > 5_000, "{flips}");
}

#[test]
fn removed_inserted_swapped_and_cut_records_are_located() {
    let folder = tempfile::tempdir().unwrap();
    let (db, head) = small(folder.path());
    db.read(without_triggers).unwrap();
    let copy = "SELECT at, actor, kind, generation, content, salt, commitment, prev, mac,
        form, scope, session, scope_seq, told, scope_link FROM audit";
    let cases = [
        ("DELETE FROM audit WHERE seq = 1".to_owned(), 1),
        ("DELETE FROM audit WHERE seq = 2".to_owned(), 2),
        ("DELETE FROM audit WHERE seq = 4".to_owned(), 4),
        ("DELETE FROM audit".to_owned(), 1),
        ("DELETE FROM audit WHERE seq = 2; UPDATE audit SET seq = seq - 1 WHERE seq > 2".to_owned(), 2),
        ("UPDATE audit SET seq = 99 WHERE seq = 2; UPDATE audit SET seq = 2 WHERE seq = 3; UPDATE audit SET seq = 3 WHERE seq = 99".to_owned(), 2),
        (format!("INSERT INTO audit SELECT 5, * FROM ({copy} WHERE seq = 4)"), 5),
        (format!("INSERT INTO audit SELECT 0, * FROM ({copy} WHERE seq = 4)"), 5),
        ("UPDATE audit SET content = NULL WHERE seq = 2".to_owned(), 2),
    ];
    for (change, at) in cases {
        let broken = broken_after(&db, head, |sql| sql.execute_batch(&change));
        assert_eq!(broken, Some(at), "{change}");
    }
    // Another's chain, whole, in its place; and one made without the key.
    for key in [[9; 32], [8; 32]] {
        let other =
            Chain::of_agent(&AuditKey::from_bytes(key), if key[0] == 9 { "b" } else { "a" });
        let report = db.read(|sql| audit::verify(sql, &other, Anchor::None)).unwrap().0;
        assert_eq!(report.broken_at, Some(1));
    }
}

#[test]
fn audit_records_refuse_to_change() {
    let folder = tempfile::tempdir().unwrap();
    let (db, _) = small(folder.path());
    for change in [
        "DELETE FROM audit WHERE seq = 1",
        "UPDATE audit SET actor = 'x' WHERE seq = 1",
        "UPDATE audit SET content = 'x' WHERE seq = 1",
        "UPDATE audit SET content = NULL WHERE seq = 1",
        "UPDATE audit SET content = NULL, salt = NULL, mac = x'00' WHERE seq = 1",
        "UPDATE audit SET content = NULL, salt = NULL, scope = 'global' WHERE seq = 1",
        "UPDATE audit SET content = NULL, salt = NULL, session = 'x' WHERE seq = 1",
        "UPDATE audit SET content = NULL, salt = NULL, scope_seq = 7 WHERE seq = 1",
    ] {
        assert!(db.read(|sql| sql.execute_batch(change)).is_err(), "{change}");
    }
}

#[test]
fn a_database_can_not_reach_another() {
    let folder = tempfile::tempdir().unwrap();
    let (db, _) = small(folder.path());
    let attached = db.read(|sql| sql.execute_batch("ATTACH ':memory:' AS other"));
    assert!(attached.unwrap_err().to_string().contains("attached"));
}

#[test]
fn a_full_disk_loses_nothing_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (mut db, _) = small(folder.path());
    let random = Random::from_seed([1; 32]);
    let limit = |db: &Db, pages: u32| {
        db.read(|sql| sql.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())))
            .unwrap();
    };
    let fill = |db: &mut Db| {
        let mut large = entry("large");
        large.content = "x".repeat(10_000);
        db.write_leased(&lease(), |sql| audit::append(sql, &chain(), &random, large))
    };
    limit(&db, 12);
    let mut kept = 4;
    let error = loop {
        match fill(&mut db) {
            Ok(seq) => kept = seq.0,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert!(fill(&mut db).is_err());
    limit(&db, 1_000_000);
    assert_eq!(fill(&mut db).unwrap().0, kept + 1);
    let report = db.read(|sql| audit::verify(sql, &chain(), Anchor::None)).unwrap().0;
    assert_eq!((report.ok, report.records), (true, kept + 1));
}

#[tokio::test]
async fn a_crash_between_the_two_files_repeats_nothing() {
    let home = tempfile::tempdir().unwrap();
    let options = StoreOptions::new(home.path(), AuditKey::from_bytes([9; 32]));
    let store = Store::open(options.clone(), World::real().unwrap()).await.unwrap();
    let owner = store.claim("test").await.unwrap();
    let queue = |kind| DaemonCommand::QueueAudit(agent("a"), entry(kind));
    owner.daemon().commit(vec![queue("one"), queue("two")]).await.unwrap();
    // The daemon's file as it is before the records are removed from it.
    let raw = Connection::open(home.path().join("insula.db")).unwrap();
    raw.execute_batch("CREATE TEMP TABLE kept AS SELECT * FROM audit_queue").unwrap();
    owner.agent(&agent("a")).commit(vec![AgentCommand::Audit(entry("three"))]).await.unwrap();
    store.shutdown().await;
    raw.execute_batch("INSERT INTO audit_queue SELECT * FROM kept").unwrap();
    drop(raw);

    let store = Store::open(options, World::real().unwrap()).await.unwrap();
    let owner = store.claim("test").await.unwrap();
    owner.daemon().commit(vec![queue("four")]).await.unwrap();
    let records = owner.agent(&agent("a")).audit_tail(9).await.unwrap();
    let kinds: Vec<_> = records.iter().map(|record| &*record.kind).collect();
    assert_eq!(kinds, ["one", "two", "three", "four"]);
}

/// What an agent remembers of the records it took in, after these waited in this order.
async fn remembered(order: &[&str]) -> i64 {
    let home = tempfile::tempdir().unwrap();
    let options = StoreOptions::new(home.path(), AuditKey::from_bytes([9; 32]));
    let store = Store::open(options, World::real().unwrap()).await.unwrap();
    let owner = store.claim("test").await.unwrap();
    for name in order {
        let queued = DaemonCommand::QueueAudit(agent(name), entry("one"));
        owner.daemon().commit(vec![queued]).await.unwrap();
    }
    let count = order.iter().filter(|name| **name == "a").count();
    assert_eq!(owner.agent(&agent("a")).audit_tail(9).await.unwrap().len(), count);
    store.shutdown().await;
    let sql = Connection::open(home.path().join("agents/a/agent.db")).unwrap();
    sql.query_row("SELECT id FROM taken_in", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn what_waited_for_others_leaves_no_trace_in_an_agents_file() {
    let alone = remembered(&["a", "a"]).await;
    assert_eq!(remembered(&["b", "a", "b", "c", "a", "b"]).await, alone);
    assert_ne!(remembered(&["a"]).await, alone, "it counts");
}

#[tokio::test]
async fn records_that_waited_in_an_older_format_are_taken_in_once() {
    let home = tempfile::tempdir().unwrap();
    let options = StoreOptions::new(home.path(), AuditKey::from_bytes([9; 32]));
    {
        let raw = Connection::open(home.path().join("insula.db")).unwrap();
        raw.execute_batch("PRAGMA journal_mode = WAL").unwrap();
        super::schema::DAEMON.migrations[..3].iter().for_each(|step| {
            raw.execute_batch(step).unwrap();
        });
        // Numbers of all agents were one sequence, and `b` took in the middle one.
        raw.execute_batch(
            "PRAGMA application_id = 0x696e7364; PRAGMA user_version = 3;
             UPDATE fence SET epoch = 1;
             INSERT INTO audit_queue VALUES (4294967297, 'a', 0, 'x', 'one', 1, '{}');
             INSERT INTO audit_queue VALUES (4294967299, 'a', 0, 'x', 'two', 1, '{}');",
        )
        .unwrap();
    }
    let store = Store::open(options, World::real().unwrap()).await.unwrap();
    let owner = store.claim("test").await.unwrap();
    for name in ["a", "b"] {
        let queued = DaemonCommand::QueueAudit(agent(name), entry("three"));
        owner.daemon().commit(vec![queued]).await.unwrap();
    }
    for (name, wanted) in [("a", &["one", "two", "three"][..]), ("b", &["three"])] {
        let records = owner.agent(&agent(name)).audit_tail(9).await.unwrap();
        assert_eq!(records.iter().map(|it| &*it.kind).collect::<Vec<_>>(), wanted);
    }
}

#[tokio::test]
async fn a_cut_end_shows_and_a_lagging_anchor_does_not() {
    let home = tempfile::tempdir().unwrap();
    let options = StoreOptions::new(home.path(), AuditKey::from_bytes([9; 32]));
    let store = Store::open(options.clone(), World::real().unwrap()).await.unwrap();
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    let batch = vec![DaemonCommand::Audit(entry("one")), DaemonCommand::Audit(entry("two"))];
    owner.daemon().commit(batch).await.unwrap();
    for kind in ["one", "two", "three"] {
        a.commit(vec![AgentCommand::Audit(entry(kind))]).await.unwrap();
    }
    let raw = Connection::open(home.path().join("insula.db")).unwrap();
    // A crash before the second anchor: the chain is longer, and that is fine.
    let kept: (Vec<u8>, Vec<u8>) = raw
        .query_row("SELECT mac, seal FROM anchor", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    let head = Head { seq: 2, mac: a.audit_tail(2).await.unwrap()[0].mac };
    raw.execute("UPDATE anchor SET seq = 2, mac = ?1, seal = ?2", (head.mac, chain().seal(head)))
        .unwrap();
    assert!(a.audit_verify().await.unwrap().ok);
    let again: Vec<u8> = raw.query_row("SELECT mac FROM anchor", [], |row| row.get(0)).unwrap();
    assert_eq!(again, kept.0);
    // An anchor moved back without the key.
    raw.execute("UPDATE anchor SET seq = 2, mac = ?1", [head.mac]).unwrap();
    assert!(!a.audit_verify().await.unwrap().ok);
    // The daemon's own end, cut.
    store.shutdown().await;
    without_triggers(&raw).unwrap();
    raw.execute_batch("DELETE FROM audit WHERE seq = 2").unwrap();
    drop(raw);
    let store = Store::open(options, World::real().unwrap()).await.unwrap();
    let report = store.daemon().audit_verify().await.unwrap();
    assert_eq!((report.ok, report.broken_at), (false, Some(2)));
    let owner = store.claim("test").await.unwrap();
    owner.daemon().commit(vec![DaemonCommand::Audit(entry("new")); 3]).await.unwrap();
    assert_eq!(store.daemon().audit_verify().await.unwrap().broken_at, Some(2));
}

#[tokio::test]
async fn a_chain_is_verified_though_its_anchor_cant_be_written() {
    let home = tempfile::tempdir().unwrap();
    let store = Folder(home.path().to_owned()).open("").await;
    let owner = store.claim("test").await.unwrap();
    let batch = vec![DaemonCommand::Audit(entry("one")), DaemonCommand::Audit(entry("two"))];
    owner.daemon().commit(batch).await.unwrap();
    // Fails for root too: where the new anchor is written first, a folder is in the way.
    std::fs::create_dir_all(home.path().join("audit.anchor.new/full")).unwrap();
    let before = std::fs::read(home.path().join("audit.anchor")).unwrap();
    owner.daemon().commit(vec![DaemonCommand::Audit(entry("three"))]).await.unwrap();
    assert_eq!(std::fs::read(home.path().join("audit.anchor")).unwrap(), before);
    let report = store.daemon().audit_verify().await.unwrap();
    assert_eq!((report.ok, report.records, report.broken_at), (true, 3, None));
    // What is really broken is found all the same.
    let raw = Connection::open(home.path().join("insula.db")).unwrap();
    without_triggers(&raw).unwrap();
    raw.execute_batch("DELETE FROM audit WHERE seq = 1").unwrap();
    assert_eq!(store.daemon().audit_verify().await.unwrap().broken_at, Some(1));
}

#[test]
fn settings_are_as_promised() {
    let folder = tempfile::tempdir().unwrap();
    for (durability, synchronous) in [(Durability::Power, 2), (Durability::Process, 1)] {
        let path = folder.path().join(format!("{durability:?}.db"));
        let db = open(&path, &AGENT, durability, Absent::Create).unwrap().unwrap();
        for (pragma, value) in [
            ("synchronous", synchronous),
            ("secure_delete", 1),
            ("trusted_schema", 0),
            ("foreign_keys", 1),
            ("busy_timeout", 5_000),
            ("cache_size", -i64::from(AGENT.cache_kib)),
        ] {
            let found: i64 = db
                .read(|sql| sql.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)))
                .unwrap();
            assert_eq!(found, value, "{pragma} with {durability:?}");
        }
        let mode: String =
            db.read(|sql| sql.query_row("PRAGMA journal_mode", [], |row| row.get(0))).unwrap();
        assert_eq!(mode, "wal");
    }
}

/// All that a schema says, and the settings in the header.
fn shape(path: &std::path::Path) -> (Vec<(String, String)>, Vec<i64>) {
    let db = open(path, &AGENT, Durability::Process, Absent::Create).unwrap().unwrap();
    db.read(|sql| {
        let mut rows =
            sql.prepare("SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name")?;
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let header = ["user_version", "application_id", "page_size", "auto_vacuum"]
            .map(|field| sql.query_row(&format!("PRAGMA {field}"), [], |row| row.get(0)).unwrap());
        let mode: String = sql.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        assert_eq!(mode, "wal");
        Ok((rows.collect::<rusqlite::Result<_>>()?, header.to_vec()))
    })
    .unwrap()
}

#[test]
fn a_file_begun_as_a_copy_is_as_one_made_step_by_step() {
    let home = tempfile::tempdir().unwrap();
    let blanks = Blank::default();
    let (copied, made) = (home.path().join("copied.db"), home.path().join("made.db"));
    begin(&copied, &AGENT, &blanks).unwrap();
    assert!(std::fs::metadata(&copied).unwrap().len() > 4_096);
    assert_eq!(shape(&copied), shape(&made));

    // A file that is there stays as it is, and a log without its file is not written into a new one.
    let before = std::fs::read(&made).unwrap();
    begin(&made, &AGENT, &blanks).unwrap();
    assert_eq!(std::fs::read(&made).unwrap(), before);
    let left = home.path().join("left.db");
    std::fs::write(home.path().join("left.db-wal"), "of another life").unwrap();
    begin(&left, &AGENT, &blanks).unwrap();
    assert!(!left.exists());
    assert_eq!(shape(&left), shape(&made));
}

#[tokio::test]
async fn many_files_take_turns_at_few_places() {
    let home = tempfile::tempdir().unwrap();
    let key = AuditKey::from_bytes([9; 32]);
    let options = StoreOptions {
        durability: Durability::Process,
        open_max: 2,
        ..StoreOptions::new(home.path().to_owned(), key)
    };
    let store = Store::open(options, World::real().unwrap()).await.unwrap();
    let owner = store.claim("test").await.unwrap();
    // All at once, each several times: whoever waits gets a place, and no more are open than may be.
    let mut each = tokio::task::JoinSet::new();
    for number in 0..40 {
        let (store, a) = (store.clone(), owner.agent(&agent(&format!("a{}", number % 20))));
        each.spawn(async move {
            for _ in 0..4 {
                a.commit(vec![AgentCommand::Audit(entry("x"))]).await.unwrap();
                assert!(store.open_count() <= 2);
            }
        });
    }
    each.join_all().await;
    for number in 0..20 {
        let report = owner.agent(&agent(&format!("a{number}"))).audit_verify().await.unwrap();
        assert!(report.ok);
        assert_eq!(report.records, 8);
    }
    store.shutdown().await;
}

#[tokio::test]
async fn who_makes_room_leaves_a_log_that_holds_everything() {
    let home = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        open_max: 1,
        ..StoreOptions::new(home.path().to_owned(), AuditKey::from_bytes([9; 32]))
    };
    let log = |name: &str| home.path().join(format!("agents/{name}/agent.db-wal"));
    let store = Store::open(options.clone(), World::real().unwrap()).await.unwrap();
    let owner = store.claim("test").await.unwrap();
    for (name, note) in [("a", "1"), ("b", "2"), ("a", "3"), ("b", "4")] {
        let agent = owner.agent(&agent(name));
        agent.commit(vec![AgentCommand::Audit(entry(note))]).await.unwrap();
    }
    // `b` is open, `a` made room: as after a crash, its log has what it last did.
    assert!(std::fs::metadata(log("a")).unwrap().len() > 4_096);
    let copy = tempfile::tempdir().unwrap();
    for end in ["", "-wal"] {
        let name = format!("agent.db{end}");
        std::fs::copy(home.path().join("agents/a").join(&name), copy.path().join(&name)).unwrap();
    }
    let kept = open(&copy.path().join("agent.db"), &AGENT, Durability::Power, Absent::Create);
    let count = "SELECT count(*) FROM audit";
    let count =
        kept.unwrap().unwrap().read(|sql| sql.query_row(count, [], |row| row.get::<_, i64>(0)));
    assert_eq!(count.unwrap(), 2);
    // Who rests leaves none.
    store.shutdown().await;
    assert!(!log("b").exists());
}
