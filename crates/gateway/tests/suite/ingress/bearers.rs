//! Bearers of tokens in web chats: what their token says reaches scopes, and bounds whom they
//! reach, whatever a hook says.

use crate::ingress::support::{Fixture, From, dm, open_fixture, with_hook};
use insula_domain::AgentId;
use insula_registry::Actor;
use insula_registry::access::InboundOutcome;
use insula_registry::daemon::NewToken;
use insula_registry::tokens::Verb;
use insula_testkit::upstream::{Seen, Step, answer};
use std::collections::BTreeSet;

/// A bearer of a token for one agent.
async fn bearer(fixture: &Fixture, agent: &str, org: &str) -> From {
    let agents = BTreeSet::from([AgentId::new(agent).unwrap()]);
    let metadata = [("org_id".into(), org.into())].into_iter().collect();
    let verbs = BTreeSet::from([Verb::Chat]);
    let new = NewToken { agents, verbs, metadata, ..NewToken::default() };
    let made = fixture.daemon.create_token_with(new, &Actor::CommandLine);
    let (token, _) = made.await.unwrap();
    dm(&token.id).on("web")
}

#[tokio::test]
async fn what_a_token_says_decides_the_scope() {
    let fixture = open_fixture(
        "agents:\n  a: {default: true, memory: {scope: \"'org:' + metadata.org_id\"}, access: {allow: ['web:*']}}\n",
    )
    .await;
    for org in ["acme", "other"] {
        let from = bearer(&fixture, "a", org).await;
        fixture.ask(&from, "hello").await;
        let journal = fixture.journal("a", &from).await;
        assert_eq!(journal[0].scope.as_str(), format!("custom:org%3A{org}"));
    }
}

fn judge(seen: &Seen, _: usize) -> Vec<Step> {
    let said = match seen.json()["text"].as_str().unwrap_or_default() {
        "for b" => r#"{"action":"route","agent":"b"}"#,
        _ => r#"{"action":"allow"}"#,
    };
    vec![answer(200, &[("content-type", "application/json")], said)]
}

#[tokio::test]
async fn no_hook_brings_a_bearer_beyond_their_token() {
    let config = "hooks:\n  pre_gateway_dispatch: [{http: 'HOOK'}]\nagents:\n  a: {access: {allow: ['web:*', 'telegram:*']}}\n  b: {access: {allow: ['web:*', 'telegram:*']}}\nbindings:\n  - {agent: a, web: {chat_type: dm}}\n  - {agent: b, web: '*'}\n  - {agent: a, telegram: {chat_type: dm}}\n  - {agent: b, telegram: '*'}\n";
    let fixture = with_hook(config, judge).await;
    let from = bearer(&fixture, "a", "acme").await;
    fixture.say(&from, "for b").await;
    assert_eq!((fixture.asked(), fixture.posted().len()), (0, 0));
    assert_eq!(fixture.daemon.inbound().of(InboundOutcome::Stopped), 1);
    assert_eq!(fixture.ask(&from, "hello").await, "heard: hello");
    // On other platforms rules alone say who is reached.
    fixture.ask(&dm("1"), "for b").await;
    assert_eq!(fixture.journal("b", &dm("1")).await.len(), 2);
}

#[tokio::test]
async fn a_token_that_is_gone_reaches_nobody_and_is_offered_nothing() {
    let fixture = open_fixture("agents:\n  a: {default: true, access: {allow: ['web:*']}}\n").await;
    let from = bearer(&fixture, "a", "acme").await;
    fixture.ask(&from, "hello").await;
    let id = from.address.user.as_ref().unwrap().as_str();
    fixture.daemon.revoke_token(id, &Actor::CommandLine).await.unwrap();
    fixture.say(&from, "hello?").await;
    assert_eq!((fixture.asked(), fixture.posted().len()), (1, 1));
}
