//! A conversation that is handed to another agent: who answers, what they know, and how it ends.

use crate::ingress::support::{Fixture, again, calls, dm, process, says, shown, with};
use insula_domain::AgentId;
use insula_registry::Actor;
use insula_testkit::upstream::{Seen, Step};
use serde_json::json;

const CONFIG: &str = "channels: {telegram: {accounts: {main: {token: '1:x'}}}}
agents:
  support:
    default: true
    name: Support
    access: {allow: ['telegram:1', 'telegram:2']}
    tools: {also_allow: [handoff]}
    links: [{to: coder, as: handoff}, {to: heard, as: handoff}]
  coder: {name: Coder, tools: {also_allow: [handoff]}}
  heard: {name: Heard}
bindings: [{agent: heard, telegram: '-100'}]
";

/// Makes the call that the last message asks for, and says what it was shown otherwise.
fn puppet(seen: &Seen, number: usize) -> Vec<Step> {
    let all = shown(seen);
    let (role, text) = all.last().cloned().unwrap_or_default();
    if role == "tool" {
        return says(&format!("result: {text}"));
    }
    match text.rsplit_once("call ").and_then(|(_, rest)| rest.split_once(' ')) {
        Some((tool, arguments)) => calls(&format!("call_{number}"), tool, arguments),
        None => {
            let told: Vec<&str> = all.iter().map(|(_, text)| text.as_str()).collect();
            says(&format!("I know: {}", told.join(" | ")))
        }
    }
}

async fn open() -> Fixture {
    with(CONFIG, insula_tools::BUILT_IN, puppet).await
}

fn to(agent: &str, summary: &str) -> String {
    format!("call handoff {}", json!({ "agent": agent, "summary": summary }))
}

/// What is said in answer to a message that hands over: the reply, and the line for people.
async fn handed(fixture: &Fixture, from: &str, text: &str) -> Vec<String> {
    let before = fixture.posted().len();
    fixture.say(&dm(from), text).await;
    let posts = fixture.posts(before + 2).await;
    posts[before..].iter().map(|(_, _, text)| text.clone()).collect()
}

#[tokio::test]
async fn the_other_answers_with_the_summary_and_nothing_else_until_somebody_says_back() {
    let fixture = open().await;
    fixture.ask(&dm("1"), "the canary").await;
    let told = handed(&fixture, "1", &to("coder", "it does not build")).await.join("\n");
    assert!(told.contains("Coder answers here from now on. Say /back to return to Support."));
    let answer = fixture.ask(&dm("1"), "hello").await;
    assert!(answer.contains("it does not build"), "{answer}");
    assert!(!answer.contains("canary"), "{answer}");
    assert_eq!(fixture.journal("coder", &dm("1")).await.len(), 3);
    // It is one conversation's, and nobody else's.
    assert!(!fixture.ask(&dm("2"), "hello").await.contains("build"));
    assert_eq!(fixture.journal("coder", &dm("2")).await.len(), 0);
    assert_eq!(fixture.ask(&dm("1"), "/back").await, "Support answers here again");
    let answer = fixture.ask(&dm("1"), "hello").await;
    assert!(answer.contains("canary"), "{answer}");
    assert_eq!(fixture.ask(&dm("1"), "/back").await, "nobody handed this conversation to me");
}

#[tokio::test]
async fn the_other_hands_it_back_and_hands_it_to_nobody_else() {
    let fixture = open().await;
    handed(&fixture, "1", &to("coder", "it does not build")).await;
    let refused = fixture.ask(&dm("1"), &to("heard", "and now you")).await;
    assert!(refused.contains("goes to no other agent"), "{refused}");
    let back = format!("call handoff {}", json!({ "summary": "it builds" }));
    // It is the last that the other says here.
    assert_eq!(fixture.ask(&dm("1"), &back).await, "Support answers here again.");
    let answer = fixture.ask(&dm("1"), "hello").await;
    assert!(answer.contains("it builds"), "{answer}");
    let none = fixture.ask(&dm("1"), &back).await;
    assert!(none.contains("nobody handed this conversation to you"), "{none}");
}

