//! Answers to what waits: by command and by plain words, one check for all of them.

use crate::ingress::support::{Fixture, From, calls, dm, group, message, says, shown, with};
use async_trait::async_trait;
use insula_channel::{Happening, Message, MessageId, Quoted};
use insula_domain::{WordSource, Words};
use insula_store::DeliveryState;
use insula_testkit::upstream::{Seen, Step};
use insula_tools::{Cleared, Hands, Output, Risk, Tool, ToolError};
use insula_world::Timestamp;
use serde_json::{Value, json};
use std::borrow::Cow;

/// A shell that runs nothing.
pub struct Shell;

#[async_trait]
impl Tool for Shell {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn description(&self) -> &'static str {
        "Runs a command."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"command":{"type":"string"}}}"#
    }

    fn risk<'a>(&self, arguments: &'a Value) -> Risk<'a> {
        Risk::Command(Cow::Borrowed(arguments["command"].as_str().unwrap_or_default()))
    }

    async fn run(&self, _: &Hands<'_>, arguments: &Cleared) -> Result<Output, ToolError> {
        Ok(Output::Text(format!("ran {}", arguments["command"])))
    }
}

pub fn script(seen: &Seen, _: usize) -> Vec<Step> {
    match shown(seen).last() {
        Some((role, text)) if role == "tool" => says(text),
        Some((_, text)) if text.contains("rm ") => {
            calls("c1", "terminal", &json!({ "command": "rm -r build" }).to_string())
        }
        Some((_, text)) => says(&format!("heard: {text}")),
        None => says("nothing"),
    }
}

pub const CONFIG: &str = "agents:\n  a: {default: true, tools: [terminal], access: {allow: ['telegram:*'], admins: ['telegram:9']}, group: {respond: all}, approvals: {timeout: 1h}}\n";

pub async fn waiting(fixture: &Fixture) -> String {
    let agent = fixture.agent("a");
    loop {
        let waiting = fixture.engine.approvals().list(&agent).await.unwrap();
        if let Some(one) = waiting.first() {
            return one.id.to_string();
        }
        tokio::task::yield_now().await;
    }
}

/// Waits until a question is written down as shown; the message it is in.
pub async fn asked(fixture: &Fixture, id: &str) -> MessageId {
    let agent = fixture.agent("a");
    loop {
        let asked = agent.store.delivery_named(&format!("approval:{id}")).await.unwrap();
        if let Some(asked) = asked.filter(|it| it.state == DeliveryState::Sent) {
            return MessageId(asked.sent.last().unwrap().message.clone());
        }
        tokio::task::yield_now().await;
    }
}

/// Says something in reply to a message.
async fn reply(fixture: &Fixture, from: &From, to: &MessageId, text: &str) {
    let id = fixture.next();
    let quoted = Quoted {
        id: to.clone(),
        author: None,
        is_ours: true,
        is_from_here: true,
        text: String::new(),
    };
    let said = Message { quoted: Some(quoted), mentions_us: true, ..message(id, text) };
    fixture.take(fixture.envelope(from, id, Happening::Said(said))).await;
}

/// What was posted that is no question of the way out's.
fn answers(fixture: &Fixture) -> Vec<String> {
    fixture.posted().into_iter().map(|post| post.2).collect()
}

