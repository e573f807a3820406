//! Links: an agent asks another, which works under its own context; what the first has seen goes
//! along as a label, and what the second says is its words.

use crate::turns::support::{Fixture, calls, end, reply, says, shown};
use insula_domain::{
    AccountId, Actor, Address, AgentId, Audience, ChatId, ChatType, Label, Platform, UserId,
};
use insula_registry::AgentContext;
use insula_store::{Message, Part, TurnStatus, Window};
use insula_testdaemon::TestDaemon;
use insula_testkit::model::configured;
use insula_testkit::upstream::{Seen, Step, Upstream};
use insula_testkit::world;
use insula_turns::{Acknowledge, Inbound, TurnEnd};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const CONFIG: &str = "
channels: {telegram: {accounts: {main: {token: x, base_url: 'http://127.0.0.1:9'}}}}
agents:
  a: {access: {allow: ['telegram:7']}, tools: {also_allow: [message_agent, notify]}, links: [{to: b}, {to: c}, {to: b, as: notify}, {to: bound}, {to: late, timeout: 1s}, {to: one, max_depth: 1}]}
  b: {memory: true, tools: {also_allow: [message_agent]}, links: [{to: a}, {to: c}]}
  c: {tools: {also_allow: [message_agent]}, links: [{to: b}]}
  one: {tools: {also_allow: [message_agent]}, links: [{to: c}]}
  bound: {}
  late: {}
  carrier: {tools: {also_allow: [message_agent]}, links: [{to: bound, carry: ['telegram:main:7']}]}
  none: {tools: {also_allow: [message_agent]}}
bindings:
  - {agent: bound, telegram: '-100'}
";

/// Makes the call that the last message asks for (`call TOOL ARGUMENTS`), says what came of it,
/// and hangs where it is told to.
fn puppet(seen: &Seen, number: usize) -> Vec<Step> {
    let (role, text) = shown(seen).pop().unwrap_or_default();
    if role == "tool" {
        return says(&format!("result: {text}"));
    }
    match text.strip_prefix("call ").and_then(|rest| rest.split_once(' ')) {
        Some((tool, arguments)) => calls(&format!("call_{number}"), tool, arguments),
        None if text.contains("hang") => vec![Step::Hang],
        None => says(&format!("I heard: {text}")),
    }
}

async fn open() -> Fixture {
    // Without tokens: whoever has one hears an agent too.
    let (world, handles) = world(7);
    let upstream = Upstream::start(&world, puppet).await.unwrap();
    let config = configured(&upstream, "model", CONFIG);
    let files = insula_testkit::Home::with([("config.yaml", &*config)]).unwrap();
    let daemon = TestDaemon::open(&files, &world).await;
    let engine = daemon.engine_with(insula_tools::BUILT_IN);
    Fixture { files, daemon, engine, upstream: Some(upstream), handles: Some(handles) }
}

fn context(fixture: &Fixture, agent: &str) -> Arc<AgentContext> {
    let id = AgentId::new(agent).unwrap();
    fixture.daemon.snapshot().agents[&id].state.context().unwrap().clone()
}

