//! The gate where it is pressed: the same refused call again and again, calls that wait while
//! others are made, and calls that a crash cut off.

use crate::turns::play::{acts, call, delegate, open_fixture, play, say, tell, together};
use crate::turns::support::{Fixture, end, reply, shown_apart, with_tools};
use async_trait::async_trait;
use insula_domain::AgentId;
use insula_registry::events::AgentEvent;
use insula_registry::{Actor, AgentContext};
use insula_testkit::upstream::{Seen, Step};
use insula_tools::{BUILT_IN, Cleared, Hands, Output, Risk, Tool, ToolError};
use insula_turns::approvals::{ApprovalAnswer, ApprovalDuration};
use insula_turns::gate::{Denial, Tools};
use insula_turns::{TurnEnd, TurnEvent};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// A shell that runs nothing, and never ends where it is told `hang`.
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
        r#"{"type":"object"}"#
    }

    fn risk<'a>(&self, arguments: &'a Value) -> Risk<'a> {
        Risk::Command(Cow::Borrowed(arguments["command"].as_str().unwrap_or_default()))
    }

    async fn run(&self, _: &Hands<'_>, arguments: &Cleared) -> Result<Output, ToolError> {
        if arguments["command"] == "hang" {
            std::future::pending::<()>().await;
        }
        Ok(Output::Text(format!("ran {}", arguments["command"])))
    }
}

/// The built-in tools, with that shell.
pub fn tools() -> Tools {
    let others = BUILT_IN.iter().copied().filter(|tool| tool.name() != "terminal");
    let tools: Vec<&'static dyn Tool> = others.chain([&Shell as &dyn Tool]).collect();
    Vec::leak(tools)
}

pub fn context(fixture: &Fixture) -> Arc<AgentContext> {
    let id = AgentId::new("a").unwrap();
    fixture.daemon.snapshot().agents[&id].state.context().unwrap().clone()
}

