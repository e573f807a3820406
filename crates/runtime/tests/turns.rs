//! Turns from outside: a message in, the built-in practice model and the real store, a reply
//! out; and what one conversation can see of another, which is nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use insula_domain::{
    AccountId, Address, AgentId, ChatId, ChatType, Label, Platform, SessionKey, UserId,
};
use insula_models::Transport;
use insula_runtime::house::Purpose;
use insula_runtime::turn::gate::admit;
use insula_runtime::turn::{Engine, Inbound, SubmitError, TurnEnd, TurnEvent};
use insula_runtime::{Home, House};
use insula_store::{IdempotencyKey, Part, Role, SessionRef, TurnStatus, Window};
use insula_testkit::world;
use std::collections::BTreeMap;
use std::sync::Arc;

struct Fixture {
    _files: insula_testkit::Home,
    house: Arc<House>,
    engine: Engine,
}

const CONFIG: &str = "agents:\n  a: {tools: minimal}\n  b: {tools: [todo]}\n";

async fn open() -> Fixture {
    let files = insula_testkit::Home::with([("config.yaml", CONFIG)]).unwrap();
    let (world, _handles) = world(7);
    let home = Home::new(files.path());
    home.prepare().unwrap();
    let lock = home.try_lock().unwrap().expect("nobody else is here");
    let transport = Transport::new(&world, &[]).unwrap();
    let house = House::open(home, lock, world, BTreeMap::new(), Purpose::Serve).await.unwrap();
    let house = Arc::new(house);
    let engine = Engine::new(house.clone(), transport);
    Fixture { _files: files, house, engine }
}

fn address(chat: &str) -> Address {
    Address {
        platform: Platform::API,
        account: AccountId::new("token").unwrap(),
        chat: ChatId::new(chat).unwrap(),
        chat_type: ChatType::Group,
        topic: None,
        parent: None,
        community: None,
        user: Some(UserId::new("ann").unwrap()),
        roles: vec![],
    }
}

impl Fixture {
    fn inbound(&self, agent: &str, chat: &str, text: &str) -> (Inbound, SessionKey) {
        let id = AgentId::new(agent).unwrap();
        let agent = self.house.snapshot().agents[&id].state.context().unwrap().clone();
        let address = address(chat);
        let session = agent.session_key(&address);
        let inbound = Inbound {
            session: session.clone(),
            scope: agent.scope(&address),
            label: Label::anyone(),
            principal: "api:ann".into(),
            history: vec![],
            parts: vec![Part::Text(text.to_owned())],
            idempotency: None,
            agent,
        };
        (inbound, session)
    }

    async fn say(&self, agent: &str, chat: &str, text: &str) -> String {
        let (inbound, _) = self.inbound(agent, chat, text);
        match self.end(inbound).await {
            TurnEnd::Replied { text, .. } => text,
            other => panic!("{other:?}"),
        }
    }

    async fn end(&self, inbound: Inbound) -> TurnEnd {
        let mut handle = self.engine.submit(inbound).await.unwrap();
        loop {
            match handle.events.recv().await.expect("a turn ends") {
                TurnEvent::Ended(end) => return end,
                _ => continue,
            }
        }
    }

    async fn roles(&self, key: &SessionKey) -> Vec<Role> {
        let store = self.house.store.agent(&key.agent);
        let session = store.session(SessionRef::Key(key.to_string().into())).await.unwrap();
        let window = Window { messages: 100, bytes: 1 << 20 };
        let messages = store.messages_tail(session.unwrap().id, window).await.unwrap();
        messages.iter().map(|message| message.role).collect()
    }
}

#[tokio::test]
async fn a_message_gets_a_reply_and_both_are_kept() {
    let house = open().await;
    let reply = house.say("a", "one", "hello").await;
    assert!(reply.contains("rehearsal"), "{reply}");
    let (_, key) = house.inbound("a", "one", "");
    assert_eq!(house.roles(&key).await, [Role::User, Role::Assistant]);
}

#[tokio::test]
async fn a_tool_call_is_run_and_its_state_goes_on_in_the_next_turn() {
    let house = open().await;
    house.say("a", "one", "todo buy milk").await;
    house.say("a", "one", "todo call Ann").await;
    let reply = house.say("a", "one", "call todo {}").await;
    assert!(reply.contains("buy milk") && reply.contains("call Ann"), "{reply}");
    let (_, key) = house.inbound("a", "one", "");
    let call = [Role::User, Role::Assistant, Role::Tool, Role::Assistant];
    assert_eq!(house.roles(&key).await, [call, call, call].concat());
    // Another conversation has a list of its own.
    let other = house.say("a", "two", "call todo {}").await;
    assert!(!other.contains("milk"), "{other}");
}

