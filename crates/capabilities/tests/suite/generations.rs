//! A turn holds its generation to the end: reloads, pauses and deletions make something new
//! beside it and change nothing in it. Tests stand for turns here: they clone the context once.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use insula_domain::{AccountId, Address, AgentId, ChatId, ChatType, Platform, SessionKey, UserId};
use insula_registry::{Actor, AgentContext, AgentState, Generation, RuntimeError};
use insula_store::{About, StoreError};
use insula_testdaemon::TestDaemon;
use insula_testkit::{Handles, world};
use std::sync::Arc;

struct Fixture {
    files: insula_testkit::Home,
    daemon: TestDaemon,
    _handles: Handles,
}

const CONFIG: &str = "agents:\n  a: {tools: minimal, memory: true}\n  b: {tools: minimal}\nbindings:\n  - {agent: a, telegram: 1}\n";

async fn open(config: &str) -> Fixture {
    let files = insula_testkit::Home::with([("config.yaml", config)]).unwrap();
    let (world, handles) = world(7);
    let daemon = TestDaemon::open(&files, &world).await;
    Fixture { files, daemon, _handles: handles }
}

fn id(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}

/// What a turn takes when it begins.
fn held(daemon: &TestDaemon, agent: &str) -> Arc<AgentContext> {
    daemon.agent(agent)
}

/// Everything of a context that a turn could look at.
fn all_of(context: &AgentContext) -> String {
    let insula_registry::context::Parts {
        id,
        generation,
        identity,
        config,
        boundary,
        memory,
        workspace,
        skills,
        models,
        conversations,
        ..
    } = &**context;
    format!(
        "{id} {generation} {identity:?} {config:?} {boundary:?} {memory:?} {workspace:?} {skills:?} {models:?} {conversations:?}"
    )
}

fn message() -> Address {
    Address {
        platform: Platform::new("telegram").unwrap(),
        account: AccountId::new("default").unwrap(),
        chat: ChatId::new("1").unwrap(),
        chat_type: ChatType::Group,
        topic: None,
        parent: None,
        community: None,
        user: Some(UserId::new("5").unwrap()),
        roles: vec![],
    }
}

#[tokio::test]
async fn a_turn_holds_its_generation_to_the_end() {
    let Fixture { files, daemon, .. } = &open(CONFIG).await;
    let turn = held(daemon, "a");
    let before = all_of(&turn);
    files.write("config.yaml", CONFIG.replace("a: {tools: minimal", "a: {tools: coding")).unwrap();
    files.write("agents/a/SOUL.md", "somebody else").unwrap();
    let reloaded = daemon.reload(None, &Actor::Signal).await.unwrap();
    assert_eq!(reloaded.applied.changed, [id("a")]);
    assert_eq!(all_of(&turn), before, "what is held does not change");
    let now = held(daemon, "a");
    assert_eq!((turn.generation, now.generation), (Generation(1), Generation(2)));
    assert!(!turn.tools().exposed().any(|tool| tool == "terminal"));
    assert!(now.tools().exposed().any(|tool| tool == "terminal"));
    assert_eq!(&*now.identity.soul.text, "somebody else");
    // It still works: its records say under which generation they were made.
    turn.audit
        .append(About::Agent, &"telegram:5".into(), "turn.ended", serde_json::json!({}))
        .await
        .unwrap();
    now.audit
        .append(About::Agent, &"telegram:5".into(), "turn.ended", serde_json::json!({}))
        .await
        .unwrap();
    let records = now.store.audit_tail(2).await.unwrap();
    let generations: Vec<u64> = records.iter().map(|record| record.generation).collect();
    assert_eq!(generations, [1, 2]);
}

#[tokio::test]
async fn an_agent_that_did_not_change_stays_the_very_same_object() {
    let Fixture { files, daemon, .. } = &open(CONFIG).await;
    let turn = held(daemon, "b");
    files.write("config.yaml", CONFIG.replace("a: {tools: minimal", "a: {tools: coding")).unwrap();
    daemon.reload(None, &Actor::Signal).await.unwrap();
    assert!(Arc::ptr_eq(&turn, &held(daemon, "b")));
}

#[tokio::test]
async fn a_snapshot_agrees_with_itself_whatever_is_applied_meanwhile() {
    let Fixture { files, daemon, .. } = &open(CONFIG).await;
    let snapshot = daemon.snapshot();
    files.write("config.yaml", "agents: {other: {}}\n").unwrap();
    daemon.reload(None, &Actor::Signal).await.unwrap();
    let Ok(answering) = snapshot.route(&message()) else {
        panic!("the rule and its agent are both there");
    };
    assert_eq!((answering.context.id.as_str(), answering.context.generation), ("a", Generation(1)));
    assert_eq!(
        answering.session,
        SessionKey::of(&id("a"), &message(), answering.context.conversations.sessions)
    );
    assert!(daemon.snapshot().route(&message()).is_err());
}

