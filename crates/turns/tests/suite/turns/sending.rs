//! Messages to other conversations: what a turn has seen stays with those who could read it,
//! whichever way it was seen, unless the operator granted that flow.

use crate::turns::memory::puppet;
use crate::turns::support::{Fixture, reply, with_tools};
use insula_capabilities::memory::{Asking, Forgot, Remembered};
use insula_domain::{
    AccountId, Address, AgentId, Audience, ChatId, ChatType, Label, Platform, TopicId, UserId,
};
use insula_registry::AgentContext;
use insula_store::{Content, Part, SessionRef, SessionState, Window};
use insula_turns::{Acknowledge, Inbound};
use serde_json::{Value, json};
use std::sync::Arc;

const CONFIG: &str = "
channels: {telegram: {accounts: {main: {token: x, base_url: 'http://127.0.0.1:9'}}}}
agents:
  a: {memory: true, tools: {also_allow: [send_message]}, send: {to: ['telegram:main:-100', 'telegram:main:7']}}
  g:
    memory: true
    tools: {also_allow: [send_message]}
    send: {to: ['telegram:main:-100'], flows: [{from: 'telegram:main:7', to: 'telegram:main:-100'}]}
  u: {memory: {scope: user}, tools: {also_allow: [send_message]}, send: {to: ['telegram:main:-100']}}
  h: {memory: {enabled: false, scope: user}, tools: {also_allow: [send_message]}, send: {to: ['telegram:main:-100']}}
  w: {memory: {global_writes: allow}, tools: {also_allow: [send_message]}, send: {to: ['telegram:main:-100']}}
  all: {memory: {scope: global}, tools: {also_allow: [send_message]}, send: {to: ['telegram:main:-100']}}
  none: {tools: {also_allow: [send_message]}}
  lost: {tools: {also_allow: [send_message]}, send: {to: ['telegram:other:-100', 'discord:main:-100'], flows: [{from: 'telegram:main:-100', to: 'telegram:other:-100'}, {from: 'telegram:main:-100', to: 'discord:main:-100'}]}}
";
const PRIVATE: &str = "telegram:main:7";
const GROUP: &str = "telegram:main:-100";

fn context(fixture: &Fixture, agent: &str) -> Arc<AgentContext> {
    let id = AgentId::new(agent).unwrap();
    fixture.daemon.snapshot().agents[&id].state.context().unwrap().clone()
}

/// A message of user 7's in a place, as the gateway brings it.
fn inbound(fixture: &Fixture, agent: &str, place: &str, text: &str) -> Inbound {
    let agent = context(fixture, agent);
    let mut parts = place.split(':').skip(2);
    let chat = parts.next().unwrap();
    let address = Address {
        platform: Platform::new("telegram").unwrap(),
        account: AccountId::new("main").unwrap(),
        chat: ChatId::new(chat).unwrap(),
        chat_type: if chat.starts_with('-') { ChatType::Group } else { ChatType::Dm },
        topic: parts.next().map(|topic| TopicId::new(topic).unwrap()),
        parent: None,
        community: None,
        user: Some(UserId::new("7").unwrap()),
        roles: Vec::new(),
    };
    Inbound {
        session: agent.session_key(&address),
        scope: agent.scope(&address),
        label: Label::of(Audience::of(&address)),
        principal: "telegram:7".into(),
        history: Vec::new(),
        parts: vec![Part::Text(text.to_owned())],
        idempotency: None,
        origin: None,
        acknowledge: Acknowledge::AtOnce,
        agent,
    }
}

async fn say(fixture: &Fixture, agent: &str, place: &str, text: &str) -> String {
    reply(fixture.engine.submit(inbound(fixture, agent, place, text)).await.unwrap()).await
}

async fn open() -> Fixture {
    with_tools(None, CONFIG, insula_tools::BUILT_IN, puppet).await
}

fn send(to: &str) -> String {
    format!("call send_message {}", json!({ "target": to, "message": "the canary" }))
}

/// Where each message in an agent's outbox goes, and what it says.
async fn outbox(fixture: &Fixture, agent: &str) -> Vec<(String, String)> {
    let deliveries = context(fixture, agent).store.deliveries(None, 100).await.unwrap();
    let shown = deliveries.into_iter().map(|it| {
        let lane = &it.to.lane;
        let place = format!("{}:{}:{}", lane.platform, lane.account, lane.chat);
        let topic = it.to.topic.map(|topic| format!(":{topic}")).unwrap_or_default();
        let Content::Text(text) = it.content else { panic!("{:?}", it.content) };
        (place + &topic, text)
    });
    shown.collect()
}

