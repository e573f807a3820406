//! Argument rules in whole turns: a call that a rule does not allow is not made, whatever the
//! model tries.

use crate::turns::support::{Fixture, calls, says, shown, with_tools};
use async_trait::async_trait;
use insula_domain::AgentId;
use insula_testkit::upstream::{Seen, Step};
use insula_tools::{Cleared, Hands, Output, Tool, ToolError};
use insula_turns::TurnEnd;

/// A tool that does nothing and says so.
struct Pretends(&'static str);

#[async_trait]
impl Tool for Pretends {
    fn name(&self) -> &str {
        self.0
    }

    fn description(&self) -> &str {
        "Pretends."
    }

    fn parameters(&self) -> &str {
        r#"{"type":"object"}"#
    }

    async fn run(&self, _: &Hands<'_>, arguments: &Cleared) -> Result<Output, ToolError> {
        Ok(Output::Text(format!("ran with {}", **arguments)))
    }
}

const TOOLS: insula_turns::gate::Tools =
    &[&Pretends("terminal"), &Pretends("web_extract"), &Pretends("send_message")];

const AGENTS: &str = "
agents:
  a:
    network: {allow: [docs.rs]}
    send: {to: ['telegram:main:-100']}
    tools:
      allow: [terminal, web_extract, send_message]
      rules:
        terminal: {command: {prefix: [git, cargo]}}
        web_extract: {urls: {host: docs.rs}}
        send_message: {expr: 'args.to in turn.mentioned_addresses || turn.admin'}
  b: {tools: {allow: [terminal]}}
";

/// `TOOL ARGUMENTS` in the last line of what was said is what the model calls.
fn script(seen: &Seen, _: usize) -> Vec<Step> {
    let said = shown(seen);
    match said.last() {
        Some((role, text)) if role == "tool" => says(text),
        Some((_, text)) => {
            let (tool, arguments) = text.lines().last().unwrap().split_once(' ').unwrap();
            match tool {
                "#ann" => calls("c1", "send_message", r#"{"to": "ann@example.org"}"#),
                "#eve" => calls("c1", "send_message", r#"{"to": "eve@evil.net"}"#),
                tool => calls("c1", tool, arguments),
            }
        }
        None => says("nothing"),
    }
}

async fn open_fixture() -> Fixture {
    with_tools(None, AGENTS, TOOLS, script).await
}

#[tokio::test]
async fn a_call_outside_of_a_rule_is_refused_with_the_reason() {
    let daemon = open_fixture().await;
    for (call, outcome) in [
        (r#"terminal {"command": "git status | cargo x"}"#, "ran with"),
        (
            r#"terminal {"command": "git status; rm x"}"#,
            "`command` runs `rm x`; allowed is what runs only commands that begin with `git`, `cargo` (rule `terminal.command.prefix`)",
        ),
        (r#"terminal {"cmd": "rm x"}"#, "`command` is missing"),
        (r#"terminal {"command": ["git status", "rm x"]}"#, "`command` runs `rm x`"),
        (r#"terminal {"command": "git x", "command": "rm x"}"#, "`command` runs `rm x`"),
        (r#"terminal {"command": null}"#, "is missing"),
        (r#"web_extract {"urls": "https://docs.rs/cel"}"#, "ran with"),
        (r#"web_extract {"urls": "https://docs.rs@evil.net/"}"#, "no plain web address"),
    ] {
        let said = daemon.say("a", "one", call).await;
        assert!(said.contains(outcome), "{call}: {said}");
        assert_eq!(said.starts_with("refused: "), outcome != "ran with", "{said}");
    }
    // Another agent's calls are not bound by it.
    let said = daemon.say("b", "one", r#"terminal {"command": "rm x"}"#).await;
    assert!(said.starts_with("ran with"), "{said}");
    let records = daemon.daemon.store_of(&AgentId::new("a").unwrap()).audit_tail(100).await;
    let refused = records
        .unwrap()
        .iter()
        .filter(|it| it.content.as_deref().is_some_and(|it| it.contains("argument_rule")))
        .count();
    assert_eq!(refused, 6);
}

#[tokio::test]
async fn an_expression_sees_what_the_person_said_in_this_turn_and_nothing_else() {
    let fixture = open_fixture().await;
    let said = fixture.say("a", "one", "tell Ann@example.org\n#ann x").await;
    assert!(said.starts_with("ran with"), "{said}");
    // Who was mentioned in an earlier turn, or by a tool, is nobody to write to in this one.
    for text in ["now\n#ann x", "tell Ann@example.org\n#eve x"] {
        let said = fixture.say("a", "one", text).await;
        assert!(said.contains("does not satisfy"), "{said}");
    }
    let said = fixture.say("a", "two", r#"send_message {"text": "x"}"#).await;
    assert!(said.contains("can't be said: there is no `to`"), "{said}");
    let (mut inbound, _) = fixture.inbound("a", "two", "#eve x");
    inbound.principal = "cli:local".into();
    let end = fixture.end(inbound).await;
    assert!(matches!(&end, TurnEnd::Replied { text, .. } if text.starts_with("ran")), "{end:?}");
}
