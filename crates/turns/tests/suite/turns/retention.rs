//! What is older than its agent keeps it goes, and of no other agent.

use crate::turns::support::{says, with_tools};
use insula_domain::{Actor, AgentId};
use insula_store::About;
use serde_json::json;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test]
async fn audit_records_are_dropped_when_their_agent_keeps_them_no_longer() {
    let agents = "agents:\n  a: {audit: {keep: 30d}}\n  b: {}\n";
    let fixture = with_tools(None, agents, insula_tools::BUILT_IN, |_, _| says("fine")).await;
    let clock = fixture.handles.as_ref().unwrap().clock.clone();
    let note = async |id: &str, kind: &str| {
        let agent = fixture.daemon.agent(id);
        agent.audit.append(About::Agent, &Actor::Daemon, kind, json!({})).await.unwrap();
    };
    let kinds = async |id: &str| {
        let store = fixture.daemon.store_of(&AgentId::new(id).unwrap());
        let records = store.audit_tail(1_000).await.unwrap();
        records.iter().map(|it| it.kind.to_string()).collect::<Vec<_>>()
    };
    for id in ["a", "b"] {
        note(id, "test.old").await;
        note(id, "test.old").await;
    }
    clock.advance(40 * DAY).await;
    note("a", "test.new").await;
    note("b", "test.new").await;
    let before = kinds("b").await;
    let stop = CancellationToken::new();
    let (engine, until) = (fixture.engine.clone(), stop.clone());
    let running = tokio::spawn(async move { engine.keep_to_time(until).await });
    while !kinds("a").await.contains(&"audit.dropped".to_owned()) {
        tokio::task::yield_now().await;
    }
    assert_eq!(kinds("a").await, ["test.new", "audit.dropped"]);
    assert_eq!(kinds("b").await, before, "nobody said how long its records stay");
    let store = fixture.daemon.store_of(&AgentId::new("a").unwrap());
    let report = store.audit_verify().await.unwrap();
    assert!(report.ok && report.dropped >= 2, "{report:?}");
    // Once a day, and nothing where nothing is due.
    clock.advance(2 * DAY).await;
    stop.cancel();
    running.await.unwrap();
    assert_eq!(kinds("a").await, ["test.new", "audit.dropped"]);
}
