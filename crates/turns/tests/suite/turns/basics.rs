//! A message in, a reply out; and what one conversation can see of another, which is nothing.

use crate::turns::support::{calls, open, says, scripted};
use insula_domain::AgentId;
use insula_store::{Counted, IdempotencyKey, Role, SessionRef, TurnStatus, Window};
use insula_testkit::upstream::{Seen, Step};
use insula_turns::SubmitError;
use std::sync::Arc;

#[tokio::test]
async fn a_message_gets_a_reply_and_both_are_kept() {
    let fixture = open().await;
    let reply = fixture.say("a", "one", "hello").await;
    assert!(reply.contains("rehearsal"), "{reply}");
    let (_, key) = fixture.inbound("a", "one", "");
    assert_eq!(fixture.roles(&key).await, [Role::User, Role::Assistant]);
}

#[tokio::test]
async fn a_tool_call_is_run_and_its_state_goes_on_in_the_next_turn() {
    let fixture = open().await;
    fixture.say("a", "one", "todo buy milk").await;
    fixture.say("a", "one", "todo call Ann").await;
    let reply = fixture.say("a", "one", "call todo {}").await;
    assert!(reply.contains("buy milk") && reply.contains("call Ann"), "{reply}");
    let (_, key) = fixture.inbound("a", "one", "");
    let call = [Role::User, Role::Assistant, Role::Tool, Role::Assistant];
    assert_eq!(fixture.roles(&key).await, [call, call, call].concat());
    // Another conversation has a list of its own.
    let other = fixture.say("a", "two", "call todo {}").await;
    assert!(!other.contains("milk"), "{other}");
}

#[tokio::test]
async fn what_was_said_in_one_scope_is_not_found_from_another() {
    let daemon = open().await;
    daemon.say("a", "one", "the password of the attic is heliotrope").await;
    let here = daemon.say("a", "one", "search for heliotrope").await;
    assert!(here.contains("attic"), "{here}");
    let there = daemon.say("a", "two", "search for heliotrope").await;
    assert!(!there.contains("attic"), "{there}");
    let store = daemon.daemon.store_of(&AgentId::new("a").unwrap());
    let name = store.seals().seal(Counted::Session, 1);
    let around = |session: &str| {
        format!(r#"call session_search {{"session_id": {session}, "around_message_id": 1}}"#)
    };
    let by_name = daemon.say("a", "one", &around(&format!("\"{name}\""))).await;
    assert!(by_name.contains("attic"), "{by_name}");
    let by_name = daemon.say("a", "two", &around(&format!("\"{name}\""))).await;
    assert!(!by_name.contains("attic"), "{by_name}");
    // A number names nothing, also where the session would be one's own.
    let by_number = daemon.say("a", "one", &around("1")).await;
    assert!(!by_number.contains("attic"), "{by_number}");
}

#[tokio::test]
async fn rule_06_one_gate_refuses_what_the_table_does_not_have() {
    const CALLS: [(&str, &str, &str); 9] = [
        ("clarify", "{}", "exposure"),
        ("terminal", "{}", "exposure"),
        ("mcp__github__push", "{}", "exposure"),
        ("no_such_tool", "{}", "exposure"),
        // A list for an object with a list.
        ("todo", "[]", ""),
        ("todo", "{", "arguments"),
        ("todo", "null", "arguments"),
        ("todo", "7", "arguments"),
        ("todo", "", ""),
    ];
    let script = |_: &Seen, number: usize| match CALLS.get(number) {
        Some((name, arguments, _)) => calls(&format!("c{number}"), name, arguments),
        None => says("done"),
    };
    let daemon = scripted(script).await;
    daemon.say("b", "one", "go").await;
    let records = daemon.daemon.store_of(&AgentId::new("b").unwrap()).audit_tail(99).await.unwrap();
    let records = records.iter().filter(|record| &*record.kind == "tool.call");
    let told: Vec<serde_json::Value> =
        records.map(|it| serde_json::from_str(it.content.as_ref().unwrap()).unwrap()).collect();
    let told: Vec<(&str, &str)> = told
        .iter()
        .map(|it| (it["tool"].as_str().unwrap(), it["rule"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(told, CALLS.map(|(name, _, rule)| (name, rule)));
    let seen = daemon.upstream.as_ref().unwrap().seen();
    let last = seen.last().unwrap().json().to_string();
    assert!(last.contains("not in `allow`"), "{last}");
}

#[tokio::test]
async fn rule_06_one_gate_leaves_a_record_of_every_call() {
    let daemon = open().await;
    daemon.say("a", "one", "todo buy milk").await;
    let store = daemon.daemon.store_of(&AgentId::new("a").unwrap());
    let records = store.audit_tail(10).await.unwrap();
    let call = records.iter().find(|record| &*record.kind == "tool.call").expect("a record");
    let content = call.content.as_ref().unwrap();
    assert!(content.contains(r#""tool":"todo","verdict":"done""#), "{content}");
    assert!(!content.contains("milk"), "a record names the tool, not what was said: {content}");
}

#[tokio::test]
async fn a_question_ends_the_turn_with_the_question() {
    let fixture = open().await;
    let reply = fixture.say("a", "one", "ask me which colour I want").await;
    assert!(reply.contains("which colour I want"), "{reply}");
    fixture.say("a", "one", "hello").await;
}

#[tokio::test]
async fn the_same_request_is_one_turn() {
    let fixture = open().await;
    let key = || IdempotencyKey { who: "token".into(), key: "k1".into(), request: [0; 32] };
    let (mut first, _) = fixture.inbound("a", "one", "hello");
    first.idempotency = Some(key());
    fixture.end(first).await;
    let (mut again, session) = fixture.inbound("a", "one", "hello");
    again.idempotency = Some(key());
    let refused = fixture.engine.submit(again).await;
    assert!(matches!(refused, Err(SubmitError::Known { status: TurnStatus::Replied, .. })));
    assert_eq!(fixture.roles(&session).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn turns_of_a_session_are_answered_in_the_order_they_were_taken() {
    let fixture = Arc::new(open().await);
    let turns: Vec<_> = (0..24)
        .map(|number| {
            let fixture = fixture.clone();
            tokio::spawn(async move { fixture.say("a", "one", &format!("say {number}")).await })
        })
        .collect();
    for turn in turns {
        turn.await.unwrap();
    }
    let (inbound, key) = fixture.inbound("a", "one", "");
    let session = SessionRef::Key(key.to_string().into());
    let session = inbound.agent.store.session(session).await.unwrap().unwrap();
    let window = Window { messages: 4_000, bytes: 1 << 20 };
    let messages = inbound.agent.store.messages_tail(session.id, window).await.unwrap();
    let of = |role| messages.iter().filter(move |it| it.role == role).map(|it| it.turn.unwrap());
    let (taken, answered): (Vec<_>, Vec<_>) =
        (of(Role::User).collect(), of(Role::Assistant).collect());
    assert_eq!(taken, answered);
    assert!(taken.is_sorted() && taken.len() == 24);
}

#[tokio::test]
async fn who_is_told_to_come_back_leaves_nothing_behind() {
    let fixture = scripted(|_, _| vec![Step::Hang]).await;
    let mut taken = 0;
    let refused = loop {
        let (inbound, _) = fixture.inbound("a", "one", "hello");
        match fixture.engine.submit(inbound).await {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 1_000, "nobody is ever refused");
    };
    assert!(matches!(refused, SubmitError::Busy { .. }), "{refused}");
    let (_, key) = fixture.inbound("a", "one", "");
    assert_eq!(fixture.roles(&key).await, vec![Role::User; taken]);
}
