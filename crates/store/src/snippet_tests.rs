//! Which part of a text is shown.

use super::{Meant, Snippet};
use crate::search::SNIPPET_BYTES_MAX;
use proptest::prelude::*;

fn shown(texts: &[&str], terms: &[(&str, f64)]) -> Snippet {
    let terms = terms.iter().enumerate();
    let meant: Meant =
        terms.map(|(which, (term, worth))| ((*term).into(), (which, *worth))).collect();
    let mut snippet = Snippet::default();
    texts.iter().for_each(|text| snippet.offer(text, &meant));
    snippet
}

fn marked(snippet: &Snippet) -> Vec<&str> {
    snippet.marks.iter().map(|mark| &snippet.text[mark.clone()]).collect()
}

#[test]
fn the_part_with_most_of_what_was_asked_is_shown() {
    let far = "and then some ".repeat(40);
    let text = format!("The boiler. {far} the pump of the boiler costs 640. {far}");
    let snippet = shown(&[&text], &[("boiler", 1.0), ("pump", 2.0), ("costs", 2.0)]);
    assert_eq!(marked(&snippet), ["pump", "boiler", "costs"]);
    assert!(snippet.text.len() <= SNIPPET_BYTES_MAX);
    let first = shown(&[&text], &[("boiler", 1.0)]);
    assert!(first.text.starts_with("The boiler."));
}

#[test]
fn the_best_of_several_texts_is_shown_and_else_how_the_first_begins() {
    let terms = [("river", 1.0), ("bridge", 1.0)];
    assert_eq!(shown(&["a river", "a bridge over a river"], &terms).text, "a bridge over a river");
    assert_eq!(shown(&["a bridge over a river", "a river"], &terms).text, "a bridge over a river");
    let none = shown(&["", "nothing here", "nor here"], &terms);
    assert_eq!((none.text.as_str(), none.marks.len()), ("nothing here", 0));
    assert_eq!(shown(&["nothing", "a river"], &terms).text, "a river");
    assert_eq!(shown(&[], &terms), Snippet::default());
}

#[test]
fn marks_of_pieces_are_joined() {
    let snippet = shown(&["我在東京都"], &[("東京", 1.0), ("京都", 1.0)]);
    assert_eq!(marked(&snippet), ["東京都"]);
}

proptest! {
    #[test]
    fn marks_lie_in_the_snippet_in_order(text in "(\\PC{0,9} |é|東京){0,80}", term in "[a-z]|é|東京") {
        let folded = if term == "é" { "e" } else { &term };
        let snippet = shown(&[&text], &[(folded, 1.0), ("b", 0.5)]);
        prop_assert!(snippet.text.len() <= SNIPPET_BYTES_MAX && text.contains(&snippet.text));
        let mut last = 0;
        for mark in &snippet.marks {
            prop_assert!(mark.start >= last && mark.start < mark.end);
            prop_assert!(snippet.text.get(mark.clone()).is_some());
            last = mark.end;
        }
    }
}
