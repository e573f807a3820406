//! What is taken away reaches what waits and what runs: a turn does the narrower of the generation
//! it began under and the one that holds.

use crate::turns::support::{Fixture, calls, end, says, scripted, with_tools};
use async_trait::async_trait;
use insula_domain::AgentId;
use insula_registry::{Actor, tokens::Verb};
use insula_testkit::upstream::{Seen, Step};
use insula_tools::{Cleared, Hands, Output, Tool, ToolError};
use insula_turns::TurnEnd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

fn later(go: &Arc<Notify>, mut answer: Vec<Step>) -> Vec<Step> {
    answer.insert(0, Step::Wait(go.clone()));
    answer
}

fn id(agent: &str) -> AgentId {
    AgentId::new(agent).unwrap()
}

/// Writes the configuration anew with one text in place of another, and applies it.
async fn edit(fixture: &Fixture, from: &str, to: &str) {
    let before = fixture.files().read("config.yaml").unwrap();
    assert!(before.contains(from), "{before}");
    fixture.files().write("config.yaml", before.replace(from, to)).unwrap();
    fixture.daemon.reload(None, &Actor::CommandLine).await.unwrap();
}

fn failed(end: TurnEnd) -> String {
    match end {
        TurnEnd::Failed { error } => error,
        other => panic!("{other:?}"),
    }
}

/// What the model was told last.
fn told(fixture: &Fixture) -> String {
    String::from_utf8_lossy(&fixture.upstream().seen().last().unwrap().body).into_owned()
}

#[tokio::test]
async fn a_queued_turn_begins_under_what_holds_when_it_begins() {
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let fixture = scripted(move |_, number| match number {
        0 => later(&gate, says("first")),
        1 => calls("c1", "todo", "{}"),
        _ => says("second"),
    })
    .await;
    let first = fixture.submit("one", "a").await;
    fixture.upstream().requests(1).await;
    let second = fixture.submit("one", "b").await;
    edit(&fixture, "a: {tools: minimal}", "a: {tools: [clarify]}").await;
    go.notify_one();
    assert!(matches!(end(first).await, TurnEnd::Replied { .. }));
    assert!(matches!(end(second).await, TurnEnd::Replied { .. }));
    let (shown, said) = (fixture.upstream().seen()[1].json(), told(&fixture));
    assert!(!shown["tools"].to_string().contains("todo"), "{shown}");
    assert!(said.contains("you do not have the tool `todo`"), "{said}");
}

