//! What a backend owes about vectors: kept beside what they are of, gone with it, and compared
//! inside one scope and one model only.

use super::sample::{at, opening};
use super::{Opener, agent};
use crate::conformance::sample::message_in;
use crate::{
    AgentCommand, AgentLease, Backlog, CommandOutcome, Forget, FragmentId, MemoryEntry, MemoryList,
    MemoryOrigin, MemorySource, Near, NewFragment, PutVectors, Remember, Role, SessionId,
    SessionRef, Vector, VectorKind, VectorModel,
};
use insula_domain::ScopeName;

/// Every check.
pub(super) async fn run(opener: &dyn Opener) {
    entries_are_found_by_meaning_in_their_own_scope_alone(opener).await;
    messages_are_found_by_meaning_in_their_own_scope_alone(opener).await;
    another_model_sees_everything_anew(opener).await;
    what_is_forgotten_takes_its_vectors_along(opener).await;
    vectors_of_what_is_gone_or_elsewhere_are_not_kept(opener).await;
}

fn scope(name: &str) -> ScopeName {
    name.parse().unwrap()
}

fn model() -> VectorModel {
    VectorModel::new("p/m")
}

fn origin() -> MemoryOrigin {
    MemoryOrigin {
        source: MemorySource::Tool,
        principal: "telegram:1".into(),
        platform: "telegram".into(),
        session: Some(SessionId(1)),
        message: None,
        call: None,
        generation: 3,
        at: at(5),
        approved_by: None,
        label: None,
    }
}

/// Remembers these in a scope that was empty.
async fn remember(a: &AgentLease, of: &str, texts: &[&str]) -> Vec<FragmentId> {
    let blocked = |text: &str| text.starts_with("blocked").then(|| "for a test".into());
    let entry = |text: &&str| {
        let (text, blocked) = ((*text).to_owned(), blocked(text));
        MemoryEntry::New(NewFragment { text, blocked, parents: Vec::new() })
    };
    let remember = Remember {
        scope: scope(of),
        target: MemoryList::Memory,
        expects: Vec::new(),
        entries: texts.iter().map(entry).collect(),
        origin: origin(),
        digest: [7; 32],
    };
    let done = a.commit(vec![AgentCommand::Remember(Box::new(remember))]).await.unwrap();
    match done.outcomes.into_iter().next() {
        Some(CommandOutcome::Remembered { .. }) => {}
        other => panic!("{other:?}"),
    }
    let page = a.memory_page(&scope(of), MemoryList::Memory).await.unwrap();
    page.fragments.into_iter().map(|it| it.id).collect()
}

/// A made-up meaning: where the first letter points.
fn meaning(text: &str) -> Vector {
    let mut numbers = [0.01_f32; 8];
    let letter = text.bytes().next().unwrap_or(0);
    numbers[usize::from(letter % 8)] = 1.0;
    Vector::new(&numbers).unwrap()
}

fn near(text: &str) -> Near {
    Near { model: model(), vector: meaning(text) }
}

async fn backlog(a: &AgentLease, of: &str, kind: VectorKind) -> Backlog {
    a.unembedded(&scope(of), kind, model(), 100).await.unwrap()
}

async fn embed(a: &AgentLease, of: &str, kind: VectorKind) -> Vec<String> {
    let Backlog { texts, looked_through } = backlog(a, of, kind).await;
    let rows = texts.iter().map(|it| (it.item, meaning(&it.text))).collect();
    put(a, of, kind, rows, looked_through).await;
    texts.into_iter().map(|it| it.text).collect()
}

async fn put(
    a: &AgentLease,
    of: &str,
    kind: VectorKind,
    rows: Vec<(i64, Vector)>,
    looked_through: Vec<(i64, i64)>,
) {
    let put = PutVectors { scope: scope(of), kind, model: model(), rows, looked_through };
    a.commit(vec![AgentCommand::PutVectors(Box::new(put))]).await.unwrap();
}

async fn entries(a: &AgentLease, of: &str, query: &str, like: &str) -> Vec<String> {
    let found = a.memory_searches_near(vec![of.into()], query, near(like), 9).await.unwrap();
    found.into_iter().flatten().map(|hit| hit.fragment.text).collect()
}

async fn said(a: &AgentLease, of: &str, query: &str, like: &str) -> Vec<String> {
    let found = a.search_near(&scope(of), query, near(like), 9).await.unwrap();
    found.into_iter().map(|hit| hit.snippet).collect()
}

async fn entries_are_found_by_meaning_in_their_own_scope_alone(opener: &dyn Opener) {
    let store = opener.open("vectors-entries").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    remember(&a, "custom:1", &["apples are red", "bread is brown", "blocked words"]).await;
    remember(&a, "custom:2", &["apples of strangers"]).await;
    let texts = embed(&a, "custom:1", VectorKind::Fragments).await;
    assert_eq!(texts.len(), 2, "nothing that is blocked: {texts:?}");
    assert!(embed(&a, "custom:1", VectorKind::Fragments).await.is_empty(), "once is enough");
    // Before the other scope has any, and after.
    for _ in 0..2 {
        assert_eq!(entries(&a, "custom:1", "zzz", "a").await, ["apples are red"]);
        embed(&a, "custom:2", VectorKind::Fragments).await;
    }
    assert_eq!(entries(&a, "custom:2", "zzz", "a").await, ["apples of strangers"]);
    assert!(entries(&a, "custom:3", "zzz", "a").await.is_empty());
    // What is found by words keeps its order, and what only means the same follows.
    for (query, like, all) in [
        ("brown", "a", ["bread is brown", "apples are red"]),
        ("red", "b", ["apples are red", "bread is brown"]),
    ] {
        assert_eq!(entries(&a, "custom:1", query, like).await, all);
    }
}

