//! What models were shown, as it stands in the file: each part once, none that nothing refers to,
//! and no more turns than are kept.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test over real files that fails by panicking"
)]

use crate::conformance::agent;
use crate::conformance::sample::{at, take};
use crate::key::AuditKey;
use crate::shown::SHOWN_TURNS_MAX;
use crate::{
    AgentCommand, Durability, ShownCall, ShownFrame, ShownPart, ShownRecipe, Store, StoreOptions,
    TurnId,
};
use insula_world::World;
use std::path::Path;
use std::sync::Arc;

async fn open(home: &Path) -> Store {
    let durability = Durability::Process;
    let options =
        StoreOptions { durability, ..StoreOptions::new(home, AuditKey::from_bytes([9; 32])) };
    Store::open(options, World::real().unwrap()).await.unwrap()
}

fn call(turn: TurnId, number: u32, parts: &[&str]) -> AgentCommand {
    let tag = blake3::hash(parts.concat().as_bytes()).into();
    let part =
        |text: &&str| ShownPart { name: "p".into(), bytes: text.as_bytes().into(), chain: None };
    let parts = Some(parts.iter().map(part).collect());
    AgentCommand::NoteShown(Box::new(ShownCall {
        turn,
        number,
        model: "local/one".into(),
        hash: [9; 32],
        bytes: 100,
        frame: Arc::new(ShownFrame { tag, parts }),
        recipe: Some(ShownRecipe { base: None, tail: b"tail"[..].into() }),
    }))
}

/// How many calls, frames, parts of frames and parts there are.
fn counts(home: &Path) -> [i64; 4] {
    let sql = rusqlite::Connection::open(home.join("agents/a/agent.db")).unwrap();
    ["shown_call", "shown_frame", "shown_frame_part", "shown_part"].map(|table| {
        let count = format!("SELECT count(*) FROM {table}");
        sql.query_row(&count, [], |row| row.get(0)).unwrap()
    })
}

#[tokio::test]
async fn a_part_is_there_once_as_long_as_something_refers_to_it() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    let (one, other) = (take(&a, "one", "ping").await, take(&a, "other", "ping").await);
    let mut batch = Vec::new();
    for number in 1..=5 {
        batch.push(call(one.turn(), number, &["soul", "tools", "of one"]));
        batch.push(call(other.turn(), number, &["soul", "tools"]));
    }
    a.commit(batch).await.unwrap();
    store.shutdown().await;
    assert_eq!(counts(home.path()), [10, 2, 5, 3]);
    for (session, left) in [(one.session(), [5, 1, 2, 2]), (other.session(), [0, 0, 0, 0])] {
        let store = open(home.path()).await;
        let owner = store.claim("test").await.unwrap();
        let a = owner.agent(&agent("a"));
        a.commit(vec![AgentCommand::ForgetSession { session, at: at(9) }]).await.unwrap();
        store.shutdown().await;
        assert_eq!(counts(home.path()), left);
    }
}

#[tokio::test]
async fn what_is_too_old_is_removed_with_what_only_that_referred_to() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    let old = take(&a, "old", "ping").await.turn();
    a.commit(vec![call(old, 1, &["soul", "of the old"])]).await.unwrap();
    store.shutdown().await;
    {
        // So many turns later.
        let sql = rusqlite::Connection::open(home.path().join("agents/a/agent.db")).unwrap();
        let before = SHOWN_TURNS_MAX + 127;
        sql.execute_batch(&format!(
            "CREATE TEMP TABLE t AS SELECT * FROM turn WHERE id = 1; UPDATE t SET id = {before}, status = 1;
             INSERT INTO turn SELECT * FROM t;"
        ))
        .unwrap();
    }
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    let new = take(&a, "new", "ping").await.turn();
    assert_eq!(new.0 % 128, 0, "{new}");
    a.commit(vec![call(new, 1, &["soul", "of the new"])]).await.unwrap();
    assert_eq!(a.shown_calls(old).await.unwrap(), []);
    assert_eq!(a.shown_calls(new).await.unwrap().len(), 1);
    store.shutdown().await;
    assert_eq!(counts(home.path()), [1, 1, 2, 2]);
}
