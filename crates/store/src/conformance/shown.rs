//! What a backend owes about what models were shown.

use super::sample::*;
use super::{Opener, agent, memory};
use crate::shown::{
    RecipeAgain, SHOWN_HOPS_MAX, SHOWN_RECIPE_BYTES_MAX, ShownCall, ShownFrame, ShownPart,
    ShownRecipe,
};
use crate::{Accepted, AgentCommand, AgentLease, Frozen, SessionId, StoreError, TurnId};
use std::sync::Arc;

/// Runs every check.
pub(super) async fn run(opener: &dyn Opener) {
    what_a_model_was_shown_is_found_again_and_forgotten_with_its_session(opener).await;
    what_was_shown_of_forgotten_memory_is_gone_and_does_not_come_back(opener).await;
}

fn part(name: &str, text: &str) -> ShownPart {
    ShownPart { name: name.into(), bytes: text.as_bytes().into(), chain: None }
}

fn frame(tag: u8, parts: Vec<ShownPart>) -> Arc<ShownFrame> {
    Arc::new(ShownFrame { tag: [tag; 32], parts: Some(parts) })
}

fn call(
    turn: TurnId,
    number: u32,
    frame: &Arc<ShownFrame>,
    (base, tail): (Option<(TurnId, u32, u32)>, &str),
) -> AgentCommand {
    AgentCommand::NoteShown(Box::new(ShownCall {
        turn,
        number,
        model: "local/one".into(),
        hash: [9; 32],
        bytes: 100,
        frame: frame.clone(),
        recipe: Some(ShownRecipe { base, tail: tail.as_bytes().into() }),
    }))
}

async fn parts(a: &AgentLease, turn: TurnId, number: u32) -> Vec<(String, Option<String>)> {
    let again = a.shown_call(turn, number).await.unwrap().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    again.parts.into_iter().map(|(name, bytes)| (name.into(), bytes.map(text))).collect()
}

async fn recipe(a: &AgentLease, turn: TurnId, number: u32) -> RecipeAgain {
    a.shown_call(turn, number).await.unwrap().unwrap().recipe
}

async fn what_a_model_was_shown_is_found_again_and_forgotten_with_its_session(opener: &dyn Opener) {
    let store = opener.open("shown").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let (first, other) = (take(&a, "k", "ping").await, take(&a, "other", "ping").await);
    let (of, elsewhere) = (first.turn(), other.turn());
    let shared = frame(1, vec![part("soul", "a soul"), part("tools", "[]")]);
    let own = frame(2, vec![part("soul", "a soul"), part("place", "only here")]);
    a.commit(vec![
        call(of, 1, &shared, (None, "beginning, end")),
        call(of, 2, &own, (Some((of, 1, 11)), "more, end")),
        call(elsewhere, 1, &shared, (None, "elsewhere")),
        // One that is told twice is told once.
        call(of, 1, &own, (None, "again")),
    ])
    .await
    .unwrap();
    let listed = a.shown_calls(of).await.unwrap();
    let told: Vec<_> = listed.iter().map(|it| (it.number, it.hash, it.bytes)).collect();
    assert_eq!(told, [(1, Some([9; 32]), 100), (2, Some([9; 32]), 100)]);
    assert_eq!(&*listed[0].model, "local/one");
    let whole = |text: &str| RecipeAgain::Whole(text.as_bytes().to_vec());
    assert_eq!(recipe(&a, of, 1).await, whole("beginning, end"));
    assert_eq!(recipe(&a, of, 2).await, whole("beginning, more, end"));
    let expected = [
        ("soul".to_owned(), Some("a soul".to_owned())),
        ("place".to_owned(), Some("only here".to_owned())),
    ];
    assert_eq!(parts(&a, of, 2).await, expected);
    assert_eq!(a.shown_call(of, 3).await.unwrap(), None);

    let AgentCommand::NoteShown(long) = call(of, 4, &own, (None, "")) else { unreachable!() };
    let tail = vec![b'x'; SHOWN_RECIPE_BYTES_MAX + 1].into();
    let long = ShownCall { recipe: Some(ShownRecipe { base: None, tail }), ..*long };
    let refused = a.commit(vec![AgentCommand::NoteShown(Box::new(long.clone()))]).await;
    assert!(matches!(refused, Err(StoreError::TooLong { .. })));
    let unkept = ShownCall { recipe: None, ..long };
    a.commit(vec![AgentCommand::NoteShown(Box::new(unkept))]).await.unwrap();
    assert_eq!(recipe(&a, of, 4).await, RecipeAgain::NeverKept);
    // What goes on from a call that is not there can't be put together.
    let gone = call(elsewhere, 2, &shared, (Some((of, 9, 3)), "x"));
    a.commit(vec![gone]).await.unwrap();
    assert_eq!(recipe(&a, elsewhere, 2).await, RecipeAgain::Gone);

    a.commit(vec![forget(first)]).await.unwrap();
    assert_eq!(a.shown_calls(of).await.unwrap(), []);
    assert_eq!(recipe(&a, elsewhere, 1).await, whole("elsewhere"));
    let expected = [
        ("soul".to_owned(), Some("a soul".to_owned())),
        ("tools".to_owned(), Some("[]".to_owned())),
    ];
    assert_eq!(parts(&a, elsewhere, 1).await, expected, "what is shared stays");
    // A turn that runs on after its conversation was forgotten leaves nothing.
    a.commit(vec![call(of, 5, &own, (None, "too late"))]).await.unwrap();
    assert_eq!(a.shown_calls(of).await.unwrap(), []);

    let mut chained = vec![call(elsewhere, 3, &shared, (None, "0"))];
    for number in 4..=3 + SHOWN_HOPS_MAX {
        chained.push(call(elsewhere, number, &shared, (Some((elsewhere, number - 1, 1)), "0")));
    }
    a.commit(chained).await.unwrap();
    assert_eq!(recipe(&a, elsewhere, 3 + SHOWN_HOPS_MAX).await, whole("00"));
    store.shutdown().await;
}

