//! Several people in one conversation: what one of them says steers the turns of the others, and
//! not their own.

use crate::turns::provenance::{GROUP, asks_for, begin_as, script};
use crate::turns::support::Fixture;
use insula_domain::Label;
use insula_registry::Actor;
use insula_testkit::upstream::Upstream;

const BOB: &str = "api:bob";

async fn open() -> (Fixture, Upstream) {
    let config = format!(
        "
channels: {{telegram: {{accounts: {{main: {{token: x, base_url: 'http://127.0.0.1:9'}}}}}}}}
agents:
  a: &a
    memory: {{scope: global}}
    tools: {{also_allow: [send_message, session_search, delegate_task]}}
    send: {{to: ['{GROUP}'], flows: [{{from: '*', to: '{GROUP}'}}]}}
    integrity: balanced
  trusting: {{<<: *a, integrity: {{profile: balanced, trusted: ['person:{BOB}']}}}}
"
    );
    begin_as(None, &config, insula_tools::BUILT_IN, script).await
}

/// What somebody's message makes the agent ask; what it says where it asks nothing.
async fn says(fixture: &Fixture, agent: &str, who: &str, text: &str) -> Result<String, String> {
    asks_for(fixture, (agent, "team"), who.into(), text).await
}

fn is_by_bob(asked: &Result<String, String>) -> bool {
    asked.as_ref().is_ok_and(|what| what.contains("observed api:bob"))
}

const ADMIN: &str = "cli:local";

#[tokio::test]
async fn what_one_person_says_steers_the_turns_of_the_others() {
    let (fixture, _site) = open().await;
    says(&fixture, "a", ADMIN, "send").await.unwrap_err();
    says(&fixture, "a", BOB, "hello").await.unwrap_err();
    for who in [ADMIN, "api:ann"] {
        let asked = says(&fixture, "a", who, "send").await;
        assert!(is_by_bob(&asked), "{who}: {asked:?}");
    }
    assert!(!says(&fixture, "a", ADMIN, "send").await.unwrap().contains("cli:local"));
    says(&fixture, "trusting", BOB, "hello").await.unwrap_err();
    says(&fixture, "trusting", ADMIN, "send").await.unwrap_err();
}

#[tokio::test]
async fn what_they_said_themselves_and_what_an_admin_said_asks_nobody() {
    let (fixture, _site) = open().await;
    says(&fixture, "a", BOB, "hello").await.unwrap_err();
    // What the agent says here was made of what bob said.
    says(&fixture, "a", ADMIN, "hello").await.unwrap_err();
    says(&fixture, "a", BOB, "send").await.unwrap_err();
}

#[tokio::test]
async fn notes_on_what_somebody_said_are_theirs_whoever_reads_them() {
    let (fixture, _site) = open().await;
    for number in 0..12 {
        let long = format!("long {number} {}", "lorem ipsum dolor ".repeat(900));
        says(&fixture, "a", BOB, &long).await.unwrap_err();
    }
    let (_, key) = fixture.inbound("a", "team", "");
    let messages = fixture.messages(&key).await;
    let notes = messages.iter().find(|it| it.principal == Actor::Summary).expect("notes");
    let label: Label = notes.label.parse().unwrap();
    assert!(label.integrity().in_words().contains("observed api:bob"), "{}", notes.label);
    says(&fixture, "a", BOB, "send").await.unwrap_err();
    assert!(is_by_bob(&says(&fixture, "a", ADMIN, "send").await));
}

#[tokio::test]
async fn what_is_found_of_what_somebody_said_elsewhere_steers_too() {
    let (fixture, _site) = open().await;
    let elsewhere = ("a", "elsewhere");
    asks_for(&fixture, elsewhere, BOB.into(), "marmalade").await.unwrap_err();
    says(&fixture, "a", ADMIN, "send").await.unwrap_err();
    assert!(is_by_bob(&says(&fixture, "a", ADMIN, "past:marmalade send").await));
    let found = asks_for(&fixture, ("a", "new"), BOB.into(), "past:marmalade send").await;
    assert!(found.is_err(), "{found:?}");
}

#[tokio::test]
async fn what_somebody_had_written_steers_whoever_reads_it() {
    let (fixture, _site) = open().await;
    let elsewhere = ("a", "elsewhere");
    asks_for(&fixture, elsewhere, BOB.into(), "write:rules.txt").await.unwrap_err();
    says(&fixture, "a", ADMIN, "send").await.unwrap_err();
    let own = asks_for(&fixture, ("a", "new"), BOB.into(), "open:rules.txt send").await;
    assert!(own.is_err(), "{own:?}");
    assert!(is_by_bob(&says(&fixture, "a", ADMIN, "open:rules.txt send").await));
    asks_for(&fixture, ("a", "own"), ADMIN.into(), "write:mine.txt").await.unwrap_err();
    let own = asks_for(&fixture, ("a", "newer"), BOB.into(), "open:mine.txt send").await;
    assert!(own.is_err(), "{own:?}");
}

#[tokio::test]
async fn what_somebody_had_remembered_steers_whoever_is_reminded() {
    let (fixture, _site) = open().await;
    asks_for(&fixture, ("a", "elsewhere"), BOB.into(), "note:marmalade").await.unwrap_err();
    let own = asks_for(&fixture, ("a", "new"), BOB.into(), "send").await;
    assert!(own.is_err(), "{own:?}");
    assert!(is_by_bob(&asks_for(&fixture, ("a", "newer"), ADMIN.into(), "send").await));
}

#[tokio::test]
async fn words_of_others_take_nothing_out_of_what_is_remembered() {
    let (fixture, _site) = open().await;
    says(&fixture, "a", ADMIN, "note:marmalade").await.unwrap_err();
    says(&fixture, "a", ADMIN, "drop:marmalade note:honey").await.unwrap_err();
    says(&fixture, "a", BOB, "hello").await.unwrap_err();
    let asked = says(&fixture, "a", ADMIN, "drop:honey").await.unwrap();
    assert!(asked.contains("take something out of what is remembered"), "{asked}");
}

#[tokio::test]
async fn a_child_that_is_given_nothing_but_reading_asks_nobody() {
    let (fixture, _site) = open().await;
    says(&fixture, "a", BOB, "hello").await.unwrap_err();
    let said = says(&fixture, "a", ADMIN, "child:read_file,search_files").await;
    assert!(said.is_err(), "{said:?}");
    for more in ["child", "child:read_file,terminal", "child:group:files"] {
        assert!(is_by_bob(&says(&fixture, "a", ADMIN, more).await), "{more}");
    }
}