/// What the audit says about messages: target, sources, decision and why.
async fn audit(fixture: &Fixture, agent: &str) -> Vec<[String; 4]> {
    let records = context(fixture, agent).store.audit_tail(100).await.unwrap();
    let sends = records.iter().filter(|record| &*record.kind == "message.send");
    let read = sends.map(|record| {
        let content: Value = serde_json::from_str(record.content.as_ref().unwrap()).unwrap();
        assert!(!content.to_string().contains("canary"), "{content}");
        ["target", "from", "decision", "why"].map(|key| content[key].as_str().unwrap().to_owned())
    });
    read.collect()
}

const STAYS: &str = "not everyone in `telegram:main:-100` may read what you have seen";

#[tokio::test]
async fn b05_a_private_chat_s_words_do_not_reach_a_group() {
    let fixture = open().await;
    let told = say(&fixture, "a", PRIVATE, &send(GROUP)).await;
    assert!(told.contains(STAYS), "{told}");
    assert_eq!(outbox(&fixture, "a").await, []);
    let refused = [GROUP, PRIVATE, "refused", "wider audience"].map(str::to_owned);
    assert_eq!(audit(&fixture, "a").await, [refused]);
    let records = context(&fixture, "a").store.audit_tail(100).await.unwrap();
    let record = records.iter().find(|it| &*it.kind == "message.send").unwrap();
    let content: Value = serde_json::from_str(record.content.as_ref().unwrap()).unwrap();
    assert_eq!(content["source"], PRIVATE);
}

#[tokio::test]
async fn b05_with_a_grant_for_that_flow_it_is_in_the_outbox() {
    let fixture = open().await;
    let told = say(&fixture, "g", PRIVATE, &send(GROUP)).await;
    assert!(told.contains("on its way to telegram:main:-100"), "{told}");
    assert_eq!(outbox(&fixture, "g").await, [(GROUP.to_owned(), "the canary".to_owned())]);
    let sent = [GROUP, PRIVATE, "sent", "granted"].map(str::to_owned);
    assert_eq!(audit(&fixture, "g").await, [sent]);
    // From elsewhere it was not granted.
    let told = say(&fixture, "g", "telegram:main:8", &send(GROUP)).await;
    assert!(told.contains(STAYS), "{told}");
    assert_eq!(outbox(&fixture, "g").await.len(), 1);
}

#[tokio::test]
async fn b05_a_child_has_no_such_tool() {
    let fixture = open().await;
    for agent in ["a", "g"] {
        let goal = json!({ "goal": send(GROUP) });
        let told = say(&fixture, agent, PRIVATE, &format!("call delegate_task {goal}")).await;
        assert!(told.contains("you do not have the tool `send_message`"), "{told}");
        assert_eq!(outbox(&fixture, agent).await, []);
        assert_eq!(audit(&fixture, agent).await.len(), 0);
    }
}

