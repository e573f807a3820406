//! Sessions in files: upgraded in place, erased without a trace, found only where they belong.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test looks at the files themselves"
)]

use crate::common::{agent, agent_db, audit, open};
use insula_store::{
    AgentCommand, AgentLease, Hit, NewMessage, OpenSession, Part, Role, SessionId, SessionRef,
    Store,
};
use insula_world::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::fs;

const NOW: Timestamp = Timestamp::from_millis(1_794_708_747_004);

fn message(scope: &str, text: &str) -> NewMessage {
    NewMessage {
        role: Role::User,
        parts: vec![Part::Text(text.to_owned())],
        principal: "cli:local".into(),
        scope: scope.parse().unwrap(),
        label: "private".into(),
        generation: 1,
        at: NOW,
    }
}

async fn session(a: &AgentLease, key: &str) -> SessionId {
    let (key, scope, label) = (key.into(), "global".parse().unwrap(), "private".into());
    let open = AgentCommand::OpenSession(OpenSession { key, scope, label, at: NOW });
    a.commit(vec![open]).await.unwrap().session().unwrap()
}

async fn say(a: &AgentLease, session: SessionId, messages: &[NewMessage]) {
    for some in messages.chunks(64) {
        let session = SessionRef::Id(session);
        let append = AgentCommand::Append { session, messages: some.to_vec() };
        a.commit(vec![append]).await.unwrap();
    }
}

/// An agent's database of format 1, with a record.
fn old_database(path: &std::path::Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let sql = rusqlite::Connection::open(path).unwrap();
    sql.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    for step in ["fence_1", "audit_1", "agent_1"] {
        let file = format!("src/sqlite/migrations/{step}.sql");
        sql.execute_batch(&fs::read_to_string(file).unwrap()).unwrap();
    }
    sql.execute_batch("PRAGMA application_id = 0x696e7361; PRAGMA user_version = 1").unwrap();
    sql.execute_batch("UPDATE taken_in SET id = 7").unwrap();
}

