//! Signs on messages: a thumb of an admin on a question answers it, and an agent that wants to is
//! told of the others.

use crate::ingress::approvals::{CONFIG, Shell, asked, script, still_waits, until_posted, waiting};
use crate::ingress::support::{Fixture, From, dm, echo, group, open_fixture, with};
use insula_channel::{Happening, MessageId, Reaction, ReactionChange};

async fn react(fixture: &Fixture, from: &From, to: &MessageId, sign: &str, change: ReactionChange) {
    let (message, sign) = (to.clone(), sign.into());
    let reaction = Reaction { message, sign, change, is_ours: None };
    fixture.happens(from, Happening::Reacted(reaction)).await;
}

async fn put(fixture: &Fixture, from: &From, to: &MessageId, sign: &str) {
    react(fixture, from, to, sign, ReactionChange::Put).await;
}

#[tokio::test]
async fn a_thumb_of_an_admin_on_the_question_itself_answers_it_and_nothing_else_does() {
    let fixture = with(CONFIG, &[&Shell], script).await;
    let (guest, admin) = (group("-100", "1"), group("-100", "9"));
    fixture.say(&guest, "rm it").await;
    let id = waiting(&fixture).await;
    let question = asked(&fixture, &id).await;
    let before = fixture.posted().len();
    put(&fixture, &guest, &question, "👍").await;
    put(&fixture, &group("-100", "404"), &question, "👍").await;
    put(&fixture, &admin, &MessageId("lunch?".into()), "👍").await;
    put(&fixture, &admin, &question, "❤").await;
    react(&fixture, &admin, &question, "👍", ReactionChange::Taken).await;
    // The same message name in another chat is another message.
    put(&fixture, &group("-200", "9"), &question, "👍").await;
    put(&fixture, &admin.clone().by("other"), &question, "👍").await;
    assert!(still_waits(&fixture, &id).await);
    assert_eq!(fixture.posted().len(), before, "who only reacts is told nothing");
    put(&fixture, &admin, &question, "👍🏽").await;
    until_posted(&fixture, "-100", "allowed, once: terminal").await;
    until_posted(&fixture, "-100", "ran").await;
    assert!(fixture.agent("a").store.grants().await.unwrap().is_empty(), "once, and no more");
}

#[tokio::test]
async fn a_thumb_down_refuses_and_the_topic_of_the_question_need_not_be_known() {
    let fixture = with(CONFIG, &[&Shell], script).await;
    fixture.say(&group("-100", "1").topic("7"), "rm it").await;
    let id = waiting(&fixture).await;
    let question = asked(&fixture, &id).await;
    put(&fixture, &group("-100", "9"), &question, "👎").await;
    until_posted(&fixture, "-100", "refused: terminal").await;
    assert!(!still_waits(&fixture, &id).await);
    // Over is over: nothing is said about a second thumb.
    let before = fixture.posted().len();
    put(&fixture, &group("-100", "9"), &question, "👍").await;
    assert_eq!(fixture.posted().len(), before);
}

#[tokio::test]
async fn an_agent_is_told_of_reactions_where_it_wants_to_be_and_no_turn_begins() {
    for (key, told) in [("", false), ("sessions: {reactions: true, quiet: 0s}, ", true)] {
        let config = format!(
            "agents:\n  a: {{default: true, {key}tools: [], access: {{allow: ['telegram:1']}}}}\n"
        );
        let fixture = with(&config, insula_tools::BUILT_IN, echo).await;
        let ann = dm("1");
        fixture.ask(&ann, "hello").await;
        let ours = MessageId("p1".into());
        put(&fixture, &ann, &ours, "🎉").await;
        put(&fixture, &dm("404"), &ours, "🎉").await;
        let reaction = Reaction {
            message: MessageId("m0".into()),
            sign: "😡".into(),
            change: ReactionChange::Put,
            is_ours: Some(false),
        };
        fixture.happens(&ann, Happening::Reacted(reaction)).await;
        assert_eq!(fixture.asked(), 1, "no turn of its own");
        fixture.ask(&ann, "and now").await;
        let seen = String::from_utf8(fixture.upstream.seen().last().unwrap().body.clone()).unwrap();
        assert_eq!(seen.contains("a reaction to a message \\\"🎉\\\""), told, "{seen}");
        assert!(!seen.contains("😡"), "{seen}");
        assert_eq!(seen.matches("🎉").count(), usize::from(told), "a stranger's is not told");
    }
}

#[tokio::test]
async fn a_stranger_who_reacts_gets_no_code() {
    let config = "agents:\n  a: {default: true, tools: []}\n";
    let fixture = open_fixture(config).await;
    put(&fixture, &dm("404"), &MessageId("p1".into()), "👍").await;
    assert!(fixture.posted().is_empty());
}
