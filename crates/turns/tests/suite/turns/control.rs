//! Steering, interrupting, stopping, retrying, beginning anew, forgetting.

use crate::turns::support::{calls, end, reply, says, scripted, shown, shown_apart, with_tools};
use async_trait::async_trait;
use insula_domain::AgentId;
use insula_registry::events::AgentEvent;
use insula_store::{Part, Role, SessionRef, SessionState, TurnStatus};
use insula_testkit::upstream::{Seen, Step};
use insula_tools::{Cleared, Hands, Output, Tool, ToolError};
use insula_turns::{BusyMode, SubmitError, TurnEnd, TurnEvent};
use std::sync::Arc;
use tokio::sync::Notify;

/// An answer that waits for `go` before it says anything.
fn later(go: &Arc<Notify>, mut answer: Vec<Step>) -> Vec<Step> {
    answer.insert(0, Step::Wait(go.clone()));
    answer
}

#[tokio::test]
async fn a_message_that_steers_is_seen_before_the_model_goes_on() {
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let fixture = scripted(move |_, number| match number {
        0 => later(&gate, calls("c1", "todo", "{}")),
        _ => says("both done"),
    })
    .await;
    let first = fixture.submit("one", "do this").await;
    fixture.upstream().requests(1).await;
    let (steer, key) = fixture.inbound("a", "one", "and that");
    let joined = fixture.engine.submit_as(BusyMode::Steer, steer).await.unwrap();
    assert_eq!(joined.turn, first.turn);
    go.notify_one();
    assert_eq!(reply(first).await, "both done");
    assert_eq!(reply(joined).await, "both done");
    let seen = fixture.upstream().seen();
    let last = shown_apart(&seen[1]);
    let roles: Vec<&str> = last.iter().map(|(role, _)| role.as_str()).collect();
    // Results follow their calls at once, whatever was said meanwhile.
    assert_eq!(roles, ["user", "user", "assistant", "tool"]);
    assert_eq!(last[1].1, "and that");
    assert_eq!(fixture.messages(&key).await.len(), 5);
}

#[tokio::test]
async fn an_answer_that_did_not_know_all_that_was_asked_is_void() {
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let fixture = scripted(move |_, number| match number {
        0 => later(&gate, says("too early")),
        _ => says("with both in mind"),
    })
    .await;
    let mut first = fixture.submit("one", "a question").await;
    fixture.upstream().requests(1).await;
    let (steer, key) = fixture.inbound("a", "one", "one more thing");
    let joined = fixture.engine.submit_as(BusyMode::Steer, steer).await.unwrap();
    go.notify_one();
    assert_eq!(reply(joined).await, "with both in mind");
    let mut events = Vec::new();
    while let Some(event) = first.events.recv().await {
        events.push(event);
    }
    assert!(events.contains(&TurnEvent::Void), "{events:?}");
    let roles = fixture.roles(&key).await;
    assert_eq!(roles, [Role::User, Role::User, Role::Assistant]);
    let seen = fixture.upstream().seen();
    assert_eq!(shown_apart(&seen[1]).len(), 2);
    // The next turn sees the same, whether the window was kept or is read again.
    assert_eq!(fixture.say("a", "one", "next").await, "with both in mind");
    let kept = shown_apart(&fixture.upstream().seen()[2]);
    assert_eq!(kept[..2], shown_apart(&seen[1])[..]);
}

#[tokio::test]
async fn what_another_says_waits_for_its_own_turn() {
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let fixture = scripted(move |_, number| match number {
        0 => later(&gate, says("for ann")),
        _ => says("for bob"),
    })
    .await;
    let first = fixture.submit("one", "mine").await;
    fixture.upstream().requests(1).await;
    for mode in [BusyMode::Steer, BusyMode::Interrupt] {
        let (mut inbound, _) = fixture.inbound("a", "one", "from bob");
        inbound.principal = "api:bob".into();
        let other = fixture.engine.submit_as(mode, inbound).await.unwrap();
        assert_ne!(other.turn, first.turn);
    }
    go.notify_one();
    assert_eq!(reply(first).await, "for ann");
}

#[tokio::test]
async fn an_interruption_stops_the_turn_and_gets_the_next() {
    let fixture = scripted(|_, number| match number {
        0 => vec![Step::Hang],
        _ => says("the second"),
    })
    .await;
    let first = fixture.submit("one", "go on for ever").await;
    fixture.upstream().requests(1).await;
    let (inbound, _) = fixture.inbound("a", "one", "no, this");
    let second = fixture.engine.submit_as(BusyMode::Interrupt, inbound).await.unwrap();
    assert_eq!(end(first).await, TurnEnd::Stopped);
    assert_eq!(reply(second).await, "the second");
    fixture.upstream().closed_by_client(1).await;
}

