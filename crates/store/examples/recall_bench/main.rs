//! What search finds: `cargo run --release -p insula-store --example recall_bench [LOCOMO.json]`.
//! Asks the questions of `tests/recall`, and those of a public set of long conversations where
//! its file is given (`data/locomo10.json` of snap-research/locomo): for each, whether a message
//! that answers it is among the first ten.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "a measuring program: the clock, a temporary home, and it stops at the first surprise"
)]

#[path = "../../tests/recall/mod.rs"]
mod recall;

mod locomo;

use insula_domain::id::AgentId;
use insula_store::{AgentLease, AuditKey, Durability, LeaseHolder, Store, StoreOptions};
use insula_world::World;
use recall::Score;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

fn agent(owner: &LeaseHolder, id: &str) -> AgentLease {
    owner.agent(&AgentId::new(id).unwrap())
}

fn print(what: &str, score: Score) {
    println!("  {what:<34} {:>5} asked, recall@10 {:.3}", score.asked, score.recall());
}

/// Prints how long searches took.
fn print_times(mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!("  a search: p50 {:.0?}, p99 {:.0?}", at(50), at(99));
}

async fn own(owner: &LeaseHolder) {
    println!("questions of our own, in transcripts");
    let a = agent(owner, "own");
    let questions = recall::fill(&a).await;
    let (scores, foreign) = recall::ask(&a, &questions).await;
    let mut sums: BTreeMap<String, Score> = BTreeMap::new();
    for ((scope, style), score) in scores {
        for of in [scope.to_owned(), format!("style {style}"), "all".to_owned()] {
            let sum = sums.entry(of).or_default();
            sum.asked += score.asked;
            sum.found += score.found;
        }
    }
    sums.into_iter().for_each(|(what, score)| print(&what, score));
    println!("  foreign hits: {foreign}");
    let mut times = Vec::new();
    for question in questions.iter().chain(&questions) {
        let scope = question.scope.parse().unwrap();
        let begun = Instant::now();
        a.search(&scope, &question.text, 10).await.unwrap();
        times.push(begun.elapsed());
    }
    print_times(times);
    println!("questions of our own, in memory");
    let a = agent(owner, "memory");
    recall::remember(&a).await;
    for limit in [1, 3, 10] {
        let (score, foreign) = recall::ask_memory(&a, limit).await;
        let (asked, recall) = (score.asked, score.recall());
        println!("  {asked} asked, recall@{limit} {recall:.3}, foreign hits: {foreign}");
    }
}

#[tokio::main]
async fn main() {
    let home = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        durability: Durability::Process,
        ..StoreOptions::new(home.path(), AuditKey::from_bytes([9; 32]))
    };
    let store = Store::open(options, World::real().unwrap()).await.unwrap();
    let owner = store.claim("bench").await.unwrap();
    own(&owner).await;
    if let Some(file) = std::env::args().nth(1) {
        locomo::run(&owner, &file).await;
    }
    store.shutdown().await;
}
