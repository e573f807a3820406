//! Terms of a text, as tables and properties.

use super::{Flow, each, is_piece};
use crate::search::TERM_BYTES_MAX;
use proptest::prelude::*;

fn terms(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    each(text, |term, _| {
        found.push(term.to_owned());
        Flow::Go
    });
    found
}

#[test]
fn words_are_lower_case_and_without_accents() {
    for (text, expected) in [
        ("", &[][..]),
        ("Hello, World! x2", &["hello", "world", "x2"]),
        ("Crème BRÛLÉE, naïve Straße", &["creme", "brulee", "naive", "strasse"]),
        ("cre\u{300}me", &["creme"]),
        ("Łódź ĐÀ NẴNG", &["lodz", "da", "nang"]),
        ("Ελλάδα ΟΔΟΣ ёлка", &["ελλαδα", "οδοσ", "елка"]),
        ("İstanbul ISTANBUL", &["istanbul", "istanbul"]),
        ("don't re-use a_b", &["don", "t", "re", "use", "a", "b"]),
        ("東京都", &["東", "東京", "京", "京都", "都"]),
        ("東 京", &["東", "京"]),
        ("GPT東京4", &["gpt", "東", "東京", "京", "4"]),
        ("ＧＰＴ４", &["gpt4"]),
        ("カタカナ한국", &["カタ", "タカ", "カナ", "ナ한", "한국"]),
        ("犬の", &["犬", "犬の"]),
        ("ア", &["ア"]),
        // Vowels and tones belong to their consonant, and do not cut words.
        ("น้ำ", &["น้ำ"]),
        ("หมอฟัน", &["หม", "มอ", "อฟั", "ฟัน"]),
        ("हिन्दी पिल्ले", &["हिनदी", "पिलले"]),
        ("كِتَابٌ أحمد", &["كتاب", "احمد"]),
    ] {
        assert_eq!(terms(text), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn terms_are_bounded_and_lie_where_they_say(text in "\\PC{0,120}") {
        let mut last = 0;
        each(&text, |term, at| {
            assert!(!term.is_empty() && term.len() <= TERM_BYTES_MAX);
            assert!(at.start >= last && at.start < at.end && at.end <= text.len());
            assert!(text.is_char_boundary(at.start) && text.is_char_boundary(at.end));
            last = at.start;
            Flow::Go
        });
    }

    #[test]
    fn a_term_is_its_own_term(text in "\\PC{0,120}") {
        for term in terms(&text) {
            // What was folded once is not folded further, so queries meet messages.
            let again = terms(&term);
            prop_assert!(again.contains(&term), "{:?}: {:?}", term, again);
            prop_assert!(is_piece(&term) || again.len() == 1);
        }
    }
}