#[tokio::test]
async fn c11_who_is_no_admin_approves_by_no_way() {
    let fixture = with(CONFIG, &[&Shell], script).await;
    let guest = group("-100", "1");
    fixture.say(&guest, "rm it").await;
    let id = waiting(&fixture).await;
    asked(&fixture, &id).await;
    for (text, told) in [
        (format!("/approve {id}"), "only an admin may use /approve"),
        ("/deny".to_owned(), "only an admin may use /deny"),
        ("yes".to_owned(), "only an admin of agent `a` may answer"),
        ("no".to_owned(), "only an admin of agent `a` may answer"),
    ] {
        let before = fixture.posted().len();
        fixture.mention(&guest, &text).await;
        fixture.posts(before + 1).await;
        assert!(answers(&fixture).iter().any(|it| it == told), "{text}: {:?}", answers(&fixture));
    }
    assert_eq!(waiting(&fixture).await, id, "it still waits");
    // From another chat an admin's bare yes is no answer to it, and by name it is once it was
    // shown there.
    let admin = dm("9");
    let before = fixture.posted().len();
    fixture.say(&admin, "yes").await;
    assert_eq!(fixture.posts(before + 1).await[before].2, "heard: yes");
    shown_first(&fixture, &admin, &format!("/approve {id}")).await;
    assert!(still_waits(&fixture, &id).await);
    fixture.say(&admin, &format!("/approve {id}")).await;
    until_posted(&fixture, "9", "allowed, once: terminal").await;
    until_posted(&fixture, "-100", "ran").await;
}

/// Waits until something was posted to a chat that has these words.
pub async fn until_posted(fixture: &Fixture, chat: &str, words: &str) {
    let mut count = 0;
    loop {
        let posts = fixture.posts(count).await;
        if posts.iter().any(|post| post.1 == chat && post.2.contains(words)) {
            return;
        }
        count = posts.len() + 1;
    }
}

/// Says something that allows what was not shown there: it is shown, and nothing is decided.
async fn shown_first(fixture: &Fixture, from: &From, text: &str) {
    let before = fixture.posted().len();
    fixture.say(from, text).await;
    let posts = fixture.posts(before + 2).await.split_off(before);
    assert!(posts.iter().all(|post| post.1 == from.address.chat.as_str()), "{posts:?}");
    assert!(posts[0].2.contains("| rm -r build"), "{posts:?}");
    assert!(posts[1].2.starts_with("nothing was decided yet"), "{posts:?}");
}

#[tokio::test]
async fn what_was_not_shown_to_an_admin_is_shown_before_their_yes_counts() {
    for always in ["", " always"] {
        let fixture = with(CONFIG, &[&Shell], script).await;
        fixture.say(&dm("1"), "rm it").await;
        let id = waiting(&fixture).await;
        asked(&fixture, &id).await;
        let (admin, agent) = (dm("9"), fixture.agent("a"));
        assert_eq!(fixture.ask(&admin, "/approve").await, "nothing waits for approval here");
        shown_first(&fixture, &admin, &format!("/approve {id}{always}")).await;
        assert!(still_waits(&fixture, &id).await);
        assert!(agent.store.grants().await.unwrap().is_empty());
        let buttons = fixture.platforms.buttons.lock().unwrap().clone();
        // Four under the question where it was asked, and four of its own here.
        assert_eq!(buttons.len(), 8, "{buttons:?}");
        assert_eq!(fixture.press(&dm("1"), &buttons[4].1).await, NOT_ADMIN);
        assert!(still_waits(&fixture, &id).await);
        let told = fixture.press(&admin, &buttons[4].1).await;
        assert_eq!(told, "allowed, once: terminal");
        until_posted(&fixture, "1", "ran").await;
    }
}

const NOT_ADMIN: &str = "only an admin of agent `a` may answer";

#[tokio::test]
async fn words_answer_what_was_shown_here_and_a_no_needs_no_look() {
    let fixture = with(CONFIG, &[&Shell], script).await;
    let admin = dm("9");
    fixture.say(&dm("1"), "rm it").await;
    let id = waiting(&fixture).await;
    asked(&fixture, &id).await;
    shown_first(&fixture, &admin, &format!("/approve {id}")).await;
    fixture.say(&admin, &format!("ok {id}")).await;
    until_posted(&fixture, "9", "allowed, once: terminal").await;
    until_posted(&fixture, "1", "ran").await;
    fixture.say(&dm("2"), "rm it").await;
    let id = waiting(&fixture).await;
    fixture.say(&admin, &format!("/deny {id}")).await;
    until_posted(&fixture, "9", "refused: terminal").await;
    assert!(!still_waits(&fixture, &id).await);
}