#[tokio::test]
async fn a_turn_under_way_loses_a_tool_with_its_agent_and_gains_none() {
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let fixture = scripted(move |_, number| match number {
        0 => later(&gate, calls("c1", "todo", "{}")),
        1 => calls("c2", "read_file", r#"{"path": "x"}"#),
        _ => says("done"),
    })
    .await;
    let turn = fixture.submit("one", "go").await;
    fixture.upstream().requests(1).await;
    edit(&fixture, "a: {tools: minimal}", "a: {tools: [read_file]}").await;
    go.notify_one();
    assert!(matches!(end(turn).await, TurnEnd::Replied { .. }));
    let said = told(&fixture);
    assert!(said.contains("you do not have the tool `todo`"), "{said}");
    assert!(said.contains("you do not have the tool `read_file`"), "{said}");
}

#[tokio::test]
async fn an_agent_that_serves_no_more_does_nothing_more_and_says_why() {
    for (kind, why) in [("pause", "paused"), ("archive", "archived"), ("delete", "deleted")] {
        let go = Arc::new(Notify::new());
        let gate = go.clone();
        let fixture = scripted(move |_, _| later(&gate, says("never"))).await;
        let (running, queued) =
            (fixture.submit("one", "a").await, fixture.submit("one", "b").await);
        fixture.upstream().requests(1).await;
        let (agent, actor) = (id("a"), Actor::CommandLine);
        match kind {
            "pause" => fixture.engine.capabilities().pause(&agent, &actor).await.unwrap(),
            "archive" => fixture.daemon.archive(&agent, &actor).await.unwrap(),
            _ => fixture.daemon.delete(&agent, &actor).await.unwrap(),
        }
        // Nobody lets the model go: it is not waited for.
        for turn in [running, queued] {
            let error = failed(end(turn).await);
            assert!(error.contains("does not serve any more") && error.contains(why), "{error}");
        }
        assert_eq!(fixture.upstream().seen().len(), 1);
    }
}

#[tokio::test]
async fn a_configuration_that_breaks_or_drops_an_agent_ends_its_turns() {
    for to in ["a: {tolls: minimal}", "other: {tools: minimal}"] {
        let go = Arc::new(Notify::new());
        let gate = go.clone();
        let fixture = scripted(move |_, _| later(&gate, says("never"))).await;
        let turn = fixture.submit("one", "a").await;
        fixture.upstream().requests(1).await;
        edit(&fixture, "a: {tools: minimal}", to).await;
        let error = failed(end(turn).await);
        assert!(error.contains("agent `a` does not serve any more"), "{error}");
    }
}

#[tokio::test]
async fn a_model_that_was_taken_away_is_not_asked_again() {
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let fixture = scripted(move |_, _| later(&gate, says("never"))).await;
    let turn = fixture.submit("one", "a").await;
    fixture.upstream().requests(1).await;
    edit(&fixture, "a: {tools: minimal}", "a: {tools: minimal, model: fake/other}").await;
    let error = failed(end(turn).await);
    assert!(error.contains("may not use the model any more"), "{error}");
    // The next one is of what holds.
    go.notify_one();
    go.notify_one();
    assert_eq!(fixture.say("a", "two", "b").await, "never");
    assert_eq!(fixture.upstream().seen().last().unwrap().json()["model"], "other");
}

#[tokio::test]
async fn a_revoked_token_ends_what_was_begun_by_it_and_nothing_else() {
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let daemon = scripted(move |_, _| later(&gate, says("said"))).await;
    let (agents, actor) = ([id("a")], Actor::CommandLine);
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let made =
            daemon.daemon.create_token(agents.clone().into(), [Verb::Chat].into(), None, &actor);
        tokens.push(made.await.unwrap().0.id.clone());
    }
    let mut turns = Vec::new();
    for token in &tokens {
        let (mut inbound, _) = daemon.inbound("a", token, "go");
        inbound.principal = format!("api:{token}").into();
        turns.push(daemon.engine.submit(inbound).await.unwrap());
    }
    daemon.upstream().requests(2).await;
    daemon.daemon.revoke_token(&tokens[0], &actor).await.unwrap();
    let kept = turns.pop().unwrap();
    let error = failed(end(turns.pop().unwrap()).await);
    assert!(error.contains("may not talk to agent `a` any more"), "{error}");
    go.notify_one();
    go.notify_one();
    assert!(matches!(end(kept).await, TurnEnd::Replied { .. }));
}

static BEGUN: Notify = Notify::const_new();
static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// A program that runs until it is ended.
struct Running;

struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Tool for Running {
    fn name(&self) -> &str {
        "terminal"
    }

    fn description(&self) -> &str {
        "Never ends."
    }

    fn parameters(&self) -> &str {
        r#"{"type":"object"}"#
    }

    async fn run(&self, _: &Hands<'_>, _: &Cleared) -> Result<Output, ToolError> {
        let _ended = Ended;
        BEGUN.notify_one();
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_call_under_way_ends_when_its_agent_loses_what_it_touches() {
    for (number, to) in [
        "tools: [todo]",
        "tools: [terminal], network: {allow: []}",
        "tools: [terminal], secrets: []",
        "tools: [terminal], sandbox: {memory: 64MB}",
        "tools: [terminal], workspace: {path: /somewhere}",
    ]
    .into_iter()
    .enumerate()
    {
        let script = |_: &Seen, number| match number {
            0 => calls("c1", "terminal", "{}"),
            _ => says("went on"),
        };
        let agents = "agents: {a: {tools: [terminal], network: {allow: [example.org]}, secrets: [KEY], approvals: {mode: 'off'}}}\n";
        let from = "tools: [terminal], network: {allow: [example.org]}, secrets: [KEY]";
        let kept = match number {
            1 => format!("{to}, secrets: [KEY]"),
            0 | 2 => format!("{to}, network: {{allow: [example.org]}}"),
            _ => format!("{to}, network: {{allow: [example.org]}}, secrets: [KEY]"),
        };
        let fixture = with_tools(None, agents, &[&Running], script).await;
        let turn = fixture.submit("one", "go").await;
        BEGUN.notified().await;
        // What the call does not touch ends nothing.
        edit(&fixture, "approvals: {mode: 'off'}", "approvals: {mode: 'off'}, name: Other").await;
        assert_eq!(DROPPED.load(Ordering::SeqCst), number);
        edit(&fixture, from, &kept).await;
        assert!(matches!(end(turn).await, TurnEnd::Replied { .. }), "{to}");
        assert_eq!(DROPPED.load(Ordering::SeqCst), number + 1, "{to}");
        assert!(told(&fixture).contains("refused"), "{to}: {}", told(&fixture));
    }
}