#[tokio::test]
async fn a_turn_under_way_outlives_a_pause_and_no_new_one_begins() {
    let Fixture { daemon, .. } = &open(CONFIG).await;
    let turn = held(daemon, "a");
    daemon.pause(&id("a"), &Actor::CommandLine).await.unwrap();
    assert!(matches!(daemon.snapshot().agents[&id("a")].state, AgentState::Paused(_)));
    assert!(daemon.snapshot().route(&message()).is_err());
    turn.audit
        .append(About::Agent, &"telegram:5".into(), "turn.ended", serde_json::json!({}))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_handle_that_outlives_its_agent_answers_retired() {
    let Fixture { files, daemon, .. } = &open("agents: {b: {}}\n").await;
    files.write("agents/a/agent.yaml", "{}").unwrap();
    daemon.reload(None, &Actor::Signal).await.unwrap();
    let turn = held(daemon, "a");
    turn.audit
        .append(About::Agent, &"telegram:5".into(), "turn.began", serde_json::json!({}))
        .await
        .unwrap();
    daemon.delete(&id("a"), &Actor::CommandLine).await.unwrap();
    let late = turn
        .audit
        .append(About::Agent, &"telegram:5".into(), "turn.ended", serde_json::json!({}))
        .await;
    assert!(matches!(late, Err(StoreError::Retired { .. })), "{late:?}");
    assert!(matches!(turn.store.audit_tail(9).await, Err(StoreError::Retired { .. })));
    assert!(!files.has("agents/a"), "nothing it does brings its folder back");
    // Nor does it reach whoever bears its name next.
    daemon.add(&id("a"), &Default::default(), &Actor::CommandLine).await.unwrap();
    let late = turn
        .audit
        .append(About::Agent, &"telegram:5".into(), "turn.ended", serde_json::json!({}))
        .await;
    assert!(matches!(late, Err(StoreError::Retired { .. })), "{late:?}");
    let next = held(daemon, "a");
    assert_eq!(next.generation, Generation(1));
    let kinds = next.store.audit_tail(9).await.unwrap();
    assert_eq!(kinds.iter().map(|record| &*record.kind).collect::<Vec<_>>(), ["agent.created"]);
}

#[tokio::test]
async fn a_broken_edit_leaves_the_last_good_configuration_in_place() {
    let Fixture { files, daemon, .. } = &open(CONFIG).await;
    let (a, b) = (held(daemon, "a"), held(daemon, "b"));
    for broken in ["agents: [", "agents: {a: {}}\nnonsense: 1\n", ""] {
        files.write("config.yaml", broken).unwrap();
        assert!(daemon.reload(None, &Actor::Signal).await.is_err(), "{broken:?}");
        assert!(daemon.reload(Some(&id("a")), &Actor::Signal).await.is_err(), "{broken:?}");
        assert!(Arc::ptr_eq(&a, &held(daemon, "a")) && Arc::ptr_eq(&b, &held(daemon, "b")));
    }
    assert_eq!(daemon.reloads().refused, 6);
    files.write("config.yaml", CONFIG).unwrap();
    daemon.reload(None, &Actor::Signal).await.unwrap();
    assert!(Arc::ptr_eq(&a, &held(daemon, "a")));
}

#[tokio::test]
async fn nobody_is_reloaded_who_is_not_there() {
    let Fixture { files, daemon, .. } = &open(CONFIG).await;
    for edited in [false, true] {
        if edited {
            files.write("config.yaml", CONFIG.replace("minimal", "coding")).unwrap();
        }
        let nobody = daemon.reload(Some(&id("nobody")), &Actor::CommandLine).await;
        assert!(matches!(nobody, Err(RuntimeError::NoSuchAgent(_))), "edited: {edited}");
    }
}

/// Takes every name that the folder of a deleted agent could be given until it is gone: nothing
/// of it can be removed.
fn obstruct(fixture: &Fixture, agent: &str) -> Vec<String> {
    let more = (1..1_000).map(|number| format!("agents/.deleted-{agent}.{number}/kept"));
    let all: Vec<String> =
        std::iter::once(format!("agents/.deleted-{agent}/kept")).chain(more).collect();
    for path in &all {
        fixture.files.write(path, "x").unwrap();
    }
    all
}

#[tokio::test]
async fn rule_09_a_deletion_that_is_stuck_is_seen_takes_what_opens_and_is_tried_again() {
    let fixture = open("agents: {b: {tools: minimal}}\n").await;
    fixture.files.write("agents/a/agent.yaml", "tools: minimal\nsecrets: [KEY]\n").unwrap();
    let (daemon, actor) = (&fixture.daemon, Actor::CommandLine);
    daemon.reload(None, &actor).await.unwrap();
    let token = daemon
        .create_token([id("a")].into(), [insula_registry::tokens::Verb::Chat].into(), None, &actor)
        .await
        .unwrap()
        .0;
    obstruct(&fixture, "a");
    let error = daemon.delete(&id("a"), &actor).await.unwrap_err();
    assert!(error.to_string().contains("can't be removed"), "{error}");
    let entry = daemon.snapshot().agents[&id("a")].clone();
    assert_eq!(entry.state.as_str(), "deleting");
    let why = entry.state.reason().unwrap();
    assert!(why.contains("not gone yet") && why.contains("agents delete"), "{why}");
    assert!(daemon.tokens().get(&token.id).is_none());
    // Nobody takes its name, and it does not come back.
    assert!(daemon.pause(&id("a"), &actor).await.is_err());
    assert!(daemon.add(&id("a"), &Default::default(), &actor).await.is_err());
    daemon.reload(None, &actor).await.unwrap();
    assert_eq!(daemon.snapshot().agents[&id("a")].state.as_str(), "deleting");
    assert!(matches!(daemon.snapshot().agents[&id("b")].state, AgentState::Ready(_)));
    // What was in the way goes, and so does the rest.
    for number in [7, 8] {
        let path = fixture.files.path().join(format!("agents/.deleted-a.{number}/kept"));
        #[allow(clippy::disallowed_methods, reason = "a test makes room")]
        std::fs::remove_file(&path)
            .and_then(|()| std::fs::remove_dir(path.parent().unwrap()))
            .unwrap();
    }
    daemon.reload(None, &actor).await.unwrap();
    assert!(!daemon.snapshot().agents.contains_key(&id("a")));
    assert!(!fixture.files.path().join("agents/a").exists());
    assert!(!fixture.files.path().join("agents/.deleted-a").exists());
}
