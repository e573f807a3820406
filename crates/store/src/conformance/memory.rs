//! What any backend owes about memory: lists set whole, a chain that holds, forgetting that
//! leaves nothing, and scopes that do not see each other.

use super::sample::at;
use super::{Opener, agent};
use crate::{
    AgentCommand, AgentLease, CommandOutcome, Forget, FragmentId, Frozen, MemoryEntry, MemoryList,
    MemoryOrigin, MemorySource, MessageSeq, NewFragment, RecordKind, Remember, SessionId,
    StoreError,
};

/// Every check.
pub(super) async fn run(opener: &dyn Opener) {
    a_list_is_set_whole_and_only_as_it_was_read(opener).await;
    entries_keep_their_order(opener).await;
    a_search_sees_one_scope_and_its_figures_alone(opener).await;
    what_is_forgotten_is_gone_and_not_learned_again(opener).await;
    what_was_made_of_it_is_forgotten_with_it(opener).await;
    forgotten_words_are_known_for_such_until_they_are_said_anew(opener).await;
    a_session_is_shown_what_it_was_shown(opener).await;
    memory_survives_a_restart_and_its_chain_holds(opener).await;
}

pub(super) fn origin(message: u64) -> MemoryOrigin {
    MemoryOrigin {
        source: MemorySource::Tool,
        principal: "telegram:1".into(),
        platform: "telegram".into(),
        session: Some(SessionId(1)),
        message: Some(MessageSeq(message)),
        call: Some("call-1".into()),
        generation: 3,
        at: at(5),
        approved_by: None,
        label: Some("telegram:main:7".into()),
    }
}

pub(super) fn new(text: &str) -> MemoryEntry {
    MemoryEntry::New(NewFragment { text: text.to_owned(), blocked: None, parents: Vec::new() })
}

pub(super) fn remember(
    scope: &str,
    expects: &[FragmentId],
    entries: Vec<MemoryEntry>,
    message: u64,
) -> Remember {
    Remember {
        scope: scope.parse().unwrap(),
        target: MemoryList::Memory,
        expects: expects.to_vec(),
        entries,
        origin: origin(message),
        digest: [7; 32],
    }
}

pub(super) async fn set(a: &AgentLease, change: Remember) -> Result<Vec<FragmentId>, StoreError> {
    let done = a.commit(vec![AgentCommand::Remember(Box::new(change))]).await?;
    match done.outcomes.into_iter().next() {
        Some(CommandOutcome::Remembered(ids)) => Ok(ids),
        other => panic!("{other:?}"),
    }
}

async fn texts(a: &AgentLease, scope: &str) -> Vec<String> {
    let page = a.memory_page(&scope.parse().unwrap(), MemoryList::Memory).await.unwrap();
    page.fragments.into_iter().map(|fragment| fragment.text).collect()
}

async fn found(a: &AgentLease, scope: &str, query: &str) -> Vec<(String, String)> {
    let hits = a.memory_search(&scope.parse().unwrap(), query, 10).await.unwrap();
    hits.into_iter().map(|hit| (hit.fragment.text, format!("{:.12}", hit.score))).collect()
}

async fn a_list_is_set_whole_and_only_as_it_was_read(opener: &dyn Opener) {
    let store = opener.open("memory-list").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let ids = set(&a, remember("custom:1", &[], vec![new("one"), new("two")], 1)).await;
    let ids = ids.unwrap();
    let stale = set(&a, remember("custom:1", &[], vec![new("three")], 2)).await;
    assert!(matches!(stale, Err(StoreError::MemoryChanged)), "{stale:?}");
    let foreign = vec![MemoryEntry::Keep(ids[0]), MemoryEntry::Keep(FragmentId(99))];
    let foreign = set(&a, remember("custom:1", &ids, foreign, 2)).await;
    assert!(matches!(foreign, Err(StoreError::MemoryChanged)), "{foreign:?}");
    let other = set(&a, remember("custom:2", &[], vec![MemoryEntry::Keep(ids[0])], 2)).await;
    assert!(matches!(other, Err(StoreError::MemoryChanged)), "{other:?}");
    assert_eq!(texts(&a, "custom:1").await, ["one", "two"]);
    assert_eq!(texts(&a, "custom:2").await, Vec::<String>::new());
    assert!(
        a.memory_page(&"custom:1".parse().unwrap(), MemoryList::User)
            .await
            .unwrap()
            .fragments
            .is_empty()
    );

    let entries = vec![MemoryEntry::Keep(ids[1]), new("three")];
    set(&a, remember("custom:1", &ids, entries, 3)).await.unwrap();
    assert_eq!(texts(&a, "custom:1").await, ["two", "three"]);
    let records = a.provenance_after(FragmentId::START, 10).await.unwrap();
    let kinds: Vec<RecordKind> = records.iter().map(|record| record.kind).collect();
    use RecordKind::{Learned, Removed};
    assert_eq!(kinds, [Learned, Learned, Removed(ids[0]), Learned]);
    assert_eq!(records[3].origin, origin(3));
    assert_eq!(records[3].prev, records[2].mac);
    let mirror = a
        .memory_page(&"custom:1".parse().unwrap(), MemoryList::Memory)
        .await
        .unwrap()
        .mirror
        .unwrap();
    assert_eq!((mirror.now.1.len(), mirror.before.1), (2, ids));
    store.shutdown().await;
}

