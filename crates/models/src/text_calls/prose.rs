//! Words beside a call, in a form that phrases can be looked for in.

/// The words of a text in lower case, each between single blanks.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len() + 2);
    plain.push(' ');
    for c in text.chars().flat_map(char::to_lowercase) {
        match c.is_alphanumeric() {
            true => plain.push(c),
            false if plain.ends_with(' ') => {}
            false => plain.push(' '),
        }
    }
    if !plain.ends_with(' ') {
        plain.push(' ');
    }
    plain
}

/// The last sentence of a paragraph that says something.
pub fn last_sentence(paragraph: &str) -> &str {
    // A dot inside of a name ends nothing.
    let mut ends = paragraph.char_indices().filter_map(|(at, c)| {
        let behind = at + c.len_utf8();
        let is_last = || paragraph[behind..].starts_with(char::is_whitespace);
        match c {
            '\n' | '。' | '！' | '？' | '।' => Some(behind),
            '.' | '!' | '?' if is_last() => Some(behind),
            _ => None,
        }
    });
    let says = |from: &usize| paragraph[*from..].contains(char::is_alphanumeric);
    &paragraph[ends.rfind(says).unwrap_or(0)..]
}

/// Whether a plain text has one of these phrases, which are divided by bars.
pub fn has(plain: &str, phrases: &str) -> bool {
    phrases.split('|').any(|phrase| has_phrase(plain, phrase))
}

fn has_phrase(plain: &str, phrase: &str) -> bool {
    let is_end = |rest: &str| rest.is_empty() || rest.starts_with(' ');
    plain
        .match_indices(phrase)
        .any(|(at, _)| at > 0 && plain[..at].ends_with(' ') && is_end(&plain[at + phrase.len()..]))
}
