//! Memory in its file: what was forgotten is in no byte of it, and tampering shows.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test looks at the files themselves"
)]

use crate::common::{agent, agent_db, open};
use insula_store::{
    AgentCommand, AgentLease, CommandOutcome, DeliveryId, DeliveryState, Forget, FragmentId,
    Frozen, MemoryEntry, MemoryList, MemoryOrigin, MemorySource, MessageSeq, NewFragment, Remember,
    SessionId, Store,
};
use insula_world::Timestamp;
use std::fs;
use std::path::Path;
use std::time::Duration;

fn origin() -> MemoryOrigin {
    MemoryOrigin {
        source: MemorySource::Tool,
        principal: "telegram:1".into(),
        platform: "telegram".into(),
        session: Some(SessionId(1)),
        message: Some(MessageSeq(1)),
        call: None,
        generation: 1,
        at: Timestamp::from_millis(1_794_708_747_004),
        approved_by: None,
        label: None,
    }
}

async fn learn(a: &AgentLease, scope: &str, texts: &[&str]) -> Vec<FragmentId> {
    let new = |text: &&str| {
        let text = (*text).to_owned();
        MemoryEntry::New(NewFragment { text, blocked: None, parents: Vec::new() })
    };
    let change = Remember {
        scope: scope.parse().unwrap(),
        target: MemoryList::Memory,
        expects: Vec::new(),
        entries: texts.iter().map(new).collect(),
        origin: origin(),
        digest: [0; 32],
    };
    let done = a.commit(vec![AgentCommand::Remember(Box::new(change))]).await.unwrap();
    match done.outcomes.into_iter().next() {
        Some(CommandOutcome::Remembered(ids)) => ids,
        other => panic!("{other:?}"),
    }
}

/// The files below a folder that have these bytes.
fn holding(folder: &Path, needle: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, needle));
        } else if fs::read(&path).unwrap().windows(needle.len()).any(|bytes| bytes == needle) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[tokio::test]
async fn another_form_of_a_word_is_found_behind_the_word_itself() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    let texts = ["The boilers were repaired", "One boiler is left here", "A city by the sea"];
    learn(&a, "custom:1", &texts).await;
    let found = async |query: &str| -> Vec<String> {
        let hits = a.memory_search(&"custom:1".parse().unwrap(), query, 10).await.unwrap();
        hits.into_iter().map(|hit| hit.fragment.text).collect()
    };
    assert_eq!(found("boiler").await, [texts[1], texts[0]]);
    assert_eq!(found("boilers").await, [texts[0], texts[1]]);
    assert_eq!(found("repairing").await, [texts[0]]);
    assert_eq!(found("cities").await, [texts[2]]);
    assert!(found("boil").await.is_empty());
    store.shutdown().await;
}

#[tokio::test]
async fn what_is_forgotten_is_in_no_byte_of_any_file() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    let canary = "Qx7canaryUnlikely";
    let long = format!("{canary} {}", "filler words to spill pages ".repeat(400));
    let kept = learn(&a, "custom:2", &["the kept one"]).await;
    let ids = learn(&a, "custom:1", &["before", &long, "after"]).await;
    assert!(!holding(home.path(), canary.as_bytes()).is_empty());
    let term = canary.to_lowercase();
    assert!(!holding(home.path(), term.as_bytes()).is_empty());
    let freeze = AgentCommand::FreezeMemory {
        session: SessionId(1),
        chain: "custom:1".into(),
        block: Frozen { text: format!("MEMORY\n{long}"), label: None },
    };
    a.commit(vec![freeze]).await.unwrap();
    let meant = a.memory_affected(Forget::Fragment(ids[1])).await.unwrap();
    let forget = AgentCommand::ForgetMemory { fragments: meant.ids, origin: Box::new(origin()) };
    a.commit(vec![forget]).await.unwrap();
    // At once, with the database open, and after it was closed.
    for _ in 0..2 {
        assert_eq!(holding(home.path(), canary.as_bytes()), Vec::<String>::new());
        assert_eq!(holding(home.path(), term.as_bytes()), Vec::<String>::new());
        store.close_idle(Duration::ZERO).await;
    }
    assert!(a.memory_verify().await.unwrap().ok);
    assert!(a.fragment(kept[0]).await.unwrap().is_some());
    store.shutdown().await;
}

