//! Figures of the SQLite backend on this machine: `cargo run --release --example store_bench`.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a measuring program: it reads clocks and /proc, and stops at the first surprise"
)]

mod search;
mod turns;

use insula_domain::id::AgentId;
use insula_store::{
    About, AgentCommand, AgentRow, AuditEntry, AuditKey, DaemonCommand, Durability, Lifecycle,
    Store, StoreOptions,
};
use insula_world::{Timestamp, World};
use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

const COMMITS: usize = 500;
const OPENS: usize = 200;
const AGENTS: usize = 10_000;

fn agent(n: usize) -> AgentId {
    AgentId::new(&format!("agent-{n:05}")).unwrap()
}

fn entry() -> AuditEntry {
    AuditEntry {
        at: Timestamp::from_millis(1_794_708_747_004),
        actor: "cli:local".into(),
        about: About::Agent,
        kind: "agent.created".into(),
        generation: 1,
        content: "{\"digest\":\"0123456789abcdef\"}".to_owned(),
    }
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!("{what:<44} p50 {:>9.1?}  p99 {:>9.1?}", at(50), at(99));
}

fn rss_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn open(home: &Path, durability: Durability, open_max: usize) -> Store {
    let options = StoreOptions {
        durability,
        open_max,
        ..StoreOptions::new(home, AuditKey::from_bytes([9; 32]))
    };
    Store::open(options, World::real().unwrap()).await.unwrap()
}

fn flush_latency(home: &Path) {
    let mut file = std::fs::File::create(home.join("flush")).unwrap();
    // Overwriting, as a log in steady use does; appending also flushes the file's length.
    file.write_all(&[0; 4_096]).unwrap();
    file.sync_all().unwrap();
    let times = (0..200).map(|_| {
        file.rewind().unwrap();
        let start = Instant::now();
        file.write_all(&[1; 4_096]).unwrap();
        file.sync_data().unwrap();
        start.elapsed()
    });
    print("the machine: overwrite 4 KiB and flush", times.collect());
}

async fn commits(home: &Path, durability: Durability) {
    let store = open(home, durability, 256).await;
    let owner = store.claim("bench").await.unwrap();
    let a = owner.agent(&agent(0));
    a.commit(vec![AgentCommand::Audit(entry())]).await.unwrap();
    let mut times = Vec::new();
    for _ in 0..COMMITS {
        let start = Instant::now();
        a.commit(vec![AgentCommand::Audit(entry())]).await.unwrap();
        times.push(start.elapsed());
    }
    print(&format!("commit one audit record, {durability:?}"), times);
    store.shutdown().await;
}

async fn opens(home: &Path) {
    let store = open(home, Durability::Power, 1_000).await;
    let owner = store.claim("bench").await.unwrap();
    let (before, mut created) = (rss_kib(), Vec::new());
    for n in 0..OPENS {
        let start = Instant::now();
        owner.agent(&agent(n)).commit(vec![AgentCommand::Audit(entry())]).await.unwrap();
        created.push(start.elapsed());
    }
    print("create agent.db with its first record", created);
    println!("{:<44} {} KiB each", "resident memory of an open file", (rss_kib() - before) / OPENS);
    let start = Instant::now();
    store.close_idle(Duration::ZERO).await;
    println!("{:<44} {:.1?} each", "close", start.elapsed() / u32::try_from(OPENS).unwrap());
    let mut opened = Vec::new();
    for n in 0..OPENS {
        let start = Instant::now();
        assert_eq!(owner.agent(&agent(n)).audit_tail(1).await.unwrap().len(), 1);
        opened.push(start.elapsed());
    }
    print("open existing agent.db and read a record", opened);
    let start = Instant::now();
    for n in 0..OPENS {
        owner.agent(&agent(n)).audit_tail(1).await.unwrap();
    }
    println!(
        "{:<44} {:.1?} each",
        "read from an open file",
        start.elapsed() / u32::try_from(OPENS).unwrap()
    );
    store.shutdown().await;
}

async fn ten_thousand(home: &Path) {
    let store = open(home, Durability::Power, 256).await;
    let owner = store.claim("bench").await.unwrap();
    let mut batch = Vec::new();
    for n in 0..AGENTS {
        batch.push(DaemonCommand::PutAgent(AgentRow {
            id: agent(n),
            state: Lifecycle::Active,
            generation: 1,
            digest: [n as u8; 32],
            authority: "{\"tools\":[\"read_file\",\"web_search\"],\"network\":[]}".to_owned(),
        }));
        batch.push(DaemonCommand::QueueAudit(agent(n), entry()));
    }
    let start = Instant::now();
    owner.daemon().commit(batch).await.unwrap();
    println!("{:<44} {:.1?}", "10,000 agents put and queued, one batch", start.elapsed());
    let before = rss_kib();
    let handles: Vec<_> = (0..AGENTS).map(|n| owner.agent(&agent(n))).collect();
    println!("{:<44} {} bytes each", "10,000 handles", (rss_kib() - before) * 1024 / handles.len());
    let start = Instant::now();
    assert_eq!(store.daemon().agents().await.unwrap().len(), AGENTS);
    println!("{:<44} {:.1?}", "read 10,000 agents", start.elapsed());
    store.shutdown().await;
    let start = Instant::now();
    open(home, Durability::Power, 256).await;
    println!("{:<44} {:.1?}", "open a home of 10,000 with all queued", start.elapsed());
}

#[tokio::main]
async fn main() {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "/tmp".to_owned());
    let home = tempfile::tempdir_in(folder).unwrap();
    flush_latency(home.path());
    turns::run(&home.path().join("turns")).await;
    search::run(&home.path().join("search")).await;
    commits(&home.path().join("power"), Durability::Power).await;
    commits(&home.path().join("process"), Durability::Process).await;
    opens(&home.path().join("opens")).await;
    ten_thousand(&home.path().join("many")).await;
}