#[tokio::test]
async fn what_is_asked_in_a_direct_chat_is_shown_in_no_group_and_allowed_from_none() {
    let fixture = with(CONFIG, &[&Shell], script).await;
    fixture.say(&dm("1"), "rm it").await;
    let id = waiting(&fixture).await;
    asked(&fixture, &id).await;
    let told = fixture.ask_in_group(&group("-100", "9"), &format!("/approve {id} always")).await;
    assert!(told.starts_with("nothing was decided: it was asked elsewhere"), "{told}");
    assert!(still_waits(&fixture, &id).await);
    let told = fixture.ask_in_group(&group("-100", "1"), &format!("/approve {id}")).await;
    assert_eq!(told, "only an admin may use /approve");
    let in_group = fixture.posted().into_iter().filter(|post| post.1 == "-100");
    assert!(in_group.into_iter().all(|post| !post.2.contains("rm -r")), "it is shown there");
}

#[tokio::test]
async fn an_admin_of_one_agent_is_shown_nothing_that_another_asks() {
    let config = "agents:\n  a: {default: true, tools: [terminal], access: {allow: ['telegram:*'], admins: ['telegram:8']}, approvals: {timeout: 1h}}\n  b: {tools: [terminal], access: {allow: ['telegram:*'], admins: ['telegram:9']}}\nbindings:\n  - {agent: b, telegram: {chat: '9'}}\n";
    let fixture = with(config, &[&Shell], script).await;
    fixture.say(&dm("1"), "rm it").await;
    let id = waiting(&fixture).await;
    asked(&fixture, &id).await;
    let told = fixture.ask(&dm("9"), &format!("/approve {id}")).await;
    assert_eq!(told, fixture.ask(&dm("9"), "/approve 0123456789ab").await);
    assert_eq!(told, "nothing waits for approval here");
    assert!(still_waits(&fixture, &id).await);
    let told: Vec<_> = fixture.posted().into_iter().filter(|post| post.1 == "9").collect();
    assert!(told.iter().all(|post| !post.2.contains("rm -r")), "{told:?}");
}

