//! What search finds with a static model beside full text, over the questions of the store's own
//! set: `cargo run --release -p insula-models --example meaning_bench -- FOLDER`, where the folder
//! has `model.safetensors` and `tokenizer.json`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "a measuring program: files, the clock, and it stops at the first surprise"
)]

#[path = "../../store/tests/recall/mod.rs"]
#[allow(dead_code, reason = "of what is measured there, this asks a part")]
mod recall;

use insula_domain::ScopeName;
use insula_domain::id::AgentId;
use insula_models::StaticModel;
use insula_store::{
    AgentCommand, AgentLease, AuditKey, Backlog, Durability, LeaseHolder, MessageSeq, Near,
    PutVectors, Store, StoreOptions, Vector, VectorKind, VectorModel,
};
use insula_world::World;
use recall::Score;
use std::collections::BTreeMap;
use std::time::Instant;

fn agent(owner: &LeaseHolder, id: &str) -> AgentLease {
    owner.agent(&AgentId::new(id).unwrap())
}

fn near(model: &StaticModel, text: &str) -> Option<Near> {
    let vector = Vector::new(&model.embed(text))?;
    Some(Near { model: VectorModel::new(model.name()), vector })
}

async fn embed(a: &AgentLease, model: &StaticModel, scope: &ScopeName, kind: VectorKind) {
    let of = VectorModel::new(model.name());
    loop {
        let found = a.unembedded(scope, kind, of, 1_000).await.unwrap();
        let Backlog { texts, looked_through } = found;
        let rows: Vec<(i64, Vector)> = texts
            .iter()
            .filter_map(|it| Some((it.item, Vector::new(&model.embed(&it.text))?)))
            .collect();
        let done = rows.is_empty();
        let put = PutVectors { scope: scope.clone(), kind, model: of, rows, looked_through };
        a.commit(vec![AgentCommand::PutVectors(Box::new(put))]).await.unwrap();
        if done {
            return;
        }
    }
}

fn print(what: &str, score: Score) {
    println!("  {what:<24} {:>4} asked, recall@10 {:.3}", score.asked, score.recall());
}

async fn transcripts(owner: &LeaseHolder, model: &StaticModel) {
    println!("in transcripts");
    let a = agent(owner, "own");
    let questions = recall::fill(&a).await;
    let mut scopes: Vec<&str> = questions.iter().map(|it| it.scope).collect();
    scopes.dedup();
    let begun = Instant::now();
    for scope in scopes {
        embed(&a, model, &scope.parse().unwrap(), VectorKind::Messages).await;
    }
    println!("  embedded in {:.0?}", begun.elapsed());
    let (mut sums, mut foreign, mut times) = (BTreeMap::<String, Score>::new(), 0, Vec::new());
    for question in &questions {
        let scope: ScopeName = question.scope.parse().unwrap();
        let begun = Instant::now();
        let hits = match near(model, &question.text) {
            Some(near) => a.search_near(&scope, &question.text, near, 10).await.unwrap(),
            None => a.search(&scope, &question.text, 10).await.unwrap(),
        };
        times.push(begun.elapsed());
        let found = hits.iter().any(|hit| question.evidence.contains(&(hit.session, hit.seq)));
        let style = format!("style {}", question.style);
        for of in [question.scope.to_owned(), style, "all".to_owned()] {
            let sum = sums.entry(of).or_default();
            sum.asked += 1;
            sum.found += usize::from(found);
        }
        for hit in &hits {
            let said = a.messages_after(hit.session, MessageSeq(hit.seq.0 - 1), 1).await.unwrap();
            foreign += usize::from(said[0].scope != scope);
        }
    }
    sums.into_iter().for_each(|(what, score)| print(&what, score));
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!("  foreign hits: {foreign}; a search: p50 {:.0?}, p99 {:.0?}", at(50), at(99));
}

async fn memory(owner: &LeaseHolder, model: &StaticModel) {
    println!("in memory");
    let a = agent(owner, "memory");
    recall::remember(&a).await;
    for limit in [1, 3, 10] {
        let (mut score, mut foreign) = (Score::default(), 0);
        for (scope, note, question) in recall::notes() {
            let scope: ScopeName = scope.parse().unwrap();
            embed(&a, model, &scope, VectorKind::Fragments).await;
            let hits = match near(model, &question) {
                Some(near) => {
                    let names = vec![scope.as_str().into()];
                    a.memory_searches_near(names, &question, near, limit).await.unwrap().concat()
                }
                None => a.memory_search(&scope, &question, limit).await.unwrap(),
            };
            score.asked += 1;
            score.found += usize::from(hits.iter().any(|hit| hit.fragment.text == note));
            foreign += hits.iter().filter(|hit| hit.fragment.scope != scope).count();
        }
        let (asked, recall) = (score.asked, score.recall());
        println!("  {asked} asked, recall@{limit} {recall:.3}, foreign hits: {foreign}");
    }
}

#[tokio::main]
async fn main() {
    let Some(folder) = std::env::args().nth(1) else {
        println!("name a folder with a static model");
        return;
    };
    let read = |name: &str| std::fs::read(format!("{folder}/{name}")).unwrap();
    let model = StaticModel::read(&read("tokenizer.json"), &read("model.safetensors")).unwrap();
    let home = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        durability: Durability::Process,
        ..StoreOptions::new(home.path(), AuditKey::from_bytes([9; 32]))
    };
    let store = Store::open(options, World::real().unwrap()).await.unwrap();
    let owner = store.claim("bench").await.unwrap();
    transcripts(&owner, &model).await;
    memory(&owner, &model).await;
    store.shutdown().await;
}
