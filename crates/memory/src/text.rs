//! The text of a mirror: entries with a line `§` between them.

/// The entries of a text, in order. Empty ones are none.
pub fn parse(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut entries = Vec::new();
    let mut entry: Vec<&str> = Vec::new();
    for line in text.lines().chain(["§"]) {
        if line.trim() == "§" {
            let whole = entry.join("\n").trim().to_owned();
            if !whole.is_empty() {
                entries.push(whole);
            }
            entry.clear();
        } else {
            entry.push(line);
        }
    }
    entries
}

/// The text of entries.
pub fn render<'e>(entries: impl IntoIterator<Item = &'e str>) -> String {
    let entries: Vec<&str> = entries.into_iter().collect();
    entries.join("\n§\n")
}

/// How many characters the text of entries has.
pub(crate) fn length<'e>(entries: impl IntoIterator<Item = &'e str>) -> usize {
    let (mut count, mut chars) = (0, 0);
    for entry in entries {
        count += 1;
        chars += entry.chars().count();
    }
    // A separator is three characters with its line ends.
    chars + 3 * usize::saturating_sub(count, 1)
}

/// Whether a text is one entry, and would be read back as the same.
pub(crate) fn is_one_entry(text: &str) -> bool {
    parse(text).as_slice() == [text]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_others_wrote_is_read_and_written_back_unchanged() {
        let text = "User's project is a Rust web service\n§\nThis machine runs Ubuntu,\nhas Docker\n§\nprefers § in text";
        assert_eq!(render(parse(text).iter().map(String::as_str)), text);
        assert_eq!(length(parse(text).iter().map(String::as_str)), text.chars().count());
        assert_eq!(parse("\u{feff}a\r\n§\r\n\r\nb\r\n"), ["a", "b"]);
        assert_eq!(parse("§\n\n §  \na\n§"), ["a"]);
        assert_eq!(parse(" \n\n"), Vec::<String>::new());
        assert!(is_one_entry("a\nb"));
        assert!(!is_one_entry("a\n§\nb"));
        assert!(!is_one_entry(" a"));
        assert!(!is_one_entry(""));
    }

    proptest! {
        #[test]
        fn entries_come_back_as_they_went(entries in proptest::collection::vec("\\PC{0,40}", 0..8)) {
            let entries: Vec<String> = entries.into_iter().filter(|it| is_one_entry(it)).collect();
            let text = render(entries.iter().map(String::as_str));
            prop_assert_eq!(parse(&text), entries.clone());
            prop_assert_eq!(length(entries.iter().map(String::as_str)), text.chars().count());
        }
    }
}
