//! Forgetting, sharing, checking.

use crate::support::{MemoryHome, add, here, origin, scope, texts};
use insula_memory::{MemoryError, Share};
use insula_store::{
    Forget, FragmentId, MemoryOrigin, MemorySource, MessageSeq, SessionId, StoreError,
};
use std::fs;
use std::path::PathBuf;

const CHAT: &str = "chat:telegram:main:-1";
const OTHER: &str = "chat:telegram:main:-2";
const FILE: &str = "contexts/chat=telegram=main=-1/MEMORY.md";

fn operator() -> MemoryOrigin {
    MemoryOrigin {
        source: MemorySource::Said,
        session: None,
        message: None,
        call: None,
        ..origin(0)
    }
}

#[tokio::test]
async fn what_is_forgotten_is_in_no_file_and_not_learned_again() {
    let place = MemoryHome::new().await;
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
    assert_eq!((gone.fragments.len(), gone.remains), (1, vec![]));
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
    let place = MemoryHome::new().await;
    let memory = place.memory();
    let (chat, other) = (here(&memory, CHAT), here(&memory, OTHER));
    chat.apply(&[add("the door code is green")], &origin(1)).await.unwrap();
    let first = memory.all().await.unwrap().0[0].0.id;
    let share = Share { fragment: first, to: scope(OTHER) };
    let shared = MemoryOrigin { source: MemorySource::Shared, ..operator() };
    let second = memory.share(&share, &shared).await.unwrap();
    assert_eq!(texts(&other).await, ["the door code is green"]);
    let (_, records) = memory.show(second).await.unwrap();
    assert_eq!(records.iter().map(|it| it.seq).collect::<Vec<_>>(), [second, first]);
    assert_eq!(records[0].parents, [first]);
    assert_eq!(records[1].origin.principal.as_str(), "telegram:1");
    assert!(memory.share(&share, &shared).await.is_err());
    let missing = Share { fragment: FragmentId(99), to: scope(OTHER) };
    assert!(matches!(memory.share(&missing, &shared).await, Err(MemoryError::NoFragment(99))));
    let gone = memory.forget(Forget::Session(SessionId(1)), &operator()).await.unwrap();
    assert_eq!(gone.fragments.len(), 2);
    assert!(texts(&other).await.is_empty());
    assert_eq!(place.holding("door code"), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn people_forget_in_their_own_scope_only() {
    let place = MemoryHome::new().await;
    let memory = place.memory();
    let (chat, other) = (here(&memory, CHAT), here(&memory, OTHER));
    chat.apply(&[add("mine")], &origin(1)).await.unwrap();
    other.apply(&[add("theirs")], &origin(2)).await.unwrap();
    let theirs = other.own().await.unwrap().remove(0).fragments;
    assert_eq!(chat.forget(&theirs, &operator()).await.unwrap().0, 0);
    assert_eq!(texts(&other).await, ["theirs"]);
    let mine = chat.own().await.unwrap().remove(0).fragments;
    assert_eq!(chat.forget(&mine, &operator()).await.unwrap(), (1, vec![]));
    assert!(texts(&chat).await.is_empty());
}

#[tokio::test]
async fn a_scope_is_forgotten_with_what_people_just_wrote_there() {
    let place = MemoryHome::new().await;
    let memory = place.memory();
    let (chat, other) = (here(&memory, CHAT), here(&memory, OTHER));
    chat.apply(&[add("alpha")], &origin(1)).await.unwrap();
    other.apply(&[add("beta")], &origin(2)).await.unwrap();
    place.write(FILE, "alpha\n§\nfreshword");
    let gone = memory.forget(Forget::Scope(CHAT.parse().unwrap()), &operator()).await.unwrap();
    assert_eq!((gone.fragments.len(), gone.remains), (2, vec![]));
    assert_eq!(place.holding("freshword"), Vec::<PathBuf>::new());
    assert_eq!(place.holding("alpha"), Vec::<PathBuf>::new());
    assert_eq!(texts(&other).await, ["beta"]);
    let exported = memory.export().await.unwrap();
    assert_eq!(exported.len(), 1);
    assert_eq!((exported[0].scope.as_str(), exported[0].text.as_str()), (OTHER, "beta"));
    let buried = MemoryOrigin { message: Some(MessageSeq(1)), ..origin(1) };
    assert!(chat.apply(&[add("alpha")], &buried).await.is_err());
}

/// What forgetting a scope leaves behind, as text.
async fn left(memory: &insula_memory::Memory) -> Vec<String> {
    let erased = memory.forget(Forget::Scope(CHAT.parse().unwrap()), &operator()).await.unwrap();
    erased.remains.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn what_cannot_be_erased_is_told_and_finished_later() {
    let place = MemoryHome::new().await;
    let memory = place.memory();
    let chat = here(&memory, CHAT);
    chat.apply(&[add("alpha of the canary")], &origin(1)).await.unwrap();
    // A copy beside it, by an edit.
    place.write(FILE, "alpha of the canary\n§\nbeta");
    assert_eq!(texts(&chat).await.len(), 2);
    // Somebody moved the file and left a link.
    let (file, elsewhere) = (place.file(FILE), place.home.path().join("elsewhere"));
    fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    let erased = memory.forget(Forget::Scope(CHAT.parse().unwrap()), &operator()).await.unwrap();
    assert_eq!(erased.fragments.len(), 2, "the store forgets all the same");
    let remains: Vec<String> = erased.remains.iter().map(ToString::to_string).collect();
    assert_eq!(remains.len(), 1, "{remains:?}");
    assert!(remains[0].starts_with("memories/contexts/chat=telegram=main=-1/MEMORY.md is a link"));
    // The copy beside it is gone; what the link leads to is not ours.
    let mut holding = place.holding("alpha");
    holding.sort();
    assert_eq!(holding, [file.clone(), elsewhere.clone()]);
    // It is said again as long as it holds, whatever is asked to be forgotten.
    let other = memory.forget(Forget::Principal("telegram:9".into()), &operator()).await.unwrap();
    assert_eq!((other.fragments.len(), other.remains.len()), (0, 1));
    // Put back, it is cleaned by the next use, and its words do not come back.
    fs::remove_file(&file).unwrap();
    fs::rename(&elsewhere, &file).unwrap();
    assert_eq!(texts(&chat).await, Vec::<String>::new());
    assert_eq!(place.holding("alpha"), Vec::<PathBuf>::new());
    assert_eq!(left(&memory).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_folder_or_a_second_name_in_place_of_a_mirror_is_told() {
    let place = MemoryHome::new().await;
    let memory = place.memory();
    let chat = here(&memory, CHAT);
    chat.apply(&[add("alpha")], &origin(1)).await.unwrap();
    fs::remove_file(place.file(FILE)).unwrap();
    fs::create_dir(place.file(FILE)).unwrap();
    let remains = left(&memory).await;
    assert!(remains.len() == 1 && remains[0].contains("is not a file"), "{remains:?}");
    assert_eq!(place.holding("alpha"), Vec::<PathBuf>::new());
    fs::remove_dir(place.file(FILE)).unwrap();
    assert_eq!(left(&memory).await, Vec::<String>::new());

    chat.apply(&[add("beta")], &origin(2)).await.unwrap();
    let second = place.home.path().join("second");
    fs::hard_link(place.file(FILE), &second).unwrap();
    let remains = left(&memory).await;
    assert!(remains.len() == 1 && remains[0].contains("hard link"), "{remains:?}");
    fs::remove_file(&second).unwrap();
    assert_eq!(left(&memory).await, Vec::<String>::new());
    assert_eq!(place.holding("beta"), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_copy_that_cannot_be_cleaned_is_told_by_name() {
    let place = MemoryHome::new().await;
    let memory = place.memory();
    let chat = here(&memory, CHAT);
    chat.apply(&[add("alpha")], &origin(1)).await.unwrap();
    place.write(FILE, "beta");
    assert_eq!(texts(&chat).await, ["beta"]);
    let is_copy = |path: &PathBuf| path.to_string_lossy().contains("MEMORY.md.before-");
    let copy = place.holding("alpha").into_iter().find(is_copy).unwrap();
    let name = copy.file_name().unwrap().to_str().unwrap().to_owned();
    fs::hard_link(&copy, place.home.path().join("second")).unwrap();
    let remains = left(&memory).await;
    assert!(remains.len() == 1 && remains[0].contains(&name), "{remains:?}");
    // What had our name is gone; the other name is all that is left of it.
    assert_eq!(place.holding("alpha"), [place.home.path().join("second")]);
}

#[tokio::test]
async fn what_was_edited_by_hand_is_forgotten_with_what_it_was_before() {
    for by in [Forget::Session(SessionId(1)), Forget::Scope(CHAT.parse().unwrap())] {
        let place = MemoryHome::new().await;
        let memory = place.memory();
        let chat = here(&memory, CHAT);
        chat.apply(&[add("the code of the door is alpha77"), add("tea")], &origin(1))
            .await
            .unwrap();
        let block = chat.block().await.unwrap().text.unwrap();
        assert!(block.contains("alpha77"));
        place.write(FILE, "the code of the door is beta88\n§\ntea");
        assert_eq!(texts(&chat).await.len(), 2);
        assert!(!place.holding("alpha77").is_empty(), "a copy is beside it");
        memory.forget(by.clone(), &operator()).await.unwrap();
        for word in ["alpha77", "beta88"] {
            assert_eq!(place.holding(word), Vec::<PathBuf>::new(), "{by:?} {word}");
        }
    }
    // One entry with its own past, and nothing else of the list.
    let place = MemoryHome::new().await;
    let memory = place.memory();
    let chat = here(&memory, CHAT);
    chat.apply(&[add("the code of the door is alpha77"), add("tea")], &origin(1)).await.unwrap();
    place.write(FILE, "the code of the door is beta88\n§\ntea");
    let entries = chat.own().await.unwrap().remove(0).fragments;
    chat.forget(&entries[..1], &operator()).await.unwrap();
    assert_eq!(place.holding("alpha77"), Vec::<PathBuf>::new());
    assert_eq!(texts(&chat).await, ["tea"]);
    // An edit that nobody had looked at yet goes with what it was made of.
    chat.apply(&[add("the cat is called Tomkin")], &origin(7)).await.unwrap();
    let id = chat.own().await.unwrap().remove(0).fragments[1].id;
    place.write(FILE, "tea\n§\nthe cat is called Kimba");
    memory.forget(Forget::Fragment(id), &operator()).await.unwrap();
    assert_eq!(texts(&chat).await, ["tea"]);
    assert_eq!(place.holding("Kimba"), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn an_old_copy_that_an_editor_saves_brings_nothing_back() {
    let place = MemoryHome::new().await;
    let memory = place.memory();
    let chat = here(&memory, CHAT);
    chat.apply(&[add("alpha"), add("beta")], &origin(1)).await.unwrap();
    let opened = place.read(FILE).unwrap();
    let entries = chat.own().await.unwrap().remove(0).fragments;
    chat.forget(&entries[..1], &operator()).await.unwrap();
    // With one more entry, which counts.
    place.write(FILE, &format!("{opened}\n§\ngamma\n"));
    assert_eq!(texts(&chat).await, ["beta", "gamma"]);
    assert_eq!(place.read(FILE).as_deref(), Some("beta\n§\ngamma\n"));
    assert_eq!(place.holding("alpha"), Vec::<PathBuf>::new());
    place.write(FILE, &opened);
    assert_eq!(texts(&chat).await, ["beta"]);
    // Elsewhere the same words are other words, and said anew they are remembered again.
    place.write("contexts/chat=telegram=main=-2/MEMORY.md", "alpha");
    assert_eq!(texts(&here(&memory, OTHER)).await, ["alpha"]);
    chat.apply(&[add("alpha")], &origin(2)).await.unwrap();
    assert_eq!(texts(&chat).await, ["beta", "alpha"]);
}