/// What the audit says each refused call was refused by: the kind of rule, and its name.
async fn refusals(fixture: &Fixture) -> Vec<(String, String)> {
    let records = context(fixture).store.audit_tail(100).await.unwrap();
    let contents = records.iter().filter_map(|it| it.content.as_deref());
    let contents = contents.map(|it| serde_json::from_str::<Value>(it).unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    contents
        .filter(|it| it["verdict"] == "refused")
        .map(|it| (text(&it["rule"]), text(&it["about"])))
        .collect()
}

#[tokio::test]
async fn a_refused_call_that_comes_again_is_told_so_and_then_ends_the_turn() {
    let fixture = open_fixture("agents:\n  a: {tools: [todo]}\n").await;
    let refused = || call("terminal", json!({ "command": "ls" }));
    let told = fixture.say("a", "one", &acts([refused(), refused(), refused(), tell()])).await;
    let told: Vec<&str> = told.split("\n--\n").collect();
    assert!(told[0].contains("you do not have the tool `terminal`"), "{told:?}");
    for again in &told[1..] {
        assert!(again.contains("was refused before"), "{told:?}");
    }
    assert_eq!(told.len(), 3);
    let turn = acts([refused(), refused(), refused(), refused(), tell()]);
    let ended = end(fixture.submit("two", &turn).await).await;
    assert!(
        matches!(&ended, TurnEnd::Failed { error, .. } if error.contains("again and again")),
        "{ended:?}"
    );
}

#[tokio::test]
async fn the_record_of_a_refusal_names_the_operator_s_rule() {
    let fixture = open_fixture(
        "
agents:
  a:
    tools: {allow: [todo, read_file], rules: {read_file: {path: {prefix: [docs/]}}}}
    hooks: {pre_tool_call: [{expr: 'false', matcher: todo}]}
",
    )
    .await;
    let read = call("read_file", json!({ "path": "secret.txt" }));
    let list = call("todo", json!({ "todos": [] }));
    fixture.say("a", "one", &acts([read, list, tell()])).await;
    let refusals = refusals(&fixture).await;
    let [(rule, name), (hook, its_name)] = &refusals[..] else { panic!("{refusals:?}") };
    assert_eq!((&**rule, &**name), ("argument_rule", "read_file.path.prefix"));
    assert_eq!(&**hook, "hook");
    assert!(its_name.contains("pre_tool_call"), "{its_name}");
}

const COUNTED: &str = "
agents:
  a:
    tools:
      allow: [terminal, delegate_task]
      rules: {terminal: {max_calls: 1}}
    subagents: {approvals: inherit}
";

/// Waits until so many calls wait for an answer, and says yes to all of them.
async fn approve(fixture: &Fixture, count: usize) {
    let agent = context(fixture);
    let waiting = loop {
        let waiting = fixture.engine.approvals().list(&agent).await.unwrap();
        if waiting.len() == count {
            break waiting;
        }
        tokio::task::yield_now().await;
    };
    for approval in waiting {
        let yes = ApprovalAnswer::Approve(ApprovalDuration::Once);
        let approvals = fixture.engine.approvals();
        approvals.answer(&agent, &approval.id, yes, &Actor::CommandLine).await.unwrap();
    }
}

#[tokio::test]
async fn a_call_that_waited_is_counted_when_it_begins() {
    let script = |seen: &Seen, _: usize| play(seen);
    let fixture = with_tools(None, COUNTED, tools(), script).await;
    let child = |folder: &str| {
        let remove = call("terminal", json!({ "command": format!("rm -r {folder}") }));
        json!({ "goal": acts([remove, tell()]) })
    };
    // Both were examined before either was made.
    let turn = fixture.submit("one", &acts([delegate([child("x"), child("y")]), tell()])).await;
    approve(&fixture, 2).await;
    let told = reply(turn).await;
    assert_eq!(told.matches("ran ").count(), 1, "{told}");
    assert_eq!(told.matches("such calls were made in this turn").count(), 1, "{told}");
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_is_one_too_many() {
    let script = |seen: &Seen, _: usize| play(seen);
    let fixture = with_tools(None, COUNTED, tools(), script).await;
    let remove = |folder: &str| call("terminal", json!({ "command": format!("rm -r {folder}") }));
    let turn = fixture.submit("one", &acts([remove("x"), remove("y"), tell()])).await;
    approve(&fixture, 1).await;
    // Were an admin asked again, this would wait for one.
    let told = reply(turn).await;
    assert!(told.contains("such calls were made in this turn, of 1"), "{told}");
}

#[tokio::test]
async fn what_is_said_in_a_message_may_be_named_and_nothing_else() {
    let fixture = open_fixture(
        "
agents:
  a:
    tools:
      allow: [read_file, search_files]
      rules:
        read_file: {path: {said: true}}
        search_files: {pattern: {said: true}, max_calls: 5}
",
    )
    .await;
    let acts = |path: &str| {
        let read = call("read_file", json!({ "path": path }));
        acts([read, call("search_files", json!({ "pattern": path })), tell()])
    };
    let told = fixture.say("a", "one", &acts("notes")).await;
    assert!(!told.contains("refused: "), "{told}");
    // Written so that the name does not stand in the message.
    let told = fixture.say("a", "one", &acts("notes").replace("notes", "n\\u006ftes")).await;
    assert_eq!(told.matches("refused: ").count(), 2, "{told}");
}

#[test]
fn a_tool_that_is_not_there_is_told_by_where_it_would_come_from() {
    let told = |name: &str| Denial::NotBuilt { name: name.to_owned() }.to_string();
    assert!(told("mcp__github__push").contains("none of your servers offers"));
    assert!(told("browser").contains("does not run in this version"));
}

/// Begins a turn of `program` that is cut off, and goes on with it in another process: what it
/// says at its end, and what the model was shown by then. In the first process the model answers
/// `answers` times.
fn after_a_crash(
    agents: &'static str,
    program: &str,
    answers: usize,
    is_there: bool,
) -> (String, Vec<(String, String)>) {
    // Of one thread, so that nothing sees anything else being cut off.
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let files = first.block_on(async {
        let hangs = move |seen: &Seen, number: usize| match number < answers {
            true => play(seen),
            false => vec![Step::Hang],
        };
        let fixture = with_tools(None, agents, tools(), hangs).await;
        let mut turn = fixture.submit_locally("one", program).await;
        match is_there {
            // Until the call that hangs has begun.
            true => loop {
                let called = turn.events.recv().await.expect("a turn ends");
                if matches!(called, TurnEvent::ToolCall { name, .. } if name == "terminal")
                    && begun(&fixture).await
                {
                    break;
                }
            },
            false => fixture.upstream().requests(answers + 1).await,
        }
        let Fixture { files, .. } = fixture;
        files
    });
    first.shutdown_timeout(Duration::from_secs(30));
    runtime().block_on(async {
        let script = |seen: &Seen, _: usize| play(seen);
        let fixture = with_tools(Some(files), agents, tools(), script).await;
        let mut events = fixture.daemon.hub().listen(&AgentId::new("a").unwrap());
        fixture.engine.resume().await.unwrap();
        loop {
            let event = events.recv().await.unwrap();
            if let AgentEvent::Turn { event: TurnEvent::Ended(end), .. } = &*event {
                let TurnEnd::Replied { text, .. } = end else { panic!("{end:?}") };
                let last = fixture.upstream().seen().last().map(shown_apart);
                break (text.clone(), last.unwrap_or_default());
            }
        }
    })
}

/// Waits until a call of the shell is journalled as begun.
async fn begun(fixture: &Fixture) -> bool {
    let store = context(fixture).store.clone();
    loop {
        let turns = store.unfinished().await.unwrap();
        let steps = turns.iter().flat_map(|turn| &turn.steps);
        let is_begun = |kind: &insula_store::StepKind| matches!(kind, insula_store::StepKind::CallBegun { name, .. } if &**name == "terminal");
        if steps.into_iter().any(|step| is_begun(&step.kind)) {
            return true;
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_call_that_had_begun_before_a_crash_is_not_made_again() {
    let run = call("terminal", json!({ "command": "hang" }));
    let (told, _) =
        after_a_crash("agents:\n  a: {tools: [terminal]}\n", &acts([run, tell()]), 1, true);
    assert!(told.contains("was interrupted and its outcome is unknown"), "{told}");
}

#[test]
fn of_several_calls_in_one_answer_a_crash_leaves_none_without_a_result() {
    let done = call("todo", json!({}));
    let cut_off = call("terminal", json!({ "command": "hang" }));
    let program = acts([together([done, cut_off]), tell()]);
    let (told, _) = after_a_crash("agents:\n  a: {tools: [terminal, todo]}\n", &program, 1, true);
    let results: Vec<&str> = told.split("\n--\n").collect();
    assert_eq!(results.len(), 2, "{told}");
    assert!(!results[0].contains("interrupted"), "{told}");
    assert!(results[1].contains("was interrupted and its outcome is unknown"), "{told}");
}

#[test]
fn what_a_hook_added_to_a_turn_is_added_once_though_it_was_cut_off() {
    let agents = "agents:\n  a: {tools: [todo], hooks: {pre_llm_call: [{expr: 'text'}]}}\n";
    let program = acts([call("todo", json!({})), say("done")]);
    let (told, shown) = after_a_crash(agents, &program, 1, false);
    assert_eq!(told, "done");
    // What was asked, and the hook's repetition of it.
    let asked = shown.iter().filter(|(_, text)| *text == program).count();
    assert_eq!(asked, 2, "{shown:?}");
}

#[test]
fn children_go_on_after_a_crash() {
    let agents = "agents:\n  a: {tools: [delegate_task, todo]}\n";
    let child = json!({ "goal": acts([say("done by a child")]) });
    let (told, _) = after_a_crash(agents, &acts([delegate([child]), tell()]), 1, false);
    assert!(told.contains("done by a child") && !told.contains("interrupted"), "{told}");
}
