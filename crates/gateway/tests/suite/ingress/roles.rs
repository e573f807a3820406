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

async fn open_fixture() -> Fixture {
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

/// The same where nobody else has said anything: which roles others had is not known later.
fn staff_alone() -> From {
    group("h", "2").on("discord").role("staff")
}

/// Waits until a question waits; what it is about.
async fn waiting(fixture: &Fixture) -> String {
    let agent = fixture.agent("a");
    loop {
        let waiting = fixture.engine.approvals().list(&agent).await.unwrap();
        if let Some(one) = waiting.first() {
            return one.rule.to_string();
        }
        tokio::task::yield_now().await;
    }
}

/// Whether anything waits for an answer.
async fn is_asked(fixture: &Fixture) -> bool {
    !fixture.engine.approvals().list(&fixture.agent("a")).await.unwrap().is_empty()
}

/// Waits for a post that has these words.
async fn told(fixture: &Fixture, words: &str) {
    while !fixture.posted().iter().any(|post| post.2.contains(words)) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_role_makes_an_admin_for_commands_words_and_buttons() {
    let fixture = open_fixture().await;
    assert!(fixture.ask(&boss(), "/whoami").await.contains("you are an admin"));
    assert_eq!(fixture.ask(&staff(), "/reload").await, "only an admin may use /reload");
    assert!(fixture.ask(&boss(), "/reload").await.starts_with("read again"));
    // Words.
    fixture.say(&staff(), "terminal {\"command\": \"rm -r one\"}").await;
    waiting(&fixture).await;
    let open = fixture.engine.approvals().list(&fixture.agent("a")).await.unwrap();
    let yes = format!("yes {}", open[0].id);
    fixture.say(&staff(), &yes).await;
    told(&fixture, "only an admin of agent `a` may answer").await;
    // Who has the role no longer is nobody.
    fixture.say(&group("g", "1").on("discord"), &yes).await;
    assert!(is_asked(&fixture).await);
    fixture.say(&boss(), &yes).await;
    told(&fixture, "ran \"rm -r one\"").await;
    // A button.
    fixture.say(&staff(), "terminal {\"command\": \"rm -r two\"}").await;
    waiting(&fixture).await;
    told(&fixture, "rm -r two").await;
    let data = fixture.platforms.buttons.lock().unwrap().iter().rev().nth(1).unwrap().1.clone();
    assert_eq!(fixture.press(&staff(), &data).await, "only an admin of agent `a` may answer");
    let pressed = fixture.press(&boss(), &data).await;
    assert!(pressed.contains("terminal"), "{pressed}");
    assert!(!is_asked(&fixture).await);
}

fn skill(name: &str) -> String {
    let content = format!("---\nname: {name}\ndescription: A skill.\n---\nDo it.");
    format!("skill_manage {}", json!({ "action": "create", "name": name, "content": content }))
}

#[tokio::test]
async fn a_role_makes_an_admin_for_tools_that_change_the_agent() {
    let fixture = open_fixture().await;
    let told = fixture.ask(&boss(), &skill("notes")).await;
    assert!(told.contains("notes") && !is_asked(&fixture).await, "{told}");
    fixture.say(&staff_alone(), &skill("others")).await;
    assert_eq!(waiting(&fixture).await, "change_self");
    let skills = &fixture.agent("a").skills.skills;
    assert_eq!(skills.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["notes"]);
}

#[tokio::test]
async fn a_role_makes_an_admin_for_what_everybody_will_read() {
    let fixture = open_fixture().await;
    let remember = |content: &str| {
        let call =
            json!({ "action": "add", "target": "memory", "content": content, "scope": "global" });
        format!("memory {call}")
    };
    fixture.ask(&boss(), &remember("the office is in Graz")).await;
    assert!(!is_asked(&fixture).await);
    fixture.say(&staff_alone(), &remember("the door code is 7")).await;
    assert_eq!(waiting(&fixture).await, "global_memory");
}

#[tokio::test]
async fn rules_and_hooks_see_an_admin_by_role() {
    let fixture = open_fixture().await;
    let call = "terminal {\"command\": \"for admins\"}";
    assert_eq!(fixture.ask(&boss(), call).await, "ran \"for admins\"");
    let refused = fixture.ask(&staff(), call).await;
    assert!(!refused.contains("ran"), "{refused}");
}

#[tokio::test]
async fn the_hooks_of_the_way_in_see_an_admin_by_role() {
    let config =
        CONFIG.replace("agents:", "hooks:\n  pre_gateway_dispatch: [{expr: \"admin\"}]\nagents:");
    let fixture = with(&config, insula_tools::BUILT_IN, script).await;
    assert_eq!(fixture.ask(&boss(), "hello").await, "heard: hello");
    fixture.say(&staff(), "hello").await;
    assert_eq!(fixture.asked(), 1);
}
