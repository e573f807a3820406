//! Whose matter records are: what older files say, what is looked up, and what filters find.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests that make files as older versions did"
)]

use super::audit;
use super::audit_reads;
use super::open::{Absent, open};
use super::schema::AGENT;
use crate::audit::{
    About, AuditEntry, AuditFilter, AuditPart, AuditRecord, KindFilter, ScopeFilter, Seq,
};
use crate::chain::{Anchor, Chain, Head, RecordPlace, Stored};
use crate::conformance::{agent, entry};
use crate::key::AuditKey;
use crate::options::Durability;
use crate::session::OpenSession;
use crate::{AgentCommand, DaemonCommand, Store, StoreOptions};
use insula_domain::{AuditScope, ScopeName};
use insula_world::{Random, Timestamp, World};
use proptest::prelude::*;
use rusqlite::Connection;

fn chain() -> Chain {
    Chain::of_agent(&AuditKey::from_bytes([9; 32]), "a")
}

fn scope(text: &str) -> ScopeName {
    text.parse().unwrap()
}

/// The link that the version before this one gave a record.
fn old_link(head: Head, record: &Stored) -> [u8; 32] {
    let key = AuditKey::from_bytes([9; 32]).of_chain("agent:a");
    let mut hasher = blake3::Hasher::new_keyed(&key);
    hasher.update(b"link").update(&(head.seq + 1).to_le_bytes());
    hasher.update(&record.at.to_le_bytes());
    for text in [&record.actor, &record.kind] {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text);
    }
    hasher.update(&record.generation.to_le_bytes());
    hasher.update(&record.commitment).update(&record.prev);
    *hasher.finalize().as_bytes()
}

/// A database of the version before records had a scope, with three of them.
fn old(path: &std::path::Path) {
    let raw = Connection::open(path).unwrap();
    raw.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    let steps = AGENT.migrations.iter().position(|step| step.contains("scope_seq")).unwrap();
    let steps = &AGENT.migrations[..steps];
    steps.iter().for_each(|step| raw.execute_batch(step).unwrap());
    raw.execute_batch(&format!(
        "PRAGMA application_id = {}; PRAGMA user_version = {};",
        AGENT.application_id,
        steps.len()
    ))
    .unwrap();
    let mut head = Head::START;
    for kind in ["one", "two", "three"] {
        let place = RecordPlace { scope: AuditScope::Unknown, session: None, head: None };
        let made = chain().follow(head, place, entry(kind), &Random::from_seed([1; 32])).1;
        let mut record = Stored { noted: None, ..made };
        record.mac = old_link(head, &record);
        head = Head { seq: head.seq + 1, mac: record.mac };
        let (content, salt) = record.content.unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        raw.execute(
            "INSERT INTO audit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            (
                head.seq.cast_signed(),
                record.at,
                text(&record.actor),
                text(&record.kind),
                record.generation.cast_signed(),
                text(&content),
                salt,
                record.commitment,
                record.prev,
                record.mac,
            ),
        )
        .unwrap();
    }
}

#[test]
fn records_of_an_older_file_hold_and_are_nobodys_that_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    old(&path);
    let mut db = open(&path, &AGENT, Durability::Process, Absent::Create).unwrap().unwrap();
    let verify =
        |db: &super::sql::Db| db.read(|sql| audit::verify(sql, &chain(), Anchor::None)).unwrap().0;
    assert_eq!((verify(&db).ok, verify(&db).records), (true, 3));
    let about = AuditEntry { about: About::Scope(scope("custom:x")), ..entry("four") };
    let random = Random::from_seed([1; 32]);
    db.write(|sql| audit::append(sql, &chain(), &random, about.clone())).unwrap();
    assert_eq!((verify(&db).ok, verify(&db).records), (true, 4));
    let all = AuditFilter::default();
    let records = db.read(|sql| audit_reads::read(sql, &all, AuditPart::Newest, 9)).unwrap();
    let told: Vec<_> =
        records.iter().map(|it| (it.scope.to_string(), it.session.clone(), it.scope_seq)).collect();
    let unknown = || ("unknown".to_owned(), None, None);
    let new = ("custom:x".to_owned(), None, Some(1));
    assert_eq!(told, [unknown(), unknown(), unknown(), new]);
    // Nobody can give an old record to a tenant, or take a new one's from it.
    db.read(super::tests::without_triggers).unwrap();
    for (change, at) in [
        ("UPDATE audit SET scope = 'custom:x' WHERE seq = 2", 2),
        ("UPDATE audit SET session = 'x' WHERE seq = 2", 2),
        ("UPDATE audit SET scope_seq = 1 WHERE seq = 3", 3),
        ("UPDATE audit SET form = 2 WHERE seq = 1", 1),
        ("UPDATE audit SET form = 1 WHERE seq = 4", 4),
        (
            "UPDATE audit SET form = 1, scope = 'unknown', session = NULL, scope_seq = NULL, told = NULL, scope_link = NULL WHERE seq = 4",
            4,
        ),
        ("UPDATE audit SET scope = 'custom:y' WHERE seq = 4", 4),
        ("UPDATE audit SET form = 3 WHERE seq = 4", 4),
    ] {
        db.read(|sql| sql.execute_batch(&format!("SAVEPOINT s; {change}"))).unwrap();
        assert_eq!(verify(&db).broken_at, Some(at), "{change}");
        db.read(|sql| sql.execute_batch("ROLLBACK TO s; RELEASE s")).unwrap();
    }
}