#[tokio::test]
async fn stop_ends_what_runs_and_what_waits_and_keeps_what_was_said() {
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let fixture = scripted(move |_, number| match number {
        0 => {
            let mut half = says("half a sen");
            half.truncate(2);
            half.extend([Step::Wait(gate.clone()), Step::Hang]);
            half
        }
        _ => says("afterwards"),
    })
    .await;
    let mut running = fixture.submit("one", "talk").await;
    let waiting = fixture.submit("one", "and then").await;
    loop {
        if let Some(TurnEvent::Text(text)) = running.events.recv().await {
            assert_eq!(text, "half a sen");
            break;
        }
    }
    let (_, key) = fixture.inbound("a", "one", "");
    assert_eq!(fixture.engine.stop(&key), 2);
    assert_eq!(end(running).await, TurnEnd::Stopped);
    assert_eq!(end(waiting).await, TurnEnd::Stopped);
    let partial = &fixture.messages(&key).await[2];
    assert_eq!(partial.parts, [Part::Text("half a sen".to_owned())]);
    assert_eq!(fixture.say("a", "one", "well").await, "afterwards");
    assert_eq!(fixture.engine.stop(&key), 0);
}

#[tokio::test]
async fn a_call_that_was_stopped_leaves_a_history_the_provider_takes() {
    let fixture = scripted(|_, number| match number {
        0..=3 => calls("c1", "no_such_tool", "{}"),
        _ => says("fine"),
    })
    .await;
    // Refused again and again: the turn fails with its last call unanswered.
    let (inbound, _) = fixture.inbound("a", "one", "try");
    assert!(matches!(fixture.end(inbound).await, TurnEnd::Failed { .. }));
    assert_eq!(fixture.say("a", "one", "next").await, "fine");
    let seen = fixture.upstream().seen();
    let body = seen.last().unwrap().json();
    let messages = body["messages"].as_array().unwrap();
    let calls = messages.iter().filter(|it| it["tool_calls"].is_array()).count();
    let results = messages.iter().filter(|it| it["role"] == "tool").count();
    assert_eq!((calls, results), (4, 4));
}

#[tokio::test]
async fn a_retry_takes_the_place_of_the_last_turn() {
    let fixture = scripted(|_, number| says(&format!("answer {number}"))).await;
    assert_eq!(fixture.say("a", "one", "first").await, "answer 0");
    assert_eq!(fixture.say("a", "one", "second").await, "answer 1");
    let (inbound, key) = fixture.inbound("a", "one", "");
    let again = fixture.engine.retry(inbound).await.unwrap().expect("something was said");
    assert_eq!(reply(again).await, "answer 2");
    let words = |said: Vec<(String, String)>| said.into_iter().map(|(_, text)| text).collect();
    let last: Vec<String> = words(shown(&fixture.upstream().seen()[2]));
    assert_eq!(last, ["first", "answer 0", "second"]);
    assert_eq!(fixture.say("a", "one", "third").await, "answer 3");
    let next: Vec<String> = words(shown(&fixture.upstream().seen()[3]));
    assert_eq!(next, ["first", "answer 0", "second", "answer 2", "third"]);
    let (mut other, _) = fixture.inbound("a", "one", "");
    other.principal = "api:bob".into();
    assert!(fixture.engine.retry(other).await.unwrap().is_none());
    let (empty, _) = fixture.inbound("a", "nothing said", "");
    assert!(fixture.engine.retry(empty).await.unwrap().is_none());
    drop(key);
}

#[tokio::test]
async fn a_retry_of_a_turn_under_way_is_refused() {
    let fixture = scripted(|_, _| vec![Step::Hang]).await;
    let running = fixture.submit("one", "wait").await;
    let (inbound, _) = fixture.inbound("a", "one", "");
    let refused = fixture.engine.retry(inbound).await.err().unwrap();
    assert!(matches!(refused, SubmitError::UnderWay { turn } if turn == running.turn));
}

#[tokio::test]
async fn a_new_session_begins_with_nothing() {
    let fixture = scripted(|_, number| says(&format!("answer {number}"))).await;
    fixture.say("a", "one", "old words").await;
    let (inbound, key) = fixture.inbound("a", "one", "");
    fixture.engine.begin_anew(&inbound.agent, &key).await.unwrap();
    fixture.say("a", "one", "new words").await;
    assert_eq!(shown(&fixture.upstream().seen()[1]), [("user".to_owned(), "new words".to_owned())]);
}

#[tokio::test]
async fn a_forgotten_session_stops_and_leaves_nothing() {
    let fixture = scripted(|_, number| match number {
        0 => says("noted"),
        1 => vec![Step::Hang],
        _ => says("who are you"),
    })
    .await;
    fixture.say("a", "one", "the code is 4711").await;
    let running = fixture.submit("one", "what was it").await;
    fixture.upstream().requests(2).await;
    let (inbound, key) = fixture.inbound("a", "one", "");
    let store = &inbound.agent.store;
    let current = SessionRef::Key(key.to_string().into());
    let id = store.session(current).await.unwrap().unwrap().id;
    fixture.engine.forget(&inbound.agent, id).await.unwrap().expect("it was there");
    assert_eq!(end(running).await, TurnEnd::Stopped);
    let gone = store.session(SessionRef::Id(id)).await.unwrap().unwrap();
    assert_eq!(gone.state, SessionState::Forgotten);
    fixture.say("a", "one", "hello").await;
    let last = fixture.upstream().seen();
    assert_eq!(shown(last.last().unwrap()).len(), 1);
    assert!(
        store.search(&"chat:api:token:one".parse().unwrap(), "code", 5).await.unwrap().is_empty()
    );
}

