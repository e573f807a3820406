//! Turns: how many a second, and what one costs, as sessions grow and agents multiply.

use super::{agent, open, print};
use insula_store::{
    Accept, AgentCommand, AgentLease, AgentRow, Arrival, Conclude, DaemonCommand, Durability,
    Flush, IdempotencyKey, Lifecycle, NewMessage, OpenSession, Part, Role, SessionId, Store,
    TurnOutcome, Usage, Window,
};
use insula_world::Timestamp;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SESSIONS: usize = 64;
const AGENTS: usize = 28;
const LOAD: Duration = Duration::from_secs(4);
const WORDS: [&str; 24] = [
    "the", "island", "house", "and", "a", "message", "about", "rivers", "to", "be", "found",
    "again", "when", "somebody", "asks", "for", "it", "in", "this", "group", "or", "another", "of",
    "them",
];

/// Processor time of this process so far.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    if std::env::var("SPLIT").is_ok() {
        eprintln!("user {} sys {}", fields[11], fields[12]);
    }
    Duration::from_millis(ticks * 10)
}

pub fn at(n: u64) -> Timestamp {
    Timestamp::from_millis(1_794_708_747_004 + n.cast_signed())
}

pub fn message(role: Role, scope: &str, text: String, n: u64) -> NewMessage {
    NewMessage {
        role,
        parts: vec![Part::Text(text)],
        principal: "api:token".into(),
        scope: scope.parse().unwrap(),
        label: "private".into(),
        generation: 1,
        at: at(n),
    }
}

pub fn text(n: u64) -> String {
    let word = |step: u64| WORDS[usize::try_from((n / 7 + step * step + n * step) % 24).unwrap()];
    format!("{} {} {} {} {} word{}", word(1), word(2), word(3), word(4), word(5), n % 997)
}

fn accept(session: usize, n: u64, keyed: bool) -> AgentCommand {
    let key = format!("agent:a:api:token:dm:session-{session}");
    let scope = format!("custom:session-{session}");
    AgentCommand::Accept(Box::new(Accept {
        message: message(Role::User, &scope, text(n), n),
        session: OpenSession {
            key: key.into(),
            scope: scope.parse().unwrap(),
            label: "private".into(),
            at: at(n),
        },
        origin: None,
        arrival: Arrival::default(),
        flush: Flush::Now,
        idempotency: keyed.then(|| IdempotencyKey {
            who: "token".into(),
            key: format!("{session}-{n}").into(),
            request: [0; 32],
        }),
    }))
}

async fn turn(store: &AgentLease, session: usize, n: u64, keyed: bool) -> SessionId {
    let taken = store.commit(vec![accept(session, n, keyed)]).await.unwrap();
    let taken = taken.accepted().unwrap();
    let scope = format!("custom:session-{session}");
    let conclude = Conclude {
        turn: taken.turn(),
        messages: vec![message(Role::Assistant, &scope, text(n + 1), n + 1)],
        usage: Usage { input: 100, output: 20, cached: 50, reasoning: 0, cost_micros: 130 },
        outcome: TurnOutcome::Replied { cut: None },
        at: at(n + 1),
    };
    store.commit(vec![AgentCommand::Conclude(Box::new(conclude))]).await.unwrap();
    taken.session()
}

/// Accepts and concludes in `SESSIONS` sessions over `AGENTS` agents at once.
async fn load(what: &str, store: &Store, window: usize, keyed: bool) {
    let owner = store.claim("bench").await.unwrap();
    for n in 0..AGENTS {
        turn(&owner.agent(&agent(n)), n, 0, false).await;
    }
    let count = Arc::new(AtomicU64::new(0));
    let (begun, before, rss) = (Instant::now(), cpu(), super::rss_kib());
    let tasks: Vec<_> = (0..SESSIONS)
        .map(|session| {
            let store = owner.agent(&agent(session % AGENTS));
            let count = count.clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                for n in 1.. {
                    let start = Instant::now();
                    if start - begun > LOAD {
                        break;
                    }
                    let id = turn(&store, session, n, keyed).await;
                    if window > 0 {
                        let window = Window { messages: window, bytes: 1 << 20 };
                        store.messages_tail(id, window).await.unwrap();
                    }
                    times.push(start.elapsed());
                    count.fetch_add(1, Ordering::Relaxed);
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    let (turns, spent) = (count.load(Ordering::Relaxed), cpu() - before);
    println!(
        "{what:<44} {:>7.0} turns/s  {:>5.1} µs CPU a turn  +{} KiB resident",
        turns as f64 / begun.elapsed().as_secs_f64(),
        spent.as_micros() as f64 / turns as f64,
        super::rss_kib().saturating_sub(rss),
    );
    print("    one turn", times);
}

/// A turn and the read of its window at the beginning and far into a session.
async fn long_session(home: &Path) {
    let store = open(home, Durability::Power, 256).await;
    let owner = store.claim("bench").await.unwrap();
    let a = owner.agent(&agent(0));
    for (from, to) in [(10, 210), (5_000, 5_200)] {
        let mut id = turn(&a, 0, from, false).await;
        while a.message_count(id).await.unwrap() < from {
            id = turn(&a, 0, from, false).await;
        }
        let (mut turns, mut reads, before) = (Vec::new(), Vec::new(), cpu());
        for n in from..to {
            let start = Instant::now();
            turn(&a, 0, n, false).await;
            turns.push(start.elapsed());
        }
        let spent = (cpu() - before) / u32::try_from(to - from).unwrap();
        for _ in from..to {
            let start = Instant::now();
            a.messages_tail(id, Window { messages: 50, bytes: 1 << 20 }).await.unwrap();
            reads.push(start.elapsed());
        }
        print(&format!("turn at message {from}, {spent:.0?} CPU"), turns);
        print(&format!("read 50 messages at message {from}"), reads);
    }
    store.shutdown().await;
}

pub async fn run(home: &Path) {
    for durability in [Durability::Power, Durability::Process] {
        let store = open(&home.join(format!("{durability:?}")), durability, 256).await;
        load(&format!("64 sessions over 28 agents, {durability:?}"), &store, 0, false).await;
        load("  the same with idempotency keys", &store, 0, true).await;
        load("  the same with a window of 20 read", &store, 20, false).await;
        store.shutdown().await;
    }
    long_session(&home.join("long")).await;
    let store = open(&home.join("crowd"), Durability::Power, 256).await;
    let owner = store.claim("bench").await.unwrap();
    let row = |n: usize| AgentRow {
        id: agent(n),
        state: Lifecycle::Active,
        generation: 1,
        digest: [1; 32],
        authority: "{}".to_owned(),
    };
    let rows = (0..super::AGENTS).map(|n| DaemonCommand::PutAgent(row(n))).collect();
    owner.daemon().commit(rows).await.unwrap();
    let handles: Vec<_> = (0..super::AGENTS).map(|n| owner.agent(&agent(n))).collect();
    load("64 sessions over 28 of 10,000 agents, Power", &store, 0, false).await;
    drop(handles);
    store.shutdown().await;
}
