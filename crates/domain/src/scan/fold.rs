//! Text as the patterns see it: what can't be seen taken out, compatibility forms taken apart,
//! look-alikes replaced, lower case; with the way back to the place in the original.

use super::confusable::latin;
use super::invisible::is_invisible;
use icu_normalizer::DecomposingNormalizerBorrowed;
use std::iter;

/// Folded text.
pub(super) struct Folded {
    pub text: String,
    /// (byte here, byte in the original) wherever the distance between them changes.
    anchors: Vec<(usize, usize)>,
}

impl Folded {
    pub(super) fn new(original: &str) -> Self {
        let normalizer = DecomposingNormalizerBorrowed::new_nfkd();
        let mut folded = Self { text: String::with_capacity(original.len()), anchors: vec![] };
        for (at, character) in original.char_indices() {
            if character.is_ascii() {
                folded.push(character.to_ascii_lowercase(), at);
            } else if let Some(letter) = latin(character) {
                folded.push(letter, at);
            } else if !is_invisible(character) {
                for part in normalizer.normalize_iter(iter::once(character)) {
                    folded.push_part(part, at);
                }
            }
        }
        folded
    }

    /// One character of a decomposition. Marks on a letter are left out: `í` reads as `i`.
    fn push_part(&mut self, part: char, at: usize) {
        let part = if part.is_whitespace() { ' ' } else { part };
        match latin(part) {
            Some(letter) => self.push(letter, at),
            None => part.to_lowercase().filter(|&low| !is_mark(low)).for_each(|low| {
                self.push(low, at);
            }),
        }
    }

    fn push(&mut self, character: char, at: usize) {
        let here = self.text.len();
        let expected = self.anchors.last().map_or(0, |&(from, to)| to + (here - from));
        if expected != at {
            self.anchors.push((here, at));
        }
        self.text.push(match character {
            '\t' | '\r' => ' ',
            '\u{2018}' | '\u{2019}' => '\'',
            '\u{201c}' | '\u{201d}' => '"',
            other => other,
        });
    }

    /// The byte of the original that a byte of the folded text came from.
    pub(super) fn origin(&self, at: usize) -> usize {
        let before = self.anchors.partition_point(|&(here, _)| here <= at);
        match before.checked_sub(1).and_then(|last| self.anchors.get(last)) {
            Some(&(here, there)) => there + (at - here),
            None => at,
        }
    }
}

/// Whether this is a combining mark that only decorates a letter.
fn is_mark(character: char) -> bool {
    matches!(
        character,
        '\u{300}'..='\u{36f}'
            | '\u{483}'..='\u{489}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{fe20}'..='\u{fe2f}'
    )
}