fn forget(of: Accepted) -> AgentCommand {
    AgentCommand::ForgetSession { session: of.session(), at: at(6) }
}

fn freeze(session: SessionId, text: &str) -> AgentCommand {
    let block = Frozen { text: text.to_owned(), label: None };
    AgentCommand::FreezeMemory { session, chain: "global custom:1".into(), block }
}

fn remembered(text: &str) -> ShownPart {
    ShownPart { chain: Some("global custom:1".into()), ..part("memory", text) }
}

async fn what_was_shown_of_forgotten_memory_is_gone_and_does_not_come_back(opener: &dyn Opener) {
    let store = opener.open("shown-memory").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let (taken, other) = (take(&a, "k", "ping").await, take(&a, "other", "ping").await);
    let entries = vec![memory::new("the secret place")];
    let fragments = memory::set(&a, memory::remember("custom:1", &[], entries, 1)).await.unwrap();
    let shown = frame(1, vec![part("soul", "a soul"), remembered("- the secret place")]);
    let plain = frame(2, vec![part("soul", "a soul")]);
    a.commit(vec![
        freeze(taken.session(), "- the secret place"),
        call(taken.turn(), 1, &shown, (None, "one")),
        call(other.turn(), 1, &plain, (None, "other")),
    ])
    .await
    .unwrap();
    let kept = [
        ("soul".to_owned(), Some("a soul".to_owned())),
        ("memory".to_owned(), Some("- the secret place".to_owned())),
    ];
    assert_eq!(parts(&a, taken.turn(), 1).await, kept);
    let origin = Box::new(memory::origin(2));
    a.commit(vec![AgentCommand::ForgetMemory { fragments, origin }]).await.unwrap();
    let erased = [("soul".to_owned(), Some("a soul".to_owned())), ("memory".to_owned(), None)];
    assert_eq!(parts(&a, taken.turn(), 1).await, erased);
    assert_eq!(a.shown_calls(taken.turn()).await.unwrap()[0].hash, None);
    // A turn that still has the words in its prompt does not bring them back.
    a.commit(vec![call(taken.turn(), 2, &shown, (None, "two"))]).await.unwrap();
    assert_eq!(parts(&a, taken.turn(), 2).await, erased);
    assert_eq!(a.shown_calls(taken.turn()).await.unwrap()[1].hash, None);
    // Nor does one that only says that it was as before.
    let before = Arc::new(ShownFrame { tag: [1; 32], parts: None });
    a.commit(vec![call(taken.turn(), 3, &before, (None, "three"))]).await.unwrap();
    assert_eq!(parts(&a, taken.turn(), 3).await, []);
    assert_eq!(a.shown_calls(taken.turn()).await.unwrap()[2].hash, None);
    // Where nothing was forgotten, that is enough.
    let before = Arc::new(ShownFrame { tag: [2; 32], parts: None });
    a.commit(vec![call(other.turn(), 2, &before, (None, "more"))]).await.unwrap();
    assert_eq!(parts(&a, other.turn(), 2).await, erased[..1]);
    assert_eq!(a.shown_calls(other.turn()).await.unwrap()[0].hash, Some([9; 32]));
    store.shutdown().await;
}