/// What a check says after `spoil` was at the file.
async fn checked_after(spoil: &str) -> Option<String> {
    let home = tempfile::tempdir().unwrap();
    let store: Store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    let ids = learn(&a, "custom:1", &["one", "two", "three"]).await;
    let blocked = NewFragment {
        text: "ignore me".to_owned(),
        blocked: Some("override".into()),
        parents: ids[..1].to_vec(),
    };
    let entries =
        ids.iter().copied().map(MemoryEntry::Keep).chain([MemoryEntry::New(blocked)]).collect();
    let change = Remember {
        scope: "custom:1".parse().unwrap(),
        target: MemoryList::Memory,
        expects: ids,
        entries,
        origin: origin(),
        digest: [0; 32],
    };
    a.commit(vec![AgentCommand::Remember(Box::new(change))]).await.unwrap();
    store.close_idle(Duration::ZERO).await;
    let sql = rusqlite::Connection::open(agent_db(home.path(), "a")).unwrap();
    sql.execute_batch(
        "DROP TRIGGER provenance_keeps_records; DROP TRIGGER provenance_never_changes;",
    )
    .unwrap();
    sql.execute_batch(spoil).unwrap();
    drop(sql);
    let report = a.memory_verify().await.unwrap();
    assert_eq!(report.ok, report.reason.is_none());
    store.shutdown().await;
    report.reason
}

#[tokio::test]
async fn a_tombstone_that_was_taken_away_shows() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    let ids = learn(&a, "custom:1", &["one", "two"]).await;
    let meant = a.memory_affected(Forget::Fragment(ids[0])).await.unwrap();
    let forget = AgentCommand::ForgetMemory { fragments: meant.ids, origin: Box::new(origin()) };
    a.commit(vec![forget]).await.unwrap();
    assert!(a.memory_verify().await.unwrap().ok);
    store.close_idle(Duration::ZERO).await;
    let sql = rusqlite::Connection::open(agent_db(home.path(), "a")).unwrap();
    assert_eq!(sql.execute("DELETE FROM tombstone", []).unwrap(), 1);
    drop(sql);
    let report = a.memory_verify().await.unwrap();
    assert!(!report.ok);
    assert!(report.reason.unwrap().contains("tombstone"));
    assert_eq!(report.broken_at, Some(3));
    store.shutdown().await;
}

#[tokio::test]
async fn tampering_with_provenance_or_words_shows() {
    assert_eq!(checked_after("").await, None);
    for (spoil, why) in [
        ("UPDATE provenance SET principal = 'telegram:2' WHERE seq = 2", "changed"),
        ("UPDATE provenance SET approved_by = 'cli:local' WHERE seq = 2", "changed"),
        ("UPDATE provenance SET session = 2 WHERE seq = 1", "changed"),
        ("UPDATE provenance SET scope = 'global' WHERE seq = 3", "changed"),
        ("DELETE FROM provenance WHERE seq = 2", "missing"),
        ("DELETE FROM provenance WHERE seq = 4", "cut off"),
        ("UPDATE fragment SET text = 'other' WHERE id = 2", "does not say"),
        ("UPDATE scope SET name = 'custom:9' WHERE name = 'custom:1'", "does not say"),
        ("UPDATE fragment SET target = 1 WHERE id = 2", "does not say"),
        ("DELETE FROM fragment WHERE id = 2", "fragment 2 is missing"),
        ("DELETE FROM fragment", "fragment 1 is missing"),
        ("UPDATE fragment SET blocked = 'harmless' WHERE id = 1", "does not say"),
        ("UPDATE fragment SET blocked = NULL WHERE id = 4", "does not say"),
        ("UPDATE fragment SET blocked = 'other' WHERE id = 4", "does not say"),
        ("DELETE FROM fragment_posting WHERE term = 'two'", "index"),
        ("UPDATE fragment_posting SET term = 'too' WHERE term = 'two'", "index"),
        ("UPDATE fragment_posting SET weight = weight + 1 WHERE term = 'one'", "index"),
        ("INSERT INTO fragment_posting VALUES (1, 'forged', 1, 1025)", "index"),
        ("INSERT INTO fragment_posting VALUES (77, 'forged', 1, 1025)", "index"),
        ("UPDATE fragment_scope SET documents = 9", "figures"),
        ("DELETE FROM lineage", "came from others"),
        ("INSERT INTO lineage VALUES (1, 2)", "came from others"),
    ] {
        let reason = checked_after(spoil).await.unwrap_or_default();
        assert!(reason.contains(why), "{spoil}: {reason}");
    }
}

/// These names are read by people and by programs that get them as JSON.
#[test]
fn lists_origins_deliveries_and_numbers_have_names() {
    assert_eq!(MemoryList::ALL.map(MemoryList::as_str), ["memory", "user"]);
    assert_eq!(
        MemoryList::ALL.map(|target| MemoryList::parse(target.as_str())),
        MemoryList::ALL.map(Some)
    );
    assert_eq!(MemoryList::parse("other"), None);
    let sources = [
        MemorySource::Said,
        MemorySource::Tool,
        MemorySource::Import,
        MemorySource::ExternalEdit,
        MemorySource::Shared,
    ];
    assert_eq!(
        sources.map(MemorySource::as_str),
        ["said", "tool", "import", "external edit", "shared"]
    );
    assert_eq!(
        DeliveryState::ALL.map(DeliveryState::as_str),
        ["waiting", "sending", "uncertain", "sent", "held", "failed"]
    );
    assert_eq!((FragmentId(7).to_string(), DeliveryId(8).to_string()), ("7".into(), "8".into()));
}
