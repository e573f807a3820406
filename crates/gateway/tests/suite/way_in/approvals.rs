//! Answers to what waits: by command and by plain words, one check for all of them.

use crate::way_in::support::{Fixture, calls, dm, group, says, shown, with};
use async_trait::async_trait;
use insula_testkit::upstream::{Seen, Step};
use insula_tools::{Hands, Output, Risk, Tool, ToolError};
use serde_json::{Value, json};
use std::borrow::Cow;

/// A shell that runs nothing.
struct Shell;

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

    async fn run(&self, _: &Hands<'_>, arguments: &Value) -> Result<Output, ToolError> {
        Ok(Output::Text(format!("ran {}", arguments["command"])))
    }
}

fn script(seen: &Seen, _: usize) -> Vec<Step> {
    match shown(seen).last() {
        Some((role, text)) if role == "tool" => says(text),
        Some((_, text)) if text.contains("rm ") => {
            calls("c1", "terminal", &json!({ "command": "rm -r build" }).to_string())
        }
        Some((_, text)) => says(&format!("heard: {text}")),
        None => says("nothing"),
    }
}

const CONFIG: &str = "agents:\n  a: {default: true, tools: [terminal], access: {allow: ['telegram:*'], admins: ['telegram:9']}, group: {respond: all}, approvals: {timeout: 1h}}\n";

async fn waiting(house: &Fixture) -> String {
    let agent = house.agent("a");
    loop {
        let waiting = house.engine.approvals().list(&agent).await.unwrap();
        if let Some(one) = waiting.first() {
            return one.id.to_string();
        }
        tokio::task::yield_now().await;
    }
}

/// What was posted that is no question of the way out's.
fn answers(house: &Fixture) -> Vec<String> {
    house.posted().into_iter().map(|post| post.2).collect()
}

#[tokio::test]
async fn c11_who_is_no_admin_approves_by_no_way() {
    let house = with(CONFIG, &[&Shell], script).await;
    let guest = group("-100", "1");
    house.say(&guest, "rm it").await;
    let id = waiting(&house).await;
    for (text, told) in [
        (format!("/approve {id}"), "only an admin may use /approve"),
        ("/deny".to_owned(), "only an admin may use /deny"),
        ("yes".to_owned(), "only an admin of agent `a` may answer"),
        ("no".to_owned(), "only an admin of agent `a` may answer"),
    ] {
        let before = house.posted().len();
        house.say(&guest, &text).await;
        house.posts(before + 1).await;
        assert!(answers(&house).iter().any(|it| it == told), "{text}: {:?}", answers(&house));
    }
    assert_eq!(waiting(&house).await, id, "it still waits");
    // From another chat an admin's bare yes is no answer to it, and by name it is.
    let admin = dm("9");
    let before = house.posted().len();
    house.say(&admin, "yes").await;
    assert_eq!(house.posts(before + 1).await[before].2, "heard: yes");
    house.say(&admin, &format!("/approve {id}")).await;
    let posts = house.posts(before + 3).await;
    let all = format!("{posts:?}");
    assert!(all.contains("allowed, once: terminal") && all.contains("ran"), "{all}");
}

#[tokio::test]
async fn an_admins_bare_no_answers_what_waits_here() {
    let house = with(CONFIG, &[&Shell], script).await;
    house.say(&group("-100", "1"), "rm it").await;
    waiting(&house).await;
    house.say(&group("-100", "9"), "No.").await;
    loop {
        let all = format!("{:?}", house.posts(1).await);
        if all.contains("refused: terminal") {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(house.engine.approvals().list(&house.agent("a")).await.unwrap().is_empty());
}

#[tokio::test]
async fn c11_a_button_counts_for_admins_alone() {
    let house = with(CONFIG, &[&Shell], script).await;
    let guest = group("-100", "1");
    house.say(&guest, "rm it").await;
    waiting(&house).await;
    house.posts(1).await;
    let buttons = house.platforms.buttons.lock().unwrap().clone();
    let (_, data) = buttons.first().expect("an approval has buttons");
    let told = house.press(&guest, data).await;
    assert_eq!(told, "only an admin of agent `a` may answer");
    assert_eq!(house.press(&group("-100", "9"), "forged").await, "this button is no longer good");
    waiting(&house).await;
    let told = house.press(&group("-100", "9"), data).await;
    assert!(told.starts_with("allowed, "), "{told}");
    loop {
        if format!("{:?}", house.posts(1).await).contains("ran") {
            break;
        }
        tokio::task::yield_now().await;
    }
}
