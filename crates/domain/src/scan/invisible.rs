//! Characters that can't be seen or that change the order of what is seen, and where they are
//! honest: joiners in scripts and emoji that need them, direction marks beside letters that are
//! written from the right.

use super::{Category, Found, Uses};

/// Whether a character leaves no trace on a screen, so that matching leaves it out.
pub(crate) fn is_invisible(character: char) -> bool {
    is_bidirectional(character)
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200d}'
                | '\u{2060}'..='\u{2065}'
                | '\u{206a}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Whether a character sets the direction of what follows.
fn is_bidirectional(character: char) -> bool {
    is_direction_mark(character)
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

pub(crate) fn is_direction_mark(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// Whether a letter belongs to a script that is written from the right.
fn from_the_right(character: char) -> bool {
    matches!(
        character,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
    )
}

/// Whether joiners belong beside this character: scripts that shape letters by them.
fn is_shaped(character: char) -> bool {
    from_the_right(character)
        || matches!(character, '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{18af}')
}

/// Whether a character may be part of an emoji.
fn is_pictograph(character: char) -> bool {
    matches!(
        character,
        '\u{a9}' | '\u{ae}' | '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}' | '#' | '*' | '0'..='9'
    )
}

const BIDIRECTIONAL: &str = "characters that change the direction of the text";
const UNSEEN: &str = "characters that can't be seen";
const CONTROL: &str = "control characters";
const TAGS: &str = "text written in tag characters, which can't be seen";

/// A character that can't be seen and has no honest reason to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// It sets the direction of what follows.
    Direction,
    /// It spells a letter that nobody sees.
    Tag,
    /// Anything else.
    Unseen,
}

/// Notes what can't be seen and has no honest reason to be there.
pub(super) fn look(text: &str, found: &mut Found) {
    controls(text, found);
    for (at, hidden) in hidden(text) {
        let what = match hidden {
            Hidden::Direction => BIDIRECTIONAL,
            Hidden::Tag => TAGS,
            Hidden::Unseen => UNSEEN,
        };
        found.note(Uses::ALL, Category::InvisibleText, what, at);
    }
}

/// Where such characters are, in their order. A mark at the very beginning that tells the order of
/// bytes is none.
pub(crate) fn hidden(text: &str) -> Vec<(usize, Hidden)> {
    let mut found = Vec::new();
    let right_to_left = text.chars().any(|it| from_the_right(it) && !is_invisible(it));
    let mut before = None;
    // The last one that can be seen, and whether a mark of direction stands behind it already.
    let (mut seen, mut is_marked) = (None, false);
    // How many tags of a flag are still to come.
    let mut flag = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if character.is_ascii() || !is_invisible(character) {
            flag = match character {
                '\u{1f3f4}' => region_tags(text.get(at + character.len_utf8()..).unwrap_or("")),
                _ => 0,
            };
            before = Some(character);
            (seen, is_marked) = (before, false);
            continue;
        }
        let after = characters.peek().map(|&(_, next)| next);
        let known = found.len();
        let beside = |test: fn(char) -> bool| before.is_some_and(test) && after.is_some_and(test);
        match character {
            '\u{feff}' if at == 0 => {}
            // A flag of a region is a black flag and tags, which only a flag may have.
            '\u{e0020}'..='\u{e007f}' if flag > 0 => flag -= 1,
            '\u{e0000}'..='\u{e007f}' => found.push((at, Hidden::Tag)),
            // Between letters that run to the right it turns nothing, and one is enough.
            '\u{200e}' | '\u{200f}' | '\u{61c}'
                if right_to_left
                    && !std::mem::replace(&mut is_marked, true)
                    && !(seen.is_some_and(|it| it.is_ascii_alphanumeric())
                        && next_seen(text, at).is_some_and(|it| it.is_ascii_alphanumeric())) => {}
            '\u{200c}' | '\u{200d}' if beside(is_shaped) => {}
            '\u{200d}'
                if before.is_some_and(is_pictograph_or_selector)
                    && after.is_some_and(is_pictograph) => {}
            '\u{fe0e}' | '\u{fe0f}' if before.is_some_and(is_pictograph) => {}
            _ if is_bidirectional(character) => found.push((at, Hidden::Direction)),
            _ => found.push((at, Hidden::Unseen)),
        }
        // A second one in a row has nothing to be beside of.
        let is_honest = found.len() == known;
        let keeps = is_honest && matches!(character, '\u{fe0f}' | '\u{e0020}'..='\u{e007f}');
        before = keeps.then_some(character);
        if !keeps {
            flag = 0;
        }
    }
    found
}

/// The first character behind a place that can be seen.
fn next_seen(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().find(|it| !is_invisible(*it))
}

/// How many tags at the beginning of a text name a region that has a flag. Only three do: others
/// would be words that nobody sees.
fn region_tags(text: &str) -> usize {
    let tags = |region: &str| {
        let written = region.chars().filter_map(|it| char::from_u32(0xe_0000 + u32::from(it)));
        written.chain(['\u{e007f}']).collect::<String>()
    };
    let mut regions = ["gbeng", "gbsct", "gbwls"].into_iter();
    regions.find(|region| text.starts_with(&tags(region))).map_or(0, |region| region.len() + 1)
}

/// Notes characters that move a cursor or end a text for some readers and not for others.
fn controls(text: &str, found: &mut Found) {
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let after = characters.peek().map(|&(_, next)| next);
        let uses = match character {
            '\n' | '\t' => continue,
            '\r' if after == Some('\n') => continue,
            // Ends a line where nobody sees one.
            '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Uses::MEMORY,
            control if control.is_control() => Uses::ALL,
            _ => continue,
        };
        found.note(uses, Category::InvisibleText, CONTROL, at);
    }
}

fn is_pictograph_or_selector(character: char) -> bool {
    is_pictograph(character) || character == '\u{fe0f}'
}
