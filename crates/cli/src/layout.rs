//! Text in columns: broken between words, or cut with a mark. Knows no terminal.

use unicode_width::UnicodeWidthStr as _;

/// The columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Breaks lines between words. What goes on in a further line stands `hanging` columns further in
/// than its line began. A word that is longer than a line stands whole: a broken address can't be
/// copied.
pub fn wrap(text: &str, columns: usize, hanging: usize) -> String {
    let lines = text.split('\n').map(|line| wrap_line(line, columns, hanging));
    lines.collect::<Vec<_>>().join("\n")
}

fn wrap_line(line: &str, columns: usize, hanging: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let words = line.trim_start_matches(' ');
    let indent = line.len() - words.len();
    let further = indent + hanging;
    let mut out = " ".repeat(indent);
    let (mut column, mut is_fresh) = (indent, true);
    for word in words.split(' ') {
        let long = word.width();
        if !is_fresh && column + 1 + long > columns {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(further));
            (column, is_fresh) = (further, true);
        }
        if !is_fresh {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += long;
        is_fresh = false;
    }
    out
}

/// One line that fits, with a mark where something was cut off.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        // All of it at once: some characters make the one before them wider.
        if width(&out) > room {
            out.pop();
            break;
        }
    }
    out.truncate(out.trim_end().len());
    out + "…"
}

/// The columns of the longest word of a text.
pub fn longest_word(text: &str) -> usize {
    text.split_whitespace().map(width).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_stay_whole_and_further_lines_stand_in() {
        assert_eq!(wrap("one two three", 7, 0), "one two\nthree");
        assert_eq!(wrap("  one two three", 9, 2), "  one two\n    three");
        assert_eq!(wrap("a https://example.org/long b", 10, 0), "a\nhttps://example.org/long\nb");
        assert_eq!(wrap("as it is\nand more", 40, 2), "as it is\nand more");
        assert_eq!(wrap("", 10, 2), "");
        assert_eq!(cut("one two three", 8), "one two…");
        assert_eq!(cut("日本語日本語", 5), "日本…");
        assert_eq!(cut("short", 8), "short");
    }

    proptest! {
        #[test]
        fn no_word_is_lost_or_broken(text in "[a-z ]{0,80}", columns in 1usize..40, hanging in 0usize..4) {
            let wrapped = wrap(&text, columns, hanging);
            let words = |it: &str| it.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&wrapped), words(&text));
            for line in wrapped.lines() {
                let is_one = words(line).len() <= 1;
                prop_assert!(is_one || width(line) <= columns, "{:?}", line);
            }
        }

        #[test]
        fn what_is_cut_fits(text in "\\PC{0,60}", columns in 1usize..40) {
            prop_assert!(width(&cut(&text, columns)) <= columns);
        }
    }
}
