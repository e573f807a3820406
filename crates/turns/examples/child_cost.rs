//! What a child costs beyond its own turn: processor time of this process, with the practice
//! model, which answers at once and in this process.
//!
//! `cargo run --release -p insula-registry --example child_cost`
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a measuring program: it reads clocks, and stops at the first surprise"
)]

use insula_domain::{AccountId, Address, AgentId, ChatId, ChatType, Label, Platform, UserId};
use insula_store::Part;
use insula_testdaemon::TestDaemon;
use insula_turns::{Acknowledge, Engine, Inbound, TurnEnd, TurnEvent};
use insula_world::World;

/// Turns of each kind.
const ROUNDS: usize = 200;
/// Children of one turn.
const CHILDREN: usize = 8;

/// Processor time of all threads so far, by the hundredth of a second.
fn cpu_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) * 10.0
}

#[tokio::main]
async fn main() {
    let config = "agents: {a: {tools: coding, subagents: {max_children: 8}}}\n";
    let files = insula_testkit::Home::with([("config.yaml", config)]).unwrap();
    let daemon = TestDaemon::open(&files, &World::real().unwrap()).await;
    let engine = daemon.engine();
    let tasks = |count: usize| {
        let tasks = vec![serde_json::json!({ "goal": "ping" }); count];
        format!("call delegate_task {}", serde_json::json!({ "tasks": tasks }))
    };
    measure(&daemon, &engine, "warm", "ping").await;
    let turn = measure(&daemon, &engine, "plain", "ping").await;
    let call = measure(&daemon, &engine, "call", "call todo {}").await;
    let one = measure(&daemon, &engine, "one", &tasks(1)).await;
    let many = measure(&daemon, &engine, "many", &tasks(CHILDREN)).await;
    let further = (many - one) / (CHILDREN - 1) as f64;
    println!("a turn                          {turn:.2} ms CPU");
    println!("a turn with a call of `todo`    {call:.2} ms CPU");
    println!("a turn with one child           {one:.2} ms CPU");
    println!("a turn with {CHILDREN} children         {many:.2} ms CPU");
    println!("the first child, over its turn  {:+.2} ms", one - call - turn);
    println!("each further one, over its turn {:+.2} ms", further - turn);
}

/// Processor time of one turn with this message, each in a session of its own, in ms.
async fn measure(daemon: &TestDaemon, engine: &Engine, kind: &str, text: &str) -> f64 {
    let begun = cpu_ms();
    for round in 0..ROUNDS {
        let id = AgentId::new("a").unwrap();
        let agent = daemon.snapshot().agents[&id].state.context().unwrap().clone();
        let address = Address {
            platform: Platform::API,
            account: AccountId::new("bench").unwrap(),
            chat: ChatId::new(format!("{kind}-{round}")).unwrap(),
            chat_type: ChatType::Group,
            topic: None,
            parent: None,
            community: None,
            user: Some(UserId::new("ann").unwrap()),
            roles: vec![],
        };
        let inbound = Inbound {
            session: agent.session_key(&address),
            scope: agent.scope(&address),
            label: Label::anyone(),
            principal: "api:ann".into(),
            history: vec![],
            parts: vec![Part::Text(text.to_owned())],
            idempotency: None,
            origin: None,
            acknowledge: Acknowledge::AtOnce,
            agent,
        };
        let mut handle = engine.submit(inbound).await.unwrap();
        loop {
            match handle.events.recv().await.unwrap() {
                TurnEvent::Ended(TurnEnd::Replied { .. }) => break,
                TurnEvent::Ended(end) => panic!("{end:?}"),
                _ => {}
            }
        }
    }
    (cpu_ms() - begun) / ROUNDS as f64
}