#[tokio::test]
async fn what_only_the_first_audience_saw_is_handed_to_no_agent_that_others_hear() {
    let fixture = open().await;
    let refused = fixture.ask(&dm("1"), &to("heard", "the canary")).await;
    assert!(refused.contains("others hear `heard`"), "{refused}");
    assert!(fixture.journal("heard", &dm("1")).await.is_empty());
    assert!(fixture.ask(&dm("1"), "hello").await.contains("hello"));
    assert!(fixture.journal("heard", &dm("1")).await.is_empty());
}

#[tokio::test]
async fn one_gets_back_from_an_agent_that_is_paused() {
    let fixture = open().await;
    handed(&fixture, "1", &to("coder", "it does not build")).await;
    let coder = AgentId::new("coder").unwrap();
    fixture.engine.capabilities().pause(&coder, &Actor::CommandLine).await.unwrap();
    assert_eq!(fixture.ask(&dm("1"), "hello").await, "I am paused at the moment");
    assert_eq!(fixture.ask(&dm("1"), "/back").await, "Support answers here again");
    let answer = fixture.ask(&dm("1"), "who is there?").await;
    assert!(answer.contains("who is there?"), "{answer}");
}

#[tokio::test]
async fn it_ends_with_the_link() {
    let fixture = open().await;
    handed(&fixture, "1", &to("coder", "it does not build")).await;
    fixture.ask(&dm("1"), "hello").await;
    let count = fixture.journal("coder", &dm("1")).await.len();
    fixture.reconfigure(|config| config.replace("{to: coder, as: handoff}, ", "")).await;
    let answer = fixture.ask(&dm("1"), "who is there?").await;
    assert!(answer.contains("who is there?"), "{answer}");
    assert_eq!(fixture.journal("coder", &dm("1")).await.len(), count);
}

#[tokio::test]
async fn whoever_the_first_lets_in_no_more_the_second_does_not_either() {
    let fixture = open().await;
    handed(&fixture, "2", &to("coder", "it does not build")).await;
    fixture.ask(&dm("2"), "hello").await;
    let count = fixture.journal("coder", &dm("2")).await.len();
    fixture.reconfigure(|config| config.replace(", 'telegram:2'", "")).await;
    fixture.say(&dm("2"), "let me in").await;
    assert_eq!(fixture.journal("coder", &dm("2")).await.len(), count);
}

#[tokio::test]
async fn who_is_an_admin_of_the_second_is_for_the_second_to_say() {
    let fixture = open().await;
    let admins = |config: &str| {
        config
            .replace("access: {allow", "access: {admins: ['telegram:1'], allow")
            .replace("{name: Coder,", "{name: Coder, access: {admins: ['telegram:2']},")
    };
    fixture.reconfigure(admins).await;
    for (who, of_first) in [("1", true), ("2", false)] {
        let told = fixture.ask(&dm(who), "/whoami").await;
        assert_eq!(told.contains("you are an admin"), of_first, "{told}");
        handed(&fixture, who, &to("coder", "it does not build")).await;
        let told = fixture.ask(&dm(who), "/whoami").await;
        assert!(told.contains("talking to Coder"), "{told}");
        assert_eq!(told.contains("you are an admin"), !of_first, "{told}");
    }
}

#[test]
fn it_survives_a_restart() {
    let files = process().block_on(async {
        let fixture = open().await;
        handed(&fixture, "1", &to("coder", "it does not build")).await;
        fixture.into_files()
    });
    process().block_on(async {
        let fixture = again(files, CONFIG, insula_tools::BUILT_IN, puppet).await;
        // The platform counts on.
        for _ in 0..10 {
            fixture.next();
        }
        let answer = fixture.ask(&dm("1"), "hello").await;
        assert!(answer.contains("it does not build"), "{answer}");
    });
}
