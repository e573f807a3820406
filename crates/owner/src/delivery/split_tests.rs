//! Cutting texts: examples, and what holds for any text and limit.
#![allow(clippy::unwrap_used, reason = "a test")]

use super::*;
use proptest::prelude::*;

/// A limit; a number is one of UTF-16 units.
struct Most(TextLimit);

impl From<usize> for Most {
    fn from(units: usize) -> Self {
        Self(TextLimit::Utf16(units))
    }
}

impl From<TextLimit> for Most {
    fn from(limit: TextLimit) -> Self {
        Self(limit)
    }
}

fn limits(numbers: std::ops::Range<usize>) -> impl Strategy<Value = TextLimit> {
    let ways = [TextLimit::Utf16(0), TextLimit::Chars(0), TextLimit::Bytes(0)];
    (prop::sample::select(ways.to_vec()), numbers).prop_map(|(way, most)| way.of(most))
}

fn pieces(text: &str, limit: impl Into<Most>) -> Vec<Piece> {
    let limit = limit.into().0;
    let (mut all, mut from) = (Vec::new(), 0);
    while let Some(piece) = next(text, from, limit) {
        assert!(piece.upto > from, "no progress at {from} of {text:?}");
        from = piece.upto;
        let is_last = piece.is_last;
        all.push(piece);
        if is_last {
            break;
        }
    }
    all
}

fn texts(text: &str, limit: impl Into<Most>) -> Vec<String> {
    pieces(text, limit).into_iter().map(|piece| piece.text).collect()
}

/// Whether every fence of a message is closed in it.
fn is_balanced(text: &str) -> bool {
    text.lines().fold(None, after).is_none()
}

#[test]
fn a_short_text_is_one_message_as_it_is() {
    for text in ["hello", "two\nlines", "```rust\nfn a() {}\n```", "🦀"] {
        assert_eq!(texts(text, 4096), [text]);
    }
    assert_eq!(texts("trailing\n\n", 4096), ["trailing"]);
    assert_eq!(next("  \n\n", 0, TextLimit::Utf16(4096)), None);
    assert_eq!(next("", 0, TextLimit::Utf16(4096)), None);
}

#[test]
fn cuts_go_between_paragraphs_then_lines_then_words() {
    let paragraphs = format!("{}\n\n{}", "a".repeat(100), "b".repeat(100));
    assert_eq!(texts(&paragraphs, 180), ["a".repeat(100), "b".repeat(100)]);
    let lines = format!("{}\n{}", "a".repeat(100), "b".repeat(100));
    assert_eq!(texts(&lines, 180), ["a".repeat(100), "b".repeat(100)]);
    let words = format!("{} {}", "a".repeat(100), "b".repeat(100));
    assert_eq!(texts(&words, 180), ["a".repeat(100), "b".repeat(100)]);
}

#[test]
fn a_fence_is_closed_and_opened_again_with_its_language() {
    let code: String = (0..40).map(|n| format!("let x{n:02} = {n:02};\n")).collect();
    let text = format!("See:\n\n```rust\n{code}```\n\nDone.");
    let all = texts(&text, 200);
    assert!(all.len() > 2, "{all:#?}");
    for piece in &all {
        assert!(is_balanced(piece), "{piece}");
        assert!(TextLimit::Utf16(200).takes(piece));
    }
    for piece in &all[1..all.len() - 1] {
        assert!(piece.starts_with("```rust\n"), "{piece}");
        assert!(piece.ends_with("\n```"), "{piece}");
    }
    assert!(all.last().unwrap().ends_with("Done."));
    for n in 0..40 {
        let line = format!("let x{n:02} = {n:02};");
        assert_eq!(all.iter().filter(|piece| piece.contains(&line)).count(), 1, "{line}");
    }
}

