//! Roles: who is let in by one, and who is an admin by one, by whatever way they ask.

use crate::ingress::support::{Fixture, From, calls, group, says, shown, with};
use async_trait::async_trait;
use insula_testkit::upstream::{Seen, Step};
use insula_tools::{Cleared, Hands, Output, Risk, Tool, ToolError};
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

    async fn run(&self, _: &Hands<'_>, arguments: &Cleared) -> Result<Output, ToolError> {
        Ok(Output::Text(format!("ran {}", arguments["command"])))
    }
}

const CONFIG: &str = "agents:\n  a: {default: true, memory: true, tools: {allow: [terminal, skill_manage, memory], rules: {terminal: {expr: \"turn.admin || args.command != 'for admins'\"}}}, access: {allow: ['discord:role:staff'], admins: ['discord:role:boss'], unknown: ignore}, group: {respond: all}, approvals: {timeout: 1h}}\n";

/// `TOOL {…}` in the last message is a call.
fn script(seen: &Seen, _: usize) -> Vec<Step> {
    let shown = shown(seen);
    let (role, text) = shown.last().cloned().unwrap_or_default();
    if role == "tool" {
        return says(&text);
    }
    let said = text.rsplit('⟧').next().unwrap_or_default().trim();
    match said.split_once(" {") {
        Some((tool, rest)) => calls("c1", tool, &format!("{{{rest}")),
        None => says(&format!("heard: {said}")),
    }
}

async fn house() -> Fixture {
    let tools: Vec<&'static dyn Tool> = insula_tools::BUILT_IN
        .iter()
        .copied()
        .filter(|tool| tool.name() != "terminal")
        .chain([&Shell as &'static dyn Tool])
        .collect();
    with(CONFIG, Vec::leak(tools), script).await
}

fn boss() -> From {
    group("g", "1").on("discord").role("boss")
}

fn staff() -> From {
    group("g", "2").on("discord").role("staff")
}

/// Waits until a question waits; what it is about.
async fn waiting(house: &Fixture) -> String {
    let agent = house.agent("a");
    loop {
        let waiting = house.engine.approvals().list(&agent).await.unwrap();
        if let Some(one) = waiting.first() {
            return one.rule.to_string();
        }
        tokio::task::yield_now().await;
    }
}

/// Whether anything waits for an answer.
async fn is_asked(house: &Fixture) -> bool {
    !house.engine.approvals().list(&house.agent("a")).await.unwrap().is_empty()
}

/// Waits for a post that has these words.
async fn told(house: &Fixture, words: &str) {
    while !house.posted().iter().any(|post| post.2.contains(words)) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_role_makes_an_admin_for_commands_words_and_buttons() {
    let house = house().await;
    assert!(house.ask(&boss(), "/whoami").await.contains("you are an admin"));
    assert_eq!(house.ask(&staff(), "/reload").await, "only an admin may use /reload");
    assert!(house.ask(&boss(), "/reload").await.starts_with("read again"));
    // Words.
    house.say(&staff(), "terminal {\"command\": \"rm -r one\"}").await;
    waiting(&house).await;
    let open = house.engine.approvals().list(&house.agent("a")).await.unwrap();
    let yes = format!("yes {}", open[0].id);
    house.say(&staff(), &yes).await;
    told(&house, "only an admin of agent `a` may answer").await;
    // Who has the role no longer is nobody.
    house.say(&group("g", "1").on("discord"), &yes).await;
    assert!(is_asked(&house).await);
    house.say(&boss(), &yes).await;
    told(&house, "ran \"rm -r one\"").await;
    // A button.
    house.say(&staff(), "terminal {\"command\": \"rm -r two\"}").await;
    waiting(&house).await;
    told(&house, "rm -r two").await;
    let data = house.platforms.buttons.lock().unwrap().iter().rev().nth(1).unwrap().1.clone();
    assert_eq!(house.press(&staff(), &data).await, "only an admin of agent `a` may answer");
    let pressed = house.press(&boss(), &data).await;
    assert!(pressed.contains("terminal"), "{pressed}");
    assert!(!is_asked(&house).await);
}

fn skill(name: &str) -> String {
    let content = format!("---\nname: {name}\ndescription: A skill.\n---\nDo it.");
    format!("skill_manage {}", json!({ "action": "create", "name": name, "content": content }))
}

#[tokio::test]
async fn a_role_makes_an_admin_for_tools_that_change_the_agent() {
    let house = house().await;
    let told = house.ask(&boss(), &skill("notes")).await;
    assert!(told.contains("notes") && !is_asked(&house).await, "{told}");
    house.say(&staff(), &skill("others")).await;
    assert_eq!(waiting(&house).await, "change_self");
    let skills = &house.agent("a").skills.skills;
    assert_eq!(skills.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["notes"]);
}

#[tokio::test]
async fn a_role_makes_an_admin_for_what_everybody_will_read() {
    let house = house().await;
    let remember = |content: &str| {
        let call =
            json!({ "action": "add", "target": "memory", "content": content, "scope": "global" });
        format!("memory {call}")
    };
    house.ask(&boss(), &remember("the office is in Graz")).await;
    assert!(!is_asked(&house).await);
    house.say(&staff(), &remember("the door code is 7")).await;
    assert_eq!(waiting(&house).await, "global_memory");
}

#[tokio::test]
async fn rules_and_hooks_see_an_admin_by_role() {
    let house = house().await;
    let call = "terminal {\"command\": \"for admins\"}";
    assert_eq!(house.ask(&boss(), call).await, "ran \"for admins\"");
    let refused = house.ask(&staff(), call).await;
    assert!(!refused.contains("ran"), "{refused}");
}

#[tokio::test]
async fn the_hooks_of_the_way_in_see_an_admin_by_role() {
    let config =
        CONFIG.replace("agents:", "hooks:\n  pre_gateway_dispatch: [{expr: \"admin\"}]\nagents:");
    let house = with(&config, insula_tools::BUILT_IN, script).await;
    assert_eq!(house.ask(&boss(), "hello").await, "heard: hello");
    house.say(&staff(), "hello").await;
    assert_eq!(house.asked(), 1);
}
