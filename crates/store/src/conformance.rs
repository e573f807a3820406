//! What any backend owes its callers, as checks that panic where it does not hold. Knows no
//! backend: it opens stores through an [`Opener`] and uses only the public handles.
#![allow(clippy::unwrap_used, reason = "a suite of tests: a broken promise is a panic")]

mod approvals;
mod audit;
mod boards;
mod foreign;
mod ingress;
mod jobs;
mod lease;
mod lineage;
mod memory;
mod outbox;
pub mod sample;
mod search;
mod sessions;
mod shown;
mod turns;
mod usage;
mod vectors;

use crate::{
    About, AccountLease, AgentCommand, AgentRow, AgentStore, AuditEntry, DaemonCommand, Due,
    LeaseHolder, Lifecycle, Reserved, Seq, Store, StoreError,
};
use async_trait::async_trait;
use insula_domain::Platform;
use insula_domain::id::{AccountId, AgentId};
use insula_world::Timestamp;

/// Opens stores for the suite.
#[async_trait]
pub trait Opener: Sync {
    /// Opens the state called `place`: empty the first time, the same state after that. The
    /// suite shuts a store down before it opens its place again, except where two daemons
    /// compete for one.
    async fn open(&self, place: &str) -> Store;
}

/// Runs every check.
pub async fn run(opener: &dyn Opener) {
    a_batch_is_applied_whole_or_not_at_all(opener).await;
    lease::run(opener).await;
    pages_continue_where_the_last_one_ended(opener).await;
    erased_content_is_gone_and_the_chain_holds(opener).await;
    queued_records_come_first_and_once(opener).await;
    an_event_belongs_to_the_agent_that_got_it_first(opener).await;
    agents_are_woken_in_order_of_time(opener).await;
    a_forgotten_agent_leaves_nothing(opener).await;
    a_retired_handle_stays_retired(opener).await;
    values_and_rows_survive_a_restart(opener).await;
    agents_do_not_see_each_other(opener).await;
    audit::run(opener).await;
    sessions::run(opener).await;
    search::run(opener).await;
    turns::run(opener).await;
    usage::run(opener).await;
    shown::run(opener).await;
    approvals::run(opener).await;
    foreign::run(opener).await;
    jobs::run(opener).await;
    boards::run(opener).await;
    ingress::run(opener).await;
    lineage::run(opener).await;
    memory::run(opener).await;
    outbox::run(opener).await;
    vectors::run(opener).await;
}