async fn messages_are_found_by_meaning_in_their_own_scope_alone(opener: &dyn Opener) {
    let store = opener.open("vectors-messages").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let open = AgentCommand::OpenSession(opening("k"));
    let session = a.commit(vec![open]).await.unwrap().session().unwrap();
    let say = async |of: &str, role, text: &str| {
        let session = SessionRef::Id(session);
        let messages = vec![message_in(of, role, text)];
        a.commit(vec![AgentCommand::Append { session, messages }]).await.unwrap();
    };
    say("custom:1", Role::User, "apples are red").await;
    say("custom:2", Role::User, "apples of strangers").await;
    say("custom:1", Role::Tool, "a page about apples").await;
    say("custom:1", Role::Assistant, "bread is brown").await;
    let texts = embed(&a, "custom:1", VectorKind::Messages).await;
    assert_eq!(texts, ["apples are red", "bread is brown"], "what people and the model said");
    assert_eq!(backlog(&a, "custom:1", VectorKind::Messages).await, Backlog::default());
    embed(&a, "custom:2", VectorKind::Messages).await;
    assert_eq!(said(&a, "custom:1", "zzz", "a").await, ["apples are red"]);
    assert_eq!(said(&a, "custom:2", "zzz", "a").await, ["apples of strangers"]);
    say("custom:1", Role::User, "another apple").await;
    assert_eq!(embed(&a, "custom:1", VectorKind::Messages).await, ["another apple"]);
    assert_eq!(said(&a, "custom:1", "zzz", "a").await.len(), 2);
    // A few at a time, in order, and none twice.
    let mut all = Vec::new();
    let other = VectorModel::new("p/other");
    loop {
        let kind = VectorKind::Messages;
        let some = a.unembedded(&scope("custom:1"), kind, other, 1).await.unwrap();
        let Backlog { texts, looked_through } = some;
        if texts.is_empty() {
            break;
        }
        let rows = texts.iter().map(|it| (it.item, meaning(&it.text))).collect();
        let put = PutVectors { scope: scope("custom:1"), kind, model: other, rows, looked_through };
        a.commit(vec![AgentCommand::PutVectors(Box::new(put))]).await.unwrap();
        all.extend(texts.into_iter().map(|it| it.text));
    }
    assert_eq!(all, ["apples are red", "bread is brown", "another apple"]);
    a.commit(vec![AgentCommand::ForgetSession { session, at: at(9) }]).await.unwrap();
    assert!(said(&a, "custom:1", "apples", "a").await.is_empty());
}

async fn another_model_sees_everything_anew(opener: &dyn Opener) {
    let store = opener.open("vectors-models").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    remember(&a, "custom:1", &["apples are red"]).await;
    embed(&a, "custom:1", VectorKind::Fragments).await;
    let other = VectorModel::new("p/other");
    let kind = VectorKind::Fragments;
    let anew = a.unembedded(&scope("custom:1"), kind, other, 9).await.unwrap();
    assert_eq!(anew.texts.len(), 1);
    let asked = Near { model: other, vector: meaning("a") };
    let found = a.memory_searches_near(vec!["custom:1".into()], "zzz", asked, 9).await.unwrap();
    assert!(found.into_iter().flatten().next().is_none(), "vectors of two models do not compare");
}

async fn what_is_forgotten_takes_its_vectors_along(opener: &dyn Opener) {
    let store = opener.open("vectors-forgotten").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let ids = remember(&a, "custom:1", &["apples are red", "avocados are green"]).await;
    embed(&a, "custom:1", VectorKind::Fragments).await;
    assert_eq!(entries(&a, "custom:1", "zzz", "a").await.len(), 2);
    let affected = a.memory_affected(Forget::Fragment(ids[0])).await.unwrap();
    let forget = AgentCommand::ForgetMemory { fragments: affected.ids, origin: Box::new(origin()) };
    a.commit(vec![forget]).await.unwrap();
    assert_eq!(entries(&a, "custom:1", "zzz", "a").await, ["avocados are green"]);
    // One that is replaced takes its vector along too.
    let replaced = Remember {
        scope: scope("custom:1"),
        target: MemoryList::Memory,
        expects: vec![ids[1]],
        entries: vec![MemoryEntry::New(NewFragment {
            text: "bread".to_owned(),
            blocked: None,
            parents: vec![],
        })],
        origin: origin(),
        digest: [7; 32],
    };
    a.commit(vec![AgentCommand::Remember(Box::new(replaced))]).await.unwrap();
    assert!(entries(&a, "custom:1", "zzz", "a").await.is_empty());
}

async fn vectors_of_what_is_gone_or_elsewhere_are_not_kept(opener: &dyn Opener) {
    let store = opener.open("vectors-elsewhere").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let ids = remember(&a, "custom:1", &["apples are red"]).await;
    remember(&a, "custom:2", &["bread"]).await;
    // Under the name of another scope, and of what does not exist.
    let rows = vec![(ids[0].0, meaning("a")), (9_999, meaning("a"))];
    put(&a, "custom:2", VectorKind::Fragments, rows.clone(), vec![]).await;
    put(&a, "custom:2", VectorKind::Messages, rows, vec![]).await;
    assert!(entries(&a, "custom:2", "zzz", "a").await.is_empty());
    assert!(entries(&a, "custom:1", "zzz", "a").await.is_empty());
    assert!(said(&a, "custom:2", "zzz", "a").await.is_empty());
}
