//! Forgetting, sharing, checking.

use crate::support::{Place, add, here, origin, scope, texts};
use insula_memory::{MemoryError, Share};
use insula_store::{Forget, FragmentId, MessageSeq, Origin, SessionId, Source, StoreError};
use std::fs;
use std::path::PathBuf;

const CHAT: &str = "chat:telegram:main:-1";
const OTHER: &str = "chat:telegram:main:-2";
const FILE: &str = "contexts/chat=telegram=main=-1/MEMORY.md";

fn operator() -> Origin {
    Origin { source: Source::Said, session: None, message: None, call: None, ..origin(0) }
}

#[tokio::test]
async fn what_is_forgotten_is_in_no_file_and_not_learned_again() {
    let place = Place::new().await;
    let memory = place.memory();
    let chat = here(&memory, CHAT);
    let canary = "zx81canary is the word";
    chat.apply(&[add("before"), add(canary), add("after")], &origin(1)).await.unwrap();
    // An edit by hand leaves a copy aside.
    let text = place.read(FILE).unwrap();
    place.write(FILE, &format!("{text}\n§\nby hand"));
    assert_eq!(texts(&chat).await.len(), 4);
    assert!(place.holding("zx81canary").len() >= 3);
    let (all, _) = memory.all().await.unwrap();
    let id = all.iter().find(|(fragment, _)| fragment.text == canary).unwrap().0.id;
    let gone = memory.forget(Forget::Fragment(id), &operator()).await.unwrap();
    assert_eq!(gone.len(), 1);
    assert_eq!(place.holding("zx81canary"), Vec::<PathBuf>::new());
    assert_eq!(texts(&chat).await, ["before", "after", "by hand"]);
    assert_eq!(place.read(FILE).as_deref(), Some("before\n§\nafter\n§\nby hand"));
    assert!(!place.holding("before\n§\nafter").is_empty(), "the rest of the copy stays");
    let again = chat.apply(&[add(canary)], &origin(1)).await;
    assert!(matches!(again, Err(MemoryError::Store(StoreError::Buried { .. }))), "{again:?}");
    chat.apply(&[add(canary)], &origin(2)).await.unwrap();
    assert!(memory.verify().await.unwrap().ok);
}

#[tokio::test]
async fn sharing_makes_a_fragment_that_points_back_and_goes_with_the_first() {
    let place = Place::new().await;
    let memory = place.memory();
    let (chat, other) = (here(&memory, CHAT), here(&memory, OTHER));
    chat.apply(&[add("the door code is green")], &origin(1)).await.unwrap();
    let first = memory.all().await.unwrap().0[0].0.id;
    let share = Share { fragment: first, to: scope(OTHER) };
    let shared = Origin { source: Source::Shared, ..operator() };
    let second = memory.share(&share, &shared).await.unwrap();
    assert_eq!(texts(&other).await, ["the door code is green"]);
    let (_, records) = memory.show(second).await.unwrap();
    assert_eq!(records.iter().map(|it| it.seq).collect::<Vec<_>>(), [second, first]);
    assert_eq!(records[0].parents, [first]);
    assert_eq!(records[1].origin.principal.as_ref(), "telegram:1");
    assert!(memory.share(&share, &shared).await.is_err());
    let missing = Share { fragment: FragmentId(99), to: scope(OTHER) };
    assert!(matches!(memory.share(&missing, &shared).await, Err(MemoryError::NoFragment(99))));
    let gone = memory.forget(Forget::Session(SessionId(1)), &operator()).await.unwrap();
    assert_eq!(gone.len(), 2);
    assert!(texts(&other).await.is_empty());
    assert_eq!(place.holding("door code"), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn people_forget_in_their_own_scope_only() {
    let place = Place::new().await;
    let memory = place.memory();
    let (chat, other) = (here(&memory, CHAT), here(&memory, OTHER));
    chat.apply(&[add("mine")], &origin(1)).await.unwrap();
    other.apply(&[add("theirs")], &origin(2)).await.unwrap();
    let theirs = other.own().await.unwrap().remove(0).fragments;
    assert_eq!(chat.forget(&theirs, &operator()).await.unwrap(), 0);
    assert_eq!(texts(&other).await, ["theirs"]);
    let mine = chat.own().await.unwrap().remove(0).fragments;
    assert_eq!(chat.forget(&mine, &operator()).await.unwrap(), 1);
    assert!(texts(&chat).await.is_empty());
}

#[tokio::test]
async fn a_scope_is_forgotten_with_what_people_just_wrote_there() {
    let place = Place::new().await;
    let memory = place.memory();
    let (chat, other) = (here(&memory, CHAT), here(&memory, OTHER));
    chat.apply(&[add("alpha")], &origin(1)).await.unwrap();
    other.apply(&[add("beta")], &origin(2)).await.unwrap();
    place.write(FILE, "alpha\n§\nfreshword");
    let gone = memory.forget(Forget::Scope(CHAT.into()), &operator()).await.unwrap();
    assert_eq!(gone.len(), 2);
    assert_eq!(place.holding("freshword"), Vec::<PathBuf>::new());
    assert_eq!(place.holding("alpha"), Vec::<PathBuf>::new());
    assert_eq!(texts(&other).await, ["beta"]);
    let exported = memory.export().await.unwrap();
    assert_eq!(exported.len(), 1);
    assert_eq!((&*exported[0].scope, exported[0].text.as_str()), (OTHER, "beta"));
    let buried = Origin { message: Some(MessageSeq(1)), ..origin(1) };
    assert!(chat.apply(&[add("alpha")], &buried).await.is_err());
}

#[tokio::test]
async fn a_mirror_that_is_not_ours_is_no_reason_to_remember() {
    let place = Place::new().await;
    let memory = place.memory();
    let chat = here(&memory, CHAT);
    chat.apply(&[add("alpha")], &origin(1)).await.unwrap();
    fs::remove_file(place.file(FILE)).unwrap();
    fs::create_dir(place.file(FILE)).unwrap();
    let gone = memory.forget(Forget::Scope(CHAT.into()), &operator()).await.unwrap();
    assert_eq!(gone.len(), 1);
    assert_eq!(place.holding("alpha"), Vec::<PathBuf>::new());
}
