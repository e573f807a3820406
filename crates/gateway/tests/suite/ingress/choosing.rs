//! What people choose for a conversation: the model that answers, that notes take the place of
//! what was said, and which of the conversations of a chat goes on.

use crate::ingress::support::{dm, echo, group, open_fixture, says, with};
use insula_testkit::upstream::{Seen, Step};
use std::time::Duration;

const CONFIG: &str = "agents:\n  a: {name: Alpha, model: [fake/one, fake/two], model_choices: [fake/three], access: {allow: ['telegram:1', 'telegram:2'], admins: ['telegram:2']}, group: {respond: all}}\nbindings:\n  - {agent: a, telegram: '*'}\n";

/// A model that says which one it is.
fn named(seen: &Seen, _: usize) -> Vec<Step> {
    says(&format!("I am {}", seen.json()["model"].as_str().unwrap_or_default()))
}

#[tokio::test]
async fn people_have_another_model_answer_and_only_those_that_are_offered_to_them() {
    let fixture = with(CONFIG, insula_tools::BUILT_IN, named).await;
    let (guest, admin) = (dm("1"), dm("2"));
    assert_eq!(fixture.ask(&guest, "hello").await, "I am one");
    assert_eq!(
        fixture.ask(&guest, "/model").await,
        "fake/one answers here; where it can't: fake/two\n/model NUMBER or NAME has another one answer:\n1. fake/three"
    );
    let refused = fixture.ask(&guest, "/model fake/two").await;
    assert_eq!(refused, "`fake/two` is none that you can choose; /model lists them");
    let told = fixture.ask(&guest, "/model three").await;
    assert!(told.starts_with("fake/three answers here from your next message on"), "{told}");
    assert_eq!(fixture.ask(&guest, "hello").await, "I am three");
    let told = fixture.ask(&guest, "/model").await;
    assert!(told.starts_with("fake/three answers here; where it can't: fake/one, fake/two\n"));
    // Another conversation has its own, and an admin chooses among all.
    assert_eq!(fixture.ask(&admin, "hello").await, "I am one");
    fixture.ask(&admin, "/model 2").await;
    assert_eq!(fixture.ask(&admin, "hello").await, "I am two");
    assert_eq!(fixture.ask(&guest, "/model default").await, "fake/one answers here again");
    assert_eq!(fixture.ask(&guest, "hello").await, "I am one");
    // What is not offered any more is not asked any more.
    fixture.ask(&guest, "/model 1").await;
    fixture.reconfigure(|text| text.replace("model_choices: [fake/three], ", "")).await;
    assert_eq!(fixture.ask(&guest, "hello").await, "I am one");
    assert!(fixture.ask(&guest, "/model three").await.starts_with("there is no other model"));
}

#[tokio::test]
async fn a_conversation_that_was_ended_goes_on_where_its_chat_says_so() {
    let fixture = open_fixture(CONFIG).await;
    let (here, elsewhere) = (dm("1"), group("-7", "2"));
    fixture.ask(&here, "the first").await;
    fixture.handles.clock.advance(Duration::from_secs(60)).await;
    assert_eq!(fixture.ask(&here, "/new").await, "we begin anew");
    fixture.ask(&here, "the second").await;
    let listed = fixture.ask(&here, "/sessions").await;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].starts_with("1. ") && lines[0].ends_with("(this one)"), "{listed}");
    assert!(lines[1].starts_with("2. ") && lines[2].contains("/sessions NUMBER"), "{listed}");
    assert_eq!(fixture.ask(&here, "/sessions 1").await, "that is this one");
    for none in ["3", "0", "x"] {
        let told = fixture.ask(&here, &format!("/sessions {none}")).await;
        assert!(told.starts_with("there is no conversation"), "{told}");
    }
    assert!(fixture.ask(&elsewhere, "/sessions 2").await.starts_with("there is no conversation"));
    let told = fixture.ask(&here, "/sessions 2").await;
    assert!(told.starts_with("we go on where we were: "), "{told}");
    fixture.ask(&here, "more").await;
    let journal = fixture.journal("a", &here).await;
    let said: Vec<String> =
        journal.iter().map(|it| insula_turns::messages::text_of(&it.parts)).collect();
    assert_eq!(said[0], "the first");
    assert_eq!((said.len(), said[2].as_str()), (4, "more"), "{said:?}");
    let listed = fixture.ask(&here, "/sessions").await;
    assert!(listed.lines().nth(1).unwrap().ends_with("(this one)"), "{listed}");
}

#[tokio::test]
async fn what_was_said_becomes_notes_when_somebody_asks_for_it() {
    let fixture = with(CONFIG, insula_tools::BUILT_IN, |seen, at| {
        let system = seen.json()["messages"][0]["content"].to_string();
        match system.contains("You write the notes") {
            true => says("Notes: they counted."),
            false => echo(seen, at),
        }
    })
    .await;
    let here = dm("1");
    let nothing = "there is too little here to make notes of";
    assert_eq!(fixture.ask(&here, "/compress").await, nothing);
    let long = "a long story of many words that nobody wants to send again ".repeat(20);
    for at in 1..=4 {
        fixture.ask(&here, &format!("{at} {long}")).await;
    }
    let told = fixture.ask(&here, "/compress").await;
    assert!(told.starts_with("before my next answer I make notes"), "{told}");
    let before = fixture.upstream.seen().len();
    fixture.ask(&here, "five").await;
    let seen = fixture.upstream.seen();
    assert_eq!(seen.len(), before + 2, "one call for the notes and one for the answer");
    let shown = seen[before + 1].json().to_string();
    assert!(shown.contains("they counted") && !shown.contains("4 a long story"), "{shown}");
    assert_eq!(fixture.ask(&here, "/compress").await, nothing, "notes of notes are none");
    let before = fixture.upstream.seen().len();
    fixture.ask(&here, "six").await;
    assert_eq!(fixture.upstream.seen().len(), before + 1, "it was asked for once");
}
