//! What hooks of `agent:lifecycle` hear: what became of their agent and of accounts bound to it, in
//! order, and of nobody else; and that no answer and no silence of theirs holds anything up.

use crate::turns::hooks::{open_fixture, says_json};
use futures_util::FutureExt as _;
use insula_domain::AgentId;
use insula_registry::Actor;
use insula_registry::daemon::lifecycle::NewAgent;
use insula_testkit::upstream::{Step, Upstream};
use serde_json::{Value, json};
use std::time::Duration;

const OPERATOR: Actor = Actor::CommandLine;

fn id(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

/// What a server heard: the agent, what became of it, and the rest.
fn heard(hooks: &Upstream) -> Vec<(String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let seen = hooks.seen();
    let heard = seen.iter().map(|seen| {
        let body = seen.json();
        assert_eq!(body["operation"], body["extra"]["event"]);
        assert_eq!(body["agent_id"], body["extra"]["agent"]);
        (text(&body["agent_id"]), text(&body["operation"]), body["extra"].clone())
    });
    heard.collect()
}

fn of(heard: &[(String, String, Value)], agent: &str) -> Vec<String> {
    heard.iter().filter(|it| it.0 == agent).map(|it| it.1.clone()).collect()
}

const AGENTS: &str = "
agents:
  a: {hooks: {agent:lifecycle: [{http: 'HOOK'}]}}
  b: {hooks: {agent:lifecycle: [{http: 'HOOK'}]}}
  quiet: {}
bindings:
  - {agent: a, telegram: {account: main}}
  - {agent: b, telegram: {account: other}}
";

#[tokio::test]
async fn rule_09_an_agent_hears_what_became_of_it_in_order_and_of_no_other() {
    let (fixture, hooks, _) = open_fixture(AGENTS, says_json(json!({ "decision": "block" }))).await;
    let daemon = &fixture.daemon;
    daemon.told().await;
    for name in ["a", "b"] {
        assert_eq!(of(&heard(&hooks), name), ["agent.created", "daemon.started"]);
    }
    daemon.pause(&id("a"), &OPERATOR).await.unwrap();
    daemon.resume(&id("a"), &OPERATOR).await.unwrap();
    let config = fixture.files.read("config.yaml").unwrap();
    let edited = |with: &str| config.replace("  a: {hooks:", &format!("  a: {{{with}hooks:"));
    let apply = async |text: &str| {
        fixture.files.write("config.yaml", text).unwrap();
        daemon.apply().await;
    };
    apply(&edited("description: new, ")).await;
    apply(&edited("tolls: [], ")).await;
    apply(&edited("description: new, ")).await;
    daemon.told().await;
    let all = heard(&hooks);
    let expected = [
        "agent.created",
        "daemon.started",
        "agent.paused",
        "agent.resumed",
        "agent.changed",
        "agent.failed",
        "agent.recovered",
    ];
    assert_eq!(of(&all, "a"), expected);
    assert_eq!(of(&all, "b"), ["agent.created", "daemon.started"]);
    let named = |what: &str| &all.iter().find(|it| it.0 == "a" && it.1 == what).unwrap().2;
    assert_eq!(named("agent.changed")["what"], "description");
    assert_eq!(named("agent.changed")["generation"], 2);
    assert!(named("agent.failed")["why"].as_str().unwrap().contains("tolls"), "{all:?}");
    assert_eq!(named("agent.paused")["why"], format!("by {OPERATOR}"));
    assert!(daemon.snapshot().agents[&id("a")].state.context().is_some(), "no answer decides");
}

#[tokio::test]
async fn rule_09_an_account_is_news_to_those_it_is_bound_to() {
    let (fixture, hooks, _) = open_fixture(AGENTS, says_json(json!({}))).await;
    let front = fixture.daemon.front();
    let telegram = insula_domain::Platform::new("telegram").unwrap();
    let account = |name: &str| insula_domain::AccountId::new(name).unwrap();
    front.account_became((telegram, &account("main")), Err("no route to host"));
    front.account_became((telegram, &account("other")), Ok(()));
    fixture.daemon.told().await;
    let all = heard(&hooks);
    let accounts: Vec<_> = all.iter().filter(|it| it.1.starts_with("account.")).collect();
    assert_eq!(accounts.len(), 2, "{all:?}");
    let of_a = accounts.iter().find(|it| it.0 == "a").unwrap();
    assert_eq!((of_a.1.as_str(), &of_a.2["account"]), ("account.down", &json!("telegram:main")));
    assert_eq!(of_a.2["why"], "no route to host");
    let of_b = accounts.iter().find(|it| it.0 == "b").unwrap();
    assert_eq!((of_b.1.as_str(), &of_b.2["account"]), ("account.up", &json!("telegram:other")));
}

#[tokio::test]
async fn the_last_an_agent_hears_is_that_it_is_deleted() {
    let (fixture, hooks, _) = open_fixture(AGENTS, says_json(json!({}))).await;
    let daemon = &fixture.daemon;
    daemon.told().await;
    daemon.delete(&id("a"), &OPERATOR).await.unwrap();
    assert_eq!(of(&heard(&hooks), "a").last().unwrap(), "agent.deleted");
    assert!(!fixture.files.has("agents/a"));
}

/// A hook that never answers is waited for as long as its timeout, where anybody waits at all.
#[tokio::test]
async fn a_silent_hook_keeps_no_change_waiting_and_a_deletion_only_so_long() {
    let agents = AGENTS.replace("[{http: 'HOOK'}]", "[{http: 'HOOK', timeout: 2s}]");
    let (fixture, hooks, handles) = open_fixture(&agents, |_, _| vec![Step::Hang]).await;
    let daemon = &fixture.daemon;
    // Time stands still: whoever waited for the hook would wait for ever.
    daemon.pause(&id("a"), &OPERATOR).await.unwrap();
    daemon.resume(&id("a"), &OPERATOR).await.unwrap();
    daemon.add(&id("c"), &NewAgent::default(), &OPERATOR).await.unwrap();
    daemon.apply().await;
    let a = id("a");
    let mut deleting = Box::pin(daemon.delete(&a, &OPERATOR));
    for _ in 0..50 {
        assert!((&mut deleting).now_or_never().is_none(), "it is told while it is there");
        tokio::task::yield_now().await;
    }
    handles.clock.advance(Duration::from_secs(2)).await;
    deleting.await.unwrap();
    assert!(!fixture.files.has("agents/a"));
    assert!(hooks.seen().len() <= 4, "one at a time for each agent");
}

#[tokio::test]
async fn who_has_no_hook_and_no_home_costs_nothing() {
    let (fixture, hooks, _) = open_fixture(AGENTS, says_json(json!({}))).await;
    fixture.daemon.told().await;
    fixture.daemon.pause(&id("quiet"), &OPERATOR).await.unwrap();
    fixture.daemon.told().await;
    assert!(of(&heard(&hooks), "quiet").is_empty());
}