#[tokio::test]
async fn an_admins_bare_no_answers_what_waits_here() {
    let fixture = with(CONFIG, &[&Shell], script).await;
    fixture.say(&group("-100", "1"), "rm it").await;
    let id = waiting(&fixture).await;
    asked(&fixture, &id).await;
    fixture.mention(&group("-100", "9"), "No.").await;
    loop {
        let all = format!("{:?}", fixture.posts(1).await);
        if all.contains("refused: terminal") {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(fixture.engine.approvals().list(&fixture.agent("a")).await.unwrap().is_empty());
}

/// Whether the call still waits after all that.
pub async fn still_waits(fixture: &Fixture, id: &str) -> bool {
    let waiting = fixture.engine.approvals().list(&fixture.agent("a")).await.unwrap();
    waiting.iter().any(|it| &*it.id == id)
}

#[tokio::test]
async fn an_ok_that_is_said_to_nobody_or_to_something_else_answers_nothing() {
    let fixture = with(CONFIG, &[&Shell], script).await;
    fixture.say(&group("-100", "1"), "rm it").await;
    let id = waiting(&fixture).await;
    let question = asked(&fixture, &id).await;
    let admin = group("-100", "9");
    for text in ["ok", "yes", "Go ahead."] {
        fixture.say(&admin, text).await;
        assert!(still_waits(&fixture, &id).await, "{text}");
    }
    reply(&fixture, &admin, &MessageId("lunch?".into()), "ok").await;
    assert!(still_waits(&fixture, &id).await, "a reply to another message");
    // Words of others answer nothing, whoever passes them on.
    for source in WordSource::ALL.into_iter().filter(|it| *it != WordSource::Rewritten) {
        for text in ["ok".to_owned(), format!("/approve {id}"), format!("ok {id}")] {
            let number = fixture.next();
            let words = Words::foreign(source, &text);
            let said = Message { words, mentions_us: true, ..message(number, "") };
            fixture.take(fixture.envelope(&admin, number, Happening::Said(said))).await;
            assert!(still_waits(&fixture, &id).await, "{source:?}: {text}");
        }
    }
    reply(&fixture, &admin, &question, "ok").await;
    assert!(!still_waits(&fixture, &id).await, "a reply to the question");
}

#[tokio::test]
async fn an_ok_with_its_id_answers_and_one_before_the_question_does_not() {
    let fixture = with(CONFIG, &[&Shell], script).await;
    fixture.say(&group("-100", "1"), "rm it").await;
    let id = waiting(&fixture).await;
    asked(&fixture, &id).await;
    let admin = group("-100", "9");
    // Said before the question was there, it came later.
    let number = fixture.next();
    let said = Message { mentions_us: true, ..message(number, "ok") };
    let mut early = fixture.envelope(&admin, number, Happening::Said(said));
    early.at = Timestamp::from_millis(early.at.as_millis() - 1_000);
    fixture.take(early).await;
    assert!(still_waits(&fixture, &id).await);
    fixture.say(&admin, &format!("ok {id}")).await;
    assert!(!still_waits(&fixture, &id).await);
}

#[tokio::test]
async fn c11_a_button_counts_for_admins_alone() {
    let fixture = with(CONFIG, &[&Shell], script).await;
    let guest = group("-100", "1");
    fixture.say(&guest, "rm it").await;
    waiting(&fixture).await;
    fixture.posts(1).await;
    let buttons = fixture.platforms.buttons.lock().unwrap().clone();
    let (_, data) = buttons.first().expect("an approval has buttons");
    let told = fixture.press(&guest, data).await;
    assert_eq!(told, "only an admin of agent `a` may answer");
    assert_eq!(fixture.press(&group("-100", "9"), "forged").await, "this button is no longer good");
    waiting(&fixture).await;
    let told = fixture.press(&group("-100", "9"), data).await;
    assert!(told.starts_with("allowed, "), "{told}");
    loop {
        if format!("{:?}", fixture.posts(1).await).contains("ran") {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn who_may_not_talk_and_presses_a_button_is_told_so() {
    let config = CONFIG.replace("telegram:*", "telegram:1");
    let fixture = with(&config, &[&Shell], script).await;
    fixture.say(&group("-100", "1"), "rm it").await;
    let id = waiting(&fixture).await;
    fixture.posts(1).await;
    let buttons = fixture.platforms.buttons.lock().unwrap().clone();
    let (_, data) = buttons.first().expect("an approval has buttons");
    let stranger = group("-100", "2");
    assert_eq!(fixture.press(&stranger, data).await, "this button is not for you");
    // What was forged reads the same: nothing is learned from the difference.
    assert_eq!(fixture.press(&stranger, "forged").await, "this button is not for you");
    assert_eq!(fixture.platforms.pressed.lock().unwrap().len(), 2);
    assert!(still_waits(&fixture, &id).await);
}

#[tokio::test]
async fn a_home_hears_that_an_approval_waits_elsewhere_and_not_what_it_would_do() {
    let fixture = with(CONFIG, &[&Shell], script).await;
    let admin = dm("9");
    fixture.ask(&admin, "/sethome").await;
    fixture.say(&group("-100", "1"), "rm it").await;
    waiting(&fixture).await;
    until_posted(&fixture, "9", "waits for an approval").await;
    let posts = fixture.posted();
    let told = posts.iter().find(|it| it.2.contains("waits for an approval")).unwrap();
    assert_eq!(
        (told.1.as_str(), told.2.as_str()),
        ("9", "a waits for an approval: terminal (delete)")
    );
    // Asked in the home itself, it is not told of besides.
    fixture.say(&admin, "rm it").await;
    until_posted(&fixture, "9", "rm -r build").await;
    fixture.daemon.told().await;
    let count = fixture.posted().iter().filter(|it| it.2.contains("waits for an")).count();
    assert_eq!(count, 1);
}
