//! Audit by tenant: whose records are, how they are found, and what a tenant can check alone.

use super::{Opener, agent, entry};
use crate::proof::{Checker, ScopeRecord, Statement, begin_line, end_line, record_line};
use crate::{
    About, AgentCommand, AgentLease, AuditEntry, AuditFilter, AuditPart, KindFilter, OpenSession,
    ScopeFilter,
};
use insula_domain::{AuditScope, ScopeName};
use insula_world::Timestamp;

pub async fn run(opener: &dyn Opener) {
    records_are_somebodys_and_found_by_it(opener).await;
    a_scope_is_checked_alone_also_after_erasure_and_a_restart(opener).await;
}

fn scope(text: &str) -> ScopeName {
    text.parse().unwrap()
}

fn about(kind: &str, about: About) -> AgentCommand {
    AgentCommand::Audit(AuditEntry { about, ..entry(kind) })
}

async fn kinds(a: &AgentLease, filter: AuditFilter) -> Vec<String> {
    let records = a.audit(filter, AuditPart::Newest, 100).await.unwrap();
    records.into_iter().map(|record| record.kind.into_string()).collect()
}

async fn records_are_somebodys_and_found_by_it(opener: &dyn Opener) {
    let store = opener.open("audit-scopes").await;
    let owner = store.claim("suite").await.unwrap();
    let (a, b) = (owner.agent(&agent("a")), owner.agent(&agent("b")));
    let open = AgentCommand::OpenSession(OpenSession {
        key: "agent:a:one".into(),
        scope: scope("custom:x"),
        label: "".into(),
        at: Timestamp::from_millis(1),
    });
    let session = a.commit(vec![open]).await.unwrap().session().unwrap();
    a.commit(vec![
        about("made.first", About::Agent),
        about("made.second", About::Session(session)),
        about("done", About::Key("agent:a:one".into())),
        about("done", About::Scope(scope("custom:y"))),
    ])
    .await
    .unwrap();
    b.commit(vec![about("of.another", About::Scope(scope("custom:x")))]).await.unwrap();
    let only = |text: &str| AuditFilter {
        scope: ScopeFilter::Only(text.parse().unwrap()),
        ..AuditFilter::default()
    };
    assert_eq!(kinds(&a, only("custom:x")).await, ["made.second", "done"]);
    assert_eq!(kinds(&a, only("agent")).await, ["made.first"]);
    assert_eq!(kinds(&a, only("custom:none")).await, [""; 0]);
    let kind = KindFilter::Below("made.".into());
    let made = AuditFilter { kind, ..AuditFilter::default() };
    assert_eq!(kinds(&a, made).await, ["made.first", "made.second"]);
    let key = Some("agent:a:one".into());
    let said = AuditFilter { session: key, ..AuditFilter::default() };
    assert_eq!(kinds(&a, said).await, ["made.second", "done"]);
    store.shutdown().await;
}

async fn a_scope_is_checked_alone_also_after_erasure_and_a_restart(opener: &dyn Opener) {
    let own = || About::Scope(scope("custom:x"));
    for round in 1..=3_u64 {
        let store = opener.open("audit-proof").await;
        let owner = store.claim("suite").await.unwrap();
        let a = owner.agent(&agent("a"));
        let other = About::Scope(scope("custom:y"));
        a.commit(vec![about("mine", own()), about("theirs", other), about("mine", own())])
            .await
            .unwrap();
        a.commit(vec![AgentCommand::EraseAuditContent(2..=3)]).await.unwrap();
        let records = a.audit_of_scope(AuditScope::Of(scope("custom:x")), 0, 100).await.unwrap();
        assert_eq!(records.iter().filter(|it| it.words.is_none()).count(), 1);
        assert!(records.iter().all(|it| &*it.record.kind == "mine"));
        assert_eq!(check(&a, &records), (2 * round, 1));
        assert!(a.audit_verify().await.unwrap().ok);
        store.shutdown().await;
    }
}

/// How many records a tenant finds intact, and how many of those are erased.
fn check(a: &AgentLease, records: &[ScopeRecord]) -> (u64, u64) {
    let last = records.last().unwrap();
    let statement = Statement {
        agent: "a".into(),
        scope: "custom:x".into(),
        first: 1,
        before: Statement::start("a", "custom:x"),
        last: last.seq,
        head: last.link,
        at: Timestamp::from_millis(9),
    };
    let (key, signature) = (a.signer().public_key().unwrap(), a.signer().sign(&statement).unwrap());
    let mut checker = Checker::default();
    checker.line(&begin_line("a", "custom:x", 1, &statement.before)).unwrap();
    records.iter().for_each(|record| checker.line(&record_line(record)).unwrap());
    checker.line(&end_line(&statement, &key, &signature)).unwrap();
    let verified = checker.finish(Some(&key)).unwrap();
    (verified.records, verified.erased)
}