async fn entries_keep_their_order(opener: &dyn Opener) {
    let store = opener.open("memory-order").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let all = ["a", "b", "c"].map(new).to_vec();
    let ids = set(&a, remember("global", &[], all, 1)).await.unwrap();
    let keep = |at: usize| MemoryEntry::Keep(ids[at]);
    let entries = vec![keep(2), new("x"), keep(0), keep(1), new("y")];
    set(&a, remember("global", &ids, entries, 2)).await.unwrap();
    assert_eq!(texts(&a, "global").await, ["c", "x", "a", "b", "y"]);
    store.shutdown().await;
}

async fn a_search_sees_one_scope_and_its_figures_alone(opener: &dyn Opener) {
    let store = opener.open("memory-search").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let mut blocked = NewFragment {
        text: "the blocked cat".to_owned(),
        blocked: Some("override".into()),
        parents: Vec::new(),
    };
    let own =
        vec![new("The cat is called Tom"), new("Tea at five"), MemoryEntry::New(blocked.clone())];
    set(&a, remember("custom:1", &[], own, 1)).await.unwrap();
    let before = found(&a, "custom:1", "cat tom five").await;
    assert_eq!(before[0].0, "The cat is called Tom");
    assert_eq!(before.len(), 2);
    blocked.blocked = None;
    let others = (0..200).map(|n| new(&format!("a cat and Tom {n} at five"))).collect();
    let ids = set(&a, remember("custom:2", &[], others, 2)).await.unwrap();
    let foreign = owner.agent(&agent("b"));
    set(&foreign, remember("custom:1", &[], vec![new("cat")], 1)).await.unwrap();
    assert_eq!(found(&a, "custom:1", "cat tom five").await, before);
    assert!(found(&a, "custom:3", "cat").await.is_empty());
    assert!(found(&a, "custom:1", "...").await.is_empty());
    // What is taken out leaves the figures as they were before it came.
    let two = found(&a, "custom:2", "cat").await;
    let keep: Vec<MemoryEntry> = ids.iter().map(|id| MemoryEntry::Keep(*id)).collect();
    let more = keep.iter().cloned().chain([new("cats and cat cat")]).collect();
    let with = set(&a, remember("custom:2", &ids, more, 3)).await.unwrap();
    assert_ne!(found(&a, "custom:2", "cat").await, two);
    set(&a, remember("custom:2", &with, keep, 4)).await.unwrap();
    assert_eq!(found(&a, "custom:2", "cat").await, two);
    store.shutdown().await;
}

