//! How text becomes the terms that search compares. Knows no database and no language.
//!
//! A term is a run of letters and digits, in lower case and without accents (`fold`). Scripts
//! written without spaces have no runs to find words by: there every two neighbours are a term.
//! One that stands alone is one too, and so is every Han character, which often is a word. The
//! same function reads messages and queries, so what it does is consistent before it is clever.

use crate::fold::{Folded, fold, is_mark};
use crate::search::TERM_BYTES_MAX;
use std::ops::Range;

/// Longest unit of a dense script, in bytes: two make a term. What people write has a letter
/// and up to three signs.
const UNIT_BYTES_MAX: usize = TERM_BYTES_MAX / 2;

/// Calls `found` with each term of a text and where its letters stand, until it says stop.
pub(crate) fn each(text: &str, mut found: impl FnMut(&str, Range<usize>) -> Flow) {
    let mut word = Word::default();
    let mut run = Run::default();
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        if character.is_ascii() {
            // Most of all text, and none of what follows.
            if run.finish(&mut found) == Flow::Stop {
                return;
            }
            if character.is_ascii_alphanumeric() {
                word.push(character, at, end);
            } else if word.give(&mut found) == Flow::Stop {
                return;
            }
            continue;
        }
        if is_sign(character) {
            run.sign(character, end);
            continue;
        }
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
        if !dense && run.finish(&mut found) == Flow::Stop {
            return;
        }
        if dense {
            if run.push(character, at, end, &mut found) == Flow::Stop {
                return;
            }
        } else if character.is_alphanumeric() {
            word.push(character, at, end);
        }
    }
    if word.give(&mut found) == Flow::Go {
        run.finish(&mut found);
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
                Folded::Same => self.add(lower),
                Folded::Letter(letter) => self.add(letter),
                Folded::As(plain) => plain.chars().for_each(|letter| self.add(letter)),
            }
        }
    }

    fn add(&mut self, letter: char) {
        if self.term.len() + letter.len_utf8() <= TERM_BYTES_MAX {
            self.term.push(letter);
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

/// The end of a run of a dense script: the last unit, which may still get signs, and what is
/// known of the one before.
#[derive(Default)]
struct Run {
    /// The unit before the last, then the last.
    text: String,
    /// Where the last begins in that; 0 where there is none before it.
    last: usize,
    /// Where the two begin in the text that is read, and where the last ends.
    before_at: usize,
    last_at: usize,
    end: usize,
}

impl Run {
    /// Takes a character, which begins a unit.
    fn push(
        &mut self,
        character: char,
        at: usize,
        end: usize,
        found: &mut impl FnMut(&str, Range<usize>) -> Flow,
    ) -> Flow {
        let flow = self.settle(found);
        self.text.drain(..self.last);
        (self.last, self.before_at) = (self.text.len(), self.last_at);
        (self.last_at, self.end) = (at, end);
        self.text.push(character);
        flow
    }

    /// Takes a sign that belongs to the last unit.
    fn sign(&mut self, sign: char, end: usize) {
        let unit = self.text.len() - self.last;
        if unit > 0 {
            self.end = end;
            if unit + sign.len_utf8() <= UNIT_BYTES_MAX {
                self.text.push(sign);
            }
        }
    }

    /// Gives the terms that the last unit completes.
    fn settle(&self, found: &mut impl FnMut(&str, Range<usize>) -> Flow) -> Flow {
        if self.last > 0 && found(&self.text, self.before_at..self.end) == Flow::Stop {
            return Flow::Stop;
        }
        match self.text.get(self.last..) {
            Some(unit) if unit.chars().all(is_han) && !unit.is_empty() => {
                found(unit, self.last_at..self.end)
            }
            _ => Flow::Go,
        }
    }

    /// Ends the run.
    fn finish(&mut self, found: &mut impl FnMut(&str, Range<usize>) -> Flow) -> Flow {
        if self.text.is_empty() {
            return Flow::Go;
        }
        let mut flow = self.settle(found);
        let is_alone = self.last == 0;
        if flow == Flow::Go && is_alone && !self.text.chars().all(is_han) {
            flow = found(&self.text, self.last_at..self.end);
        }
        self.text.clear();
        self.last = 0;
        flow
    }
}

/// Whether a term is of a script that is written without spaces.
pub(crate) fn is_piece(term: &str) -> bool {
    term.chars().next().is_some_and(is_dense)
}

/// Whether a character is Han: most often a word or half of one.
pub(crate) fn is_han(character: char) -> bool {
    matches!(character,
        '\u{3005}'..='\u{3007}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
        && character.is_alphanumeric()
}

/// Whether a character begins a unit of a script that is written without spaces between words:
/// Han, Kana, Hangul, Thai, Lao, Khmer and Burmese.
fn is_dense(character: char) -> bool {
    is_han(character)
        || matches!(character,
            '\u{0e00}'..='\u{0eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1100}'..='\u{11ff}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{ff66}'..='\u{ff9f}')
            && character.is_alphanumeric()
}

/// Whether a character belongs to the unit before it, in such a script: vowels above, below and
/// behind a consonant, tones, and what joins two.
fn is_sign(character: char) -> bool {
    matches!(character,
        '\u{0e31}' | '\u{0e34}'..='\u{0e3a}' | '\u{0e47}'..='\u{0e4e}'
        | '\u{0eb1}' | '\u{0eb4}'..='\u{0ebc}' | '\u{0ec8}'..='\u{0ece}'
        | '\u{102b}'..='\u{103e}' | '\u{1056}'..='\u{1059}' | '\u{105e}'..='\u{1060}'
        | '\u{1062}'..='\u{1064}' | '\u{1067}'..='\u{106d}' | '\u{1071}'..='\u{1074}'
        | '\u{1082}'..='\u{108d}' | '\u{108f}' | '\u{109a}'..='\u{109d}'
        | '\u{17b4}'..='\u{17d3}' | '\u{17dd}' | '\u{3099}' | '\u{309a}')
}

/// Whether a character is of the syllables that Japanese writes endings and particles in.
pub(crate) fn is_hiragana(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{309f}')
}

#[cfg(test)]
#[path = "terms_tests.rs"]
mod tests;