pub fn agent(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

/// An audit entry of this kind.
pub fn entry(kind: &str) -> AuditEntry {
    AuditEntry {
        at: Timestamp::from_millis(1_794_708_747_004),
        actor: "cli:local".into(),
        about: About::Agent,
        kind: kind.into(),
        generation: 3,
        content: format!("{{\"of\":\"{kind}\"}}"),
    }
}

fn row(name: &str, state: Lifecycle) -> AgentRow {
    AgentRow {
        id: agent(name),
        state,
        generation: u64::MAX,
        digest: [7; 32],
        authority: "{}".to_owned(),
    }
}

fn audit(kind: &str) -> AgentCommand {
    AgentCommand::Audit(entry(kind))
}

fn account(owner: &LeaseHolder) -> AccountLease {
    owner.account(Platform::new("telegram").unwrap(), &AccountId::new("main").unwrap())
}

async fn kinds(agent: &AgentStore) -> Vec<String> {
    let records = agent.audit_tail(1_000).await.unwrap();
    records.into_iter().map(|record| record.kind.into_string()).collect()
}

async fn a_batch_is_applied_whole_or_not_at_all(opener: &dyn Opener) {
    let store = opener.open("batch").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let committed = a.commit(vec![audit("one"), audit("two")]).await.unwrap();
    assert_eq!(committed.audit, [Seq(1), Seq(2)]);

    let mut huge = entry("huge");
    huge.content = "x".repeat(crate::audit::AUDIT_CONTENT_BYTES_MAX + 1);
    let refused = a.commit(vec![audit("three"), AgentCommand::Audit(huge.clone())]).await;
    assert!(matches!(refused, Err(StoreError::TooLong { .. })));
    assert_eq!(kinds(&a).await, ["one", "two"]);

    let batch = vec![
        DaemonCommand::PutValue { key: "k".into(), value: "v".to_owned() },
        DaemonCommand::Audit(huge),
    ];
    assert!(owner.daemon().commit(batch).await.is_err());
    assert_eq!(store.daemon().value("k").await.unwrap(), None);
    store.shutdown().await;
    assert!(matches!(a.audit_tail(1).await, Err(StoreError::Closed)));
    assert!(matches!(store.daemon().agents().await, Err(StoreError::Closed)));
}

async fn pages_continue_where_the_last_one_ended(opener: &dyn Opener) {
    let store = opener.open("pages").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    a.commit((0..25).map(|n| audit(&n.to_string())).collect()).await.unwrap();
    let (mut after, mut read) = (Seq::START, Vec::new());
    loop {
        let page = a.audit_after(after, 10).await.unwrap();
        let Some(last) = page.last() else { break };
        assert!(page.len() <= 10);
        after = last.seq;
        read.extend(page);
    }
    assert_eq!(read, a.audit_tail(100).await.unwrap());
    assert_eq!(
        read.iter().map(|record| record.seq.0).collect::<Vec<_>>(),
        (1..=25).collect::<Vec<_>>()
    );
    assert_eq!(a.audit_tail(2).await.unwrap(), read[23..]);
    assert_eq!(read[4].content.as_deref(), Some("{\"of\":\"4\"}"));
    assert_eq!(read[4].prev, read[3].mac);
    store.shutdown().await;
}

async fn erased_content_is_gone_and_the_chain_holds(opener: &dyn Opener) {
    let store = opener.open("erase").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    a.commit(vec![audit("one"), audit("two"), audit("three")]).await.unwrap();
    a.commit(vec![AgentCommand::EraseAuditContent(2..=u64::MAX)]).await.unwrap();
    let contents: Vec<_> =
        a.audit_tail(9).await.unwrap().into_iter().map(|record| record.content.is_some()).collect();
    assert_eq!(contents, [true, false, false]);
    let report = a.audit_verify().await.unwrap();
    assert_eq!((report.ok, report.records, report.erased), (true, 3, 2));
    assert!(store.daemon().audit_verify().await.unwrap().ok);
    store.shutdown().await;
}

async fn queued_records_come_first_and_once(opener: &dyn Opener) {
    let store = opener.open("queue").await;
    let owner = store.claim("suite").await.unwrap();
    let queue = |kind: &str| DaemonCommand::QueueAudit(agent("a"), entry(kind));
    owner.daemon().commit(vec![queue("created"), queue("paused")]).await.unwrap();
    assert_eq!(store.open_count(), 0);
    store.shutdown().await;

    let store = opener.open("queue").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    a.commit(vec![audit("turn")]).await.unwrap();
    assert_eq!(kinds(&a).await, ["created", "paused", "turn"]);
    // Queued while the database is open: taken in before the next thing all the same.
    owner.daemon().commit(vec![queue("resumed")]).await.unwrap();
    assert_eq!(kinds(&a).await, ["created", "paused", "turn", "resumed"]);
    store.shutdown().await;

    let store = opener.open("queue").await;
    let a = store.agent(&agent("a"));
    assert_eq!(kinds(&a).await, ["created", "paused", "turn", "resumed"]);
    assert!(a.audit_verify().await.unwrap().ok);
    store.shutdown().await;
}

async fn an_event_belongs_to_the_agent_that_got_it_first(opener: &dyn Opener) {
    let store = opener.open("events").await;
    let owner = store.claim("suite").await.unwrap();
    let daemon = owner.daemon();
    let main = account(&owner);
    let reserve = async |event, name| main.reserve(event, &agent(name)).await.unwrap();
    assert_eq!(reserve("1", "a").await, Reserved::New);
    assert_eq!(reserve("1", "b").await, Reserved::Seen(agent("a")));
    assert_eq!(reserve("2", "b").await, Reserved::New);
    let other =
        owner.account(Platform::new("telegram").unwrap(), &AccountId::new("other").unwrap());
    assert_eq!(other.reserve("1", &agent("b")).await.unwrap(), Reserved::New);
    let prune = DaemonCommand::PruneEvents { before: Timestamp::from_millis(i64::MAX) };
    daemon.commit(vec![prune]).await.unwrap();
    assert_eq!(reserve("1", "b").await, Reserved::New);
    store.shutdown().await;
}

async fn agents_are_woken_in_order_of_time(opener: &dyn Opener) {
    let store = opener.open("wake").await;
    let owner = store.claim("suite").await.unwrap();
    let at = Timestamp::from_millis;
    let wake = |name, at| DaemonCommand::SetWake { agent: agent(name), at };
    let batch = vec![
        wake("late", Some(at(30))),
        wake("soon", Some(at(10))),
        wake("never", Some(at(5))),
        wake("never", None),
        wake("next", Some(at(20))),
    ];
    owner.daemon().commit(batch).await.unwrap();
    let due = |name, ms| Due { agent: agent(name), at: at(ms) };
    let daemon = store.daemon();
    assert_eq!(daemon.due(at(9), 9).await.unwrap(), []);
    assert_eq!(daemon.due(at(20), 9).await.unwrap(), [due("soon", 10), due("next", 20)]);
    assert_eq!(daemon.due(at(99), 1).await.unwrap(), [due("soon", 10)]);
    store.shutdown().await;
}

async fn a_forgotten_agent_leaves_nothing(opener: &dyn Opener) {
    let store = opener.open("forget").await;
    let owner = store.claim("suite").await.unwrap();
    let daemon = owner.daemon();
    let batch = vec![
        DaemonCommand::PutAgent(row("a", Lifecycle::Active)),
        DaemonCommand::PutAgent(row("b", Lifecycle::Active)),
        DaemonCommand::QueueAudit(agent("a"), entry("created")),
        DaemonCommand::SetWake { agent: agent("a"), at: Some(Timestamp::from_millis(1)) },
    ];
    daemon.commit(batch).await.unwrap();
    account(&owner).reserve("1", &agent("a")).await.unwrap();
    store.retire(&agent("a")).await;
    let batch =
        vec![DaemonCommand::ForgetAgent(agent("a")), DaemonCommand::Audit(entry("agent.deleted"))];
    assert_eq!(daemon.commit(batch).await.unwrap(), [Seq(1)]);
    assert_eq!(daemon.agents().await.unwrap(), [row("b", Lifecycle::Active)]);
    assert_eq!(daemon.due(Timestamp::from_millis(i64::MAX), 9).await.unwrap(), []);
    let again = account(&owner).reserve("1", &agent("b")).await.unwrap();
    assert_eq!(again, Reserved::New);
    assert_eq!(kinds(&owner.agent(&agent("a"))).await, Vec::<String>::new());
    assert_eq!(daemon.audit_tail(9).await.unwrap().len(), 1);
    assert_eq!(daemon.audit_after(Seq(1), 9).await.unwrap(), []);
    assert!(daemon.audit_verify().await.unwrap().ok);
    store.shutdown().await;
}

async fn a_retired_handle_stays_retired(opener: &dyn Opener) {
    let store = opener.open("retire").await;
    let owner = store.claim("suite").await.unwrap();
    let (first, unused) = (owner.agent(&agent("a")), owner.agent(&agent("a")));
    first.commit(vec![audit("one")]).await.unwrap();
    store.retire(&agent("a")).await;
    assert_eq!(store.open_count(), 0);
    for handle in [&first, &unused] {
        let result = handle.commit(vec![audit("two")]).await;
        assert!(matches!(result, Err(StoreError::Retired { .. })), "{result:?}");
        assert!(matches!(handle.audit_tail(1).await, Err(StoreError::Retired { .. })));
    }
    let next = owner.agent(&agent("a"));
    next.commit(vec![audit("two")]).await.unwrap();
    assert!(matches!(first.audit_tail(1).await, Err(StoreError::Retired { .. })));
    store.shutdown().await;
}

async fn values_and_rows_survive_a_restart(opener: &dyn Opener) {
    let rows: Vec<_> = Lifecycle::ALL.map(|state| row(state.as_str(), state)).into();
    let put = |key: &str| DaemonCommand::PutValue { key: key.into(), value: key.to_owned() };
    {
        let store = opener.open("rows").await;
        let owner = store.claim("suite").await.unwrap();
        let mut batch: Vec<_> = rows.iter().cloned().map(DaemonCommand::PutAgent).collect();
        batch.extend([put("kept"), put("dropped")]);
        batch.push(DaemonCommand::DropValue { key: "dropped".into() });
        batch.push(DaemonCommand::Audit(entry("daemon.started")));
        owner.daemon().commit(batch).await.unwrap();
        store.shutdown().await;
    }
    let store = opener.open("rows").await;
    let mut sorted = rows;
    sorted.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(store.daemon().agents().await.unwrap(), sorted);
    assert_eq!(store.daemon().value("kept").await.unwrap().as_deref(), Some("kept"));
    assert_eq!(store.daemon().value("dropped").await.unwrap(), None);
    let report = store.daemon().audit_verify().await.unwrap();
    assert_eq!((report.ok, report.records), (true, 1));
    store.shutdown().await;
}

async fn agents_do_not_see_each_other(opener: &dyn Opener) {
    let store = opener.open("apart").await;
    let owner = store.claim("suite").await.unwrap();
    let (a, b) = (owner.agent(&agent("a")), owner.agent(&agent("b")));
    a.commit(vec![audit("of a")]).await.unwrap();
    assert_eq!(kinds(&b).await, Vec::<String>::new());
    b.commit(vec![audit("of b")]).await.unwrap();
    assert_eq!(kinds(&a).await, ["of a"]);
    let macs = [a.audit_tail(1).await.unwrap()[0].mac, b.audit_tail(1).await.unwrap()[0].mac];
    assert_ne!(macs[0], macs[1]);
    store.shutdown().await;
}
