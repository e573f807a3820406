//! An answer that asks for a glance is journalled with what that showed.

use crate::turns::support::{Fixture, calls, end, reply, says, scripted, with_tools};
use async_trait::async_trait;
use insula_store::{Message, Role, StepKind, TurnId};
use insula_tools::{Cleared, Course, Hands, Output, Tool, ToolError};
use insula_turns::{TurnEnd, TurnEvent};

const READ: &str = r#"{"path":"note.txt"}"#;

async fn steps(fixture: &Fixture, turn: TurnId) -> Vec<StepKind> {
    let (inbound, _) = fixture.inbound("coder", "one", "");
    let steps = inbound.agent.store.steps(turn).await.unwrap();
    steps.into_iter().map(|step| step.kind).collect()
}

#[tokio::test]
async fn an_answer_stands_before_what_it_looked_at_and_both_are_there_for_the_next_turn() {
    let fixture = scripted(|_, number| match number {
        0 => calls("c1", "read_file", READ),
        2 => calls("c2", "read_file", READ),
        _ => says("seen"),
    })
    .await;
    fixture.files().write("agents/coder/workspace/note.txt", "a line\n").unwrap();
    let (inbound, key) = fixture.inbound("coder", "one", "look");
    let handle = fixture.engine.submit(inbound).await.unwrap();
    let turn = handle.turn;
    assert_eq!(reply(handle).await, "seen");
    let messages = fixture.messages(&key).await;
    let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
    let [_, asked, result, _] = &messages[..] else { panic!("{messages:?}") };
    let expected = [
        StepKind::Answered { message: asked.seq },
        StepKind::CallEnded { call: "c1".into(), message: result.seq },
    ];
    assert_eq!(steps(&fixture, turn).await, expected, "nothing else is journalled for a glance");
    // The next turn sees the same, whether the window was kept or is read again.
    fixture.say("coder", "one", "and now").await;
    let (inbound, _) = fixture.inbound("coder", "one", "");
    fixture.engine.drop_window(&inbound.agent, &key).await.unwrap();
    fixture.say("coder", "one", "and then").await;
    let seen = fixture.upstream().seen();
    let asked = |index: usize| seen[index].json()["messages"].as_array().unwrap().clone();
    let (kept, read) = (asked(3), asked(4));
    assert!(read.starts_with(&kept), "{kept:?} {read:?}");
    let ids: Vec<_> = kept.iter().filter_map(|it| it["tool_calls"][0]["id"].as_str()).collect();
    assert_eq!(ids, ["call00001", "call00002"], "as every server takes them");
    let results = kept.iter().filter(|it| it["role"] == "tool");
    assert_eq!(results.filter(|it| it["content"].to_string().contains("a line")).count(), 2);
}

#[tokio::test]
async fn a_refused_glance_is_journalled_behind_its_answer_too() {
    let fixture = scripted(|_, number| match number {
        0 => calls("c1", "read_file", READ),
        _ => says("not allowed"),
    })
    .await;
    // This agent has other tools only.
    let (inbound, key) = fixture.inbound("b", "one", "look");
    assert_eq!(reply(fixture.engine.submit(inbound).await.unwrap()).await, "not allowed");
    let messages = fixture.messages(&key).await;
    let seqs: Vec<_> = messages.iter().map(|message: &Message| message.seq).collect();
    assert!(seqs.is_sorted() && seqs.len() == 4, "{messages:?}");
}

/// A glance that never ends.
struct Stares;

#[async_trait]
impl Tool for Stares {
    fn name(&self) -> &'static str {
        "read_file"
    }

    fn description(&self) -> &'static str {
        "Stares."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object"}"#
    }

    fn course(&self) -> Course {
        Course::Glance
    }

    async fn run(&self, _: &Hands<'_>, _: &Cleared) -> Result<Output, ToolError> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn an_answer_whose_glance_is_stopped_is_journalled_all_the_same() {
    let agents = "agents:\n  coder: {tools: [read_file]}\n";
    let fixture = with_tools(None, agents, &[&Stares], |_, _| calls("c1", "read_file", "{}")).await;
    let (inbound, key) = fixture.inbound("coder", "one", "look");
    let mut handle = fixture.engine.submit(inbound).await.unwrap();
    let turn = handle.turn;
    while !matches!(handle.events.recv().await.unwrap(), TurnEvent::ToolCall { .. }) {}
    fixture.engine.stop(&key);
    assert_eq!(end(handle).await, TurnEnd::Stopped);
    assert_eq!(fixture.roles(&key).await, [Role::User, Role::Assistant]);
    assert!(matches!(steps(&fixture, turn).await[..], [StepKind::Answered { .. }]));
}
