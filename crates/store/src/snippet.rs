//! Which part of a text is shown for a query: where most of what was asked for stands together.
//! Knows no database.

use crate::search::SNIPPET_BYTES_MAX;
use crate::terms::{self, Flow};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a snippet before the first match in it.
const BEFORE: usize = 60;

/// Most matches of a message that are looked at.
const MATCHES_MAX: usize = 256;

/// The terms that a query meant: which of its terms each stands for, and what that is worth.
pub(crate) type Meant = BTreeMap<Box<str>, (usize, f64)>;

/// A part of a text, and where in it the terms are.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Snippet {
    pub(crate) text: String,
    pub(crate) marks: Vec<Range<usize>>,
    /// What the different terms in it are worth together.
    worth: f64,
}

impl Snippet {
    /// Takes the part of another text of the same message, if that is worth more.
    pub(crate) fn offer(&mut self, text: &str, meant: &Meant) {
        if let Some(found) = best(text, meant)
            && (found.worth > self.worth || self.marks.is_empty())
        {
            *self = found;
        } else if self.text.is_empty() {
            text[..text.floor_char_boundary(SNIPPET_BYTES_MAX)].clone_into(&mut self.text);
        }
    }
}

/// The best part of a text; `None` where no term is in it.
fn best(text: &str, meant: &Meant) -> Option<Snippet> {
    let mut matches: Vec<(Range<usize>, usize, f64)> = Vec::new();
    terms::each(text, |term, at| {
        if let Some((which, worth)) = meant.get(term) {
            matches.push((at, *which, *worth));
        }
        if matches.len() < MATCHES_MAX { Flow::Go } else { Flow::Stop }
    });
    let mut best: Option<(f64, Range<usize>)> = None;
    for (place, (at, ..)) in matches.iter().enumerate() {
        let start = text.floor_char_boundary(at.start.saturating_sub(BEFORE));
        let window = start..text.floor_char_boundary(start + SNIPPET_BYTES_MAX);
        let mut seen: Vec<usize> = Vec::new();
        let mut worth = 0.0;
        for (at, which, each) in matches.iter().skip(place) {
            if at.start >= window.end {
                break;
            }
            if !seen.contains(which) {
                seen.push(*which);
                worth += each;
            }
        }
        // Of two that are worth the same, the earlier one.
        if best.as_ref().is_none_or(|(most, _)| worth > *most) {
            best = Some((worth, window));
        }
    }
    let (worth, window) = best?;
    let inside = matches.iter().filter(|(at, ..)| window.contains(&at.start));
    let mut marks: Vec<Range<usize>> = Vec::new();
    for (at, ..) in inside {
        let mark = at.start - window.start..at.end.min(window.end) - window.start;
        match marks.last_mut() {
            // Terms of dense scripts lie over each other.
            Some(last) if mark.start < last.end => last.end = last.end.max(mark.end),
            _ => marks.push(mark),
        }
    }
    Some(Snippet { text: text.get(window)?.to_owned(), marks, worth })
}

#[cfg(test)]
#[path = "snippet_tests.rs"]
mod tests;
