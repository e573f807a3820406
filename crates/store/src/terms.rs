//! How text becomes the terms that search compares. Knows no database.
//!
//! A term is a run of letters and digits, in lower case, without the accents of Latin, Greek
//! and Cyrillic letters. Scripts written without spaces have no runs to find words by: there
//! every two neighbours are a term, and one that stands alone is one too. The same function
//! reads messages and queries, so what it does is consistent before it is clever.

use crate::search::TERM_BYTES_MAX;
use std::ops::Range;

/// Calls `found` with each term of a text and where its letters stand, until it says stop.
pub(crate) fn each(text: &str, mut found: impl FnMut(&str, Range<usize>) -> Flow) {
    let mut word = Word::default();
    let mut neighbour: Option<Neighbour> = None;
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        if is_mark(character) {
            // An accent on its own belongs to the letter before it.
            if !word.term.is_empty() {
                word.end = end;
            }
            continue;
        }
        let dense = is_dense(character);
        if (dense || !character.is_alphanumeric()) && word.give(&mut found) == Flow::Stop {
            return;
        }
        if !dense {
            if neighbour.take().is_some_and(|last| last.give_alone(&mut found) == Flow::Stop) {
                return;
            }
            if character.is_alphanumeric() {
                word.push(character, at, end);
            }
            continue;
        }
        let here = Neighbour { character, at, paired: neighbour.is_some() };
        if let Some(last) = neighbour.replace(here) {
            let mut pair = [0; 8];
            let first = last.character.encode_utf8(&mut pair).len();
            let both = first + character.encode_utf8(&mut pair[first..]).len();
            let pair = std::str::from_utf8(&pair[..both]).unwrap_or_default();
            if found(pair, last.at..end) == Flow::Stop {
                return;
            }
        }
    }
    if word.give(&mut found) == Flow::Go
        && let Some(last) = neighbour
    {
        last.give_alone(&mut found);
    }
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Go,
    Stop,
}

/// A run of letters so far.
#[derive(Default)]
struct Word {
    term: String,
    start: usize,
    end: usize,
}

impl Word {
    fn push(&mut self, character: char, at: usize, end: usize) {
        if self.term.is_empty() {
            self.start = at;
        }
        self.end = end;
        if character.is_ascii() {
            if self.term.len() < TERM_BYTES_MAX {
                self.term.push(character.to_ascii_lowercase());
            }
            return;
        }
        for lower in character.to_lowercase().filter(|lower| !is_mark(*lower)) {
            match fold(lower) {
                Folded::Same if self.term.len() + lower.len_utf8() <= TERM_BYTES_MAX => {
                    self.term.push(lower);
                }
                Folded::As(plain) if self.term.len() + plain.len() <= TERM_BYTES_MAX => {
                    self.term.push_str(plain);
                }
                _ => {}
            }
        }
    }

    fn give(&mut self, found: &mut impl FnMut(&str, Range<usize>) -> Flow) -> Flow {
        if self.term.is_empty() {
            return Flow::Go;
        }
        let flow = found(&self.term, self.start..self.end);
        self.term.clear();
        flow
    }
}

/// A character of a dense script, which waits for the next.
struct Neighbour {
    character: char,
    at: usize,
    /// Whether it already is the second of a pair.
    paired: bool,
}

impl Neighbour {
    fn give_alone(self, found: &mut impl FnMut(&str, Range<usize>) -> Flow) -> Flow {
        if self.paired {
            return Flow::Go;
        }
        let end = self.at + self.character.len_utf8();
        found(self.character.encode_utf8(&mut [0; 4]), self.at..end)
    }
}

/// Whether a script is written without spaces between words: Han, Kana, Hangul, Thai, Lao,
/// Khmer and Burmese.
fn is_dense(character: char) -> bool {
    matches!(character,
        '\u{0e00}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}'
        | '\u{20000}'..='\u{3ffff}')
        && character.is_alphanumeric()
}

/// Whether a character is an accent on its own.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{0300}'..='\u{036f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}')
}

enum Folded {
    Same,
    As(&'static str),
}

/// A lower-case letter without its accent.
fn fold(letter: char) -> Folded {
    let plain = match letter {
        'à'..='å' | 'ā' | 'ă' | 'ą' | 'ǎ' | 'ǟ' | 'ǡ' | 'ǻ' | 'ȁ' | 'ȃ' | 'ȧ' | 'ạ'..='ặ' => {
            "a"
        }
        'æ' | 'ǣ' | 'ǽ' => "ae",
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => "c",
        'ď' | 'đ' | 'ð' => "d",
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' | 'ȅ' | 'ȇ' | 'ȩ' | 'ẹ'..='ệ' => "e",
        'ĝ' | 'ğ' | 'ġ' | 'ģ' | 'ǧ' | 'ǵ' => "g",
        'ĥ' | 'ħ' => "h",
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' | 'ǐ' | 'ȉ' | 'ȋ' | 'ỉ' | 'ị' => "i",
        'ĵ' => "j",
        'ķ' | 'ǩ' => "k",
        'ĺ' | 'ļ' | 'ľ' | 'ŀ' | 'ł' => "l",
        'ñ' | 'ń' | 'ņ' | 'ň' | 'ǹ' => "n",
        'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' | 'ơ' | 'ǒ' | 'ǫ' | 'ǿ' | 'ȍ' | 'ȏ' | 'ȯ' | 'ọ'..='ợ' => {
            "o"
        }
        'œ' => "oe",
        'ŕ' | 'ŗ' | 'ř' | 'ȑ' | 'ȓ' => "r",
        'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => "s",
        'ß' => "ss",
        'ţ' | 'ť' | 'ŧ' | 'ț' => "t",
        'þ' => "th",
        'ù'..='ü'
        | 'ũ'
        | 'ū'
        | 'ŭ'
        | 'ů'
        | 'ű'
        | 'ų'
        | 'ư'
        | 'ǔ'
        | 'ǖ'
        | 'ǘ'
        | 'ǚ'
        | 'ǜ'
        | 'ȕ'
        | 'ȗ'
        | 'ụ'..='ự' => "u",
        'ŵ' => "w",
        'ý' | 'ÿ' | 'ŷ' | 'ỳ' | 'ỵ' | 'ỷ' | 'ỹ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        'ά' => "α",
        'έ' => "ε",
        'ή' => "η",
        'ί' | 'ϊ' | 'ΐ' => "ι",
        'ό' => "ο",
        'ύ' | 'ϋ' | 'ΰ' => "υ",
        'ώ' => "ω",
        'ς' => "σ",
        'ё' | 'ѐ' => "е",
        'ѝ' => "и",
        _ => return Folded::Same,
    };
    Folded::As(plain)
}

#[cfg(test)]
#[path = "terms_tests.rs"]
mod tests;