#[tokio::test]
async fn whoever_listens_to_an_agent_hears_its_turns_and_no_other() {
    let daemon = scripted(|_, _| says("hello")).await;
    let (inbound, key) = daemon.inbound("a", "one", "hi");
    let mut heard = daemon.daemon.hub().listen(&key.agent);
    daemon.say("b", "one", "something else").await;
    let turn = daemon.engine.submit(inbound).await.unwrap();
    let id = turn.turn;
    assert_eq!(reply(turn).await, "hello");
    let mut events = Vec::new();
    loop {
        let event = heard.recv().await.unwrap();
        let AgentEvent::Turn { session, turn, event } = &*event else { panic!("{event:?}") };
        assert_eq!((&**session, *turn), (&*key.to_string(), id));
        events.push(event.clone());
        if matches!(event, TurnEvent::Ended(_)) {
            break;
        }
    }
    assert_eq!(events[0], TurnEvent::Accepted { principal: "api:ann".into() });
    assert_eq!(events[1], TurnEvent::Text("hello".to_owned()));
}

#[tokio::test]
async fn a_listener_that_does_not_read_holds_nobody_up() {
    let fixture = scripted(|_, _| {
        let delta = r#"{"choices":[{"index":0,"delta":{"content":"x"}}]}"#;
        let stop = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
        let events = std::iter::repeat_n(delta, 2_000).chain([stop, "[DONE]"]);
        insula_testkit::upstream::event_stream(events)
    })
    .await;
    let unread = fixture.submit("one", "talk").await;
    assert_eq!(fixture.say("a", "one", "next").await.len(), 2_000);
    // Deltas were missed, the end was not.
    assert_eq!(reply(unread).await.len(), 2_000);
    let (inbound, _) = fixture.inbound("a", "one", "");
    let turn = inbound.agent.store.turn(insula_store::TurnId(1)).await.unwrap().unwrap();
    assert_eq!(turn.status, TurnStatus::Replied);
}

#[tokio::test]
async fn stop_reaches_a_turn_that_waits_for_a_place_of_its_agent() {
    // The sixteenth place is kept for somebody else.
    let fixture = scripted(|_, _| vec![Step::Hang]).await;
    let mut running = Vec::new();
    for number in 0..15 {
        running.push(fixture.submit(&format!("busy {number}"), "wait").await);
    }
    fixture.upstream().requests(15).await;
    let waiting = fixture.submit("late", "and I").await;
    let (_, key) = fixture.inbound("a", "late", "");
    assert_eq!(fixture.engine.stop(&key), 1);
    assert_eq!(end(waiting).await, TurnEnd::Stopped);
    assert_eq!(fixture.upstream().seen().len(), 15);
}

#[tokio::test]
async fn a_model_that_goes_in_circles_is_told_and_then_stopped() {
    let fixture = scripted(|_, _| calls("c", "todo", "{}")).await;
    let (inbound, _) = fixture.inbound("a", "one", "go");
    let TurnEnd::Failed { error } = fixture.end(inbound).await else { panic!("it ended well") };
    assert!(error.contains("with the same result"), "{error}");
    let seen = fixture.upstream().seen();
    assert!(seen.len() < 20, "{}", seen.len());
    let told = String::from_utf8_lossy(&seen.last().unwrap().body).into_owned();
    assert!(told.contains("do something else, or answer"), "{told}");
}

static BEGUN: Notify = Notify::const_new();

/// Goes on until it is dropped.
struct Endless;

#[async_trait]
impl Tool for Endless {
    fn name(&self) -> &str {
        "todo"
    }

    fn description(&self) -> &str {
        "Never ends."
    }

    fn parameters(&self) -> &str {
        r#"{"type":"object"}"#
    }

    async fn run(&self, _: &Hands<'_>, _: &Cleared) -> Result<Output, ToolError> {
        BEGUN.notify_one();
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_call_that_is_stopped_is_on_the_record() {
    let endless = |_: &Seen, _| calls("c1", "todo", "{}");
    let daemon = with_tools(None, "agents: {a: {}}\n", &[&Endless], endless).await;
    let running = daemon.submit("one", "go").await;
    BEGUN.notified().await;
    let (_, key) = daemon.inbound("a", "one", "");
    assert_eq!(daemon.engine.stop(&key), 1);
    assert_eq!(end(running).await, TurnEnd::Stopped);
    let agent = daemon.daemon.store_of(&AgentId::new("a").unwrap());
    let records = agent.audit_tail(10).await.unwrap();
    let contents = records.iter().filter_map(|record| record.content.as_deref());
    let told: Vec<_> = contents.filter(|text| text.contains("\"todo\"")).collect();
    assert!(told.len() == 1 && told[0].contains("\"stopped\""), "{told:?}");
}