#[test]
fn a_text_that_ends_with_its_fence_needs_no_empty_block() {
    let code: String = (0..11).map(|n| format!("line number {n:04}\n")).collect();
    for limit in 160..240 {
        for piece in texts(&format!("```\n{code}```\n"), limit) {
            assert!(piece.contains("line"), "{piece:?} at {limit}");
        }
    }
}

#[test]
fn the_rest_of_a_line_that_was_cut_closes_nothing() {
    let text = format!("```{}\n{}```\nlast\n```", "a".repeat(100), "b".repeat(90));
    let all = pieces(&text, 160);
    assert!(all.iter().all(|piece| is_balanced(&piece.text)), "{all:#?}");
    // Cut right before the three marks at the end of the long line.
    let from = text.find("b```").unwrap() + 1;
    let piece = next(&text, from, TextLimit::Utf16(160)).unwrap();
    assert_eq!(piece.text, format!("```\n{GUARD}```\nlast\n```"));
}

#[test]
fn neither_surrogates_nor_clusters_are_torn() {
    let family = "👨‍👩‍👧‍👦";
    let text = family.repeat(50);
    for piece in texts(&text, 30) {
        assert_eq!(piece.replace(family, ""), "", "{piece}");
    }
    // A cluster longer than a message has to be.
    let tower = format!("a{}", "\u{301}".repeat(100));
    let all = texts(&tower, 20);
    assert_eq!(all.concat(), tower);
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ -~]{0,60}",
        2 => "[a-z ]{0,400}",
        2 => Just("```".to_owned()),
        1 => Just("```rust".to_owned()),
        1 => Just("~~~~ text of much".to_owned()),
        1 => Just("~~~~".to_owned()),
        1 => Just(String::new()),
        1 => "[`~]{0,40}",
        1 => "(👨‍👩‍👧|é|漢|\u{301}){0,80}",
        1 => Just("   ```".to_owned()),
        1 => "```[a-z]{0,300}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_is_lost_nothing_too_long_and_fences_are_whole(
        lines in prop::collection::vec(line(), 0..30),
        limit in limits(160..600),
    ) {
        let text = lines.join("\n");
        let all = pieces(&text, limit);
        let mut from = 0;
        for piece in &all {
            prop_assert!(limit.takes(&piece.text), "{} > {limit:?}: {piece:?}", limit.len_of(&piece.text));
            prop_assert!(is_balanced(&piece.text), "{piece:?}");
            // What it stands for, it says; of marks of fences and blank lines it may say others.
            for line in text[from..piece.upto].lines() {
                let kept = line.trim_end();
                if marked(line).is_none() {
                    prop_assert!(piece.text.contains(kept), "{kept:?} is not in {piece:?}");
                }
            }
            from = piece.upto;
        }
        prop_assert!(text[from..].trim().is_empty() || from == text.len(), "{:?}", &text[from..]);
        prop_assert_eq!(all.last().is_none_or(|last| last.is_last), true);
    }

    #[test]
    fn small_messages_are_within_their_limit_too(text in "\\PC{0,200}", limit in limits(8..160)) {
        let mut from = 0;
        let mut said = String::new();
        while let Some(piece) = next(&text, from, limit) {
            prop_assert!(limit.takes(&piece.text));
            prop_assert!(piece.upto > from);
            from = piece.upto;
            said.push_str(&piece.text);
        }
        let visible = |text: &str| -> String {
            text.chars().filter(|c| !c.is_whitespace() && *c != '\u{200b}').collect()
        };
        prop_assert_eq!(visible(&said), visible(&text));
    }

    #[test]
    fn the_rest_does_not_depend_on_how_it_was_come_by(
        lines in prop::collection::vec(line(), 0..20),
        limit in limits(160..400),
    ) {
        let text = lines.join("\n");
        let all = pieces(&text, limit);
        for pair in all.windows(2) {
            let again = next(&text, pair[0].upto, limit);
            prop_assert_eq!(again.as_ref(), Some(&pair[1]));
        }
    }
}