async fn opened(folder: &std::path::Path) -> Store {
    let options = StoreOptions {
        durability: Durability::Process,
        ..StoreOptions::new(folder, AuditKey::from_bytes([9; 32]))
    };
    Store::open(options, World::real().unwrap()).await.unwrap()
}

#[tokio::test]
async fn a_session_says_whose_its_records_are() {
    let home = tempfile::tempdir().unwrap();
    let store = opened(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    let session = AgentCommand::OpenSession(OpenSession {
        key: "agent:a:x".into(),
        scope: scope("custom:x"),
        label: "".into(),
        at: Timestamp::from_millis(1),
    });
    let id = a.commit(vec![session]).await.unwrap().session().unwrap();
    let about = |about: About| AgentCommand::Audit(AuditEntry { about, ..entry("k") });
    let queued = AuditEntry {
        about: About::Conversation { scope: scope("custom:y"), key: "agent:a:y".into() },
        ..entry("queued")
    };
    a.commit(vec![
        about(About::Agent),
        about(About::Session(id)),
        about(About::Session(crate::SessionId(77))),
        about(About::Key("agent:a:x".into())),
        about(About::Key("agent:a:new".into())),
        about(About::Scope(scope("global"))),
    ])
    .await
    .unwrap();
    for waits in [queued, AuditEntry { about: About::Session(id), ..entry("queued") }, entry("q")] {
        owner.daemon().commit(vec![DaemonCommand::QueueAudit(agent("a"), waits)]).await.unwrap();
    }
    let records = a.audit_tail(99).await.unwrap();
    let told: Vec<(&str, Option<&str>, Option<u64>)> =
        records.iter().map(|it| (it.scope.as_str(), it.session.as_deref(), it.scope_seq)).collect();
    assert_eq!(
        told,
        [
            ("agent", None, Some(1)),
            ("custom:x", Some("agent:a:x"), Some(1)),
            ("unknown", None, Some(1)),
            ("custom:x", Some("agent:a:x"), Some(2)),
            ("agent", Some("agent:a:new"), Some(2)),
            ("global", None, Some(1)),
            ("custom:y", Some("agent:a:y"), Some(1)),
            ("custom:x", Some("agent:a:x"), Some(3)),
            ("agent", None, Some(3)),
        ]
    );
    assert!(a.audit_verify().await.unwrap().ok);
    owner
        .daemon()
        .commit(vec![DaemonCommand::Audit(AuditEntry { about: About::Daemon, ..entry("d") })])
        .await
        .unwrap();
    assert_eq!(store.daemon().audit_tail(1).await.unwrap()[0].scope, AuditScope::Daemon);
    // What a tenant gets of it holds by itself, and its content is theirs.
    let own = a.audit_of_scope(AuditScope::Of(scope("custom:x")), 1, 9).await.unwrap();
    assert_eq!(own.iter().map(|it| it.seq).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(own[0].words.as_ref().unwrap().text, r#"{"of":"k"}"#);
    store.shutdown().await;
}

const SCOPES: [&str; 4] = ["agent", "custom:x", "custom:y", "global"];
const KINDS: [&str; 5] = ["tool.call", "tool.call.x", "tools.y", "approval.asked", "hook"];

fn filters() -> impl Strategy<Value = AuditFilter> {
    let some = |from: &'static [&'static str]| prop::option::of(prop::sample::select(from));
    let kinds = &["tool.call", "tool.*", "approval.*", "hook", "tool.call.*", "none"][..];
    (
        some(&SCOPES),
        some(kinds),
        some(&["telegram:1", "telegram:2", "cli:local"]),
        some(&["agent:a:1", "agent:a:2"]),
        prop::option::of(0..30_i64),
        prop::option::of(0..30_i64),
    )
        .prop_map(|(scope, kind, actor, session, since, until)| AuditFilter {
            scope: scope.map_or(ScopeFilter::Any, |it| ScopeFilter::Only(it.parse().unwrap())),
            kind: kind.map_or(KindFilter::Any, |it| it.parse().unwrap()),
            actor: actor.map(Into::into),
            session: session.map(Into::into),
            since: since.map(Timestamp::from_millis),
            until: until.map(Timestamp::from_millis),
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_filter_finds_what_it_admits_and_nothing_else(
        rows in prop::collection::vec((0..4_usize, 0..5_usize, 1..3_u8, 0..3_u8, 0..30_i64), 0..40),
        filters in prop::collection::vec(filters(), 1..12),
        (limit, after) in (1..12_usize, 0..40_u64),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.db");
        let mut db = open(&path, &AGENT, Durability::Process, Absent::Create).unwrap().unwrap();
        let random = Random::from_seed([1; 32]);
        db.write(|sql| {
            for (of, kind, who, session, at) in &rows {
                let scope: AuditScope = SCOPES[*of].parse().unwrap();
                let key = || format!("agent:a:{session}").into();
                let about = match (scope, session) {
                    (AuditScope::Of(scope), 0) => About::Scope(scope),
                    (AuditScope::Of(scope), _) => About::Conversation { scope, key: key() },
                    (_, 0) => About::Agent,
                    _ => About::Key(key()),
                };
                let actor = format!("telegram:{who}").as_str().into();
                // Times go back and forth, as those of records that waited do.
                let at = Timestamp::from_millis(*at);
                let entry = AuditEntry { about, actor, at, ..entry(KINDS[*kind]) };
                audit::append(sql, &chain(), &random, entry)?;
            }
            Ok(())
        })
        .unwrap();
        let read = |filter: &AuditFilter, part, limit| {
            db.read(|sql| audit_reads::read(sql, filter, part, limit)).unwrap()
        };
        let all = read(&AuditFilter::default(), AuditPart::Newest, 999);
        prop_assert_eq!(all.len(), rows.len());
        for filter in &filters {
            let meant: Vec<AuditRecord> =
                all.iter().filter(|it| filter.admits(it)).cloned().collect();
            prop_assert_eq!(&read(filter, AuditPart::Newest, 999), &meant);
            let newest = &meant[meant.len().saturating_sub(limit)..];
            prop_assert_eq!(&read(filter, AuditPart::Newest, limit), newest);
            let rest = meant.iter().filter(|it| it.seq.0 > after).take(limit);
            let rest: Vec<AuditRecord> = rest.cloned().collect();
            prop_assert_eq!(&read(filter, AuditPart::After(Seq(after)), limit), &rest);
            let last = |before: Vec<AuditRecord>| before[before.len().saturating_sub(limit)..].to_vec();
            let before = meant.iter().filter(|it| it.seq.0 < after).cloned().collect();
            prop_assert_eq!(read(filter, AuditPart::Before(Seq(after)), limit), last(before));
            if let ScopeFilter::Only(_) = filter.scope {
                let before = meant.iter().filter(|it| it.scope_seq < Some(after)).cloned().collect();
                prop_assert_eq!(read(filter, AuditPart::BeforeInScope(after), limit), last(before));
                let rest = meant.iter().filter(|it| it.scope_seq > Some(after)).take(limit);
                let rest: Vec<AuditRecord> = rest.cloned().collect();
                prop_assert_eq!(&read(filter, AuditPart::AfterInScope(after), limit), &rest);
            }
        }
    }
}

#[test]
fn a_filter_by_one_thing_reads_no_more_than_it_has_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let db = open(&path, &AGENT, Durability::Process, Absent::Create).unwrap().unwrap();
    for (clause, index) in [
        ("scope = 'x'", "audit_by_scope"),
        ("session = 'x'", "audit_by_session"),
        ("actor = 'x'", "audit_by_actor"),
        ("kind = 'x'", "audit_by_kind"),
    ] {
        let plan =
            format!("EXPLAIN QUERY PLAN SELECT * FROM audit WHERE {clause} ORDER BY seq DESC");
        let detail: String = db.read(|sql| sql.query_row(&plan, [], |row| row.get(3))).unwrap();
        assert!(detail.contains(index), "{clause}: {detail}");
    }
}

/// A record of a day, about a scope.
fn of_day(day: i64, scope: &str) -> AgentCommand {
    let at = Timestamp::from_millis(day * 86_400_000);
    let about = About::Scope(scope.parse().unwrap());
    AgentCommand::Audit(AuditEntry { at, about, ..entry("k") })
}

fn dropping(before_day: i64) -> AgentCommand {
    let day = |day: i64| Timestamp::from_millis(day * 86_400_000);
    AgentCommand::DropAudit { before: day(before_day), at: day(100), generation: 7 }
}

#[tokio::test]
async fn what_is_left_of_a_chain_holds_when_its_beginning_was_dropped() {
    let home = tempfile::tempdir().unwrap();
    let store = opened(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    let x = || AuditScope::Of(scope("custom:x"));
    for day in 1..=9 {
        let scope = if day % 3 == 0 { "custom:y" } else { "custom:x" };
        a.commit(vec![of_day(day, scope)]).await.unwrap();
    }
    let links = a.audit_of_scope(x(), 0, 99).await.unwrap();
    assert_eq!(a.audit_start(x()).await.unwrap(), None);
    let done = a.commit(vec![dropping(6), dropping(6)]).await.unwrap();
    assert_eq!(done.audit, [Seq(10)], "the second has nothing left to drop");
    let report = a.audit_verify().await.unwrap();
    assert_eq!((report.ok, report.records, report.dropped), (true, 5, 5), "{report:?}");
    let said = a.audit_tail(1).await.unwrap().pop().unwrap();
    assert_eq!((&*said.kind, said.generation), ("audit.dropped", 7));
    let said: serde_json::Value = serde_json::from_str(&said.content.unwrap()).unwrap();
    assert_eq!((&said["records"], &said["upto"]), (&5.into(), &5.into()));
    // A scope goes on where it was, and its tenant can follow.
    let left = a.audit_of_scope(x(), 0, 99).await.unwrap();
    assert_eq!(left.iter().map(|it| it.seq).collect::<Vec<_>>(), [5, 6]);
    assert_eq!(a.audit_start(x()).await.unwrap(), Some((4, links[3].link)));
    a.commit(vec![of_day(10, "custom:x")]).await.unwrap();
    assert_eq!(a.audit_of_scope(x(), 6, 99).await.unwrap()[0].seq, 7);
    // Everything but the newest may go, and whoever is gone whole goes on too.
    a.commit(vec![dropping(1_000)]).await.unwrap();
    assert_eq!(a.audit_tail(99).await.unwrap().len(), 2);
    a.commit(vec![of_day(11, "custom:y")]).await.unwrap();
    assert_eq!(a.audit_of_scope(AuditScope::Of(scope("custom:y")), 0, 9).await.unwrap()[0].seq, 4);
    let report = a.audit_verify().await.unwrap();
    assert_eq!((report.ok, report.records, report.dropped), (true, 3, 10), "{report:?}");
    store.shutdown().await;
    // Also for whoever opens it anew, and not for whoever changed the beginning.
    let store = opened(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    assert!(owner.agent(&agent("a")).audit_verify().await.unwrap().ok);
    store.shutdown().await;
    let path = home.path().join("agents/a/agent.db");
    for change in [
        "DELETE FROM audit WHERE seq = 11; UPDATE audit_start SET seq = 11, mac = (SELECT prev FROM audit WHERE seq = 12)",
        "DELETE FROM audit_start",
        "UPDATE audit_start SET mac = zeroblob(32)",
    ] {
        let copy = home.path().join("copy.db");
        std::fs::copy(&path, &copy).unwrap();
        let raw = Connection::open(&copy).unwrap();
        raw.execute_batch("DROP TRIGGER audit_keeps_records").unwrap();
        raw.execute_batch(change).unwrap();
        drop(raw);
        let db = open(&copy, &AGENT, Durability::Process, Absent::Leave).unwrap().unwrap();
        let report = db.read(|sql| audit::verify(sql, &chain(), Anchor::None)).unwrap().0;
        assert!(!report.ok, "{change}: {report:?}");
        drop(db);
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(home.path().join(format!("copy.db{end}")));
        }
    }
}