#[tokio::test]
async fn a_home_of_format_1_is_upgraded_in_place() {
    let home = tempfile::tempdir().unwrap();
    let path = agent_db(home.path(), "a");
    old_database(&path);
    {
        let sql = rusqlite::Connection::open(home.path().join("insula.db")).unwrap();
        sql.execute_batch("PRAGMA journal_mode = WAL").unwrap();
        for step in ["fence_1", "audit_1", "daemon_1"] {
            let file = format!("src/sqlite/migrations/{step}.sql");
            sql.execute_batch(&fs::read_to_string(file).unwrap()).unwrap();
        }
        sql.execute_batch(
            "PRAGMA application_id = 0x696e7364; PRAGMA user_version = 1;
             UPDATE fence SET epoch = 41; INSERT INTO value VALUES ('k', 'v');",
        )
        .unwrap();
    }
    let store = open(home.path()).await;
    assert_eq!(store.daemon().value("k").await.unwrap().as_deref(), Some("v"));
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    assert_eq!(a.lease().epoch(), 42);
    assert_eq!(a.unfinished().await.unwrap(), []);
    a.commit(vec![audit("one")]).await.unwrap();
    let session = session(&a, "k").await;
    say(&a, session, &[message("global", "hello")]).await;
    assert_eq!(a.search(&"global".parse().unwrap(), "hello", 9).await.unwrap().len(), 1);
    assert!(a.audit_verify().await.unwrap().ok);
    store.shutdown().await;
    let sql = rusqlite::Connection::open(&path).unwrap();
    let (version, taken): (i64, i64) = sql
        .query_row(
            "SELECT (SELECT user_version FROM pragma_user_version), id FROM taken_in",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!((version, taken), (24, 7));
    // As it was before, for whoever has to go back.
    let copy = path.with_file_name("agent.db.format-1");
    let kept = rusqlite::Connection::open(&copy).unwrap();
    let before: (i64, i64, i64) = kept
        .query_row(
            "SELECT (SELECT user_version FROM pragma_user_version), id, (SELECT count(*) FROM audit)
             FROM taken_in",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!(before, (1, 7, 0));
    drop(kept);
    assert!(home.path().join("insula.db.format-1").is_file());

    // A copy that still had what was forgotten would make the forgetting untrue.
    let store = open(home.path()).await;
    let owner = store.claim("again").await.unwrap();
    let a = owner.agent(&agent("a"));
    assert!(copy.is_file());
    let at = Timestamp::from_millis(9);
    a.commit(vec![AgentCommand::ForgetSession { session, at }]).await.unwrap();
    assert!(!copy.exists());
    store.shutdown().await;
}

/// Whether any file of an agent has these bytes.
fn holds(home: &std::path::Path, needle: &str) -> bool {
    fs::read_dir(home.join("agents/a")).unwrap().any(|file| {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
    })
}

#[tokio::test]
async fn a_forgotten_session_is_in_no_file() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    let (kept, gone) = (session(&a, "kept").await, session(&a, "gone").await);
    for n in 0..200 {
        say(&a, kept, &[message("global", &format!("keepsake number {n}"))]).await;
        let secret = format!("zanzibar {n} {}", "quagmire ".repeat(n * 3));
        say(&a, gone, &[message("global", &secret)]).await;
    }
    let title = Some("marzipan".to_owned());
    let title = AgentCommand::TitleSession { session: SessionRef::Id(gone), title };
    a.commit(vec![title]).await.unwrap();
    for word in ["zanzibar", "quagmire", "marzipan", "keepsake"] {
        assert!(holds(home.path(), word), "{word}");
    }
    let forget = AgentCommand::ForgetSession { session: gone, at: NOW };
    a.commit(vec![forget]).await.unwrap();
    for word in ["zanzibar", "quagmire", "marzipan"] {
        assert!(!holds(home.path(), word), "{word}");
    }
    assert!(holds(home.path(), "keepsake"));
    assert_eq!(a.search(&"global".parse().unwrap(), "keepsake", 9).await.unwrap().len(), 9);
    store.shutdown().await;
    assert!(!holds(home.path(), "zanzibar"));
}

/// A few words of a small vocabulary, so that messages share them.
fn words() -> impl Strategy<Value = String> {
    let word =
        proptest::sample::select(vec!["river", "Wide", "café", "東京", "the", "x1", "naïve"]);
    proptest::collection::vec(word, 1..9).prop_map(|words| words.join(" "))
}

async fn answers(store: &Store, name: &str) -> Vec<Vec<Hit>> {
    let a = store.agent(&agent(name));
    let mut all = Vec::new();
    for query in ["river", "wide the", "CAFE 東京 x1", "naive river the wide"] {
        all.push(a.search(&"custom:mine".parse().unwrap(), query, 100).await.unwrap());
    }
    all
}

#[test]
fn what_is_in_other_scopes_changes_neither_hits_nor_scores() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let home = tempfile::tempdir().unwrap();
    let store = runtime.block_on(open(home.path()));
    let owner = runtime.block_on(store.claim("test")).unwrap();
    let mine = proptest::collection::vec(words(), 1..60);
    // Whose it is, where it goes in, and what it says.
    let other = (0_usize..3, any::<prop::sample::Index>(), words());
    let strategy = (mine, proptest::collection::vec(other, 0..200));
    let mut runner =
        TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
    let case = std::cell::Cell::new(0);
    let check = |(mine, others): (Vec<String>, Vec<(usize, prop::sample::Index, String)>)| {
        case.set(case.get() + 1);
        let case = case.get();
        let (alone, mixed) = (format!("alone-{case}"), format!("mixed-{case}"));
        let mut messages: Vec<Vec<NewMessage>> =
            mine.iter().map(|text| vec![message("custom:mine", text)]).collect();
        let quiet: Vec<NewMessage> = messages.concat();
        for (scope, index, text) in &others {
            let at = index.index(messages.len());
            messages[at]
                .push(message(["custom:other", "custom:mine2", "custom:min"][*scope], text));
        }
        runtime.block_on(async {
            let (one, two) = (owner.agent(&agent(&alone)), owner.agent(&agent(&mixed)));
            let (own, foreign) = (session(&one, "k").await, session(&two, "k").await);
            let apart = session(&two, "l").await;
            say(&one, own, &quiet).await;
            for group in messages {
                say(&two, foreign, &group[..1]).await;
                say(&two, apart, &group[1..]).await;
            }
            let (expected, found) = (answers(&store, &alone).await, answers(&store, &mixed).await);
            assert_eq!(expected, found);
            store.close_idle(std::time::Duration::ZERO).await;
        });
        Ok(())
    };
    runner.run(&strategy, check).unwrap();
}
