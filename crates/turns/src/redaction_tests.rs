//! Redaction of a turn: texts, requests, and deltas however they are cut.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use super::*;
use insula_vault::Secret;
use proptest::prelude::*;
use std::cell::RefCell;

pub(crate) fn redaction(own: &[&str]) -> Redaction {
    let values: Vec<Secret> = own.iter().map(|value| Secret::new(*value)).collect();
    Redaction { own: Arc::new(Redactor::new(&values)) }
}

/// What a listener hears of an answer that comes in these pieces.
fn heard(redaction: Redaction, pieces: &[&str]) -> Vec<String> {
    let told = RefCell::new(Vec::new());
    let tell = |event| match event {
        TurnEvent::Text(text) => told.borrow_mut().push(text),
        other => panic!("{other:?}"),
    };
    let mut deltas = redaction.deltas();
    for piece in pieces {
        deltas.hear(&Event::TextDelta((*piece).to_owned()), tell);
    }
    deltas.finish(tell);
    told.into_inner()
}

const OWN: &str = "own-key-0123456789";
const OTHER: &str = "other-key-9876543210";

#[test]
fn rule_12_a_secret_in_pieces_is_heard_by_nobody() {
    let pieces = ["it is own-key-01", "2345", "6789, and other-", "key-9876543210", "."];
    let told = heard(redaction(&[OWN]), &pieces);
    assert_eq!(told.concat(), format!("it is [secret], and {OTHER}."));
}

#[test]
fn without_secrets_nothing_waits() {
    assert_eq!(heard(redaction(&[]), &["hal", "f a w", "ord"]), ["hal", "f a w", "ord"]);
}

#[test]
fn rule_10_what_is_kept_and_told_does_not_depend_on_the_secrets_of_others() {
    let redaction = redaction(&[OWN]);
    let text = format!("{OWN} and {OTHER}");
    assert_eq!(redaction.kept(text.clone()), format!("[secret] and {OTHER}"));
    assert_eq!(redaction.told(text.clone()), format!("[secret] and {OTHER}"));
    let mut request = models::Request::new("m", vec![]);
    request.system =
        vec![models::SystemBlock { text: text.as_str().into(), cache: models::CacheHint::None }];
    redaction.system(&mut request);
    assert_eq!(&*request.system[0].text, format!("[secret] and {OTHER}"));
    let mut message = models::Message::user(text);
    redaction.message(&mut message);
    assert_eq!(message.text(), format!("[secret] and {OTHER}"));
}

#[test]
fn every_part_of_a_message_is_looked_at() {
    let redaction = redaction(&[OWN]);
    let parts = redaction.parts(vec![
        Part::Text(OWN.to_owned()),
        Part::Attachment { hash: [0; 32], name: OWN.into(), media_type: "a/b".into(), bytes: 1 },
        Part::Image { source: format!("https://x/?key={OWN}").into(), media_type: "".into() },
        Part::ToolCall {
            id: "1".into(),
            name: OWN.into(),
            arguments: format!("{{\"k\":\"{OWN}\"}}"),
        },
        Part::ToolResult {
            call: "1".into(),
            text: OWN.to_owned(),
            is_error: false,
            untrusted: true,
        },
        Part::Reasoning { text: OWN.to_owned(), signature: Some("sealed".to_owned()) },
        Part::Reasoning { text: "calm".to_owned(), signature: Some("sealed".to_owned()) },
    ]);
    assert!(!format!("{parts:?}").contains("own-key"), "{parts:?}");
    let signatures: Vec<bool> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Reasoning { signature, .. } => Some(signature.is_some()),
            _ => None,
        })
        .collect();
    assert_eq!(signatures, [false, true], "only what was not changed keeps its seal");
}

#[test]
fn the_last_thought_comes_before_the_first_word() {
    let told = RefCell::new(Vec::new());
    let tell = |event| told.borrow_mut().push(event);
    let mut deltas = redaction(&[OWN]).deltas();
    deltas.hear(&Event::ReasoningDelta("let me see".to_owned()), tell);
    deltas.hear(&Event::TextDelta("here ".to_owned()), tell);
    deltas.finish(tell);
    let expected = [
        TurnEvent::Reasoning("let me ".to_owned()),
        TurnEvent::Reasoning("see".to_owned()),
        TurnEvent::Text("here ".to_owned()),
    ];
    assert_eq!(told.into_inner(), expected);
}

/// Words, spaces, other scripts, secrets, and beginnings of secrets.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(OWN.to_owned()),
        Just(OTHER.to_owned()),
        (1..OWN.len()).prop_map(|len| OWN[..len].to_owned()),
        "[a-z]{1,6}",
        Just(" ".to_owned()),
        Just("\n".to_owned()),
        "[äé文字]{1,3}",
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

fn cut<'t>(text: &'t str, cuts: &[prop::sample::Index]) -> Vec<&'t str> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
    places.retain(|at| text.is_char_boundary(*at));
    places.extend([0, text.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

proptest! {
    /// However an answer is cut, its deltas together are what the end says it was.
    #[test]
    fn deltas_add_up_to_the_reply(text in text(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let whole = redaction(&[OWN, OTHER]).told(text.clone());
        let told = heard(redaction(&[OWN, OTHER]), &cut(&text, &cuts));
        prop_assert_eq!(told.concat(), whole);
    }

    /// Nobody learns from the moments at which pieces come how a secret begins: an answer
    /// without the secret comes in the same pieces whatever the secret is.
    #[test]
    fn rule_12_pieces_do_not_tell_how_a_secret_begins(
        words in prop::collection::vec("[a-z-]{1,12}", 1..12),
        guess in 1..17_usize,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let text = format!("{} {}", words.join(" "), &OWN[..guess]);
        let pieces = cut(&text, &cuts);
        let right = heard(redaction(&[OWN]), &pieces);
        let wrong = heard(redaction(&["zzzz-key-0123456789"]), &pieces);
        prop_assert_eq!(right, wrong);
    }
}
