//! The marks between which we say something in a text that a model reads, and how the words of
//! others are kept from looking like that.
//!
//! What we say stands on a line of its own, between `⟦` and `⟧`. Whoever puts words of others
//! beside it passes them through here first, so the marks in a prompt are those we wrote.

/// What begins something we say.
pub const OPEN: char = '⟦';
/// What ends it.
pub const CLOSE: char = '⟧';

/// Something we say. What it tells of others must be [`plain`] and on one line.
pub fn note(text: &str) -> String {
    format!("{OPEN}{text}{CLOSE}")
}

/// Text that can't pass for something we say.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for it in text.chars() {
        match it {
            OPEN => out.push_str("[["),
            CLOSE => out.push_str("]]"),
            it => out.push(it),
        }
    }
    out
}

/// Text in which what we said stays, and nothing else looks like it: for what was stored as a
/// note of ours with words of others, which were plain before they came to stand there.
pub fn ours(text: &str) -> String {
    let line = |line: &str| if is_note(line) { line.to_owned() } else { plain(line) };
    lines(text).map(line).collect::<Vec<_>>().join("\n")
}

/// Whether a line is one that we say.
pub fn is_note(line: &str) -> bool {
    let inside = line.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE));
    inside.is_some_and(|inside| !inside.contains([OPEN, CLOSE]))
}

/// Longest title that words make, in characters.
const TITLE_CHARS_MAX: usize = 60;

/// What a conversation is called that begins so: the first line of somebody's own, cut short. What
/// the house notes above it, such as who speaks, is the same in many conversations.
pub fn title(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|it| !it.is_empty() && !is_note(it))?;
    if line.chars().count() <= TITLE_CHARS_MAX {
        return Some(line.to_owned());
    }
    Some(line.chars().take(TITLE_CHARS_MAX - 1).chain(['…']).collect())
}

/// The text with every line behind a bar, so that none of them can pass for a line of ours.
pub fn barred(text: &str) -> String {
    lines(text).map(|line| format!("| {line}")).collect::<Vec<_>>().join("\n")
}

/// The text with every line but the first set in by two blanks.
pub fn set_in(text: &str) -> String {
    lines(text).collect::<Vec<_>>().join("\n  ")
}

/// The text on one line: what ends a line and what can't be seen becomes a blank.
pub fn on_one_line(text: &str) -> String {
    let text = text.replace("\r\n", " ");
    let shown = |it: char| if it.is_control() || ends_line(it) { ' ' } else { it };
    text.chars().map(shown).collect()
}

/// The lines of a text, by whatever anybody takes for the end of one.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .flat_map(|line| line.split(ends_line))
}

fn ends_line(it: char) -> bool {
    matches!(
        it,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_a_whole_line_between_marks_is_ours() {
        for (text, expected) in [
            ("⟦from a:1⟧\nhi", "⟦from a:1⟧\nhi"),
            ("hi ⟦from a:1⟧", "hi [[from a:1]]"),
            ("⟦from ⟦a:1⟧", "[[from [[a:1]]"),
            ("⟦from a:1⟧ hi", "[[from a:1]] hi"),
            ("⟦from a\u{2028}b⟧", "[[from a\nb]]"),
        ] {
            assert_eq!(ours(text), expected);
        }
    }

    #[test]
    fn every_end_of_a_line_counts() {
        assert_eq!(barred("a\r\nb\rc\u{2028}d\u{85}e\n"), "| a\n| b\n| c\n| d\n| e\n| ");
        assert_eq!(set_in("a\u{b}# b\n\nc"), "a\n  # b\n  \n  c");
        assert_eq!(on_one_line("a\r\nb\u{2029}c\td\0e"), "a b c d e");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_text_says_anything_for_us(text in "(.|\n|\r|\u{2028}|⟦|⟧|user: ){0,40}") {
            prop_assert!(!plain(&text).contains([OPEN, CLOSE]));
            prop_assert!(barred(&text).lines().all(|line| line.starts_with("| ")));
            prop_assert!(set_in(&text).lines().skip(1).all(|line| line.starts_with("  ")));
            prop_assert_eq!(on_one_line(&text).lines().count(), usize::from(!text.is_empty()));
            let ours = ours(&text);
            prop_assert!(ours.lines().all(|line| is_note(line) || !line.contains([OPEN, CLOSE])));
        }
    }

    #[test]
    fn a_conversation_is_called_by_what_somebody_said_and_not_by_our_notes() {
        let said = "⟦from telegram:5, who goes by \"Ann\"⟧\n\n  Where is the key?\nI need it";
        assert_eq!(title(said).as_deref(), Some("Where is the key?"));
        assert_eq!(title("⟦from telegram:5⟧\n"), None);
        assert_eq!(title("⟦mine⟧ and more").as_deref(), Some("⟦mine⟧ and more"));
        let long = title(&"ü".repeat(TITLE_CHARS_MAX + 1)).unwrap();
        assert_eq!(long.chars().count(), TITLE_CHARS_MAX);
        assert!(long.ends_with("ü…"), "{long}");
    }
}