async fn what_is_forgotten_is_gone_and_not_learned_again(opener: &dyn Opener) {
    let store = opener.open("memory-forget").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let ids = set(&a, remember("custom:1", &[], vec![new("alpha"), new("beta")], 1)).await.unwrap();
    let affected = a.memory_affected(Forget::Fragment(ids[0])).await.unwrap();
    assert_eq!(affected.lists, [("custom:1".parse().unwrap(), MemoryList::Memory)]);
    let meant = affected.fragments;
    assert_eq!(meant.iter().map(|it| it.id).collect::<Vec<_>>(), [ids[0]]);
    let by = Box::new(MemoryOrigin { session: None, message: None, ..origin(9) });
    let forget = AgentCommand::ForgetMemory { fragments: vec![ids[0], FragmentId(77)], origin: by };
    let done = a.commit(vec![forget]).await.unwrap();
    assert_eq!(done.outcomes, [CommandOutcome::Forgotten(meant)]);
    assert_eq!(texts(&a, "custom:1").await, ["beta"]);
    assert_eq!(a.fragment(ids[0]).await.unwrap(), None);
    assert!(found(&a, "custom:1", "alpha").await.is_empty());
    let again = vec![MemoryEntry::Keep(ids[1]), new("alpha, again")];
    let again = |message| remember("custom:1", &ids[1..], again.clone(), message);
    let buried = set(&a, again(1)).await;
    assert!(matches!(buried, Err(StoreError::Buried { .. })), "{buried:?}");
    set(&a, again(2)).await.unwrap();
    for (what, count) in [
        (Forget::Session(SessionId(1)), 2),
        (Forget::Session(SessionId(2)), 0),
        (Forget::Principal("telegram:1".into()), 2),
        (Forget::Principal("telegram:2".into()), 0),
        (Forget::Scope("custom:1".parse().unwrap()), 2),
        (Forget::Scope("custom:2".parse().unwrap()), 0),
    ] {
        let affected = a.memory_affected(what.clone()).await.unwrap().fragments;
        assert_eq!(affected.len(), count, "{what:?}");
    }
    assert!(a.memory_verify().await.unwrap().ok);
    assert!(a.audit_verify().await.unwrap().ok);
    store.shutdown().await;
}

async fn what_was_made_of_it_is_forgotten_with_it(opener: &dyn Opener) {
    let store = opener.open("memory-lineage").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let first = set(&a, remember("custom:1", &[], vec![new("salt")], 1)).await.unwrap();
    let made = |text: &str, parent: FragmentId| {
        MemoryEntry::New(NewFragment {
            text: text.to_owned(),
            blocked: None,
            parents: vec![parent],
        })
    };
    let mut change = remember("custom:1", &first, vec![made("salt and pepper", first[0])], 8);
    change.origin.session = Some(SessionId(2));
    let second = set(&a, change).await.unwrap();
    let mut shared = remember("custom:2", &[], vec![made("salt and pepper", second[0])], 9);
    shared.origin.session = None;
    let third = set(&a, shared).await.unwrap();
    let affected = a.memory_affected(Forget::Session(SessionId(1))).await.unwrap();
    assert_eq!(affected.ids, [first[0], second[0], third[0]]);
    assert_eq!(affected.lists.len(), 2);
    let ids: Vec<FragmentId> = affected.fragments.iter().map(|fragment| fragment.id).collect();
    assert_eq!(ids, [second[0], third[0]]);
    // A copy is forgotten without its original, and with what it was made of that is gone.
    let affected = a.memory_affected(Forget::Fragment(third[0])).await.unwrap();
    assert_eq!(affected.ids, [third[0]]);
    let affected = a.memory_affected(Forget::Fragment(second[0])).await.unwrap();
    assert_eq!(affected.ids, [first[0], second[0], third[0]]);
    store.shutdown().await;
}

/// Which of these words were forgotten in a scope.
async fn forgotten(a: &AgentLease, scope: &str, texts: &[&str]) -> Vec<bool> {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    a.memory_forgotten(&scope.parse().unwrap(), MemoryList::Memory, texts).await.unwrap()
}