/// A message of user 7's in a private chat, or in a group.
fn inbound(fixture: &Fixture, agent: &str, chat: &str, text: &str) -> Inbound {
    let agent = context(fixture, agent);
    let address = Address {
        platform: Platform::new("telegram").unwrap(),
        account: AccountId::new("main").unwrap(),
        chat: ChatId::new(chat).unwrap(),
        chat_type: if chat.starts_with('-') { ChatType::Group } else { ChatType::Dm },
        topic: None,
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

async fn say(fixture: &Fixture, agent: &str, chat: &str, text: &str) -> String {
    reply(fixture.engine.submit(inbound(fixture, agent, chat, text)).await.unwrap()).await
}

fn ask(agent: &str, message: &str) -> String {
    format!("call message_agent {}", json!({ "agent": agent, "message": message }))
}

/// The messages of all conversations of an agent, by their keys.
async fn said_to(fixture: &Fixture, agent: &str) -> Vec<(String, Vec<Message>)> {
    let store = context(fixture, agent).store.clone();
    let mut all = Vec::new();
    for session in store.sessions(None, 100).await.unwrap() {
        let window = Window { messages: 100, bytes: usize::MAX };
        let messages = store.messages_tail(session.id, window).await.unwrap();
        all.push((session.key.to_string(), messages));
    }
    all
}

async fn records(fixture: &Fixture, agent: &str, kind: &str) -> Vec<Value> {
    let records = context(fixture, agent).store.audit_tail(100).await.unwrap();
    let ours = records.iter().filter(|record| &*record.kind == kind);
    ours.map(|it| serde_json::from_str(it.content.as_ref().unwrap()).unwrap()).collect()
}

#[tokio::test]
async fn an_answer_comes_back_as_the_other_agents_words() {
    let fixture = open().await;
    let told = say(&fixture, "a", "7", &ask("b", "what is new?")).await;
    assert!(told.contains("source=\"agent b\""), "{told}");
    assert!(told.contains("I heard: what is new?"), "{told}");
    let [(key, messages)] = &said_to(&fixture, "b").await[..] else { panic!() };
    assert!(key.starts_with("agent:b:link:a:dm:ask."), "{key}");
    let [question, answer] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!(question.principal, Actor::agent(&AgentId::new("a").unwrap()));
    assert!(question.scope.as_str().starts_with("chat:link:a:ask."), "{}", question.scope);
    // What the first was told in private is not for others of the second's to hear.
    assert!(question.label.contains("telegram:main:7"), "{}", question.label);
    assert!(answer.label.contains("telegram:main:7"), "{}", answer.label);
    let used = records(&fixture, "a", "link.used").await;
    assert_eq!((&used[0]["to"], &used[0]["as"]), (&json!("b"), &json!("ask")));
    assert_eq!(used[0]["from"], "telegram:main:7");
    let taken = records(&fixture, "b", "link.taken").await;
    assert_eq!(taken, [json!({ "from": "a", "as": "ask", "through": ["a"] })]);
    // From then on its words steer the turn that asked.
    let own = said_to(&fixture, "a").await;
    let last = own[0].1.last().unwrap();
    assert_eq!(&*last.label, "telegram:main:7;agent:b");
}

#[tokio::test]
async fn two_conversations_that_ask_are_two_for_whoever_is_asked() {
    let fixture = open().await;
    say(&fixture, "a", "7", &ask("b", "one")).await;
    say(&fixture, "a", "-5", &ask("b", "two")).await;
    say(&fixture, "a", "7", &ask("b", "three")).await;
    let all = said_to(&fixture, "b").await;
    let mut counts: Vec<usize> = all.iter().map(|(_, messages)| messages.len()).collect();
    counts.sort_unstable();
    assert_eq!(counts, [2, 4]);
}

#[tokio::test]
async fn a16_nobody_is_asked_without_a_link_and_nobody_back() {
    let fixture = open().await;
    let told = say(&fixture, "none", "7", &ask("b", "hello")).await;
    assert!(told.contains("you do not have the tool `message_agent`"), "{told}");
    // An agent that is not linked and one that does not exist are one answer.
    let other = say(&fixture, "a", "7", &ask("carrier", "hello")).await;
    let missing = say(&fixture, "a", "7", &ask("missing", "hello")).await;
    assert!(other.contains("you may not ask `carrier`, only b, c"), "{other}");
    assert_eq!(other.replace("carrier", "missing"), missing);
    assert!(said_to(&fixture, "carrier").await.is_empty());
    // Asked back: whoever is asked can't ask whoever waits, whatever it was told.
    let told = say(&fixture, "a", "7", &ask("b", &ask("a", "and you?"))).await;
    assert!(told.contains("waits for the answer to this"), "{told}");
    assert_eq!(said_to(&fixture, "a").await.len(), 1);
}

#[tokio::test]
async fn a_question_makes_no_circle_and_passes_no_more_links_than_it_may() {
    let fixture = open().await;
    let circle = ask("b", &ask("c", &ask("b", "again")));
    let told = say(&fixture, "a", "7", &circle).await;
    assert!(told.contains("waits for the answer to this"), "{told}");
    let deep = say(&fixture, "a", "7", &ask("one", &ask("c", "hello"))).await;
    assert!(deep.contains("as many agents as it may"), "{deep}");
    let through = records(&fixture, "c", "link.taken").await;
    assert_eq!(through, [json!({ "from": "b", "as": "ask", "through": ["a", "b"] })]);
}

#[tokio::test]
async fn b05_what_was_said_in_private_goes_to_no_agent_that_others_hear() {
    let fixture = open().await;
    let told = say(&fixture, "a", "7", &ask("bound", "the canary")).await;
    assert!(told.contains("others hear `bound`"), "{told}");
    assert!(said_to(&fixture, "bound").await.is_empty());
    // In the chat that the other is heard in, everybody heard it.
    let told = say(&fixture, "a", "-100", &ask("bound", "hello")).await;
    assert!(told.contains("I heard: hello"), "{told}");
    // The operator said that it may go along.
    let told = say(&fixture, "carrier", "7", &ask("bound", "hello")).await;
    assert!(told.contains("I heard: hello"), "{told}");
    let told = say(&fixture, "carrier", "8", &ask("bound", "hello")).await;
    assert!(told.contains("others hear `bound`"), "{told}");
}

#[tokio::test]
async fn who_takes_too_long_is_stopped_and_so_is_whoever_is_asked_by_one_that_stops() {
    let fixture = open().await;
    let late = inbound(&fixture, "a", "7", &ask("late", "hang"));
    let late = fixture.engine.submit(late).await.unwrap();
    asked(&fixture, "late").await;
    // Until whoever waits has begun to.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    fixture.handles.as_ref().unwrap().clock.advance(Duration::from_secs(2)).await;
    let told = reply(late).await;
    assert!(told.contains("`late` did not answer within 1 s"), "{told}");
    assert_eq!(status(&fixture, "late").await, TurnStatus::Stopped);
    let inbound = inbound(&fixture, "a", "7", &ask("b", "hang"));
    let key = inbound.session.clone();
    let handle = fixture.engine.submit(inbound).await.unwrap();
    let turn = handle.turn;
    asked(&fixture, "b").await;
    assert!(fixture.engine.stop_turn(&key, turn));
    assert!(matches!(end(handle).await, TurnEnd::Stopped));
    assert_eq!(status(&fixture, "b").await, TurnStatus::Stopped);
}

/// Waits until an agent's model was asked.
async fn asked(fixture: &Fixture, agent: &str) {
    while said_to(fixture, agent).await.is_empty() {
        tokio::task::yield_now().await;
    }
}

/// How the newest turn of an agent stands, when it is over.
async fn status(fixture: &Fixture, agent: &str) -> TurnStatus {
    let store = context(fixture, agent).store.clone();
    loop {
        let turns = store.turns(None, 1).await.unwrap();
        if let Some(turn) = turns.first().filter(|it| it.status != TurnStatus::Accepted) {
            return turn.status;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_link_that_is_taken_away_while_a_question_waits_ends_it_on_both_sides() {
    let fixture = open().await;
    let handle = fixture.engine.submit(inbound(&fixture, "a", "7", &ask("b", "hang"))).await;
    asked(&fixture, "b").await;
    let text = fixture.files.read("config.yaml").unwrap();
    let less = text.replace("links: [{to: b}, {to: c}, {to: b, as: notify}", "links: [{to: c}");
    assert_ne!(text, less);
    fixture.files.write("config.yaml", &less).unwrap();
    fixture.daemon.reload(None, &Actor::CommandLine).await.unwrap();
    let told = reply(handle.unwrap()).await;
    assert!(told.contains("was taken away while you waited"), "{told}");
    assert_ne!(status(&fixture, "b").await, TurnStatus::Replied);
}

#[tokio::test]
async fn what_one_is_told_it_is_told_once_and_nothing_comes_back() {
    let fixture = open().await;
    let notify = format!("call notify {}", json!({ "agent": "b", "message": "it is done" }));
    let told = say(&fixture, "a", "7", &notify).await;
    assert!(told.contains("b was told"), "{told}");
    status(&fixture, "b").await;
    let [(key, messages)] = &said_to(&fixture, "b").await[..] else { panic!() };
    assert!(key.starts_with("agent:b:link:a:dm:notify."), "{key}");
    assert_eq!(messages.len(), 2);
    assert_eq!(records(&fixture, "b", "link.taken").await.len(), 1);
    let refused = format!("call notify {}", json!({ "agent": "c", "message": "it is done" }));
    let told = say(&fixture, "a", "7", &refused).await;
    assert!(told.contains("you may not tell `c`, only b"), "{told}");
}

#[tokio::test]
async fn whoever_is_not_named_is_listed() {
    let fixture = open().await;
    let told = say(&fixture, "a", "7", "call message_agent {}").await;
    assert_eq!(told, "result: b\nc\nbound\nlate\none");
}

/// Turns of one agent at once.
const PLACES: usize = 16;

#[tokio::test]
async fn agents_whose_turns_all_wait_for_each_other_are_answered() {
    let fixture = open().await;
    let mut all = Vec::new();
    // Two people, so that they have every place of both agents between them.
    for number in 0..2 * PLACES {
        for (agent, other) in [("a", "b"), ("b", "a")] {
            let mut inbound = inbound(&fixture, agent, &format!("7{number}"), &ask(other, "well?"));
            inbound.principal = format!("telegram:{}", number % 2).into();
            all.push(fixture.engine.submit(inbound).await.unwrap());
        }
    }
    for handle in all {
        let told = reply(handle).await;
        assert!(told.contains("I heard: well?"), "{told}");
    }
}

#[tokio::test]
async fn whoever_waits_for_a_busy_agent_keeps_nobody_of_its_own_waiting() {
    let fixture = open().await;
    let mut waiting = Vec::new();
    for number in 0..70 {
        let mut inbound = inbound(&fixture, "a", &format!("7{number}"), &ask("b", "hang"));
        inbound.principal = format!("telegram:{}", number % 4).into();
        waiting.push((inbound.session.clone(), fixture.engine.submit(inbound).await.unwrap()));
    }
    // As many wait as may; the others are told so, and go on.
    let mut refused = 0;
    while refused < 70 - 64 {
        let over = waiting.iter().position(|(session, _)| fixture.engine.under_way(session) == 0);
        match over {
            Some(at) => {
                let told = reply(waiting.swap_remove(at).1).await;
                assert!(told.contains("too many conversations wait"), "{told}");
                refused += 1;
            }
            None => tokio::task::yield_now().await,
        }
    }
    assert_eq!(say(&fixture, "a", "7", "hello").await, "I heard: hello");
    for (session, handle) in waiting {
        assert_eq!(fixture.engine.stop(&session), 1);
        assert!(matches!(end(handle).await, TurnEnd::Stopped));
    }
}
