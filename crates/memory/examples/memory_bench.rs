//! What memory costs: searches beside many foreign documents, many operations over many
//! scopes, and the expression that names a scope. Prints figures; nothing here is a test of
//! speed. `cargo run --release -p insula-memory --example memory_bench`
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "a measuring program: the clock, a temporary home"
)]

use insula_domain::expr::Expression;
use insula_domain::{
    AccountId, Address, AgentId, ChatId, ChatType, MemoryOperation, Metadata, Platform,
    SCOPE_VARIABLES, Scope, ScopePayload, ScopeRule, SessionKey,
};
use insula_memory::{AsFound, EntryChange, ListLimits, Memory, Operation};
use insula_store::{
    AgentCommand, AuditKey, Durability, LeaseHolder, MemoryEntry, MemoryList, MemoryOrigin,
    MemorySource, NewFragment, Remember, Store, StoreOptions,
};
use insula_world::{Timestamp, World};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn origin() -> MemoryOrigin {
    MemoryOrigin {
        source: MemorySource::Tool,
        principal: "telegram:1".into(),
        platform: "telegram".into(),
        session: None,
        message: None,
        call: None,
        generation: 1,
        at: Timestamp::from_millis(1_794_708_747_004),
        approved_by: None,
        label: None,
    }
}

fn add(content: String) -> EntryChange {
    EntryChange { target: MemoryList::Memory, operation: Operation::Add { content } }
}

fn p99(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

/// Puts documents into foreign scopes, fifty in each, without their mirrors.
async fn foreign(owner: &LeaseHolder, agent: &str, from: usize, to: usize) {
    let agent = owner.agent(&AgentId::new(agent).unwrap());
    for scope in from / 50..to / 50 {
        let new = |n: usize| {
            let text = format!("foreign note {n} about the boiler, the hall and march {scope}");
            MemoryEntry::New(NewFragment { text, blocked: None, parents: Vec::new() })
        };
        let change = Remember {
            scope: format!("chat:telegram:main:-{scope}").parse().unwrap(),
            target: MemoryList::Memory,
            expects: Vec::new(),
            entries: (0..50).map(new).collect(),
            origin: origin(),
            digest: [0; 32],
        };
        agent.commit(vec![AgentCommand::Remember(Box::new(change))]).await.unwrap();
    }
}

#[tokio::main]
async fn main() {
    let home = tempfile::tempdir().unwrap();
    let options = StoreOptions::new(home.path(), AuditKey::from_bytes([9; 32]));
    let options = StoreOptions { durability: Durability::Process, ..options };
    let world = World::real().unwrap();
    let store = Store::open(options, world.clone()).await.unwrap();
    let owner = Arc::new(store.claim("bench").await.unwrap());
    let id = AgentId::new("a").unwrap();
    let root = home.path().join("agents/a");
    let limits = ListLimits { memory: 20_000, user: 1_375, daily: None };
    let memory = Memory::new(owner.agent(&id), root, limits, 1, world);
    let own: Scope = "chat:api:token:own".parse().unwrap();
    let scoped = memory.scoped(vec![Scope::Global, own.clone()], own);
    let facts: Vec<EntryChange> =
        (0..40).map(|n| add(format!("fact {n}: the boiler {} hangs in the hall", n % 7))).collect();
    scoped.apply(&facts, &origin()).await.unwrap();

    println!("search beside foreign documents (half of them another agent's)");
    let queries = ["boiler hall", "fact 7 march", "note about the boiler", "absent"];
    let (mut expected, mut there) = (None, 0);
    for count in [0, 1_000, 50_000] {
        foreign(&owner, "a", there / 2, count / 2).await;
        foreign(&owner, "b", there / 2, count / 2).await;
        there = count;
        let mut answers = Vec::new();
        let mut times = Vec::new();
        for round in 0..250 {
            for query in queries {
                let begun = Instant::now();
                let found = scoped.search(query, 10, &AsFound).await.unwrap();
                times.push(begun.elapsed());
                if round == 0 {
                    answers.push(format!("{found:?}"));
                }
            }
        }
        let same = expected.get_or_insert_with(|| answers.clone()) == &answers;
        let (median, p99) = p99(times);
        println!("  {count:>6} foreign: median {median:?}, p99 {p99:?}, same bytes: {same}");
        assert!(same);
    }

    println!("10,000 operations over 1,000 scopes (process durability)");
    for thousand in 0..10 {
        let begun = Instant::now();
        for n in 0..1_000 {
            let scope: Scope = format!("chat:api:token:bench{n}").parse().unwrap();
            let scoped = memory.scoped(vec![scope.clone()], scope);
            scoped.apply(&[add(format!("note {thousand}"))], &origin()).await.unwrap();
        }
        println!("  operations {:>6}: {:?} each", (thousand + 1) * 1_000, begun.elapsed() / 1_000);
    }

    println!("an expression that names a scope");
    let text = "metadata.org_id != '' ? 'org:' + metadata.org_id : channel_id";
    let rule = ScopeRule::Expression(Expression::compile(text, SCOPE_VARIABLES).unwrap());
    let address = Address {
        platform: Platform::API,
        account: AccountId::new("token").unwrap(),
        chat: ChatId::new("chat").unwrap(),
        chat_type: ChatType::Group,
        topic: None,
        parent: None,
        community: None,
        user: None,
        roles: Vec::new(),
    };
    let session = SessionKey::of(&id, &address, Default::default());
    let metadata: Metadata = [("org_id".into(), "acme".into())].into();
    let payload = ScopePayload {
        token: None,
        operation: MemoryOperation::Read,
        agent: &id,
        session: &session,
        address: &address,
        person: None,
        metadata: &metadata,
    };
    let begun = Instant::now();
    for _ in 0..10_000 {
        std::hint::black_box(rule.decide(&payload).unwrap());
    }
    println!("  {:?} each, payload included", begun.elapsed() / 10_000);
    store.shutdown().await;
}