async fn forgotten_words_are_known_for_such_until_they_are_said_anew(opener: &dyn Opener) {
    let store = opener.open("memory-words").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    assert_eq!(forgotten(&a, "custom:1", &["x"]).await, [false]);
    let first = set(&a, remember("custom:1", &[], vec![new("old")], 1)).await.unwrap();
    let made = NewFragment { text: "new words".into(), blocked: None, parents: first.clone() };
    let change = remember("custom:1", &first, vec![MemoryEntry::New(made)], 2);
    let second = set(&a, change).await.unwrap();
    assert!(a.memory_due().await.unwrap().is_empty());
    let affected = a.memory_affected(Forget::Fragment(second[0])).await.unwrap();
    let forget =
        AgentCommand::ForgetMemory { fragments: affected.ids, origin: Box::new(origin(9)) };
    a.commit(vec![forget]).await.unwrap();
    let texts = ["new  words", "old", "other"];
    assert_eq!(forgotten(&a, "custom:1", &texts).await, [true, true, false]);
    assert_eq!(forgotten(&a, "custom:2", &texts).await, [false; 3]);
    let list = ("custom:1".parse().unwrap(), MemoryList::Memory);
    assert_eq!(a.memory_due().await.unwrap(), [list]);
    assert!(
        a.memory_page(&"custom:1".parse().unwrap(), MemoryList::Memory).await.unwrap().erasure_due
    );
    // Both messages taught something that is forgotten.
    for message in [1, 2] {
        let again = set(&a, remember("custom:1", &[], vec![new("x")], message)).await;
        assert!(matches!(again, Err(StoreError::Buried { .. })), "{again:?}");
    }
    let erased = AgentCommand::MirrorErased {
        scope: "custom:1".parse().unwrap(),
        target: MemoryList::Memory,
    };
    a.commit(vec![erased]).await.unwrap();
    assert!(a.memory_due().await.unwrap().is_empty());
    set(&a, remember("custom:1", &[], vec![new("new words")], 3)).await.unwrap();
    assert_eq!(forgotten(&a, "custom:1", &texts).await, [false, true, false]);
    assert!(a.memory_knows(&"custom:1".parse().unwrap()).await.unwrap());
    assert!(!a.memory_knows(&"custom:9".parse().unwrap()).await.unwrap());
    assert!(a.memory_verify().await.unwrap().ok);
    store.shutdown().await;
}

async fn a_session_is_shown_what_it_was_shown(opener: &dyn Opener) {
    let store = opener.open("memory-block").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let ids = set(&a, remember("custom:1", &[], vec![new("needle")], 1)).await.unwrap();
    let freeze = |session, chain: &str, text: &str| AgentCommand::FreezeMemory {
        session: SessionId(session),
        chain: chain.into(),
        block: Frozen { text: text.to_owned(), label: Some("anyone".into()) },
    };
    // One that reads the scope, one that does not, and one whose name only begins so.
    let (x, y, z) =
        ("global custom:1 > custom:1", "global custom:2 > custom:2", "custom:12 > custom:12");
    let batch = vec![freeze(1, x, "a ■ here"), freeze(1, y, "hay"), freeze(2, z, "hay")];
    a.commit(batch).await.unwrap();
    let block = async |session, chain| {
        let frozen = a.memory_block(SessionId(session), chain).await.unwrap()?;
        assert_eq!(frozen.label.as_deref(), Some("anyone"));
        Some(frozen.text)
    };
    assert_eq!(block(1, x).await.as_deref(), Some("a ■ here"));
    assert_eq!(block(3, x).await, None);
    let by = Box::new(origin(9));
    let forget = AgentCommand::ForgetMemory { fragments: ids, origin: by };
    a.commit(vec![forget]).await.unwrap();
    assert_eq!(block(1, x).await, None);
    assert_eq!(block(1, y).await.as_deref(), Some("hay"));
    a.commit(vec![AgentCommand::ThawMemory { session: SessionId(1) }]).await.unwrap();
    assert_eq!(block(1, y).await, None);
    assert_eq!(block(2, z).await.as_deref(), Some("hay"));
    store.shutdown().await;
}

async fn memory_survives_a_restart_and_its_chain_holds(opener: &dyn Opener) {
    let store = opener.open("memory-restart").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    assert!(a.memory_verify().await.unwrap().ok);
    let mut change = remember("custom:1", &[], vec![new("one"), new("two")], 1);
    change.origin.approved_by = Some("cli:local".into());
    set(&a, change).await.unwrap();
    let records = a.provenance_after(FragmentId::START, 10).await.unwrap();
    store.shutdown().await;
    let store = opener.open("memory-restart").await;
    let a = store.agent(&agent("a"));
    assert_eq!(a.provenance_after(FragmentId::START, 10).await.unwrap(), records);
    assert_eq!(a.provenance_after(FragmentId(1), 10).await.unwrap(), records[1..]);
    let all = a.fragments_after(FragmentId::START, 10).await.unwrap();
    assert_eq!(a.fragments_after(FragmentId(1), 10).await.unwrap(), all[1..]);
    let report = a.memory_verify().await.unwrap();
    assert_eq!((report.ok, report.records, report.fragments), (true, 2, 2));
    store.shutdown().await;
}
