//! Secrets of a daemon: bound to their agent, granted by name, gone with it, and never a reason
//! for the daemon not to open.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests damage files of a temporary home and fail by panicking"
)]

use insula_domain::AgentId;
use insula_registry::{Actor, AgentContext, RuntimeError};
use insula_testdaemon::TestDaemon;
use insula_testkit::world;
use insula_vault::{Secret, SecretName, SecretOwner};
use std::fs;
use std::sync::Arc;

const CONFIG: &str = "agents:\n  a: {secrets: [KEY]}\n  b: {secrets: [KEY]}\n  c: {}\n";
const VALUE: &str = "value-of-a-0123456789";
const UNGUESSABLE: &str = "Zq8vN2rT6wXk4LmB9cJ7hYd3";

async fn open(files: &insula_testkit::Home, env: &[(&str, &str)]) -> TestDaemon {
    let (world, _handles) = world(7);
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    TestDaemon::open_with(files, &world, env.collect()).await
}

fn files(config: &str) -> insula_testkit::Home {
    insula_testkit::Home::with([("config.yaml", config)]).unwrap()
}

fn id(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}

fn key() -> SecretName {
    SecretName::new("KEY").unwrap()
}

fn agent(daemon: &TestDaemon, text: &str) -> Arc<AgentContext> {
    daemon.agent(text)
}

async fn set(daemon: &TestDaemon, owner: SecretOwner, value: &str) {
    daemon.set_secret(&owner, &key(), Secret::new(value), &Actor::CommandLine).await.unwrap();
}

#[tokio::test]
async fn rule_12_a_secret_opens_for_its_agent_where_it_was_granted() {
    let files = files(CONFIG);
    let daemon = open(&files, &[]).await;
    set(&daemon, SecretOwner::Agent(id("a")), VALUE).await;
    set(&daemon, SecretOwner::Daemon, "value-of-the-daemon").await;
    set(&daemon, SecretOwner::Agent(id("c")), "value-of-c-012345").await;
    let resolved = agent(&daemon, "a").secrets.resolve("Bearer ${secret:KEY}").await.unwrap();
    assert_eq!(resolved.reveal(), format!("Bearer {VALUE}"));
    // Granted the name, b still has nothing under it: neither a's nor the daemon's.
    let refused = agent(&daemon, "b").secrets.resolve("${secret:KEY}").await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "secret `KEY` of agent `b` is not set: set it with `insula secret set b KEY`"
    );
    // c has it and was not granted it.
    let refused = agent(&daemon, "c").secrets.resolve("${secret:KEY}").await.unwrap_err();
    assert!(refused.to_string().contains("was not granted secret `KEY`"), "{refused}");
    let refused = agent(&daemon, "a").secrets.resolve("${env:PATH}").await.unwrap_err();
    assert!(refused.to_string().contains("may not read"), "{refused}");
}

#[tokio::test]
async fn rule_10_redactors_of_one_agent_know_nothing_of_another() {
    let files = files(CONFIG);
    let daemon = open(&files, &[]).await;
    set(&daemon, SecretOwner::Agent(id("a")), VALUE).await;
    set(&daemon, SecretOwner::Agent(id("c")), "4711").await;
    let known = daemon.known_secrets();
    assert_eq!(known.own(&id("a")).redact(VALUE), "[secret]");
    assert_eq!(known.own(&id("b")).redact(VALUE), VALUE);
    // What a's secret is shows in nothing that b says, however long it is; operators' records
    // have neither.
    assert_eq!(known.told(&id("b"), format!("{VALUE} 4711")), format!("{VALUE} 4711"));
    assert_eq!(known.records().redact("4711"), "[secret]");
    assert_eq!(known.records().redact(VALUE), "[secret]");
    assert_eq!(known.own(&id("c")).redact("4711"), "[secret]");
    assert!(Arc::ptr_eq(&known.own(&id("a")), &known.own(&id("a"))), "made once");
}

#[tokio::test]
async fn rule_12_an_agents_trail_does_not_tell_whether_a_word_is_anothers_secret() {
    let files = files(CONFIG);
    let daemon = open(&files, &[]).await;
    set(&daemon, SecretOwner::Agent(id("c")), "4711").await;
    let tried = |daemon: &TestDaemon, text: &str| {
        let content = serde_json::json!({ "about": "is it 4711?" });
        daemon.known_secrets().redact_record_of(&id(text), content)["about"].clone()
    };
    // Whoever reads b's trail could have b name word after word.
    assert_eq!(tried(&daemon, "b"), "is it 4711?");
    assert_eq!(tried(&daemon, "c"), "is it [secret]?");
    agent(&daemon, "b")
        .audit
        .append(insula_store::About::Agent, &"api:x".into(), "test", serde_json::json!(["4711"]))
        .await
        .unwrap();
    let kept = daemon.store_of(&id("b")).audit_tail(1).await.unwrap();
    assert_eq!(kept[0].content.as_deref(), Some("[\"4711\"]"));
    // However long it is.
    set(&daemon, SecretOwner::Agent(id("a")), VALUE).await;
    let content = serde_json::json!([VALUE]);
    assert_eq!(daemon.known_secrets().redact_record_of(&id("b"), content.clone())[0], VALUE);
    assert_eq!(daemon.known_secrets().redact_record_of(&id("a"), content)[0], "[secret]");
}

