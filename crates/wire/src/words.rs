//! Foreign text made fit for a message of ours.

/// The most of a server's own words an error repeats. Enough for a sentence or two; error
/// pages of proxies are long and say nothing more.
pub const EXCERPT_CHARS_MAX: usize = 300;

/// One line, no control or invisible characters, short.
pub fn excerpt(text: &str) -> String {
    let mut line = String::new();
    let mut room = EXCERPT_CHARS_MAX;
    for word in text.split_whitespace() {
        let word: String = word.chars().filter(|&character| is_plain(character)).collect();
        let gap = usize::from(!line.is_empty());
        let length = word.chars().count() + gap;
        if length > room {
            line.extend(" ".chars().take(gap));
            line.extend(word.chars().take(room.saturating_sub(gap)));
            line.push('…');
            return line;
        }
        if length > gap {
            line.extend(" ".chars().take(gap));
            line.push_str(&word);
            room -= length;
        }
    }
    line
}

/// Neither a control character nor one that hides or turns round what stands beside it.
fn is_plain(character: char) -> bool {
    !character.is_control()
        && !matches!(character,
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line_without_control_characters() {
        assert_eq!(excerpt("a\r\n\tb\u{1b}[31m c\u{202e}d\0"), "a b[31m cd");
        let long = excerpt(&"word ".repeat(1000));
        assert!(long.chars().count() <= EXCERPT_CHARS_MAX + 2 && long.ends_with('…'), "{long}");
        let wide = excerpt(&"é".repeat(1000));
        assert_eq!(wide.chars().count(), EXCERPT_CHARS_MAX + 1);
    }
}
