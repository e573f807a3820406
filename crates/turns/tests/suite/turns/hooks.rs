//! Hooks in whole turns: what they may stop, change and hear, in which order, whose they are,
//! and that a hook that fails is a no.

use crate::turns::support::{Fixture, build, calls, end, says, shown, shown_apart};
use insula_domain::AgentId;
use insula_testkit::upstream::{Seen, Step, Upstream, answer};
use insula_testkit::{Handles, world};
use insula_turns::{TurnEnd, TurnEvent};
use serde_json::{Value, json};
use std::time::Duration;

/// A model that calls `todo` when told `todo`, and otherwise says `the reply`.
fn model(seen: &Seen, _: usize) -> Vec<Step> {
    match shown(seen).last() {
        Some((role, text)) if role == "tool" => says(text),
        Some((_, text)) if text.contains("todo") => {
            calls("c1", "todo", r#"{"todos": [{"id": "1", "content": "original"}]}"#)
        }
        _ => says("the reply"),
    }
}

/// A daemon with a hook server beside the model: `HOOK` in the agents stands for it.
pub async fn open_fixture(
    agents: &str,
    hook: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> (Fixture, Upstream, Handles) {
    let (world, handles) = world(7);
    let upstream = Upstream::start(&world, model).await.unwrap();
    let hooks = Upstream::start(&world, hook).await.unwrap();
    let config = format!(
        "model: fake/model\nproviders:\n  fake: {{kind: openai, base_url: \"{}\"}}\n{}",
        upstream.url("/v1"),
        agents.replace("HOOK", &hooks.url("/hook"))
    );
    (build(world, config, Some(upstream)).await, hooks, handles)
}

/// A hook server that always says this.
pub fn says_json(json: Value) -> impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static {
    move |_, _| {
        vec![answer(200, &[("content-type", "application/json")], &json.to_string()), Step::Close]
    }
}

impl Fixture {
    /// The hook records of an agent: event, and the verdict of each hook.
    pub async fn hook_records(&self, agent: &str) -> Vec<(String, Vec<String>)> {
        let records = self.daemon.store_of(&AgentId::new(agent).unwrap()).audit_tail(100).await;
        let records = records.unwrap();
        let hooks = records.iter().filter(|record| &*record.kind == "hook");
        let read = hooks.map(|record| {
            let content: Value = serde_json::from_str(record.content.as_ref().unwrap()).unwrap();
            let answers = content["answers"].as_array().unwrap().iter();
            let verdicts = answers.map(|it| it["verdict"].as_str().unwrap().to_owned());
            (content["event"].as_str().unwrap().to_owned(), verdicts.collect())
        });
        read.collect()
    }
}

#[tokio::test]
async fn an_expression_decides_about_a_call_of_its_own_agent_alone() {
    let agents = r#"
agents:
  a:
    tools: [todo]
    hooks: {pre_tool_call: [{expr: "tool_input.todos[0].content != 'original'"}]}
  b: {tools: [todo]}
"#;
    let (fixture, ..) = open_fixture(agents, says_json(json!({}))).await;
    let said = fixture.say("a", "one", "todo").await;
    assert!(said.contains("a hook does not allow this call of `todo`"), "{said}");
    let said = fixture.say("b", "one", "todo").await;
    assert!(said.contains("original"), "{said}");
    let block = ("pre_tool_call".to_owned(), vec!["block".to_owned()]);
    assert_eq!(fixture.hook_records("a").await, [block]);
    assert_eq!(fixture.hook_records("b").await, []);
}

#[tokio::test]
async fn a_hook_that_fails_is_a_no_unless_it_may_fail() {
    for (failure, denied) in [("", true), (", on_failure: allow", false)] {
        let agents = format!(
            "agents:\n  a:\n    tools: [todo]\n    hooks: {{pre_tool_call: [{{expr: 'tool_input.nothing'{failure}}}]}}\n"
        );
        let (daemon, ..) = open_fixture(&agents, says_json(json!({}))).await;
        let said = daemon.say("a", "one", "todo").await;
        assert_eq!(said.contains("a hook of this agent failed"), denied, "{said}");
        let snapshot = daemon.daemon.snapshot();
        let context = snapshot.agents[&AgentId::new("a").unwrap()].state.context().unwrap();
        let (count, last) = context.hooks.trouble().unwrap();
        assert!(count == 1 && last.contains("there is no `nothing`"), "{last}");
    }
}

const HTTP: &str = "
agents:
  a:
    tools: [todo]
    metadata: {org_id: acme}
    hooks: {pre_tool_call: [{http: 'HOOK', matcher: 'terminal|to*'}]}
";

#[tokio::test]
async fn a_server_is_told_who_and_where_and_its_answer_holds() {
    let block = json!({ "decision": "block", "reason": "not on Sundays" });
    let (fixture, hooks, _) = open_fixture(HTTP, says_json(block)).await;
    let said = fixture.say("a", "one", "todo").await;
    assert!(said.contains("not on Sundays"), "{said}");
    let seen = hooks.seen();
    assert_eq!(seen.len(), 1);
    let told = seen[0].json();
    for (field, expected) in [
        ("hook_event_name", json!("pre_tool_call")),
        ("agent_id", json!("a")),
        ("principal", json!("api:ann")),
        ("session_id", json!("agent:a:api:token:group:one")),
        ("scope", json!("chat:api:token:one")),
        ("platform", json!("api")),
        ("channel_id", json!("one")),
        ("user_id", json!("ann")),
        ("admin", json!(false)),
        ("metadata", json!({ "org_id": "acme" })),
        ("tool_name", json!("todo")),
    ] {
        if field != "scope" {
            assert_eq!(told[field], expected, "{field} in {told}");
        }
    }
    assert_eq!(told["tool_input"]["todos"][0]["content"], "original");
    assert!(told["scope"].is_string() && told["cwd"].is_string(), "{told}");
}

#[tokio::test]
async fn a_server_that_answers_nonsense_or_breaks_denies() {
    type Script = Box<dyn Fn(&Seen, usize) -> Vec<Step> + Send + Sync>;
    let text = |status: u16, body: &'static str| -> Script {
        Box::new(move |_, _| vec![answer(status, &[], body), Step::Close])
    };
    let scripts: Vec<Script> = vec![
        text(500, "{}"),
        text(302, "{}"),
        text(200, "sure"),
        text(200, r#"{"decison": "allow"}"#),
        Box::new(|_, _| vec![Step::Close]),
    ];
    for script in scripts {
        let (fixture, ..) = open_fixture(HTTP, script).await;
        let said = fixture.say("a", "one", "todo").await;
        assert!(said.contains("a hook of this agent failed"), "{said}");
        assert_eq!(fixture.hook_records("a").await[0].1, ["failed, denied"]);
    }
}

#[tokio::test]
async fn a_server_that_hangs_denies_after_its_time() {
    let (fixture, hooks, handles) = open_fixture(HTTP, |_: &Seen, _| vec![Step::Hang]).await;
    let turn = fixture.submit("one", "todo").await;
    hooks.requests(1).await;
    let ended = tokio::spawn(end(turn));
    while !ended.is_finished() {
        handles.clock.advance(Duration::from_secs(1)).await;
        tokio::task::yield_now().await;
    }
    let ended = ended.await.unwrap();
    let TurnEnd::Replied { text, .. } = &ended else { panic!("{ended:?}") };
    assert!(text.contains("a hook of this agent failed"), "{text}");
}

#[tokio::test]
async fn hooks_of_the_daemon_come_first_and_the_first_no_ends_it() {
    let agents = "
hooks: {pre_tool_call: [{expr: \"agent_id != 'b'\"}]}
agents:
  a: {tools: [todo], hooks: {pre_tool_call: [{expr: 'true'}, {expr: 'false'}, {expr: 'true'}]}}
  b: {tools: [todo], hooks: {pre_tool_call: [{expr: 'true'}]}}
";
    let (fixture, ..) = open_fixture(agents, says_json(json!({}))).await;
    fixture.say("a", "one", "todo").await;
    fixture.say("b", "one", "todo").await;
    assert_eq!(fixture.hook_records("a").await[0].1, ["allow", "allow", "block"]);
    assert_eq!(fixture.hook_records("b").await[0].1, ["block"]);
}

#[tokio::test]
async fn context_reaches_the_model_and_a_no_ends_the_turn() {
    let agents = r#"
agents:
  a:
    tools: [todo]
    hooks: {pre_llm_call: [{expr: "text == 'stop' ? string(1/0) : 'the user is ' + user_id"}]}
"#;
    let (fixture, ..) = open_fixture(agents, says_json(json!({}))).await;
    assert_eq!(fixture.say("a", "one", "hello").await, "the reply");
    let seen = fixture.upstream().seen();
    let asked = shown_apart(&seen[0]);
    assert_eq!(asked.last().unwrap().1, "the user is ann", "{asked:?}");
    // Read again, the conversation is the same: what was added stands where it was said.
    let (inbound, key) = fixture.inbound("a", "one", "again");
    fixture.engine.drop_window(&inbound.agent, &key).await.unwrap();
    fixture.end(inbound).await;
    let again: Vec<String> =
        shown_apart(&fixture.upstream().seen()[1]).into_iter().map(|(_, text)| text).collect();
    assert_eq!(again, ["hello", "the user is ann", "the reply", "again", "the user is ann"]);
    let (inbound, _) = fixture.inbound("a", "one", "stop");
    let ended = fixture.end(inbound).await;
    assert!(
        matches!(&ended, TurnEnd::Failed { error } if error.contains("a hook stopped this turn")),
        "{ended:?}"
    );
    assert_eq!(fixture.upstream().seen().len(), 2);
}

#[tokio::test]
async fn results_and_replies_are_shown_as_hooks_make_them() {
    let agents = r#"
agents:
  a:
    tools: [todo]
    hooks:
      transform_tool_result: [{expr: "'[' + tool_name + ' is hidden]'"}]
      transform_llm_output: [{expr: "text.upperAscii()"}]
"#;
    let (fixture, ..) = open_fixture(agents, says_json(json!({}))).await;
    let (inbound, key) = fixture.inbound("a", "one", "todo");
    let mut turn = fixture.engine.submit(inbound).await.unwrap();
    let mut deltas = 0;
    let text = loop {
        match turn.events.recv().await.unwrap() {
            TurnEvent::Text(_) => deltas += 1,
            TurnEvent::Ended(TurnEnd::Replied { text, .. }) => break text,
            TurnEvent::Ended(other) => panic!("{other:?}"),
            _ => {}
        }
    };
    // Nobody sees a word before the hook did.
    assert_eq!((text.as_str(), deltas), ("[TODO IS HIDDEN]", 0));
    let stored = format!("{:?}", fixture.messages(&key).await);
    assert!(stored.contains("[TODO IS HIDDEN]"), "{stored}");
    assert!(!stored.contains("\"content\":\"original\",\"status\""), "{stored}");
}

#[tokio::test]
async fn a_transformation_that_fails_withholds_the_text() {
    let agents = r#"
agents:
  a: {tools: [todo], hooks: {transform_llm_output: [{expr: "text.nothing"}]}}
  b: {tools: [todo], hooks: {transform_tool_result: [{expr: "text.nothing"}]}}
"#;
    let (fixture, ..) = open_fixture(agents, says_json(json!({}))).await;
    let (inbound, key) = fixture.inbound("a", "one", "hello");
    let ended = fixture.end(inbound).await;
    assert!(matches!(&ended, TurnEnd::Failed { error } if error.contains("withheld")), "{ended:?}");
    assert!(!format!("{:?}", fixture.messages(&key).await).contains("the reply"));
    let said = fixture.say("b", "one", "todo").await;
    assert!(said.starts_with("the result is withheld"), "{said}");
}

#[tokio::test]
async fn observers_hear_and_change_nothing() {
    let agents = "
agents:
  a:
    tools: [todo]
    hooks:
      on_session_start: [{http: 'HOOK'}]
      post_tool_call: [{http: 'HOOK'}]
      pre_api_request: [{expr: 'true'}]
      post_api_request: [{http: 'HOOK'}]
      post_llm_call: [{http: 'HOOK'}]
      agent:lifecycle: [{http: 'HOOK'}]
      on_session_reset: [{http: 'HOOK'}]
";
    let (fixture, hooks, _) = open_fixture(agents, says_json(json!({ "decision": "block" }))).await;
    fixture.daemon.told().await;
    let said = fixture.say("a", "one", "todo").await;
    assert!(said.contains("original"), "{said}");
    fixture.say("a", "one", "hello").await;
    let (inbound, key) = fixture.inbound("a", "one", "x");
    fixture.engine.begin_anew(&inbound.agent, &key).await.unwrap();
    let id = AgentId::new("a").unwrap();
    fixture.engine.capabilities().pause(&id, &insula_registry::Actor::CommandLine).await.unwrap();
    fixture.daemon.told().await;
    let told: Vec<String> = hooks
        .seen()
        .iter()
        .map(|seen| seen.json()["hook_event_name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        told,
        [
            "agent:lifecycle",
            "agent:lifecycle",
            "on_session_start",
            "post_api_request",
            "post_tool_call",
            "post_api_request",
            "post_llm_call",
            "post_api_request",
            "post_llm_call",
            "on_session_reset",
            "agent:lifecycle",
        ]
    );
    let lifecycle = hooks.seen().last().unwrap().json();
    assert_eq!(lifecycle["operation"], "agent.paused");
}
