//! Hooks around calls, requests and approvals: what they stop does not happen, and what they
//! are not for they are not asked about.

use crate::turns::gate_edges::{context, tools};
use crate::turns::hooks::says_json;
use crate::turns::play::{acts, call, play, tell};
use crate::turns::support::{Fixture, build, end, with_tools};
use insula_registry::Actor;
use insula_testkit::upstream::{Seen, Upstream};
use insula_testkit::world;
use insula_turns::approvals::ApprovalAnswer;
use insula_turns::{TurnEnd, TurnEvent};
use serde_json::{Value, json};

async fn open(hooks: &str) -> Fixture {
    let agents = format!("agents:\n  a: {{tools: [terminal, todo], hooks: {{{hooks}}}}}\n");
    with_tools(None, &agents, tools(), |seen, _| play(seen)).await
}

fn run(command: &str) -> Value {
    call("terminal", json!({ "command": command }))
}

#[tokio::test]
async fn a_hook_stops_a_request_before_the_model_hears_of_it() {
    let fixture = open("pre_api_request: [{expr: 'false'}]").await;
    let ended = end(fixture.submit("one", &acts([tell()])).await).await;
    let TurnEnd::Failed { error } = &ended else { panic!("{ended:?}") };
    assert!(error.contains("a hook stopped a request to the model"), "{error}");
    assert!(fixture.upstream().seen().is_empty());
}

#[tokio::test]
async fn a_hook_refuses_before_an_admin_is_asked() {
    let fixture = open("pre_approval_request: [{expr: 'false'}]").await;
    let mut turn = fixture.submit("one", &acts([run("rm -r build"), tell()])).await;
    let told = loop {
        match turn.events.recv().await.expect("a turn ends") {
            TurnEvent::Approval { .. } => panic!("an admin was asked"),
            TurnEvent::Ended(TurnEnd::Replied { text, .. }) => break text,
            TurnEvent::Ended(other) => panic!("{other:?}"),
            _ => {}
        }
    };
    assert!(told.contains("an admin denied it") && !told.contains("ran "), "{told}");
    assert!(fixture.engine.approvals().list(&context(&fixture)).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_a_program_said_has_a_hook_of_its_own() {
    let fixture = open("transform_terminal_output: [{expr: 'false'}]").await;
    let list = call("todo", json!({ "todos": [{ "id": "1", "content": "milk" }] }));
    let told = fixture.say("a", "one", &acts([run("ls"), list, tell()])).await;
    let told: Vec<&str> = told.split("\n--\n").collect();
    assert!(told[0].starts_with("the result is withheld"), "{told:?}");
    assert!(told[1].contains("milk"), "{told:?}");
}

/// A daemon with a hook server that says this: `HOOK` in the agent stands for it.
async fn served(agent: &str, said: Value) -> (Fixture, Upstream) {
    let (world, _) = world(7);
    let model = |seen: &Seen, _: usize| play(seen);
    let upstream = Upstream::start(&world, model).await.unwrap();
    let hooks = Upstream::start(&world, says_json(said)).await.unwrap();
    let config = format!(
        "model: fake/model\nproviders:\n  fake: {{kind: openai, base_url: \"{}\"}}\nagents:\n  a: {{{}}}\n",
        upstream.url("/v1"),
        agent.replace("HOOK", &hooks.url("/hook"))
    );
    (build(world, config, Some(upstream)).await, hooks)
}

#[tokio::test]
async fn a_hook_hears_what_an_admin_answered() {
    let agent = "tools: [terminal], hooks: {post_approval_response: [{http: 'HOOK'}]}";
    let (fixture, hooks) = served(agent, json!({})).await;
    let mut turn = fixture.submit("one", &acts([run("rm -r build"), tell()])).await;
    let id = loop {
        if let TurnEvent::Approval { id, .. } = turn.events.recv().await.expect("a turn ends") {
            break id;
        }
    };
    let approvals = fixture.engine.approvals();
    let no = ApprovalAnswer::Deny(None);
    approvals.answer(&context(&fixture), &id, no, &Actor::CommandLine).await.unwrap();
    end(turn).await;
    let told = hooks.seen();
    let [told] = &told[..] else { panic!("{told:?}") };
    assert_eq!(told.json()["extra"]["outcome"], "denied");
    assert_eq!(told.json()["tool_name"], "terminal");
}

#[tokio::test]
async fn a_hook_that_wants_approval_gets_a_no_where_approvals_are_off() {
    let wants = json!({ "decision": "approve", "reason": "look at it" });
    for (approvals, waits) in [("off", false), ("manual", true)] {
        let agent = format!(
            "tools: [todo], approvals: {{mode: {approvals}}}, hooks: {{pre_tool_call: [{{http: 'HOOK'}}]}}"
        );
        let (fixture, _hooks) = served(&agent, wants.clone()).await;
        let list = call("todo", json!({ "todos": [{ "id": "1", "content": "milk" }] }));
        let mut turn = fixture.submit("one", &acts([list, tell()])).await;
        loop {
            match turn.events.recv().await.expect("a turn ends") {
                TurnEvent::Approval { id, .. } => {
                    assert!(waits, "nobody is to be asked");
                    let no = ApprovalAnswer::Deny(None);
                    let engine = fixture.engine.approvals();
                    engine.answer(&context(&fixture), &id, no, &Actor::CommandLine).await.unwrap();
                }
                TurnEvent::Ended(TurnEnd::Replied { text, .. }) => {
                    let told = if waits { "an admin denied it" } else { "approvals are off" };
                    assert!(text.contains(told) && !text.contains("milk"), "{text}");
                    break;
                }
                TurnEvent::Ended(other) => panic!("{other:?}"),
                _ => {}
            }
        }
    }
}