#[tokio::test]
async fn a_message_goes_where_everyone_could_read_it_anyway() {
    let fixture = open().await;
    assert!(say(&fixture, "a", GROUP, &send(GROUP)).await.contains("on its way"));
    let topic = "telegram:main:-100:5";
    assert!(say(&fixture, "a", GROUP, &send(topic)).await.contains("on its way"));
    // A topic can have fewer readers than its chat.
    assert!(say(&fixture, "a", topic, &send(GROUP)).await.contains(STAYS));
    assert!(say(&fixture, "a", topic, &send(topic)).await.contains("on its way"));
    let places: Vec<String> = outbox(&fixture, "a").await.into_iter().map(|(at, _)| at).collect();
    assert_eq!(places, [topic, topic, GROUP]);
    for (target, why) in [
        ("telegram:main:-300", "you may not send to `telegram:main:-300`"),
        ("telegram:other:-100", "you may not send to `telegram:other:-100`"),
        ("telegram:-100", "`target` is no place"),
        ("agent:b:telegram:main:group:-100", "`target` is no place"),
    ] {
        let told = say(&fixture, "a", GROUP, &send(target)).await;
        assert!(told.contains(why), "{target}: {told}");
    }
    assert_eq!(outbox(&fixture, "a").await.len(), 3);
    let listed = say(&fixture, "a", GROUP, r#"call send_message {"action": "list"}"#).await;
    assert!(listed.contains("telegram:main:-100\ntelegram:main:7"), "{listed}");
}

#[tokio::test]
async fn without_a_place_to_send_to_there_is_no_tool() {
    let fixture = open().await;
    let verdict = context(&fixture, "none").tools().verdict("send_message");
    assert_eq!(verdict.to_string(), "no place to send to; `send.to` names some");
    let told = say(&fixture, "none", GROUP, &send(GROUP)).await;
    assert!(told.contains("you do not have the tool `send_message`"), "{told}");
    let told = say(&fixture, "lost", "telegram:main:-200", &send("telegram:other:-100")).await;
    assert!(told.contains("not everyone"), "{told}");
    // An account is one of its platform's, and is known by its name there.
    for (target, account) in
        [("telegram:other:-100", "`other` of telegram"), ("discord:main:-100", "`main` of discord")]
    {
        let told = say(&fixture, "lost", GROUP, &send(target)).await;
        assert!(told.contains(&format!("there is no account {account}")), "{told}");
    }
    assert_eq!(outbox(&fixture, "lost").await, []);
}

#[tokio::test]
async fn what_memory_and_history_show_keeps_its_audience() {
    let add = json!({ "action": "add", "target": "memory", "content": "the canary sings" });
    let add = format!("call memory {add}");
    for (agent, secret, look) in [
        ("u", add.as_str(), r#"call memory_search {"query": "canary"}"#),
        ("h", "the canary sings", r#"call session_search {"query": "canary"}"#),
    ] {
        let fixture = open().await;
        // The conversation in the group begins with nothing to remember.
        say(&fixture, agent, GROUP, "hello").await;
        say(&fixture, agent, PRIVATE, secret).await;
        assert!(say(&fixture, agent, GROUP, &send(GROUP)).await.contains("on its way"), "{look}");
        let told = say(&fixture, agent, GROUP, look).await;
        assert!(told.contains("sings"), "{look}: {told}");
        let told = say(&fixture, agent, GROUP, &send(GROUP)).await;
        assert!(told.contains(STAYS), "{look}: {told}");
        assert_eq!(outbox(&fixture, agent).await.len(), 1, "{look}");
        // What was made of it says so, also when it is read again.
        let (context, key) =
            (context(&fixture, agent), inbound(&fixture, agent, GROUP, "").session);
        fixture.engine.drop_window(&context, &key).await.unwrap();
        assert!(say(&fixture, agent, GROUP, &send(GROUP)).await.contains(STAYS), "{look}");
        let session = SessionRef::Key(key.to_string().into());
        let session = context.store.session(session).await.unwrap().unwrap();
        let window = Window { messages: 100, bytes: 1 << 20 };
        let messages = context.store.messages_tail(session.id, window).await.unwrap();
        let labels: Vec<&str> = messages.iter().map(|it| &*it.label).collect();
        assert_eq!(labels[0], GROUP, "{look}: {labels:?}");
        let both = "telegram:main:-100,telegram:main:7";
        assert_eq!(labels.last(), Some(&both), "{look}: {labels:?}");
    }
}

#[tokio::test]
async fn what_a_conversation_of_one_request_sent_outlives_it() {
    let fixture = open().await;
    let mut asked = inbound(&fixture, "a", GROUP, &send(GROUP));
    let mut address = asked.scope.address.clone();
    address.chat = ChatId::new(asked.agent.one_off_name(fixture.daemon.world())).unwrap();
    asked.session = asked.agent.session_key(&address);
    let (store, key) = (asked.agent.store.clone(), asked.session.to_string());
    reply(fixture.engine.submit_once(asked).await.unwrap()).await;
    loop {
        fixture.engine.settle().await;
        let session = store.session(SessionRef::Key(key.as_str().into())).await.unwrap();
        if session.is_none_or(|session| session.state != SessionState::Current) {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(outbox(&fixture, "a").await, [(GROUP.to_owned(), "the canary".to_owned())]);
}

#[tokio::test]
async fn the_block_of_a_session_keeps_the_audiences_of_its_entries() {
    let fixture = open().await;
    assert!(say(&fixture, "u", "telegram:main:-200", "hello").await.contains("ok"));
    let add = json!({ "action": "add", "target": "user", "content": "likes tea" });
    say(&fixture, "u", PRIVATE, &format!("call memory {add}")).await;
    // This session begins with the block, and never looked for anything.
    let told = say(&fixture, "u", GROUP, &send(GROUP)).await;
    assert!(told.contains(STAYS), "{told}");
    let from = [GROUP.to_owned(), "telegram:main:-100,telegram:main:7".to_owned()];
    assert_eq!(audit(&fixture, "u").await[0][..2], from);
    // The next turn is shown the frozen block, with the label it was frozen under.
    let (agent, key) = (context(&fixture, "u"), inbound(&fixture, "u", GROUP, "").session);
    fixture.engine.drop_window(&agent, &key).await.unwrap();
    assert!(say(&fixture, "u", GROUP, &send(GROUP)).await.contains("not everyone"));
    assert_eq!(outbox(&fixture, "u").await, []);
}

#[tokio::test]
async fn what_is_everywhere_by_an_operator_s_word_is_for_everyone() {
    let fixture = open().await;
    fixture.files().write("agents/u/memories/MEMORY.md", "tea is at five\n").unwrap();
    let told = say(&fixture, "u", GROUP, &send(GROUP)).await;
    assert!(told.contains("on its way"), "{told}");
    // By hand in a user's own file: nobody says who reads that, and where.
    let folder = "agents/a/memories/contexts/chat=telegram=main=-100/MEMORY.md";
    fixture.files().write(folder, "milk is at six\n").unwrap();
    assert!(say(&fixture, "a", GROUP, &send(GROUP)).await.contains("on its way"));
}

#[tokio::test]
async fn what_a_turn_put_everywhere_unasked_keeps_its_audience() {
    let add = |scope: &str| {
        let mut add = json!({ "action": "add", "target": "memory", "content": "the canary sings" });
        if scope == "global" {
            add["scope"] = json!(scope);
        }
        format!("call memory {add}")
    };
    for (agent, scope) in [("w", "global"), ("all", "")] {
        let fixture = open().await;
        say(&fixture, agent, GROUP, "hello").await;
        let told = say(&fixture, agent, PRIVATE, &add(scope)).await;
        assert!(told.starts_with("result: done"), "{agent}: {told}");
        assert!(say(&fixture, agent, GROUP, &send(GROUP)).await.contains("on its way"), "{agent}");
        let told = say(&fixture, agent, GROUP, r#"call memory_search {"query": "canary"}"#).await;
        assert!(told.contains("sings"), "{agent}: {told}");
        let told = say(&fixture, agent, GROUP, &send(GROUP)).await;
        assert!(told.contains(STAYS), "{agent}: {told}");
        // A conversation that begins with it is no way around that.
        let other = "telegram:main:-200";
        let told = say(&fixture, agent, other, &send(GROUP)).await;
        assert!(told.contains(STAYS), "{agent}: {told}");
        let from = audit(&fixture, agent).await.last().unwrap()[1].clone();
        assert!(from.contains(PRIVATE), "{agent}: {from}");
        assert_eq!(outbox(&fixture, agent).await.len(), 1, "{agent}");
    }
}

#[tokio::test]
async fn what_was_said_in_private_is_not_shown_to_a_group_that_asks() {
    let fixture = open().await;
    let add = |what: &str| {
        let add = json!({ "action": "add", "target": "memory", "content": what });
        format!("call memory {add}")
    };
    say(&fixture, "u", GROUP, &add("tea is at five")).await;
    say(&fixture, "u", PRIVATE, &add("the canary sings")).await;
    let agent = context(&fixture, "u");
    let asks = async |place: &str| {
        let Inbound { session, scope, .. } = inbound(&fixture, "u", place, "");
        let asking = Asking {
            agent: &agent,
            session: &session,
            at: &scope,
            principal: &"telegram:7".into(),
        };
        let Remembered::Lists { lists, held_back } =
            fixture.engine.capabilities().remembered(&asking).await.unwrap()
        else {
            panic!()
        };
        let all = lists.into_iter().flat_map(|list| list.fragments);
        (all.map(|entry| entry.text).collect::<Vec<_>>(), held_back)
    };
    assert_eq!(asks(GROUP).await, (vec!["tea is at five".to_owned()], 1));
    let both = vec!["tea is at five".to_owned(), "the canary sings".to_owned()];
    assert_eq!(asks(PRIVATE).await, (both, 0));
    // What is not shown is not found by its words or its number either.
    let Inbound { session, scope, .. } = inbound(&fixture, "u", GROUP, "");
    let asking =
        Asking { agent: &agent, session: &session, at: &scope, principal: &"telegram:7".into() };
    for what in ["canary", "2"] {
        assert_eq!(
            fixture.engine.capabilities().forget_here(&asking, what).await.unwrap(),
            Forgot::Entries(0)
        );
    }
    assert_eq!(
        fixture.engine.capabilities().forget_here(&asking, "1").await.unwrap(),
        Forgot::Entries(1)
    );
    assert_eq!(asks(PRIVATE).await, (vec!["the canary sings".to_owned()], 0));
    assert_eq!(
        fixture.engine.capabilities().forget_here(&asking, "all").await.unwrap(),
        Forgot::Entries(1)
    );
}
