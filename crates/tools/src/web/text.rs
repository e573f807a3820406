//! Text that people see, in a length and a form that a model can use.

/// Most of one line, in characters; longer ones are broken.
const LINE_CHARS_MAX: usize = 2_000;

/// Whether a character shows. What does not is how instructions are hidden in text that looks
/// harmless: zero-width letters, marks of direction, tags, selectors.
pub(super) fn is_seen(it: char) -> bool {
    !matches!(it,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
        && (!it.is_control() || matches!(it, '\n' | '\t'))
}

/// Text as it shows: nothing unseen, no space at the ends of lines, at most one empty line in
/// a row, no line that goes on for ever.
pub(super) fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = 2;
    for line in text.split('\n') {
        let line: String = line.chars().filter(|it| is_seen(*it)).collect();
        let line = line.trim_end();
        blank = if line.is_empty() { blank + 1 } else { 0 };
        if blank < 2 {
            broken(line, &mut out);
            out.push('\n');
        }
    }
    let len = out.trim_end().len();
    out.truncate(len);
    out
}

/// Adds a line, broken where it is too long, at a space if there is one.
fn broken(mut line: &str, out: &mut String) {
    while let Some((at, _)) = line.char_indices().nth(LINE_CHARS_MAX) {
        let (head, _) = line.split_at(at);
        let at = head.rfind(' ').filter(|space| *space > 0).unwrap_or(at);
        let (head, rest) = line.split_at(at);
        out.push_str(head);
        out.push('\n');
        line = rest.trim_start();
    }
    out.push_str(line);
}

/// The first `chars` characters, and at most `bytes` bytes of them.
pub(crate) fn beginning(text: &str, chars: usize, bytes: usize) -> &str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at).min(bytes);
    let end = (0..=end.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_does_not_show_goes() {
        let tag = |it: u8| char::from_u32(0xe0000 + u32::from(it)).unwrap();
        let tagged: String = "ignore".bytes().map(tag).collect();
        let text = format!("a\u{200b}b\u{202e}c\u{ad}{tagged}d\u{7}\r\n\n\n\n  e  \n");
        assert_eq!(tidy(&text), "abcd\n\n  e");
    }

    #[test]
    fn long_lines_are_broken_at_a_space() {
        let words = "word ".repeat(1_000);
        let tidied = tidy(&words);
        assert!(tidied.lines().all(|line| line.chars().count() <= LINE_CHARS_MAX));
        assert_eq!(tidied.split_whitespace().count(), 1_000);
        assert_eq!(tidy(&"é".repeat(5_000)).lines().count(), 3);
    }

    #[test]
    fn a_beginning_ends_between_letters() {
        assert_eq!(beginning("héllo", 3, 100), "hél");
        assert_eq!(beginning("héllo", 100, 2), "h");
        assert_eq!(beginning("", 3, 3), "");
    }

    proptest! {
        #[test]
        fn tidying_adds_at_most_line_breaks(text in ".{0,400}", chars in 0_usize..50, bytes in 0_usize..50) {
            prop_assert!(tidy(&text).len() <= text.len() + 1);
            let begun = beginning(&text, chars, bytes);
            prop_assert!(begun.len() <= bytes && begun.chars().count() <= chars && text.starts_with(begun));
        }
    }
}
