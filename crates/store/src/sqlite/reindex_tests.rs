//! Files with an index of an older version, stopped at every point of making it anew.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests touch files and fail by panicking"
)]

use super::{FORMAT, begin, bring_up_to_date, format};
use crate::message::Part;
use crate::options::Durability;
use crate::parts;
use crate::sqlite::index::{self, Backlog, UNINDEXED_MAX};
use crate::sqlite::open::{self, Absent};
use crate::sqlite::sql::Db;
use crate::sqlite::{find, memory, schema};
use rusqlite::Connection;
use std::path::Path;

/// The version before there was a format of the index.
const BEFORE: usize = 13;
const MESSAGES: i64 = 900;

/// A database of that version: messages in two sessions, of which one is a child's, entries, and
/// an index with other terms than today's.
fn old_database(path: &Path) {
    let sql = Connection::open(path).unwrap();
    sql.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    for step in schema::AGENT.migrations.iter().take(BEFORE) {
        sql.execute_batch(step).unwrap();
    }
    sql.execute_batch(&format!(
        "PRAGMA application_id = {}; PRAGMA user_version = {BEFORE};
         INSERT INTO scope VALUES (1, 'custom:1', 77, 777);
         INSERT INTO session (id, key, scope, label, created_at, touched_at)
             VALUES (1, 'k', 1, 'private', 1, 1);
         INSERT INTO session (id, key, scope, label, created_at, touched_at, parent)
             VALUES (2, 'child', 1, 'private', 1, 1, 1);
         INSERT INTO posting VALUES (1, 'stale', 5, 1030), (1, 'river', 7, 1030);
         INSERT INTO fragment VALUES (1, 0, 1, 0, zeroblob(32), NULL, '猫叫芝麻'),
             (1, 0, 2, 1, zeroblob(32), 'injection', 'a blocked river');
         INSERT INTO fragment_posting VALUES (1, 'stale', 1, 1030);
         INSERT INTO fragment_scope VALUES (1, 9, 99);",
        schema::AGENT.application_id
    ))
    .unwrap();
    let insert = |session: i64, n: i64, parts: &[Part]| {
        let row = ((session << 32) | n, parts::encode(parts));
        sql.execute("INSERT INTO message VALUES (?1, NULL, 0, 1, 'p', 'l', 1, 1, ?2)", row)
            .unwrap();
    };
    let text = |text: String| Part::Text(text);
    sql.execute_batch("BEGIN").unwrap();
    for n in 1..=MESSAGES {
        match n % 9 {
            0 => insert(1, n, &[Part::Beside("river".to_owned())]),
            1 => insert(1, n, &[text(format!("the river {n}, 東京都"))]),
            _ => insert(1, n, &[text(format!("some words {n}"))]),
        }
    }
    insert(2, 1, &[text("a river for nobody".to_owned())]);
    let last = (1 << 32) | MESSAGES;
    sql.execute("INSERT INTO unindexed VALUES (?1, 1, 5)", [last]).unwrap();
    sql.execute_batch("COMMIT").unwrap();
}

fn open(path: &Path) -> Db {
    open::open(path, &schema::AGENT, Durability::Process, Absent::Leave).unwrap().unwrap()
}

/// What can be found, and what the indexes are.
fn state(db: &Db) -> (Vec<String>, Vec<String>, i64) {
    let sql = db.connection();
    let mut found = Vec::new();
    for query in ["river", "京", "stale", "river 東京都 words", "nobody"] {
        let hits = find::search(sql, "custom:1", query, 20).unwrap();
        found.extend(hits.iter().map(|hit| format!("{query}: {hit:?}")));
    }
    for query in ["猫", "芝麻", "stale", "river"] {
        let hits = memory::find::search(sql, "custom:1", query, 20);
        // The entries of this test have no records that their labels could be read from.
        found.push(format!("{query}: {:?}", hits.map(|hits| hits.len()).ok()));
    }
    let rows = |select: &str| -> Vec<String> {
        let mut statement = sql.prepare(select).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let mut indexes =
        rows("SELECT scope || term || fragment || ' ' || weight FROM fragment_posting");
    indexes.extend(rows("SELECT scope || ' ' || documents || ' ' || terms FROM fragment_scope"));
    let documents = "SELECT documents + (SELECT count(*) FROM unindexed
        JOIN message ON message.id = message WHERE instr(CAST(parts AS TEXT), char(11)) = 0) FROM scope";
    let documents = sql.query_row(documents, [], |row| row.get(0)).unwrap();
    (found, indexes, documents)
}

#[test]
fn an_older_index_is_made_anew_wherever_that_was_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let mut expected = None;
    // Not begun, begun, and with ever more of it done.
    for stop in 0..6 {
        let path = folder.path().join(format!("{stop}.db"));
        old_database(&path);
        if stop > 0 {
            let mut db = open(&path);
            assert!(db.read(format).unwrap() < FORMAT);
            db.write(|sql| begin(sql)).unwrap();
            for _ in 1..stop {
                db.write(|sql| index::merge(sql, 200)).unwrap();
            }
            // Right from the first moment, if not as fast.
            let (found, indexes, documents) = state(&db);
            let expected: &(Vec<String>, Vec<String>, i64) = expected.as_ref().unwrap();
            assert_eq!((&found, &indexes), (&expected.0, &expected.1), "stopped after {stop}");
            assert_eq!(documents, expected.2);
        }
        let mut db = open(&path);
        let backlog = bring_up_to_date(&mut db).unwrap();
        assert!(!backlog.is_overdue());
        assert_eq!(db.read(format).unwrap(), FORMAT);
        let state = state(&db);
        assert_eq!(&state, expected.get_or_insert_with(|| state.clone()), "stopped after {stop}");
    }
    let (found, indexes, documents) = expected.unwrap();
    assert!(found.iter().any(|hit| hit.starts_with("river: Hit")));
    assert!(found.iter().any(|hit| hit.starts_with("京: Hit")));
    assert!(!found.iter().any(|hit| hit.starts_with("stale: Hit") || hit.starts_with("nobody: H")));
    // Every message with words of its own, and no child's; entries that are not blocked.
    assert_eq!(documents, MESSAGES - MESSAGES / 9);
    assert!(indexes.contains(&"1 1 7".to_owned()), "{indexes:?}");
    assert!(!indexes.iter().any(|row| row.contains("stale") || row.contains("river")));
}

#[test]
fn an_index_of_today_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    old_database(&path);
    let mut db = open(&path);
    bring_up_to_date(&mut db).unwrap();
    let mark = "INSERT INTO posting VALUES (1, 'mark', 1, 1)";
    db.read(|sql| sql.execute_batch(mark)).unwrap();
    drop(db);
    let mut db = open(&path);
    bring_up_to_date(&mut db).unwrap();
    let marks = "SELECT count(*) FROM posting WHERE term = 'mark'";
    assert_eq!(db.read(|sql| sql.query_row(marks, [], |row| row.get::<_, i64>(0))).unwrap(), 1);
    // A new file has nothing to make anew.
    let fresh = folder.path().join("fresh.db");
    let db = open::open(&fresh, &schema::AGENT, Durability::Process, Absent::Create);
    assert_eq!(db.unwrap().unwrap().read(format).unwrap(), FORMAT);
    let mut backlog = Backlog::default();
    backlog.grow((UNINDEXED_MAX, 0));
    assert!(backlog.is_due() && !backlog.is_overdue());
}