#[tokio::test]
async fn rule_12_no_agent_finds_a_secret_of_the_daemon_in_a_list_of_words() {
    let files = files(CONFIG);
    let daemon = open(&files, &[]).await;
    set(&daemon, SecretOwner::Daemon, "correct-horse-battery").await;
    let known = daemon.known_secrets();
    assert_eq!(known.own(&id("b")).redact("correct-horse-battery"), "correct-horse-battery");
    assert_eq!(known.records().redact("correct-horse-battery"), "[secret]");
    assert_eq!(known.guessable(), [&key()]);
    // What nobody could guess is taken out of everybody's texts.
    set(&daemon, SecretOwner::Daemon, UNGUESSABLE).await;
    let known = daemon.known_secrets();
    assert_eq!(known.own(&id("b")).redact(UNGUESSABLE), "[secret]");
    assert_eq!(known.guessable(), Vec::<&SecretName>::new());
}

#[tokio::test]
async fn a_secret_of_another_makes_no_redactor_anew() {
    let files = files(CONFIG);
    let daemon = open(&files, &[]).await;
    set(&daemon, SecretOwner::Agent(id("a")), VALUE).await;
    let own = |text: &str| daemon.known_secrets().own(&id(text));
    let (a, b) = (own("a"), own("b"));
    set(&daemon, SecretOwner::Agent(id("c")), "4711").await;
    assert!(Arc::ptr_eq(&a, &own("a")) && Arc::ptr_eq(&b, &own("b")));
    set(&daemon, SecretOwner::Agent(id("a")), "another value").await;
    assert!(!Arc::ptr_eq(&a, &own("a")));
    assert_eq!(own("a").redact("another value"), "[secret]");
    set(&daemon, SecretOwner::Daemon, UNGUESSABLE).await;
    assert_eq!(own("a").redact(UNGUESSABLE), "[secret]");
}

#[tokio::test]
async fn a_deleted_agent_leaves_no_secret() {
    let files = files(CONFIG);
    let daemon = open(&files, &[]).await;
    set(&daemon, SecretOwner::Agent(id("a")), VALUE).await;
    let before = agent(&daemon, "a");
    daemon.delete(&id("a"), &Actor::CommandLine).await.unwrap();
    assert!(!files.has("vault/agents/a"));
    assert_eq!(daemon.known_secrets().records().redact(VALUE), VALUE, "nothing to hide any more");
    assert!(before.secrets.resolve("${secret:KEY}").await.is_err());
    let owner = SecretOwner::Agent(id("a"));
    let refused = daemon.set_secret(&owner, &key(), Secret::new(VALUE), &Actor::CommandLine).await;
    assert!(matches!(refused, Err(RuntimeError::NoSuchAgent(_))), "{refused:?}");
    assert!(matches!(daemon.list_secrets(&owner).await, Err(RuntimeError::NoSuchAgent(_))));
}

#[tokio::test]
async fn keys_from_the_environment_and_from_the_file_are_secrets_too() {
    let config = "providers:\n  x: {kind: openai, api_key: \"${env:X_KEY}\"}\n  y: {kind: openai, api_key: sk-Vw93kTz5Rb7QmXc2Ln8Hd4Jf6}\n  z: {kind: openai, api_key: lm-studio, base_url: \"http://127.0.0.1:1\"}\nagents: {a: {}}\n";
    let files = files(config);
    let daemon = open(&files, &[("X_KEY", "eU4zR8nT1qWx6KvB3mYc9HsJ7dLg")]).await;
    let own = daemon.known_secrets().own(&id("a"));
    let text = "eU4zR8nT1qWx6KvB3mYc9HsJ7dLg sk-Vw93kTz5Rb7QmXc2Ln8Hd4Jf6 lm-studio";
    assert_eq!(own.redact(text), "[secret] [secret] lm-studio");
    files.write("config.yaml", "agents: {a: {}}\n").unwrap();
    daemon.reload(None, &Actor::Signal).await.unwrap();
    assert_eq!(daemon.known_secrets().own(&id("a")).redact(text), text);
}

#[tokio::test]
async fn a_damaged_vault_is_told_and_repaired_without_a_restart() {
    let files = files("agents: {a: {}}\n");
    {
        let daemon = open(&files, &[]).await;
        set(&daemon, SecretOwner::Agent(id("a")), VALUE).await;
        daemon.close().await.unwrap();
    }
    let path = files.path().join("vault/key");
    let kept = fs::read(&path).unwrap();
    let found = |daemon: &TestDaemon| daemon.known_secrets().trouble().join("\n");
    for (damage, words) in [
        (None, "vault/key is missing"),
        (Some(&b"short"[..]), "is no key of a vault"),
        (Some(&[7; 32][..]), "was sealed with another key"),
    ] {
        match damage {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let daemon = open(&files, &[]).await;
        assert!(found(&daemon).contains(words), "{words}: {}", found(&daemon));
        let names = daemon.list_secrets(&SecretOwner::Agent(id("a"))).await.unwrap();
        assert_eq!(names.len(), 1, "names need no key");
        fs::write(&path, &kept).unwrap();
        if damage.is_none_or(|bytes| bytes.len() != 32) {
            daemon.reload(None, &Actor::Signal).await.unwrap();
            assert_eq!(found(&daemon), "");
            assert_eq!(daemon.known_secrets().records().redact(VALUE), "[secret]");
        }
        daemon.close().await.unwrap();
    }
}
