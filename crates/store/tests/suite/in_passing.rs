//! Looking into many agents in passing leaves their files as they were.

use crate::common::{agent, audit, open};
use insula_store::{AgentStore, LeaseHolder, Store};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Agents that have something to tell, at rest.
async fn at_rest(store: &Store, count: usize) -> (LeaseHolder, Vec<AgentStore>) {
    let owner = store.claim("test").await.unwrap();
    let mut all = Vec::new();
    for number in 0..count {
        let lease = owner.agent(&agent(&format!("a{number}")));
        lease.commit(vec![audit("one")]).await.unwrap();
        all.push(AgentStore::clone(&lease));
    }
    store.close_idle(Duration::ZERO).await;
    assert_eq!(store.open_count(), 0);
    (owner, all)
}

#[tokio::test]
async fn what_was_looked_into_is_closed_again_and_few_are_open_at_once() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let (_owner, all) = at_rest(&store, 30).await;
    let mut looks = JoinSet::new();
    for one in all {
        let store = store.clone();
        looks.spawn(async move {
            let look = async { (one.audit_tail(9).await.unwrap().len(), store.open_count()) };
            one.in_passing(look).await
        });
    }
    let found = looks.join_all().await;
    assert!(found.iter().all(|(found, open)| *found == 1 && *open <= 4), "{found:?}");
    assert_eq!(store.open_count(), 0);
}

#[tokio::test]
async fn what_was_open_before_stays_open() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let (_owner, all) = at_rest(&store, 2).await;
    all[0].audit_tail(9).await.unwrap();
    for one in &all {
        one.in_passing(one.audit_tail(9)).await.unwrap();
    }
    assert_eq!(store.open_count(), 1);
}

#[tokio::test]
async fn two_who_look_at_the_same_time_leave_it_closed() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let (_owner, all) = at_rest(&store, 1).await;
    let one = &all[0];
    let inner = async {
        one.audit_tail(9).await.unwrap();
        one.in_passing(one.audit_tail(9)).await.unwrap();
        assert_eq!(store.open_count(), 1, "the first still looks");
        one.audit_tail(9).await.unwrap();
    };
    one.in_passing(inner).await;
    assert_eq!(store.open_count(), 0);
}

#[tokio::test]
async fn looks_that_are_given_up_leave_no_more_open_than_the_next_one_closes() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let (_owner, all) = at_rest(&store, 30).await;
    for one in &all {
        let (looked, has_looked) = oneshot::channel();
        let given_up = one.in_passing(async {
            one.audit_tail(9).await.unwrap();
            looked.send(()).unwrap();
            std::future::pending::<()>().await;
        });
        tokio::select! {
            () = given_up => {}
            looked = has_looked => looked.unwrap(),
        }
        assert_eq!(store.open_count(), 1);
    }
    all[0].in_passing(all[0].audit_tail(9)).await.unwrap();
    assert_eq!(store.open_count(), 0);
}
