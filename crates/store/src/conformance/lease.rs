//! What a backend owes about who may write, and who hears of what was written.

use super::{Opener, account, agent, audit, entry, kinds};
use crate::lease::Claim;
use crate::{
    AgentCommand, ApprovalDecision, DaemonCommand, DeliveryId, FeedChange, IngressCommand,
    LeaseHolder, OutboxCommand, Reserved, StoreError,
};

/// Runs every check.
pub(super) async fn run(opener: &dyn Opener) {
    a_commit_behind_the_latest_claim_writes_nothing(opener).await;
    what_was_released_can_not_be_written_to(opener).await;
    a_change_is_told_before_its_commit_returns(opener).await;
}

async fn a_commit_behind_the_latest_claim_writes_nothing(opener: &dyn Opener) {
    let old = opener.open("fence").await;
    let old_owner = old.claim("old").await.unwrap();
    let old_agent = old_owner.agent(&agent("a"));
    old_agent.commit(vec![audit("by old")]).await.unwrap();

    let new = opener.open("fence").await;
    let new_owner = new.claim("new").await.unwrap();
    assert!(new_owner.claim.epoch > old_owner.claim.epoch);
    new_owner.agent(&agent("a")).commit(vec![audit("by new")]).await.unwrap();

    let fenced = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::Fenced { .. })), "{result:?}");
    };
    fenced(old_agent.commit(vec![audit("late")]).await.map(drop));
    let late = DaemonCommand::PutValue { key: "late".into(), value: String::new() };
    fenced(old_owner.daemon().commit(vec![late]).await.map(drop));
    let reserved = account(&old_owner).reserve("late", &agent("a")).await;
    fenced(reserved.map(drop));
    // The same epoch from somebody else is no claim either.
    let forged = LeaseHolder::new(new.clone(), Claim::new("other", new_owner.claim.epoch));
    fenced(forged.agent(&agent("a")).commit(vec![audit("forged")]).await.map(drop));

    assert_eq!(kinds(&new_owner.agent(&agent("a"))).await, ["by old", "by new"]);
    assert_eq!(new.daemon().value("late").await.unwrap(), None);
    let first = account(&new_owner).reserve("late", &agent("a")).await;
    assert_eq!(first.unwrap(), Reserved::New);
    old.shutdown().await;
    new.shutdown().await;
}

async fn what_was_released_can_not_be_written_to(opener: &dyn Opener) {
    let store = opener.open("release").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    a.commit(vec![audit("before")]).await.unwrap();
    let queue = DaemonCommand::QueueAudit(agent("a"), entry("queued"));
    owner.daemon().commit(vec![queue]).await.unwrap();
    owner.release().await.unwrap();
    let released = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::Released { .. })), "{result:?}");
    };
    released(a.commit(vec![audit("after")]).await.map(drop));
    let late = DaemonCommand::PutValue { key: "late".into(), value: String::new() };
    released(owner.daemon().commit(vec![late]).await.map(drop));
    released(account(&owner).reserve("1", &agent("a")).await.map(drop));
    // What was queued under it is taken in all the same, also by who only looks.
    assert_eq!(kinds(&store.agent(&agent("a"))).await, ["before", "queued"]);
    // Whoever kept a copy of the claim, in another process, is behind it.
    let copy = LeaseHolder::new(store.clone(), Claim::new(&owner.claim.owner, owner.claim.epoch));
    let refused = copy.agent(&agent("a")).commit(vec![audit("by a copy")]).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    let next = store.claim("next").await.unwrap();
    assert!(next.claim.epoch > owner.claim.epoch);
    next.agent(&agent("a")).commit(vec![audit("by the next")]).await.unwrap();
    // A release that comes late takes nothing from whoever claimed since.
    owner.release().await.unwrap();
    next.agent(&agent("a")).commit(vec![audit("still")]).await.unwrap();
    store.shutdown().await;
}

async fn a_change_is_told_before_its_commit_returns(opener: &dyn Opener) {
    let store = opener.open("feed").await;
    let owner = store.claim("suite").await.unwrap();
    let (told, heard) = std::sync::mpsc::channel();
    let subscription = store.changes().subscribe(move |change| {
        let _ = told.send(change.clone());
    });
    let put = DaemonCommand::PutValue { key: "k".into(), value: "v".to_owned() };
    owner.daemon().commit(vec![put]).await.unwrap();
    let value = FeedChange::Value { key: "k".into(), value: Some("v".into()) };
    assert_eq!(heard.try_recv().unwrap(), value);
    let a = owner.agent(&agent("a"));
    let decision = ApprovalDecision::Denied { by: "ann".into(), reason: None };
    let settle = |id: &str| AgentCommand::SettleApproval {
        id: id.into(),
        decision: decision.clone(),
        grant: None,
    };
    let leave = IngressCommand::Leave {
        platform: "telegram".into(),
        account: "main".into(),
        chat: "c".into(),
    };
    let ingress = || AgentCommand::Ingress(Box::new(leave.clone()));
    a.commit(vec![ingress(), settle("1"), ingress(), audit("told")]).await.unwrap();
    let approval =
        FeedChange::Approval { agent: agent("a"), id: "1".into(), decision: decision.clone() };
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [FeedChange::Access(agent("a")), approval]);
    // A commit that fails tells of no answer, and lets what is kept in memory be read again.
    let missing = AgentCommand::Outbox(OutboxCommand::Drop {
        id: DeliveryId(99),
        instead: None,
        at: super::sample::at(1),
    });
    a.commit(vec![settle("2"), ingress(), missing]).await.unwrap_err();
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [FeedChange::Access(agent("a"))]);
    drop(subscription);
    store.shutdown().await;
}