#[tokio::test]
async fn what_was_said_in_one_scope_is_not_found_from_another() {
    let house = open().await;
    house.say("a", "one", "the password of the attic is heliotrope").await;
    let here = house.say("a", "one", "search for heliotrope").await;
    assert!(here.contains("attic"), "{here}");
    let there = house.say("a", "two", "search for heliotrope").await;
    assert!(!there.contains("attic"), "{there}");
    let probe = r#"call session_search {"session_id": 1, "around_message_id": 1}"#;
    let by_number = house.say("a", "two", probe).await;
    assert!(!by_number.contains("attic"), "{by_number}");
}

#[tokio::test]
async fn rule_06_one_gate_refuses_what_the_table_does_not_have() {
    let house = open().await;
    let (inbound, _) = house.inbound("b", "one", "");
    let refused = |name, arguments| admit(&inbound.agent, name, arguments).err().unwrap();
    let denial = refused("clarify", "{}");
    assert_eq!(denial.rule(), "exposure");
    assert!(denial.to_string().contains("not in `allow`"), "{denial}");
    for name in ["terminal", "mcp__github__push", "no_such_tool", ""] {
        assert_eq!(refused(name, "{}").rule(), "exposure", "{name}");
    }
    for arguments in ["[]", "{", "null", "7"] {
        assert_eq!(refused("todo", arguments).rule(), "arguments", "{arguments}");
    }
    assert!(admit(&inbound.agent, "todo", "").is_ok());
}

#[tokio::test]
async fn rule_06_one_gate_leaves_a_record_of_every_call() {
    let house = open().await;
    house.say("a", "one", "todo buy milk").await;
    let store = house.house.store.agent(&AgentId::new("a").unwrap());
    let records = store.audit_tail(10).await.unwrap();
    let call = records.iter().find(|record| &*record.kind == "tool.call").expect("a record");
    let content = call.content.as_ref().unwrap();
    assert!(content.contains(r#""tool":"todo","verdict":"done""#), "{content}");
    assert!(!content.contains("milk"), "a record names the tool, not what was said: {content}");
}

#[tokio::test]
async fn a_question_ends_the_turn_with_the_question() {
    let house = open().await;
    let reply = house.say("a", "one", "ask me which colour I want").await;
    assert!(reply.contains("which colour I want"), "{reply}");
    house.say("a", "one", "hello").await;
}

#[tokio::test]
async fn the_same_request_is_one_turn() {
    let house = open().await;
    let key = || IdempotencyKey { who: "token".into(), key: "k1".into() };
    let (mut first, _) = house.inbound("a", "one", "hello");
    first.idempotency = Some(key());
    house.end(first).await;
    let (mut again, session) = house.inbound("a", "one", "hello");
    again.idempotency = Some(key());
    let refused = house.engine.submit(again).await;
    assert!(matches!(refused, Err(SubmitError::Known { status: TurnStatus::Replied, .. })));
    assert_eq!(house.roles(&session).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn turns_of_a_session_are_answered_in_the_order_they_were_taken() {
    let house = Arc::new(open().await);
    let turns: Vec<_> = (0..24)
        .map(|number| {
            let house = house.clone();
            tokio::spawn(async move { house.say("a", "one", &format!("say {number}")).await })
        })
        .collect();
    for turn in turns {
        turn.await.unwrap();
    }
    let (inbound, key) = house.inbound("a", "one", "");
    let session = SessionRef::Key(key.to_string().into());
    let session = inbound.agent.store.session(session).await.unwrap().unwrap();
    let window = Window { messages: 100, bytes: 1 << 20 };
    let messages = inbound.agent.store.messages_tail(session.id, window).await.unwrap();
    let of = |role| messages.iter().filter(move |it| it.role == role).map(|it| it.turn.unwrap());
    let (taken, answered): (Vec<_>, Vec<_>) =
        (of(Role::User).collect(), of(Role::Assistant).collect());
    assert_eq!(taken, answered);
    assert!(taken.is_sorted() && taken.len() == 24);
}

#[tokio::test]
async fn who_is_told_to_come_back_leaves_nothing_behind() {
    let house = open().await;
    let mut taken = Vec::new();
    let refused = loop {
        let (inbound, _) = house.inbound("a", "one", "hello");
        match house.engine.submit(inbound).await {
            Ok(handle) => taken.push(handle),
            Err(error) => break error,
        }
        assert!(taken.len() < 1_000, "nobody is ever refused");
    };
    assert!(matches!(refused, SubmitError::Busy { .. }), "{refused}");
    let (inbound, key) = house.inbound("a", "one", "");
    let count = taken.len();
    for mut handle in taken {
        while handle.events.recv().await.is_some() {}
    }
    assert_eq!(house.roles(&key).await.iter().filter(|role| **role == Role::User).count(), count);
    assert!(inbound.agent.store.unfinished().await.unwrap().is_empty());
}
